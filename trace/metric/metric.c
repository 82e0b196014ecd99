#include "trace/metric/metric.h"
#include "trace/util/rows.h"

#include <string.h>

/* Types of the rows, by kind. */
typedef struct ana_call_stat row_CALL;
typedef struct ana_rank_row row_RANK;
typedef struct ana_site row_SITE;
typedef struct ana_segment_stat row_SEGMENT;
typedef struct ana_region_stat row_REGION;
typedef struct ana_path_node row_PATH;
typedef struct ana_price row_PRICE;
typedef struct ana_diff_finding row_CHANGE;
typedef struct ana_collective row_COLLECTIVE;
typedef struct ana_pair row_PAIR;
typedef struct ana_size_stat row_SIZE;
typedef struct ana_wait row_WAIT;
typedef struct ana_outlier row_OUTLIER;
typedef struct ana_slow_message row_SLOW;
typedef struct ana_file_stat row_FILE;
typedef struct ana_job_clock row_CLOCK;
typedef struct ana_carried row_LIBRARY;
typedef struct ana_nccl_stat row_NCCL;
typedef struct ana_nccl_pair row_NCCL_PAIR;
typedef struct ana_kernel_stat row_KERNEL;
typedef struct ana_gpu_rank row_GPU;

/* ---- the types of C as types of values -------------------------------------------------------------------------- */

static struct ana_value of_unsigned(uint64_t x)
{
    return (struct ana_value){.type = ANA_UNSIGNED, .integer = x};
}

static struct ana_value of_signed(int64_t x)
{
    return (struct ana_value){.type = ANA_SIGNED, .number = x};
}

static struct ana_value of_real(double x)
{
    return (struct ana_value){.type = ANA_REAL, .real = x};
}

static struct ana_value of_bool(bool x)
{
    return (struct ana_value){.type = ANA_BOOL, .integer = x};
}

static struct ana_value of_text(const char *x)
{
    return (struct ana_value){.type = x ? ANA_WORDS : ANA_UNKNOWN, .text = x};
}

static struct ana_value of_value(struct ana_value x)
{
    return x;
}

#define VALUE(x)                                                                                                       \
    _Generic((x), uint64_t                                                                                             \
             : of_unsigned, uint32_t                                                                                   \
             : of_unsigned, int64_t                                                                                    \
             : of_signed, int32_t                                                                                      \
             : of_signed, double                                                                                       \
             : of_real, bool                                                                                           \
             : of_bool, const char *                                                                                   \
             : of_text, char *                                                                                         \
             : of_text, struct ana_value                                                                               \
             : of_value)(x)
/* The type of such a value, without computing it. */
#define TYPE(x)                                                                                                        \
    _Generic((x), uint64_t                                                                                             \
             : ANA_UNSIGNED, uint32_t                                                                                  \
             : ANA_UNSIGNED, int64_t                                                                                   \
             : ANA_SIGNED, int32_t                                                                                     \
             : ANA_SIGNED, double                                                                                      \
             : ANA_REAL, bool                                                                                          \
             : ANA_BOOL, const char *                                                                                  \
             : ANA_WORDS, char *                                                                                       \
             : ANA_WORDS, struct ana_value                                                                             \
             : ANA_RANK_INDEX)

/* ---- words of metrics.def --------------------------------------------------------------------------------------- */

#define HELP_OPEN "time of ranks that are still inside the call"
#define HELP_P50  "half of the calls took no longer (within 1/16; past 0.1 s 1/8)"
#define HELP_P99  "99 % of the calls took no longer (within 1/16; past 0.1 s 1/8)"
#define HELP_MAX  "the longest call"
#define HELP_IN_VIEW                                                                                                   \
    "calls, all ranks in view; of a window of time: all that some part of lies in it, in their full length"
#define HELP_LAST                                                                                                      \
    "who came last most often, and in how many of the instances: any rank of the communicator, also one not in view"
#define HELP_SENT     "bytes handed to MPI for others"
#define HELP_RECEIVED "bytes that arrived"
#define HELP_RATE     "bytes a rank moves in a second of its calls that "
#define HELP_ACCESS   "size class, by its smallest size, that is not exceeded by half of the "
#define HELP_BANDWIDTH                                                                                                 \
    "bytes / time from when both ends had begun to the end of the receive: what the network gave, if receivers were "  \
    "quick"
#define HELP_COMM            "communicator: its name, or its number and size"
#define COUNTED              row->stat && row->stat->counted
#define SOME(bytes, unknown) ((bytes) || !(unknown)) /* unknown, not 0, where nothing else is known */

