/* The environment variables of options.def, read once. */
#ifndef IPO_OPTIONS_H
#define IPO_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

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

/* Reads the environment; a value that makes no sense counts as the default. */
void ipo_options_read(struct ipo_options *options);

#endif
