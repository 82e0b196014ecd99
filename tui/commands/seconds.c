/* Seconds and numbers of threads, as options of several commands take them. */
#include "tui/commands/command.h"

#include <stdlib.h>

bool tui_parse_seconds(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return *text && !*end && *out > 0 && *out < 1e6;
}

bool tui_parse_workers(const char *text, unsigned *out)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    *out = (unsigned)n;
    return *text >= '0' && *text <= '9' && !*end && n >= 1 && n <= 1024;
}
