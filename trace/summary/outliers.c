/* Outliers in a part of a run, from the kept waits and messages. */
#include "trace/summary/summary_impl.h"
#include "trace/summary/outlier.h"
#include "trace/summary/matched.h"
#include "trace/util/numfmt.h"
#include "trace/util/trouble.h"
#include "trace/util/sort.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAITS, MESSAGES }; /* first part of a group's key, beside the rank */

/* Lateness that belongs together. */
struct group {
    struct ana_outlier row;
    uint32_t segment, place; /* numbers of trace/why, + 1 */
};

struct groups {
    struct ana_map of;      /* struct group by (what and rank, segment or place, call or size) */
    struct ana_map waiters; /* key: place of the group, rank that waited because of it */
};

/* Counts that a rank waited `ns` in a group.  False: out of memory. */
static bool add_wait(struct groups *groups, struct group *group, size_t waiter, int64_t ns)
{
    size_t place = (size_t)(group - (struct group *)groups->of.values);
    uint8_t *seen = ana_map_add(&groups->waiters, place, waiter, 0);
    if (seen && !*seen) {
        *seen = 1;
        if (group->row.waiters < sizeof group->row.waiter / sizeof *group->row.waiter)
            group->row.waiter[group->row.waiters] = waiter;
        group->row.waiters++;
    }
    group->row.times++;
    group->row.lost_ns = ana_plus(group->row.lost_ns, ns);
    return seen;
}

static void replace_least(struct ana_outlier *row, int64_t at_ns, int64_t late_ns)
{
    if (late_ns <= row->late_ns)
        return;
    row->at_ns = at_ns;
    row->late_ns = late_ns;
}

/* A wait for a rank that came late to a call.  Late senders are found by their messages. */
static bool add_late_wait(const struct ana_job *job, const struct ana_summary *s, struct groups *groups,
                          const struct ana_stored_wait *w)
{
    int64_t from = w->begin_ns > s->begin_ns ? w->begin_ns : s->begin_ns, to = ana_earlier(w->end_ns, s->end_ns);
    if (to <= from || w->kind == ANA_LATE_SENDER || !ana_selected(s->selection.ranks, w->waiter))
        return true;
    int64_t wait_ns = w->end_ns - w->begin_ns;
    uint32_t segment = (double)w->segment_ns > (double)wait_ns / 2 ? w->segment : 0; /* else it was late before that */
    struct group *group = ana_map_add(&groups->of, (uint64_t)WAITS << 32 | w->culprit, segment, w->call);
    if (!group)
        return false;
    group->row.index = w->culprit;
    group->row.size_class = -1;
    group->row.call = ana_job_members(job)->call[w->call].name;
    group->segment = segment;
    int64_t late_ns = segment ? (int64_t)w->segment_ns : wait_ns;
    replace_least(&group->row, w->end_ns - late_ns, late_ns);
    return add_wait(groups, group, w->waiter, to - from);
}

/* A message that its receiver had waited for before it was sent. */
static bool add_late_message(const struct ana_summary *s, struct groups *groups, const struct ana_stored_message *m,
                             const struct ana_stored_places *at)
{
    int64_t from = m->recv_wait_ns > s->begin_ns ? m->recv_wait_ns : s->begin_ns;
    int64_t to = ana_earlier(ana_earlier(m->send_begin_ns, m->recv_complete_ns), s->end_ns);
    if (m->recv_wait_ns == INT64_MIN || to <= from || !ana_selected(s->selection.ranks, m->destination))
        return true;
    int size_class = trc_size_class(m->bytes);
    struct group *group =
        ana_map_add(&groups->of, (uint64_t)MESSAGES << 32 | m->source, at->send, (uint64_t)size_class);
    if (!group)
        return false;
    group->row.is_message = true;
    group->row.index = m->source;
    group->row.size_class = size_class;
    group->place = at->send;
    replace_least(&group->row, m->recv_wait_ns, m->send_begin_ns - m->recv_wait_ns);
    return add_wait(groups, group, m->destination, to - from);
}

/* Inserts a message if it is among the slowest, which are in order. */
static void insert_slow(struct ana_summary *s, const struct ana_stored_message *m)
{
    bool late = m->recv_wait_ns != INT64_MIN && m->recv_wait_ns < m->send_begin_ns;
    int64_t at_ns = late ? m->recv_wait_ns : m->send_begin_ns, ns = m->recv_complete_ns - at_ns;
    size_t at = s->slow_count;
    for (; at > 0; at--) {
        const struct ana_slow_message *before = &s->slow[at - 1];
        if (before->ns > ns ||
            (before->ns == ns && (before->at_ns < at_ns || (before->at_ns == at_ns && before->source <= m->source))))
            break;
    }
    if (at == ANA_SLOW_MESSAGES)
        return;
    s->slow_count += s->slow_count < ANA_SLOW_MESSAGES;
    memmove(&s->slow[at + 1], &s->slow[at], (s->slow_count - at - 1) * sizeof *s->slow);
    s->slow[at] = (struct ana_slow_message){.source = m->source,
                                            .destination = m->destination,
                                            .bytes = m->bytes,
                                            .at_ns = at_ns,
                                            .ns = ns,
                                            .late_ns = late ? m->send_begin_ns - at_ns : 0};
}

