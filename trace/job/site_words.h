/* Call sites and call paths in words. */
#pragma once

#include "trace/job/job.h"

/* Names of a place in a program; unknown ones are NULL. */
struct ana_place_names {
    const char *line, *function, *module;
    uint64_t address;
};
/* Returns whether the name belongs to another function near the place, "libx.so near f+0x12". */
bool ana_is_near(const char *function);
/* Writes "app.c:17 in step"; without a line "step+0x4f", "libx.so+0x12" or "0x7f12", the first that is known. */
void ana_place_words(const struct ana_place_names *names, char *out, size_t size);
#define ANA_CALLER 320 /* room for the words of a caller */
/* Writes as ana_place_words where a site of rank `index`, or of one of its paths, is. */
void ana_caller_words(const struct ana_job *job, size_t index, uint64_t site, char *out, size_t size);
/* Writes the callers of a path of rank `index`, the innermost first, with " < " between them; NULL: writes "". */
void ana_path_words(const struct ana_job *job, size_t index, const struct trc_path *path, char *out, size_t size);
/* the source line of a place in a process, "app.c:17"; NULL: not known, or not yet. */
const char *ana_site_line(const struct ana_job *job, size_t index, const char *module);
/* `function`, or the inlined function in it that the place is in, or its name in the debug information. */
const char *ana_site_function(const struct ana_job *job, size_t index, const char *module, const char *function);
