#include "trace/account/usage.h"
#include <math.h>

#define RIDGE  0.01 /* weight of equal rates, outside and inside calls, against the spans' own */
#define SPREAD 0.5  /* usual difference of both rates */

static double within(double x, double least, double most)
{
    return fmin(fmax(x, least), most);
}

/* Returns the time on a processor outside calls, in ns: least squares over the spans find how much of the time outside
 * and inside calls is on a processor.  Both rates are taken as equal as far as spans do not tell them apart: where the
 * two times vary together, or little beside what else processor time varies by.  The rate outside is not the lower one:
 * calls may yield the processor, computing does not. */
static double processor_outside(const struct ana_account_fit *f)
{
    const double ready = f->outside + f->inside, rate = ready > 0 ? f->cpu / ready : 0;
    const double both = f->outside_outside + 2 * f->outside_inside + f->inside_inside;
    const double rest = f->cpu_cpu - 2 * rate * (f->outside_cpu + f->inside_cpu) + rate * rate * both;
    const double noise = f->spans > 0 ? fmax(rest, 0) / f->spans / (SPREAD * SPREAD) : 0;
    const double more_outside = f->outside_cpu - rate * (f->outside_outside + f->outside_inside),
                 more_inside = f->inside_cpu - rate * (f->outside_inside + f->inside_inside),
                 oo = f->outside_outside * (1 + RIDGE) + noise, ii = f->inside_inside * (1 + RIDGE) + noise,
                 oi = f->outside_inside, det = oo * ii - oi * oi;
    const double outside = det > 0 ? (ii * more_outside - oi * more_inside) / det : 0,
                 inside = det > 0 ? (oo * more_inside - oi * more_outside) / det : 0;
    const double higher = outside > inside ? outside : 0, lower = outside > inside ? inside : 0;
    const double on_outside = within(rate + higher, 0, 1) * f->outside,
                 on_inside = within(rate + lower, 0, 1) * f->inside;
    const double on = on_outside + on_inside;
    return within(on > 0 ? f->cpu * on_outside / on : 0, f->least, f->most);
}

void ana_account_usage_add(struct ana_account_usage *to, const struct ana_account_span *span)
{
    const double length = span->length_ns, in_calls = fmin(span->polling_ns + span->sleeping_ns, length);
    const double queued = fmin(span->queued_ns, length), asleep = fmax(length - span->cpu_ns - queued, 0);
    struct ana_account_fit *fit = &to->fit;
    if (!(length > 0))
        return;
    if (span->is_whole) {
        to->whole_ns += length;
        to->whole_asleep_ns += asleep;
    }
    /* No call has filled a span: whether calls sleep is not known. */
    const double sleeps = to->whole_ns > 0 ? to->whole_asleep_ns / to->whole_ns : 1;
    const double weight = length - in_calls + span->sleeping_ns + span->polling_ns * sleeps;
    const double off_cpu = weight > 0 ? fmin(length - in_calls, asleep * (length - in_calls) / weight) : 0;
    const double outside = length - in_calls - off_cpu, inside = fmax(in_calls - (asleep - off_cpu), 0);
    const double cpu = fmin(span->cpu_ns, outside + inside);
    to->outside_ns += length - in_calls;
    to->inside_ns += in_calls;
    to->off_cpu_ns += off_cpu;
    fit->outside += outside;
    fit->inside += inside;
    fit->cpu += cpu;
    fit->least += fmax(cpu - inside, 0);
    fit->most += fmin(cpu, outside);
    fit->outside_outside += outside * outside;
    fit->outside_inside += outside * inside;
    fit->inside_inside += inside * inside;
    fit->outside_cpu += outside * cpu;
    fit->inside_cpu += inside * cpu;
    fit->cpu_cpu += cpu * cpu;
    fit->spans++;
    const double on = processor_outside(fit);
    to->queued_outside_ns = fit->outside - on;
    to->queued_in_ns = fmax(fit->inside - (fit->cpu - on), 0);
}
