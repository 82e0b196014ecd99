/* Place of an index: index/analysis in the folder of the trace, if that is the user's own, or in the user's cache
 * folder.  No link is followed below these folders, and files of others there are not read.  One thread at a
 * time. */
#pragma once

#include "trace/job/job.h"
#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

enum ana_place_of_index { ANA_BESIDE_TRACE, ANA_IN_CACHE, ANA_PLACES_OF_INDEX };

struct ana_place {
    int folder;                              /* a descriptor */
    uid_t owner;                             /* owner of the traces, or of the cache */
    char path[PATH_MAX], name[32], part[40]; /* paths of the index; in the folder; while it is written */
};

/* Opens the folder of such a place; `files` tells indexes in the cache apart.  make: it is made, if it is to be, and
 * only where this user owns the one around it.  False: there is none. */
bool ana_place_open(const struct ana_job *job, enum ana_place_of_index which, uint64_t files, bool make,
                    struct ana_place *place);
/* Closes it; a folder that is empty is removed. */
void ana_place_close(struct ana_place *place);

/* Opens the index there for reading; NULL: there is none that this user or the owner of the traces made. */
FILE *ana_place_read(const struct ana_place *place);
/* Opens a file that will be the index there; NULL: errno says why. */
FILE *ana_place_write(const struct ana_place *place);
/* Closes that file, and makes it the index if all was written; else removes it.  False: errno says why it is none. */
bool ana_place_finish(const struct ana_place *place, FILE *file, bool whole);
