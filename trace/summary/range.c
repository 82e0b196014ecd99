/* Summaries of a part of the events: time ranges and filters. */
#include "trace/summary/summary_impl.h"
#include "trace/summary/matched.h"
#include "trace/job/window.h"
#include "trace/util/spans.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- relations --------------------------------------------------------------------------------------------------- */

bool ana_matched_find(const struct ana_job *job, const struct ana_selection *selection, struct ana_matched *out)
{
    const struct ana_analysis *analysis = ana_job_analysis(job);
    const struct ana_map *places = &analysis->pass.why.places;
    struct ana_selection rest = {.call = selection->call, .site = selection->site};
    const uint32_t *comm = selection->comm ? ana_map_find(&analysis->store.comms, selection->comm, 0, 0) : NULL;
    *out = (struct ana_matched){.comm = !selection->comm ? 0
                                        : comm           ? *comm
                                                         : UINT32_MAX}; /* unused one: takes nothing */
    if (!ana_has_filter(&rest))
        return true;
    out->of_place = calloc(places->count + 1, sizeof *out->of_place);
    for (size_t i = 0; out->of_place && i < places->count; i++) {
        const struct ana_why_place *place = ana_map_value(places, i);
        out->of_place[i] = ana_filter_matches(job, &rest, place->index, place->call, 0, place->address);
    }
    return out->of_place != NULL;
}

static void collect_messages(const struct ana_job *job, const struct ana_summary *s, const struct ana_matched *taken,
                             struct ana_tally *t)
{
    const struct ana_store *store = &ana_job_analysis(job)->store;
    const uint8_t *ranks = s->selection.ranks;
    for (size_t i = 0; i < ana_store_count(store->messages, ANA_STORE_MESSAGES); i++) {
        const struct ana_stored_message *m = ana_store_message_at(store, i);
        const struct ana_stored_places *at = ana_store_places_at(store, i);
        if (m->recv_complete_ns >= s->begin_ns && m->recv_complete_ns < s->end_ns &&
            (ana_selected(ranks, m->source) || ana_selected(ranks, m->destination)) &&
            ana_matched_has(taken, at->comm, at->send, at->receive)) {
            bool counts = m->recv_complete_ns >= m->send_begin_ns;
            struct ana_run_transfer moved =
                ana_tally_moved(m, counts ? ana_tally_pair_place(t, m->source, m->destination) : 0);
            t->out_of_memory |= !ana_tally_message(t, &moved);
        }
    }
}

/* Adds a wait to the sum of the waiter's call site. */
static void add_to_site(const struct ana_job *job, const struct ana_stored_wait *w, struct ana_tally *events)
{
    const struct ana_map *sites = &ana_job_analysis(job)->pass.tally.sites;
    const uint64_t *key = w->site - 1 < sites->count ? ana_map_key(sites, w->site - 1) : NULL;
    struct ana_site_sum *sum = key ? ana_map_find(&events->sites, key[0], key[1], key[2]) : NULL;
    if (sum)
        sum->wait_ns = ana_plus(sum->wait_ns, w->end_ns - w->begin_ns);
}

/* Charges the waits in view to their culprits, without the time in which the culprit waited for others. */
static bool charge_waits(const struct ana_job *job, struct ana_summary *s)
{
    const struct ana_store *store = &ana_job_analysis(job)->store;
    const size_t ranks = ana_job_members(job)->count, waits = ana_store_count(store->waits, ANA_STORE_WAITS);
    uint64_t *last = malloc((ranks + 1) * sizeof *last); /* latest wait of each rank that may overlap */
    int64_t *charged = calloc(ranks + 1, sizeof *charged);
    if (last && charged)
        memcpy(last, store->last_wait, ranks * sizeof *last);
    for (size_t i = 0; last && charged && i < waits; i++) {
        const struct ana_stored_wait *w = ana_store_wait_at(store, i), *own;
        const struct ana_span span = {w->begin_ns, w->end_ns}, view = {s->begin_ns, s->end_ns};
        int64_t ns = ana_span_overlap(span, view);
        if (ns <= 0)
            continue;
        while ((own = ana_store_wait_of(store, last[w->culprit])) && own->begin_ns >= w->end_ns)
            last[w->culprit] = own->before;
        for (; own && own->end_ns > w->begin_ns; own = ana_store_wait_of(store, own->before)) {
            const struct ana_span both = {own->begin_ns > span.begin_ns ? own->begin_ns : span.begin_ns,
                                          own->end_ns < span.end_ns ? own->end_ns : span.end_ns};
            ns -= ana_span_overlap(both, view);
        }
        charged[w->culprit] = ana_plus(charged[w->culprit], ns > 0 ? ns : 0);
    }
    const bool ok = last && charged, known = ana_waits_are_known(job, s);
    for (size_t i = 0; ok && i < s->rank_count; i++)
        s->ranks[i].charged_ns = known ? charged[s->ranks[i].index] : -1;
    free(last);
    free(charged);
    return ok;
}

