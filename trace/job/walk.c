#include "trace/job/walk.h"
#include "trace/job/pass_impl.h"
#include <stdlib.h>

#define TELL_EVERY (1u << 16) /* events between two calls of `progress` */

struct walker {
    const struct ana_walk *walk;
    const struct ana_selection *part;
};

static bool overlaps(const struct ana_selection *part, int64_t begin_ns, int64_t end_ns)
{
    return end_ns >= part->begin_ns && begin_ns < part->end_ns;
}

static void pass_message(void *user, const struct ana_message *m)
{
    const struct walker *w = user;
    bool selected = ana_selected(w->part->ranks, m->source) || ana_selected(w->part->ranks, m->destination);
    if (selected && overlaps(w->part, m->send_begin_ns, m->recv_complete_ns))
        w->walk->message(w->walk->user, m);
}

static void pass_instance(void *user, const struct ana_instance *i)
{
    const struct walker *w = user;
    bool selected = !w->part->ranks;
    int64_t end_ns = INT64_MIN;
    for (size_t a = 0; a < i->arrivals; a++) {
        selected |= ana_selected(w->part->ranks, i->arrival[a].index);
        end_ns = i->arrival[a].end_ns > end_ns ? i->arrival[a].end_ns : end_ns;
    }
    if (i->arrivals && selected && overlaps(w->part, i->arrival[0].begin_ns, end_ns))
        w->walk->instance(w->walk->user, i);
}

static void process_event(const struct walker *w, struct ana_match *match, struct ana_event *e)
{
    e->step = e->thread + 1;
    if (!ana_is_device(e))
        ana_match_event(match, e);
    if (w->walk->event && ana_is_sane(e) && ana_selected(w->part->ranks, e->index) &&
        overlaps(w->part, e->begin_ns, e->end_ns))
        w->walk->event(w->walk->user, e);
}

/* False: it was ended. */
static bool process_all(struct ana_job *job, const struct walker *w, struct ana_merge *merge, struct ana_match *match)
{
    struct ana_event *e[ANA_SLICE];
    uint64_t fact = 0;
    size_t n;
    while ((n = ana_merge_next_few(merge, e, ANA_SLICE))) {
        for (size_t i = 0; i < n; i++)
            process_event(w, match, e[i]);
        uint64_t done = ana_merge_count(merge);
        if (!w->walk->progress || done - fact < TELL_EVERY)
            continue;
        fact = done;
        if (!w->walk->progress(w->walk->user, job->analysis.records ? (double)done / (double)job->analysis.records : 0))
            return false;
    }
    return true;
}

bool ana_job_walk(struct ana_job *job, const struct ana_selection *part, const struct ana_walk *walk)
{
    struct walker w = {walk, part};
    ana_clocks_settle(job);
    struct ana_pass pass = {.file = calloc(job->members.count + 1, sizeof *pass.file)};
    struct ana_match *match =
        ana_match_new((struct ana_match_sink){.user = &w,
                                              .on_message = walk->message ? pass_message : NULL,
                                              .on_instance = walk->instance ? pass_instance : NULL});
    for (size_t i = 0; pass.file && i < job->members.count; i++)
        pass.file[i] = job->members.process[i].rank.file;
    if (pass.file && match)
        pass.merge = ana_merge_open(pass.file, job->members.count, job->members.clock);
    bool ok = pass.merge;
    if (ok) {
        ana_pass_live(job, &pass);
        ana_match_ranks(job, match);
        ok = process_all(job, &w, pass.merge, match) && !ana_merge_failed(pass.merge);
    }
    if (ok && !ana_members_alive(&job->members))
        ana_match_flush(match);
    ana_merge_close(pass.merge);
    ana_match_free(match);
    free(pass.file);
    return ok;
}
