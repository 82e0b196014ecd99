/* Joins the kernel's counts (trace/format/format_usage.h) to segments.
 *
 * Between two heartbeats, in a *span*, a thread was in some segments and calls; the thread's counts there are shared
 * out by time; page faults and bytes to segments only.  So a segment that fills whole spans has just its own counts,
 * and a short one its part of the counts of the spans that it lies in; `outside_ns` tells which share of the spans was
 * outside calls.  The time of a segment that lies in no span is not covered.
 *
 * Memory is bounded: a few spans for each thread, added up during a long call; nothing where nothing was counted. */
#pragma once

#include "trace/account/account.h"
#include "trace/format/format_usage.h"
#include "trace/format/opclass.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ana_clock;
struct ana_event;
struct ana_why;
struct trc_file;

/* Counts for a segment of one rank: by enum trc_usage_field, and the processor time of the whole process. */
enum { ANA_USAGE_ALL_CPU = TRC_USAGE_FIELDS, ANA_USAGE_NUMBERS };
struct ana_usage_sums {
    double covered_ns; /* part of the segment's time with counts */
    double outside_ns; /* part of covered_ns: weighed by each span's share in which the thread was in no call */
    double value[ANA_USAGE_NUMBERS]; /* counts of the thread; bytes: of its process */
};
struct ana_segment_usage {
    struct ana_usage_sums all;
    struct ana_usage_sums pure;    /* part in spans with hardly any call: as long segments have them */
    struct ana_usage_sums longest; /* counts of the longest of its times that filled a whole span */
    int64_t longest_ns;            /* 0: none did */
};

/* One time of a segment that filled a whole span. */
struct ana_usage_once {
    uint32_t segment; /* number, + 1; 0: none */
    int64_t end_ns, ns;
    struct ana_usage_sums sums;
};
/* The longest time in which no thread of a process ran or was ready to: stopped by a signal, or frozen. */
struct ana_still {
    int64_t begin_ns, ns; /* job time; 0: there was none of a second */
};
#define ANA_USAGE_ONCES 16u /* the longest of a rank that are kept */

/* The usage of one rank; NULL: it has none. */
struct ana_usage_rank;
/* Frees it; NULL is none. */
void ana_usage_free(struct ana_usage_rank *rank);

/* Sets where usage is read: `files` by rank index, which must outlive `why` as `clock` must.  Without it there is none.
 */
void ana_why_read_usage(struct ana_why *why, struct trc_file *const *files, const struct ana_clock *clock);
/* Adds new records, after the files were refreshed. */
void ana_why_usage_refresh(struct ana_why *why);
/* Reads the items that end until `ns`, in job time: no more events come that ended before. */
void ana_usage_until(struct ana_why *why, int64_t ns);
/* Returns the processor time of a rank's main thread, with the items read since its last event; it is inside a call of
 * class `opclass` from `inside_ns` on (INT64_MAX: in none). */
struct ana_account_usage ana_usage_account(const struct ana_why *why, size_t index, enum trc_opclass opclass,
                                           int64_t inside_ns);
/* Adds that time for good; no more events come. */
void ana_usage_close(struct ana_why *why, size_t index, enum trc_opclass opclass, int64_t inside_ns);
/* Returns the counts of a rank's segment time that ended then; NULL: not known, or not kept. */
const struct ana_usage_once *ana_why_once(const struct ana_why *why, size_t index, int64_t end_ns);
/* Returns the counts for the node of a rank so far, by enum trc_usage_field; NULL: none. */
const double *ana_why_node_usage(const struct ana_why *why, size_t index);

struct ana_archive;
/* Saves the counts of a rank, or loads them. */
void ana_usage_archive(struct ana_archive *archive, struct ana_why *why, size_t index);

/* The slow paths of ana_why_event. */
/* Notes that a segment (its number + 1) of the thread takes time in the span that is under way; before it is added. */
void ana_usage_touch(struct ana_why *why, size_t index, uint32_t thread, uint32_t segment);
/* Shares out the spans that end within an event, or within the segment (0: none) before it, which took `ns`. */
void ana_usage_settle(struct ana_why *why, const struct ana_event *event, uint32_t segment, int64_t ns);