/* Adds the relations in the store that are selected; waits to the sites of `events`, too. */
static bool collect_relations(const struct ana_job *job, const struct ana_summary *s, const struct ana_matched *taken,
                              struct ana_tally *t, struct ana_tally *events)
{
    const struct ana_store *store = &ana_job_analysis(job)->store;
    bool ok = ana_tally_init(t, ana_job_members(job)->count);
    if (ok)
        collect_messages(job, s, taken, t);
    for (size_t i = 0; i < events->sites.count; i++)
        ((struct ana_site_sum *)ana_map_value(&events->sites, i))->wait_ns = 0;
    for (size_t i = 0; ok && i < ana_store_count(store->waits, ANA_STORE_WAITS); i++) {
        struct ana_stored_wait w = *ana_store_wait_at(store, i);
        w.begin_ns = w.begin_ns > s->begin_ns ? w.begin_ns : s->begin_ns;
        w.end_ns = w.end_ns < s->end_ns ? w.end_ns : s->end_ns;
        if (w.end_ns <= w.begin_ns || !ana_matched_has(taken, w.comm, w.place, 0))
            continue;
        ana_tally_wait(t, ana_tally_wait_places(t, &w), w.end_ns - w.begin_ns);
        add_to_site(job, &w, events);
    }
    for (size_t i = ana_store_count(store->instances, ANA_STORE_INSTANCES); ok && i-- > 0;) {
        const struct ana_stored_instance *k = ana_store_instance_at(store, i);
        bool on = !s->selection.comm || k->comm_identity == s->selection.comm;
        if (k->arrivals > 1 && !k->mismatched && k->last_ns >= s->begin_ns && k->last_ns < s->end_ns && on &&
            ana_matched_has(taken, taken->comm, k->place, 0))
            ana_tally_instance(t, k);
    }
    return ok && !t->out_of_memory;
}

/* ---- calls and ranks --------------------------------------------------------------------------------------------- */

/* Adds calls that ranks are still inside: they are no events yet, but their time passes.  Returns how many cells there
 * are now. */
static size_t add_open_calls(struct ana_job *job, const struct ana_summary *s, struct ana_call_cell *cells, size_t n)
{
    for (size_t i = 0; i < s->rank_count; i++) {
        const struct ana_process *p = &ana_job_members(job)->process[s->ranks[i].index];
        const struct trc_sig *sig = p->rank.inside_sig;
        int64_t from = p->open_begin_ns > s->begin_ns ? p->open_begin_ns : s->begin_ns;
        int64_t to = p->run_end_ns < s->end_ns ? p->run_end_ns : s->end_ns;
        if (p->open_category < 0 || !sig || to <= from ||
            !ana_filter_matches_open(job, &s->selection, s->ranks[i].index))
            continue;
        uint32_t call = ana_call_number_of(ana_job_members(job), s->ranks[i].index, sig->call);
        uint16_t size_class = trc_sig_class(sig);
        size_t k = 0;
        while (k < n && (cells[k].call != call || cells[k].size_class != size_class))
            k++;
        if (k == n) {
            cells[n].call = call;
            cells[n++].size_class = size_class;
        }
        cells[k].time_ns = ana_plus(cells[k].time_ns, to - from);
        cells[k].open_ns = ana_plus(cells[k].open_ns, to - from);
    }
    return n;
}