static struct ana_value rank_index(size_t index)
{
    return (struct ana_value){.type = ANA_RANK_INDEX, .integer = index};
}

static struct ana_value world_of(const struct ana_whole *whole, size_t index)
{
    const struct ana_rank *rank = whole->job ? ana_job_rank(whole->job, index) : NULL;
    return rank ? of_unsigned(rank->world) : (struct ana_value){0};
}

static double share_of(int64_t part, int64_t whole)
{
    return whole > 0 && part >= 0 ? (double)part / (double)whole : NAN;
}

/* A time as a share of a GPU's time in the run. */
static double part_of_run(const struct ana_gpu_rank *row, int64_t ns)
{
    return row->wall_ns > 0 ? (double)ns / (double)row->wall_ns : NAN;
}

/* A call's share of the run.  Threads can make it longer than all; start and end of MPI are not in the time of all
 * ranks. */
static double share_of_run(const struct ana_call_stat *row, double wall_ns)
{
    double share = (double)row->time_ns / wall_ns;
    return share > 1.005 || trc_opclass_is(row->opclass, TRC_FACT_EDGE) ? NAN : share;
}

static const char *price_name(enum ana_price_kind kind)
{
    static const char *const names[] = {[ANA_PRICE_SEGMENT] = "segment",       [ANA_PRICE_TRANSFER] = "transfer",
                                        [ANA_PRICE_COLLECTIVE] = "collective", [ANA_PRICE_IO] = "io",
                                        [ANA_PRICE_LIBRARY] = "library",       [ANA_PRICE_DEVICE] = "device",
                                        [ANA_PRICE_PROCESSOR] = "processor"};
    TRC_ASSERT_ROWS(names, ANA_PRICE_PROCESSOR);
    return names[kind];
}

static const char *change_where(enum ana_diff_side side)
{
    static const char *const names[] = {
        [ANA_DIFF_IN_BOTH] = "both", [ANA_DIFF_ONLY_BEFORE] = "before", [ANA_DIFF_ONLY_AFTER] = "after"};
    TRC_ASSERT_ROWS(names, ANA_DIFF_ONLY_AFTER);
    return names[side];
}

/* Returns the share of the waiter's time, as far as it was analysed. */
static double share_of_waiter(const struct ana_wait *wait, const struct ana_summary *s)
{
    for (size_t i = 0; i < s->rank_count; i++)
        if (s->ranks[i].index == wait->waiter)
            return share_of(wait->lost_ns, ana_rank_seen_ns(&s->ranks[i]));
    return NAN;
}

static uint64_t least_of_class(int size_class)
{
    return size_class > 0 ? 1ull << (size_class - 1) : 0;
}

static uint64_t more_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Whether bytes of the call that is made at a place are not known, there or elsewhere. */
static bool unknown_at(const struct ana_site *site, const struct ana_whole *whole)
{
    for (size_t i = 0; whole->unknown_bytes && i < whole->summary->call_count; i++)
        if (whole->summary->calls[i].name == site->call)
            return whole->summary->calls[i].unknown;
    return false;
}

