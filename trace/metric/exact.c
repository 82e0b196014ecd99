#include "trace/metric/exact.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *ana_exact_real(double value, char out[ANA_EXACT])
{
    if (!isfinite(value))
        return NULL;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(out, ANA_EXACT, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    return out;
}

const char *ana_exact_ns(int64_t ns, char out[ANA_EXACT])
{
    snprintf(out, ANA_EXACT, "%" PRId64 ".%09" PRId64, ns / 1000000000, ns % 1000000000);
    return ns < 0 ? NULL : out;
}

const char *ana_exact(const struct ana_metric *metric, struct ana_value v, const struct ana_job *job,
                      char out[ANA_EXACT])
{
    const struct ana_rank *rank = job && v.type == ANA_RANK_INDEX ? ana_job_rank(job, v.integer) : NULL;
    bool is_time = metric->unit == ANA_NS;
    switch (v.type) {
    case ANA_UNSIGNED:
        snprintf(out, ANA_EXACT, "%" PRIu64, v.integer);
        return out;
    case ANA_SIGNED:
        snprintf(out, ANA_EXACT, "%" PRId64, v.number);
        return is_time ? ana_exact_ns(v.number, out) : out;
    case ANA_REAL:
        return ana_exact_real(is_time ? v.real / 1e9 : v.real, out);
    case ANA_BOOL:
        return v.integer ? "true" : "false";
    case ANA_WORDS:
        return v.text;
    case ANA_RANK_INDEX:
        snprintf(out, ANA_EXACT, "%" PRId32, rank ? rank->rank : -1);
        return rank && rank->rank >= 0 ? out : NULL;
    default:
        return NULL;
    }
}