static bool collect(const struct ana_job *job, struct ana_summary *s, const struct ana_matched *taken,
                    struct groups *groups)
{
    const struct ana_store *store = &ana_job_analysis(job)->store;
    bool ok = true;
    for (size_t i = 0; ok && i < ana_store_count(store->waits, ANA_STORE_WAITS); i++) {
        const struct ana_stored_wait *w = ana_store_wait_at(store, i);
        ok = !ana_matched_has(taken, w->comm, w->place, 0) || add_late_wait(job, s, groups, w);
    }
    for (size_t i = 0; ok && i < ana_store_count(store->messages, ANA_STORE_MESSAGES); i++) {
        const struct ana_stored_message *m = ana_store_message_at(store, i);
        const struct ana_stored_places *at = ana_store_places_at(store, i);
        if (!ana_matched_has(taken, at->comm, at->send, at->receive))
            continue;
        ok = add_late_message(s, groups, m, at);
        if (m->recv_complete_ns >= s->begin_ns && m->recv_complete_ns < s->end_ns &&
            m->recv_complete_ns >= m->send_begin_ns &&
            (ana_selected(s->selection.ranks, m->source) || ana_selected(s->selection.ranks, m->destination)))
            insert_slow(s, m);
    }
    return ok;
}

ANA_COMPARE(by_cost, struct ana_outlier, ANA_ORDER(y->lost_ns, x->lost_ns), ANA_ORDER(x->at_ns, y->at_ns))

/* Whether so much was lost that it is worth a line. */
static bool stands_out(const struct ana_summary *s, const struct ana_outlier *row)
{
    double length = (double)(s->end_ns - s->begin_ns), all = length * (double)s->rank_count;
    return (double)row->lost_ns >= OUTLIER_SHARE * all || (double)row->late_ns >= OUTLIER_PART * length;
}

static void name_places(const struct ana_job *job, struct group *group)
{
    const struct ana_why *why = &ana_job_analysis(job)->pass.why;
    const struct ana_segment *segment = group->segment ? ana_segment_at(why, group->segment) : NULL;
    ana_segment_end_of(job, why, segment ? segment->from : group->place, &group->row.from);
    ana_segment_end_of(job, why, segment ? segment->to : group->place, &group->row.to);
}

bool ana_summary_outliers(const struct ana_job *job, struct ana_summary *s, const struct ana_matched *taken)
{
    struct groups groups;
    ana_map_init(&groups.of, sizeof(struct group));
    ana_map_init(&groups.waiters, sizeof(uint8_t));
    s->slow = calloc(ANA_SLOW_MESSAGES, sizeof *s->slow);
    bool ok = s->slow && collect(job, s, taken, &groups);
    s->outliers = ok ? calloc(groups.of.count + 1, sizeof *s->outliers) : NULL;
    for (size_t i = 0; s->outliers && i < groups.of.count; i++) {
        struct group *group = ana_map_value(&groups.of, i);
        if (!stands_out(s, &group->row))
            continue;
        name_places(job, group);
        s->outliers[s->outlier_count++] = group->row;
    }
    if (s->outliers)
        ana_sort(s->outliers, s->outlier_count, sizeof *s->outliers, by_cost);
    if (s->outlier_count > ANA_OUTLIERS)
        s->outlier_count = ANA_OUTLIERS;
    ana_map_free(&groups.of);
    ana_map_free(&groups.waiters);
    return s->outliers != NULL;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

void ana_outlier_words(const struct ana_job *job, const struct ana_outlier *row, char *what, size_t what_size,
                       char *cost, size_t cost_size)
{
    char late[ANA_TEXT], lost[ANA_TEXT], bytes[ANA_TEXT], who[160], where[240];
    size_t shown = sizeof row->waiter / sizeof *row->waiter;
    struct ana_segment_stat segment = {.from = row->from, .to = row->to};
    ana_spoken(late, sizeof late, (double)row->late_ns);
    ana_spoken(lost, sizeof lost, (double)row->lost_ns);
    if (row->is_message) {
        ana_rank_list(job, row->waiter, row->waiters < shown ? row->waiters : shown, who, sizeof who);
        snprintf(what, what_size, "late sender %s, %s to %s%s", late,
                 ana_size_class(bytes, sizeof bytes, row->size_class), who, row->waiters > shown ? " .." : "");
        snprintf(cost, cost_size, "waited %s x%llu  %s", lost, (unsigned long long)row->times, row->from.place);
        return;
    }
    ana_segment_words(&segment, where, sizeof where);
    if (row->from.call)
        snprintf(what, what_size, "%s outside MPI, %s", late, where);
    else
        snprintf(what, what_size, "comes %s late", late);
    if (row->waiters == 1)
        ana_rank_list(job, row->waiter, 1, who, sizeof who);
    else
        snprintf(who, sizeof who, "%zu ranks", row->waiters);
    snprintf(cost, cost_size, "%s waited %s in %s x%llu", who, lost, row->call, (unsigned long long)row->times);
}

void ana_slow_message_words(const struct ana_job *job, const struct ana_slow_message *m, char *out, size_t size)
{
    char bytes[ANA_TEXT], took[ANA_TEXT];
    snprintf(out, size, "%s->%s %s %s", ana_rank_label(job, m->source).text, ana_rank_label(job, m->destination).text,
             ana_number(bytes, sizeof bytes, ANA_BYTES, (double)m->bytes, true),
             ana_spoken(took, sizeof took, (double)m->ns));
}
