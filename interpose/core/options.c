#include "interpose/core/options.h"

#include <stdlib.h>

static const char *parse_text(const char *value)
{
    return value;
}

static bool parse_flag(const char *value)
{
    return value[0] == '1';
}

/* Digits, perhaps with a fraction; below 0 if it is not that. */
static double parse_seconds(const char *value)
{
    double n = 0, unit = 1;
    for (; *value >= '0' && *value <= '9'; value++)
        n = n * 10 + (*value - '0');
    if (*value == '.')
        for (value++; *value >= '0' && *value <= '9'; value++)
            n += (*value - '0') * (unit /= 10);
    return *value ? -1 : n;
}

/* Digits with an optional K, M, G or T (powers of 1024); 0 if it is not that. */
static uint64_t parse_bytes(const char *value)
{
    uint64_t n = 0;
    while (*value >= '0' && *value <= '9' && n < UINT64_MAX / 16)
        n = n * 10 + (uint64_t)(*value++ - '0');
    int shift = 0;
    switch (*value) {
    case 'T':
    case 't':
        shift += 10; /* fallthrough */
    case 'G':
    case 'g':
        shift += 10; /* fallthrough */
    case 'M':
    case 'm':
        shift += 10; /* fallthrough */
    case 'K':
    case 'k':
        shift += 10;
        value++;
        break;
    default:
        break;
    }
    return *value ? 0 : n << shift;
}

/* A bytes option that is not a number falls back to its default; texts and flags accept any value. */
#define valid_text(parsed)    true
#define valid_flag(parsed)    true
#define valid_bytes(parsed)   ((parsed) > 0)
#define valid_seconds(parsed) ((parsed) >= 0)

void ipo_options_read(struct ipo_options *options)
{
    const char *value;
#define OPTION(field, variable, type, otherwise, help)                                                                 \
    value = getenv(variable);                                                                                          \
    options->field = parse_##type(value && *value ? value : otherwise);                                                \
    if (!valid_##type(options->field))                                                                                 \
        options->field = parse_##type(otherwise);
#include "trace/format/options.def"
#undef OPTION
}
