/* A job in the formats of other tools.  All ranks are on one clock, job time (trace/job/job.h); its possible error is
 * written, if the format has a place for it.  Messages and collectives are written as such. */
#pragma once

#include "trace/summary/summary.h"

struct ana_export {
    const char *format;                         /* a name of ana_export_format */
    const char *out;                            /* file, or folder of formats with more than one */
    struct ana_selection part;                  /* time and ranks; a filter is not used */
    bool (*progress)(void *user, double share); /* now and then; false ends it.  May be NULL */
    void *user;
};

/* A format; static. */
struct ana_export_format {
    const char *name, *suffix;
    const char *help; /* description, and the tools that read it */
    bool is_folder;
};
/* Format i; NULL past the last. */
const struct ana_export_format *ana_export_format(size_t i);
/* The format of that name; NULL: there is none. */
const struct ana_export_format *ana_export_format_of(const char *name);

/* Writes the name of file or folder that is taken where none is given: the job's, and the format's suffix. */
void ana_export_default(const struct ana_job *job, const struct ana_export_format *format, char *out, size_t size);

/* Writes the requested events, as far as they exist now.  The output is made beside its place, as OUT.part, and takes
 * its name when it is complete: an existing file is replaced; a folder that is not empty, or an object that is
 * neither, is not.  Leftovers of a killed export are removed.  False, with one line in `error`: it is not there. */
bool ana_export(struct ana_job *job, const struct ana_export *ask, char *error, size_t size);