static bool is_inside(const struct ana_rank *rank)
{
    return rank->inside && rank->state != ANA_RANK_DONE;
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

#define METRIC(kind, id, key, title, unit, needs, known, help)                                                         \
    static struct ana_value value_##kind##_##id(const void *of, const struct ana_whole *whole)                         \
    {                                                                                                                  \
        const row_##kind *row = of;                                                                                    \
        (void)whole;                                                                                                   \
        return (needs) ? VALUE(known) : (struct ana_value){0};                                                         \
    }                                                                                                                  \
    static enum ana_value_type type_##kind##_##id(void)                                                                \
    {                                                                                                                  \
        const row_##kind *row = NULL;                                                                                  \
        const struct ana_whole *whole = NULL;                                                                          \
        (void)row, (void)whole;                                                                                        \
        return TYPE(known);                                                                                            \
    }
#include "trace/metric/metrics.def"
#undef METRIC

#define KEY_WORD(ID, key, name, does, whom, where, help) " " key
const struct ana_metric ana_metrics[ANA_METRICS] = {
#define METRIC(kind, id, key, title, unit, needs, known, help)                                                         \
    {ANA_KIND_##kind, key, title, unit, help, value_##kind##_##id, type_##kind##_##id},
#include "trace/metric/metrics.def"
#undef METRIC
};
#undef KEY_WORD

double ana_value_number(struct ana_value v)
{
    switch (v.type) {
    case ANA_UNSIGNED:
        return (double)v.integer;
    case ANA_SIGNED:
        return ana_known(v.number);
    case ANA_REAL:
        return v.real;
    default:
        return NAN;
    }
}

/* Whether bytes are counted when a request of this call completes. */
static bool counts_requests(const char *call)
{
    static const char *const beginnings[] = {"MPI_Irecv", "MPI_Imrecv", "MPI_Isendrecv", "MPI_Start", "MPI_File_iread"};
    bool found = false;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        found |= strncmp(call, beginnings[i], strlen(beginnings[i])) == 0;
    return found;
}

static bool is_at_least(const struct ana_metric *metric, const void *row, const struct ana_whole *whole)
{
    const struct ana_call_stat *call = row;
    const struct ana_site *site = row;
    switch ((enum ana_metric_id)(metric - ana_metrics)) {
    case ANA_METRIC_RANK_RECEIVED:
    case ANA_METRIC_RANK_RECEIVED_RATE:
    case ANA_METRIC_RANK_RECEIVED_NOW:
        return whole->unknown_bytes || ((const struct ana_rank_row *)row)->rank->unknown_requests;
    case ANA_METRIC_RANK_SENT:
    case ANA_METRIC_RANK_SENT_RATE:
    case ANA_METRIC_RANK_SENT_NOW:
        return whole->unknown_bytes;
    case ANA_METRIC_CALL_RECEIVED:
        return call->unknown || (whole->unknown_requests && counts_requests(call->name));
    case ANA_METRIC_CALL_SENT:
        return call->unknown;
    case ANA_METRIC_SITE_RECEIVED:
        return unknown_at(site, whole) || (whole->unknown_requests && counts_requests(site->call));
    case ANA_METRIC_SITE_SENT:
        return unknown_at(site, whole);
    case ANA_METRIC_LIBRARY_SENT:
    case ANA_METRIC_LIBRARY_RECEIVED:
        return ((const struct ana_carried *)row)->unknown;
    default:
        return false;
    }
}

struct ana_value ana_metric_value(const struct ana_metric *metric, const void *row, const struct ana_whole *whole)
{
    struct ana_value value = metric->value(row, whole);
    value.at_least = value.type != ANA_UNKNOWN && is_at_least(metric, row, whole);
    return value;
}

char *ana_value_text(char *out, size_t size, enum ana_unit unit, struct ana_value value, bool utf8)
{
    char text[ANA_TEXT];
    const char *mark = !value.at_least ? "" : utf8 ? "\u2265" : ">=";
    snprintf(out, size, "%s%s", mark, ana_number(text, sizeof text, unit, ana_value_number(value), utf8));
    return out;
}

char *ana_metric_text(char *out, size_t size, const struct ana_metric *metric, const void *row,
                      const struct ana_whole *whole, bool utf8)
{
    return ana_value_text(out, size, (enum ana_unit)metric->unit, ana_metric_value(metric, row, whole), utf8);
}

double ana_metric_number(const struct ana_metric *metric, const void *row, const struct ana_whole *whole)
{
    return ana_value_number(metric->value(row, whole));
}

struct ana_whole ana_whole_of(const struct ana_job *job, const struct ana_summary *s,
                              const struct ana_gpu_summary *look)
{
    struct ana_whole whole = {.job = job, .summary = s, .seconds = (double)(s->end_ns - s->begin_ns) / 1e9};
    for (size_t i = 0; i < s->rank_count; i++) {
        whole.wall_ns += (double)s->ranks[i].wall_ns;
        whole.seen_ns += (double)ana_rank_seen_ns(&s->ranks[i]);
        const struct ana_rank *rank = job ? ana_job_rank(job, s->ranks[i].index) : NULL;
        whole.unknown_requests |= rank && rank->unknown_requests;
    }
    for (size_t i = 0; i < s->call_count; i++)
        whole.unknown_bytes |= s->calls[i].unknown > 0;
    for (size_t i = 0; look && i < look->kernel_count; i++)
        whole.kernel_ns += (double)look->kernels[i].times.total_ns;
    if (!(whole.seconds > 0))
        whole.seconds = NAN;
    if (!(whole.wall_ns > 0))
        whole.wall_ns = NAN;
    if (!(whole.seen_ns > 0))
        whole.seen_ns = NAN;
    return whole;
}
