/* The trace files of one job: every *.hpctop in one or more folders, or named outright. */
#ifndef ANA_BUNDLE_H
#define ANA_BUNDLE_H

#include "trace/job/watch.h"
#include "trace/util/hash_map.h"
#include "trace/reader/reader.h"

#define ANA_SUFFIX ".hpctop"

/* Who watches while files are opened, and how many threads may read events (0: one); zeros: nobody. */
struct ana_opener {
    bool (*opening)(void *user, size_t opened, size_t files); /* ana_opening of job.h */
    void *user;
    unsigned workers;
};

struct ana_beside;

struct ana_bundle_file {
    char *path;
    struct trc_file *file; /* NULL while it cannot be read */
    char *error;           /* why not; NULL if it can */
    size_t folder;         /* it lies in: index into ana_bundle.folder */
    int64_t opened_ns;     /* CLOCK_MONOTONIC; until ana_bundle_refresh has read it once more: 0 */
    bool left_out;         /* nobody wants to wait for it */
    bool reads, moved;     /* by ana_bundle_refresh: it is to be read; something changed */
    struct ana_watched watched;
};

struct ana_bundle {
    char **place; /* folders and files, as given */
    char **error; /* of each place: why it could not be looked into, or NULL */
    size_t places;
    struct ana_bundle_file *files;
    size_t count;
    size_t left_out; /* of them */
    size_t turn;     /* the first that is read at the next look at some of them */
    struct ana_opener opener;
    char **folder; /* those that files were found in, as text, each once */
    size_t folders;
    struct ana_map folder_known; /* by device and inode: its index + 1 */
    struct ana_map known;        /* by device and inode: the same file under two names is read once */
    struct ana_watch watch;
    struct ana_beside *beside; /* threads that help to read many files; NULL: there are few */
};

/* Begins a bundle of these folders and files; the text is copied.  False: out of memory.  Opens nothing yet:
 * ana_bundle_scan does. */
bool ana_bundle_open(struct ana_bundle *bundle, const char *const *places, size_t n);
/* Closes and frees all files; the struct is the caller's. */
void ana_bundle_close(struct ana_bundle *bundle);

/* Opens files that were not there before, and tries again those that could not be read.  Returns how many became
 * readable by this call.  bundle->opener is asked before each, or of many before some hundred; what it stops is left
 * out for ever. */
size_t ana_bundle_scan(struct ana_bundle *bundle);

/* Reads all open files again, but for those that were opened just now, or have ended, and, while it is watched, those
 * of which a digest says enough.  With `at_rest`, where nothing is expected to change, some hundred are read in turn,
 * and the others only if one of these changed.  Returns whether anything changed. */
bool ana_bundle_refresh(struct ana_bundle *bundle, bool at_rest);

/* The first place or file that could not be read, and why: "PATH: Permission denied"; NULL if all could. */
const char *ana_bundle_error(const struct ana_bundle *bundle);

#endif
