/* The trace files of one job: every *.hpctop in one or more folders, or named outright. */
#pragma once

#include "trace/members/watch.h"
#include "trace/util/hash_map.h"
#include "trace/reader/reader.h"

#define ANA_SUFFIX ".hpctop"

/* Watcher of the opening of files, and number of threads that may read events (0: one); zeros: nobody. */
struct ana_opener {
    bool (*opening)(void *user, size_t opened, size_t files); /* ana_opening of job.h */
    void *user;
    unsigned workers;
};

struct ana_thread_pool;

struct ana_bundle_file {
    char *path;
    struct trc_file *file; /* NULL while it cannot be read */
    char *error;           /* reason it cannot be used; NULL if it can */
    size_t folder;         /* it lies in: index into ana_bundle.folder */
    int64_t opened_ns;     /* CLOCK_MONOTONIC; until ana_bundle_refresh has read it once more: 0 */
    bool left_out;         /* nobody wants to wait for it */
    bool reads, moved;     /* set by ana_bundle_refresh: it is to be read; something changed */
    struct ana_watched watched;
};

struct ana_bundle {
    char **place; /* folders and files, as given */
    char **error; /* error of each place: reason why it could not be looked into, or NULL */
    size_t places;
    struct ana_bundle_file *files;
    size_t count;
    size_t left_out; /* of them */
    size_t turn;     /* first file to be read at the next partial look */
    struct ana_opener opener;
    char **folder; /* folders that files were found in, as text, each once */
    size_t folders;
    struct ana_map folder_known; /* device and inode -> index + 1 */
    struct ana_map known;        /* device and inode: the same file under two names is read once */
    struct ana_watch watch;
    struct ana_thread_pool *thread_pool; /* threads that help to read many files; NULL: there are few */
};

/* Begins a bundle of some folders and files; the text is copied.  False: out of memory.  Opens nothing yet:
 * ana_bundle_scan does. */
bool ana_bundle_open(struct ana_bundle *bundle, const char *const *places, size_t n);
/* Closes and frees all files; the struct is the caller's. */
void ana_bundle_close(struct ana_bundle *bundle);

/* Opens new files, and tries unreadable ones again.  Returns the number that became readable by this call.
 * bundle->opener is asked before each, or of many before some hundred; files that it stops are left out for ever. */
size_t ana_bundle_scan(struct ana_bundle *bundle);

/* Reads all open files again, except ones that were opened just now, have ended, or are told enough by a digest while
 * watched.  With `at_rest`, if nothing is expected to change, some hundred are read in turn, and the others only after
 * a change in one.  Returns whether anything changed. */
bool ana_bundle_refresh(struct ana_bundle *bundle, bool at_rest);

/* Writes the path of the newest trace folder in `where`; folders called hpctop-* come first.  False: there is none. */
bool ana_newest_folder(const char *where, char *out, size_t out_size);

/* The first place or file that could not be read, and why: "PATH: Permission denied"; NULL if all could. */
const char *ana_bundle_error(const struct ana_bundle *bundle);
