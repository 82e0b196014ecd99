/* Processor time, shared out between the time outside and inside calls.
 *
 * The kernel counts how long a thread ran and how long it was ready to run without a processor, from heartbeat to
 * heartbeat.  For the rest of such a span it slept.  A span is rarely all outside or all inside calls, so:
 *   asleep    outside calls, in calls that sleep (I/O, MPI_Init), and in others as far as calls that filled whole spans
 *             were asleep: most MPI libraries poll
 *   queued    the rest: calls of MPI yield the processor where there are more ranks than processors, so a rank is
 *             queued in them rather than outside, and spans with more time in calls have less processor time
 * Pure arithmetic; any thread. */
#pragma once

#include <stdbool.h>

/* Time of a thread on a processor or ready to run: sums over the spans, in ns, and of products of two such times, in
 * ns^2. */
struct ana_account_fit {
    double outside, inside, cpu; /* outside calls; inside; part of both: on a processor */
    double least, most;          /* bounds of the processor time outside calls, by the length of the calls */
    double outside_outside, outside_inside, inside_inside, outside_cpu, inside_cpu, cpu_cpu;
    double spans;
};

/* Sums over the spans of a rank's main thread, in ns. */
struct ana_account_usage {
    double outside_ns, inside_ns;           /* time that was counted */
    double off_cpu_ns;                      /* part of outside_ns: asleep */
    double queued_outside_ns, queued_in_ns; /* ready to run without a processor */
    double whole_ns, whole_asleep_ns;       /* spans that one call filled; part of it: asleep */
    struct ana_account_fit fit;
};

/* One span: its length and what the kernel counted in it; all in ns. */
struct ana_account_span {
    double length_ns, cpu_ns, queued_ns;
    double polling_ns, sleeping_ns; /* inside calls that poll, inside calls that sleep */
    bool is_whole;                  /* one call that polls filled it */
};

/* Adds a span. */
void ana_account_usage_add(struct ana_account_usage *to, const struct ana_account_span *span);
