/* A job that is watched while it runs: digests of its nodes are asked for, and spare most reading of its files.  Where
 * there is no digest (yet), or an old or damaged one, files are read as ever. */
#ifndef ANA_WATCH_H
#define ANA_WATCH_H

#include "trace/reader/digest.h"
#include "trace/util/hash_map.h"

struct ana_bundle;
struct ana_job;

/* Somebody watches the job as it runs, look after look, from now on (or no longer).  At first nobody does. */
void ana_job_watch(struct ana_job *job, bool on);
/* Somebody looks at this rank: at the next refresh its file is read, whatever digests say.  An index that the job does
 * not have is nobody's. */
void ana_job_look_at(struct ana_job *job, size_t index);

/* A digest that is read again and again. */
struct ana_watched_node {
    char *path;
    uint64_t sequence;   /* of the last; 0: none was read */
    int64_t moved_ns;    /* CLOCK_MONOTONIC when that rose; 0: it never has */
    char *complaint;     /* why it cannot be used, or NULL */
    struct trc_node now; /* of this look; empty if nothing is new */
};

struct ana_watch {
    bool on, asks;               /* it has asked */
    int64_t asked_ns, listed_ns; /* CLOCK_MONOTONIC of the last request, and of the last search for digests */
    struct ana_watched_node *node;
    size_t nodes, node_room;
    struct ana_map file; /* by host and boot, pid, and its start: index + 1 into bundle->files */
    size_t files;        /* that were put there */
    uint64_t looks;
};

/* What digests have said of a file. */
struct ana_watched {
    const struct trc_node *node;        /* of this look; NULL: nothing new */
    const struct trc_digest_rank *rank; /* likewise */
    const struct ana_watched_node *by;
    uint64_t change, before, read; /* in the last digest, in the one before, and when the file was read */
    bool known, was_read;          /* change, read are something */
};

/* Before files are read: asks for digests, finds and reads them. */
void ana_watch_look(struct ana_bundle *bundle);

/* Whether a file need not be read at this look: then it was brought up to date by its node's digest.  `index`: which of
 * them it is. */
bool ana_watch_spares(struct ana_watch *watch, struct trc_file *file, struct ana_watched *watched, size_t index);

/* Why digest i cannot be used; "": it can, or was just being written; NULL: there is no such digest. */
const char *ana_watch_complaint(const struct ana_watch *watch, size_t i);

/* Ends the requests, and frees what it has. */
void ana_watch_free(struct ana_bundle *bundle);

#endif