static bool range_calls(struct ana_job *job, struct ana_summary *s, const struct ana_tally *t)
{
    size_t n = t->calls.count, room = n + s->rank_count + 1;
    struct ana_call_cell *cells = calloc(room, sizeof *cells), **list = calloc(room, sizeof *list);
    bool ok = cells && list;
    for (size_t i = 0; ok && i < n; i++) {
        const uint64_t *key = ana_map_key(&t->calls, i);
        const struct ana_call_sum *sum = ana_map_value(&t->calls, i);
        uint64_t count[TRC_BUCKETS];
        for (uint32_t b = 0; b < TRC_BUCKETS; b++)
            count[b] = sum->times.count[b];
        cells[i].call = (uint32_t)key[0];
        cells[i].size_class = (uint16_t)key[1];
        cells[i].sent = sum->sent;
        cells[i].received = sum->received;
        cells[i].passing = sum->passing;
        cells[i].time_ns = sum->time_ns;
        cells[i].times.calls = sum->times.calls;
        cells[i].times.total_ns = sum->times.total_ns;
        cells[i].times.min_ns = (double)sum->times.min_ns;
        cells[i].times.max_ns = (double)sum->times.max_ns;
        ana_times_add_ticks(&cells[i].times, count, 1);
    }
    n = ok ? add_open_calls(job, s, cells, n) : 0;
    for (size_t i = 0; i < n; i++)
        list[i] = &cells[i];
    ok = ok && ana_summary_calls(job, s, list, n);
    free(list);
    free(cells);
    return ok;
}

static void range_ranks(struct ana_job *job, struct ana_summary *s, const struct ana_tally *t)
{
    for (size_t i = 0; i < s->rank_count; i++) {
        struct ana_rank_stat *stat = &s->ranks[i];
        const struct ana_process *p = &ana_job_members(job)->process[stat->index];
        const struct ana_rank_sum *sum = &t->rank[stat->index];
        stat->calls = sum->calls;
        stat->sent = sum->sent;
        stat->received = sum->received;
        stat->sent_messages = sum->sent_messages;
        stat->received_messages = sum->received_messages;
        int64_t most = -1;
        for (size_t k = 0; k < trc_threads(p->rank.file); k++) {
            const struct ana_thread_sum *thread = ana_map_find(&t->threads, stat->index, k, 0);
            int64_t mpi = 0;
            for (int c = 0; thread && c < TRC_CATEGORIES; c++)
                if (c != TRC_CAT_NCCL)
                    mpi = ana_plus(mpi, thread->ns[c]);
            stat->nccl_ns = ana_plus(stat->nccl_ns, thread ? thread->ns[TRC_CAT_NCCL] : 0);
            stat->mpi_sum_ns = ana_plus(stat->mpi_sum_ns, mpi);
            const bool serves = thread && ana_only_serves(k, thread->ns, s->end_ns - s->begin_ns);
            stat->serves |= serves;
            if (serves)
                continue;
            for (int c = 0; thread && mpi > most && c < TRC_CATEGORIES; c++)
                stat->category_ns[c] = thread->ns[c];
            most = mpi > most ? mpi : most;
        }
        ana_summary_rank_time(job, s, stat);
    }
}

bool ana_summary_time_range(struct ana_job *job, struct ana_summary *s)
{
    struct ana_tally relations = {0};
    struct ana_matched taken;
    struct ana_tally *events = &ana_job_range(job)->pass.tally;
    range_ranks(job, s, events);
    bool ok = ana_matched_find(job, &s->selection, &taken) && collect_relations(job, s, &taken, &relations, events) &&
              range_calls(job, s, events) && ana_summary_pairs(s, &events->pairs, &relations) &&
              ana_summary_relations(job, s, &relations, events) && ana_summary_outliers(job, s, &taken) &&
              charge_waits(job, s);
    free(taken.of_place);
    ana_tally_free(&relations);
    return ok;
}
