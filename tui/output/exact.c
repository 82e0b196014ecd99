#include "tui/output/exact.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *tui_exact_real(double value, char out[TUI_EXACT])
{
    if (!isfinite(value))
        return NULL;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(out, TUI_EXACT, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    return out;
}

const char *tui_exact_ns(int64_t ns, char out[TUI_EXACT])
{
    snprintf(out, TUI_EXACT, "%" PRId64 ".%09" PRId64, ns / 1000000000, ns % 1000000000);
    return ns < 0 ? NULL : out;
}

const char *tui_exact(const struct ana_metric *metric, struct ana_value v, const struct ana_job *job,
                      char out[TUI_EXACT])
{
    const struct ana_rank *rank = job && v.type == ANA_RANK_INDEX ? ana_job_rank(job, v.integer) : NULL;
    bool is_time = metric->unit == ANA_NS;
    switch (v.type) {
    case ANA_UNSIGNED:
        snprintf(out, TUI_EXACT, "%" PRIu64, v.integer);
        return out;
    case ANA_SIGNED:
        snprintf(out, TUI_EXACT, "%" PRId64, v.number);
        return is_time ? tui_exact_ns(v.number, out) : out;
    case ANA_REAL:
        return tui_exact_real(is_time ? v.real / 1e9 : v.real, out);
    case ANA_BOOL:
        return v.integer ? "true" : "false";
    case ANA_WORDS:
        return v.text;
    case ANA_RANK_INDEX:
        snprintf(out, TUI_EXACT, "%" PRId32, rank ? rank->rank : -1);
        return rank && rank->rank >= 0 ? out : NULL;
    default:
        return NULL;
    }
}
