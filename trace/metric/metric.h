/* Table of all metrics of a call, rank, site, collective ...: columns of screens, columns of the report, keys of
 * JSON and help texts name its rows.  A new metric is one row of metrics.def. */
#pragma once

#include "trace/diff/diff.h"
#include "trace/gpu/device.h"
#include "trace/summary/files.h"
#include "trace/summary/paths.h"
#include "trace/summary/outlier.h"
#include "trace/util/numfmt.h"

enum { ANA_UNIT_TEXT = -1 }; /* beside enum ana_unit */

/* Kinds of rows of a table, and the screens that show it.  Each has a list in JSON. */
enum ana_metric_kind {
    ANA_KIND_CALL,       /* struct ana_call_stat: Overview */
    ANA_KIND_RANK,       /* struct ana_rank_row: Ranks, Imbalance */
    ANA_KIND_SITE,       /* struct ana_site: Calls, whose rows are places that call */
    ANA_KIND_SEGMENT,    /* struct ana_segment_stat: Segments */
    ANA_KIND_REGION,     /* struct ana_region_stat */
    ANA_KIND_PATH,       /* struct ana_path_node: Call paths */
    ANA_KIND_PRICE,      /* struct ana_price: Why */
    ANA_KIND_CHANGE,     /* struct ana_diff_finding: hpctop diff */
    ANA_KIND_COLLECTIVE, /* struct ana_collective */
    ANA_KIND_PAIR,       /* struct ana_pair */
    ANA_KIND_SIZE,       /* struct ana_size_stat: Latency */
    ANA_KIND_WAIT,       /* struct ana_wait */
    ANA_KIND_OUTLIER,    /* struct ana_outlier: Timeline */
    ANA_KIND_SLOW,       /* struct ana_slow_message */
    ANA_KIND_FILE,       /* struct ana_file_stat: Files */
    ANA_KIND_CLOCK,      /* struct ana_job_clock */
    ANA_KIND_LIBRARY,    /* struct ana_carried */
    ANA_KIND_NCCL,       /* struct ana_nccl_stat */
    ANA_KIND_NCCL_PAIR,  /* struct ana_nccl_pair */
    ANA_KIND_KERNEL,     /* struct ana_kernel_stat */
    ANA_KIND_GPU         /* struct ana_gpu_rank */
};

enum ana_metric_id {
#define METRIC(kind, id, key, title, unit, needs, value, help) ANA_METRIC_##kind##_##id,
#include "trace/metric/metrics.def"
#undef METRIC
    ANA_METRICS
};

/* A rank now, and what a selection says of it; `stat` is NULL where that is nothing. */
struct ana_rank_row {
    const struct ana_rank *rank;
    const struct ana_rank_stat *stat;
};

/* Totals that rows are compared with: NAN unknown. */
struct ana_whole {
    const struct ana_job *job; /* NULL: metrics that name a rank's world are unknown */
    const struct ana_summary *summary;
    double seconds;          /* length of the selection */
    double wall_ns, seen_ns; /* time of all ranks, and its part that was analysed: waiting is a share of this */
    double kernel_ns;        /* time of all kernels together */
    bool unknown_requests;   /* some rank in view did not follow all of its requests */
    bool unknown_bytes;      /* some calls' bytes are not known */
};
/* `look` may be NULL. */
struct ana_whole ana_whole_of(const struct ana_job *job, const struct ana_summary *summary,
                              const struct ana_gpu_summary *look);

enum ana_value_type { ANA_UNKNOWN, ANA_UNSIGNED, ANA_SIGNED, ANA_REAL, ANA_BOOL, ANA_WORDS, ANA_RANK_INDEX };
struct ana_value {
    enum ana_value_type type;
    union {
        uint64_t integer; /* a rank index, too */
        int64_t number;
        double real;
        const char *text;
    };
    bool at_least; /* a lower bound: requests that were not followed, or calls whose bytes are not known */
};

struct ana_metric {
    enum ana_metric_kind kind;
    const char *key; /* key in JSON; NULL: not there */
    const char *title;
    int unit;         /* enum ana_unit or ANA_UNIT_TEXT */
    const char *help; /* meaning, with its formula */
    struct ana_value (*value)(const void *row, const struct ana_whole *whole);
    enum ana_value_type (*type)(void); /* type of its known values */
};
extern const struct ana_metric ana_metrics[ANA_METRICS];

/* Returns the value as a number in its metric's unit; NAN for text and unknown values. */
double ana_value_number(struct ana_value value);
/* The metric's value of a row, marked if it is a lower bound. */
struct ana_value ana_metric_value(const struct ana_metric *metric, const void *row, const struct ana_whole *whole);
/* Writes a value's text, as ana_number, with its mark in front if it is a lower bound: "≥", without UTF-8 ">=". */
char *ana_value_text(char *out, size_t size, enum ana_unit unit, struct ana_value value, bool utf8);
/* Writes the text of the metric's value of a row, as ana_value_text. */
char *ana_metric_text(char *out, size_t size, const struct ana_metric *metric, const void *row,
                      const struct ana_whole *whole, bool utf8);
/* Text of ana_metric_text as an expression, in memory of the enclosing block. */
#define ANA_METRIC_TEXT(metric, row, whole, utf8)                                                                      \
    ana_metric_text((char[ANA_TEXT]){""}, ANA_TEXT, metric, row, whole, utf8)
/* The metric's value of a row as such a number. */
double ana_metric_number(const struct ana_metric *metric, const void *row, const struct ana_whole *whole);
