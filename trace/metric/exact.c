#include "trace/metric/exact.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns whether `digits` digits identify this very number; they are in `out` then. */
static bool round_trips(double value, int digits, char out[ANA_EXACT])
{
    snprintf(out, ANA_EXACT, "%.*g", digits, value);
    return strtod(out, NULL) == value;
}

const char *ana_exact_real(double value, char out[ANA_EXACT])
{
    int exponent, least = 6;
    if (!isfinite(value))
        return NULL;
    if (round_trips(value, least, out))
        return out;
    /* More digits tell no less, but for powers of two, whose neighbours are not equally near. */
    if (fabs(frexp(value, &exponent)) != 0.5 && !round_trips(value, 15, out))
        least = 15;
    for (int digits = least + 1; digits <= 17; digits++)
        if (round_trips(value, digits, out))
            break;
    return out;
}

/* Writes the last `n` digits of a number. */
static void write_digits(uint64_t number, char *out, int n)
{
    for (; n > 0; number /= 10)
        out[--n] = (char)('0' + number % 10);
}

/* Writes a number, and returns how many characters it has: printf takes five times as long. */
static int write_whole(uint64_t number, char *out)
{
    int n = 1;
    for (uint64_t rest = number; rest >= 10; rest /= 10)
        n++;
    write_digits(number, out, n);
    out[n] = 0;
    return n;
}

static const char *write_signed(int64_t number, char out[ANA_EXACT])
{
    out[0] = '-';
    write_whole(number < 0 ? -(uint64_t)number : (uint64_t)number, out + (number < 0));
    return out;
}

const char *ana_exact_ns(int64_t ns, char out[ANA_EXACT])
{
    if (ns < 0)
        return NULL;
    int n = write_whole((uint64_t)ns / 1000000000, out);
    out[n] = '.';
    write_digits((uint64_t)ns % 1000000000, out + n + 1, 9);
    out[n + 10] = 0;
    return out;
}

const char *ana_exact(const struct ana_metric *metric, struct ana_value v, const struct ana_job *job,
                      char out[ANA_EXACT])
{
    const struct ana_rank *rank = job && v.type == ANA_RANK_INDEX ? ana_job_rank(job, v.integer) : NULL;
    bool is_time = metric->unit == ANA_NS;
    switch (v.type) {
    case ANA_UNSIGNED:
        write_whole(v.integer, out);
        return out;
    case ANA_SIGNED:
        return is_time ? ana_exact_ns(v.number, out) : write_signed(v.number, out);
    case ANA_REAL:
        return ana_exact_real(is_time ? v.real / 1e9 : v.real, out);
    case ANA_BOOL:
        return v.integer ? "true" : "false";
    case ANA_WORDS:
        return v.text;
    case ANA_RANK_INDEX:
        return rank && rank->rank >= 0 ? write_signed(rank->rank, out) : NULL;
    default:
        return NULL;
    }
}
