/* Seconds, as options of several commands take them. */
#include "tui/commands/command.h"

#include <stdlib.h>

bool tui_parse_seconds(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return *text && !*end && *out > 0 && *out < 1e6;
}
