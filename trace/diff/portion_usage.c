#include "trace/diff/portion_usage.h"
#include "trace/cause/run_facts.h"
#include "trace/relations/clock.h"
#include "trace/util/grow.h"
#include <math.h>
#include <stdlib.h>

static void next_span(struct ana_portion_usage *u)
{
    do {
        u->has_span = u->cursor && trc_usage_next(u->cursor, &u->item) == TRC_OK;
        if (u->has_span) {
            u->begin_ns = ana_clock_job_time(u->clock, u->index, u->item.begin);
            u->end_ns = ana_clock_job_time(u->clock, u->index, u->item.end);
        }
    } while (u->has_span && u->end_ns <= u->begin_ns);
    u->outside_ns = u->elapsed_ns = 0;
}

bool ana_portion_usage_open(struct ana_portion_usage *u, struct trc_file *file, const struct ana_clock *clock,
                            size_t index)
{
    *u = (struct ana_portion_usage){.clock = clock, .index = index, .at_ns = INT64_MIN};
    u->cursor = trc_usage_open(file);
    next_span(u);
    return u->cursor;
}

void ana_portion_usage_close(struct ana_portion_usage *u)
{
    trc_usage_close(u->cursor);
    free(u->piece);
    u->cursor = NULL;
    u->piece = NULL;
}

/* Emits the pieces with the shares of the last complete span. */
static bool emit_pieces(struct ana_portion_usage *u, ana_usage_emit *emit, void *data)
{
    bool ok = true;
    for (size_t i = 0; ok && i < u->pieces && u->covered_ns > 0; i++) {
        const struct ana_usage_piece *p = &u->piece[i];
        ok = emit(data, u->index, ANA_PORTION_CPU, p->iteration, u->all_ns * p->elapsed_ns) &&
             emit(data, u->index, ANA_PORTION_CPU_MOST, p->iteration, u->most_ns * p->outside_ns) &&
             emit(data, u->index, ANA_PORTION_CPU_LEAST, p->iteration, u->all_ns * p->outside_ns);
    }
    u->pieces = 0;
    return ok;
}

/* Ends the span under way. */
static bool end_span(struct ana_portion_usage *u, ana_usage_emit *emit, void *data)
{
    const double length = (double)(u->end_ns - u->begin_ns);
    double cpu_ns = 0, queued_ns = 0;
    for (size_t i = 0; i < u->item.n; i++) {
        const struct trc_usage *entry = &u->item.entry[i];
        if (entry->whose != TRC_USAGE_THREAD + ANA_MAIN_THREAD)
            continue;
        cpu_ns = entry->fields >> TRC_USAGE_CPU & 1 ? 1e3 * (double)entry->value[TRC_USAGE_CPU] : 0;
        queued_ns = entry->fields >> TRC_USAGE_QUEUED & 1 ? 1e3 * (double)entry->value[TRC_USAGE_QUEUED] : 0;
    }
    const double seen_ns = cpu_ns * fmin(u->elapsed_ns / length, 1);
    u->all_ns = fmin(cpu_ns / length, 1);
    u->most_ns = u->outside_ns > 0 ? fmin(seen_ns / u->outside_ns, 1) : u->all_ns;
    u->covered_ns += length;
    u->cpu_ns += cpu_ns;
    u->queued_ns += queued_ns;
    bool ok = emit_pieces(u, emit, data);
    next_span(u);
    return ok;
}

static bool add_piece(struct ana_portion_usage *u, int64_t until_ns, bool outside, uint64_t iteration)
{
    const int64_t from_ns = u->at_ns;
    if (until_ns <= from_ns)
        return true;
    u->at_ns = until_ns;
    if (u->has_span && until_ns > u->begin_ns) {
        const double in_span = (double)(until_ns - (from_ns > u->begin_ns ? from_ns : u->begin_ns));
        u->elapsed_ns += in_span;
        u->outside_ns += outside ? in_span : 0;
    }
    if (!u->pieces || u->piece[u->pieces - 1].iteration != iteration) {
        if (!ana_grow(&u->piece, u->pieces, &u->room, sizeof *u->piece))
            return false;
        u->piece[u->pieces++] = (struct ana_usage_piece){.iteration = iteration};
    }
    struct ana_usage_piece *piece = &u->piece[u->pieces - 1];
    piece->elapsed_ns += (double)(until_ns - from_ns);
    piece->outside_ns += outside ? (double)(until_ns - from_ns) : 0;
    return true;
}

bool ana_portion_usage_add(struct ana_portion_usage *u, int64_t until_ns, bool outside, uint64_t iteration,
                           ana_usage_emit *emit, void *data)
{
    if (u->at_ns == INT64_MIN) {
        u->at_ns = until_ns;
        while (u->has_span && u->end_ns <= until_ns)
            next_span(u);
        return true;
    }
    while (u->has_span && u->end_ns <= until_ns)
        if (!add_piece(u, u->end_ns, outside, iteration) || !end_span(u, emit, data))
            return false;
    return add_piece(u, until_ns, outside, iteration);
}

bool ana_portion_usage_end(struct ana_portion_usage *u, ana_usage_emit *emit, void *data)
{
    return emit_pieces(u, emit, data);
}
