/* Every record of a trace file as text: what people grep, diff and compare with golden files. */
#pragma once

#include "trace/reader/reader.h"
#include <stdio.h>

/* Prints one file: facts of the head one a line, definitions, each thread's live page with its counters, then every
 * record of every thread, one a line.  Times are seconds since the file was made, durations seconds, sizes bytes; an
 * unknown number is a dash.  Reads everything there now, FOLDs that may still grow included (trc_set_final).
 * TRC_BAD: out of memory, or `out` could not be written. */
enum trc_status trc_dump(struct trc_file *file, FILE *out);
