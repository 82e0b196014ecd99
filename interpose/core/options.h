/* The environment variables of options.def, read once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* One member for each row of the table. */
struct ipo_options {
#define text                                       const char *
#define bytes                                      uint64_t
#define seconds                                    double
#define flag                                       bool
#define OPTION(field, variable, type, value, help) type field;
#include "trace/format/options.def"
#undef OPTION
#undef text
#undef bytes
#undef seconds
#undef flag
};

/* Fills `options` from the environment; a value that cannot be parsed counts as the default.  Texts belong to the
 * environment.  Off the record path, once. */
void ipo_options_read(struct ipo_options *options);
