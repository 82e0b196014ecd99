#include "trace/account/usage.h"
#include <math.h>

void ana_account_usage_add(struct ana_account_usage *to, const struct ana_account_span *span)
{
    const double length = span->length_ns, inside = fmin(span->polling_ns + span->sleeping_ns, length);
    const double outside = length - inside, queued = fmin(span->queued_ns, length);
    const double asleep = fmax(length - span->cpu_ns - queued, 0);
    if (!(length > 0))
        return;
    if (span->is_whole) {
        to->whole_ns += length;
        to->whole_asleep_ns += asleep;
    }
    /* No call has filled a span: whether calls sleep is not known. */
    const double sleeps = to->whole_ns > 0 ? to->whole_asleep_ns / to->whole_ns : 1;
    const double weight = outside + span->sleeping_ns + span->polling_ns * sleeps;
    const double off_cpu = weight > 0 ? fmin(outside, asleep * outside / weight) : 0;
    const double ready_outside = outside - off_cpu, ready_inside = fmax(inside - (asleep - off_cpu), 0);
    const double ready = ready_outside + ready_inside;
    to->outside_ns += outside;
    to->inside_ns += inside;
    to->off_cpu_ns += off_cpu;
    if (ready > 0) {
        to->queued_outside_ns += fmin(queued * ready_outside / ready, ready_outside);
        to->queued_in_ns += fmin(queued * ready_inside / ready, ready_inside);
    }
}
