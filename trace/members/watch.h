/* A job that is watched while it runs: digests of its nodes are asked for, and spare most reading of its files.  Where
 * there is no digest (yet), or an old or damaged one, files are read as ever. */
#pragma once

#include "trace/reader/digest.h"
#include "trace/util/hash_map.h"

struct ana_bundle;

/* A digest that is read again and again. */
struct ana_watched_node {
    char *path;
    uint64_t sequence;   /* number of the last digest; 0: none was read */
    int64_t moved_ns;    /* CLOCK_MONOTONIC when that rose; 0: it never has */
    char *complaint;     /* reason why it cannot be used, or NULL */
    struct trc_node now; /* digest of this look; empty if nothing is new */
};

struct ana_watch {
    bool on, asks;               /* it has asked */
    int64_t asked_ns, listed_ns; /* CLOCK_MONOTONIC of the last request, and of the last search for digests */
    struct ana_watched_node *node;
    size_t nodes;
    struct ana_map file; /* host and boot, pid, start -> index + 1 into bundle->files */
    size_t files;        /* number of files in `file` */
    uint64_t looks;
};

/* State of a file according to digests. */
struct ana_watched {
    const struct trc_node *node;        /* node of this look; NULL: nothing new */
    const struct trc_digest_rank *rank; /* likewise */
    const struct ana_watched_node *by;
    uint64_t change, before, read; /* change counts: last digest, the one before, reading of the file */
    bool known, was_read;          /* change, read are something */
};

/* Before files are read: asks for digests, finds and reads them. */
void ana_watch_refresh(struct ana_bundle *bundle);

/* Whether a file need not be read at this look: its node's digest brought it up to date.  `index`: its place in
 * bundle->files. */
bool ana_watch_spares(struct ana_watch *watch, struct trc_file *file, struct ana_watched *watched, size_t index);

/* Returns the reason why digest i cannot be used; "": it can, or was just being written; NULL: there is no such
 * digest. */
const char *ana_watch_complaint(const struct ana_watch *watch, size_t i);

/* Ends the requests, and frees the watch. */
void ana_watch_free(struct ana_bundle *bundle);
