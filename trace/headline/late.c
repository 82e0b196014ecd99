/* Finds late ranks: ranks that the others wait for, again and again, by a summary of the whole run (trouble.h has
 * the thresholds and why). A rank that turns slow after hours is lost in such sums: for a running job, the last
 * minute is summed up, too. */
#include "trace/job/upper.h"
#include "trace/members/members.h"
#include "trace/util/now.h"
#include "trace/util/trouble.h"
#include "trace/headline/headline_impl.h"
#include <stdio.h>
#include <string.h>

#define LATELY_NS  INT64_C(60000000000)
#define NEARLY     0.95      /* share of the run that is read: the rest is read at once */
#define TIMES_RUN  3         /* the run is that many times as long, or its sums tell enough */
#define EVENTS     4000000.0 /* read at most, in a fraction of a second */
#define LOOK_EACH  50        /* times as long as a look took, at least, until the next */
#define LOOK_LEAST INT64_C(10000000000)

static double seen_ns(const struct ana_summary *s)
{
    double longest = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        longest = (double)s->ranks[i].seen_ns > longest ? (double)s->ranks[i].seen_ns : longest;
    return longest;
}

static bool is_trouble(const struct ana_job *job, const struct ana_late *late, const struct ana_summary *s)
{
    const size_t ranks = ana_job_members(job)->count;
    bool costs =
        late->share >= SLOW_SHARE && seen_ns(s) >= SLOW_RUN_NS && late->lost_ns >= SLOW_LOST_NS * (double)ranks;
    bool repeats = late->times >= SLOW_TIMES * (double)(ranks - 1) && late->lost_ns >= SLOW_EACH_NS * late->waits;
    bool noise = late->times < SLOW_ALIKE * late->waits && late->lost_ns < SLOW_SLICE_NS * late->times;
    return costs && repeats && !noise && late->lost_ns >= SLOW_AHEAD * late->next_ns && !ana_is_crowded(job, s);
}

/* Start of the last minute; later where so much happens that reading it would take long. */
static int64_t begin_lately(const struct ana_job *job, int64_t run_ns)
{
    const struct ana_members *members = ana_job_members(job);
    double events = 0;
    for (size_t i = 0; i < members->count; i++)
        events += (double)members->process[i].rank.calls;
    double most = events > 0 ? EVENTS / events * (double)run_ns : (double)LATELY_NS;
    return members->end_ns - (most < (double)LATELY_NS ? (int64_t)most : LATELY_NS);
}

/* Looks for a rank that is late now, though not over the whole run. */
static void look_back(struct ana_job *job, double analysed, struct ana_straggler *now,
                      const struct ana_straggler *known)
{
    const struct ana_members *members = ana_job_members(job);
    int64_t run_ns = members->end_ns, at = ana_now_ns();
    if (now->found || analysed < NEARLY || members->count < 2 || run_ns / TIMES_RUN < LATELY_NS ||
        !ana_members_alive(members))
        return;
    if (known->known && known->generation == members->generation && at < known->next_look_ns) {
        if (known->lately)
            *now = *known;
        now->next_look_ns = known->next_look_ns;
        return;
    }
    struct ana_selection lately = {.begin_ns = begin_lately(job, run_ns), .end_ns = INT64_MAX};
    struct ana_summary s;
    if (ana_summarize(job, lately, &s) != TRC_OK)
        return;
    ana_summary_free(&s);
    ana_job_advance(job, 0); /* reads the selected range */
    if (ana_summarize(job, lately, &s) != TRC_OK)
        return;
    now->found = now->lately =
        ana_late_rank(job, &s, &now->late, now->summary, sizeof now->summary) && is_trouble(job, &now->late, &s);
    ana_summary_free(&s);
    int64_t took_ns = ana_now_ns() - at, pause_ns = LOOK_EACH * took_ns;
    now->next_look_ns = at + (pause_ns > LOOK_LEAST ? pause_ns : LOOK_LEAST);
}

/* Writes the saving if the late ranks were as fast as the others there; "": little, or not known. */
static void write_saving(const struct ana_job *job, const struct ana_summary *s, const struct ana_price *price,
                         char *out, size_t size)
{
    char words[400], saving[120];
    if (!price || (double)price->saves_ns < NOTABLE_SHARE * (double)s->path_ns)
        return;
    ana_price_words(job, price, words, sizeof words);
    ana_price_saving(s, price, saving, sizeof saving);
    snprintf(out, size, "%s: %s", words, saving);
}

static void look_for_straggler(struct ana_job *job, const struct ana_summary *summary)
{
    struct ana_members *members = ana_job_members(job);
    struct ana_straggler *known = ana_job_straggler(job), now = {.known = true, .generation = members->generation};
    now.found = members->count >= 2 && ana_late_rank(job, summary, &now.late, now.summary, sizeof now.summary) &&
                is_trouble(job, &now.late, summary);
    look_back(job, summary->analysed, &now, known);
    if (now.found && !now.lately)
        write_saving(job, summary, now.late.price, now.saving, sizeof now.saving);
    now.late.price = NULL; /* it lives as long as the summary */
    bool same =
        now.late.ranks == known->late.ranks && memcmp(now.late.rank, known->late.rank, sizeof now.late.rank) == 0;
    if (!known->known || now.found != known->found || now.generation != known->generation || (now.found && !same) ||
        strcmp(now.summary, known->summary) != 0)
        members->revision++;
    *known = now;
}

void ana_headline_enter(struct ana_upper *upper)
{
    upper->summarized = look_for_straggler;
}
