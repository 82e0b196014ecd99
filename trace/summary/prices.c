/* Summaries of the critical path, and of the savings if the things on it were mended. */
#include "trace/job/upper.h"
#include "trace/summary/summary_impl.h"
#include "trace/summary/prices.h"
#include "trace/summary/files.h"
#include "trace/job/window.h"
#include "trace/util/numfmt.h"
#include "trace/cause/path.h"
#include "trace/cause/replay.h"
#include "trace/util/sort.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns each rank's state at the end of the path; NULL: out of memory. */
static struct ana_path_end *find_ends(const struct ana_job *job)
{
    const struct ana_members *members = ana_job_members(job);
    struct ana_path_end *end = calloc(members->count + 1, sizeof *end);
    for (size_t i = 0; end && i < members->count; i++) {
        const struct ana_rank *rank = ana_job_rank(job, i);
        bool later = ana_job_analysis(job)->window.end_ns < rank->end_ns; /* present call lies outside the window */
        bool inside = rank->inside && rank->state != ANA_RANK_DONE && !later;
        end[i].over = rank->state == ANA_RANK_DONE || later;
        end[i].inside_ns = inside ? ana_plus(rank->end_ns, -rank->inside_ns) : INT64_MIN;
    }
    return end;
}

/* Adds the ranks of a scenario's segments to a price, which has room for all, and their part of the path. */
static void add_ranks(const struct ana_pass *pass, uint32_t scenario, const struct ana_path_sums *sums,
                      struct ana_price *price)
{
    const struct ana_why *why = &pass->why;
    uint32_t from = 0, to = 0, region = 0;
    size_t having = 0;
    int64_t waited_ns = 0;
    for (size_t i = 0; i < why->segments.count; i++) {
        const struct ana_segment *segment = ana_segment_at(why, (uint32_t)i + 1);
        having += segment->segment_kind == why->causes->replay->scenario[scenario].what;
        if (ana_scenario_of(why->causes->replay, (uint32_t)i + 1) != scenario)
            continue;
        const struct ana_cost cost = ana_why_cost(why, (uint32_t)i + 1);
        waited_ns = ana_plus(waited_ns, cost.longest_ns);
        price->path_ns = ana_plus(price->path_ns, sums->segment[i]);
        size_t at = price->ranks++;
        for (; at > 0 && price->rank[at - 1] > segment->index; at--)
            price->rank[at] = price->rank[at - 1];
        price->rank[at] = segment->index;
        from = segment->from;
        to = segment->to;
        region = segment->region;
    }
    snprintf(price->region, sizeof price->region, "%s", ana_regions_name(&pass->regions, region));
    price->alike = having > 1 && price->ranks == having;
    price->at_most = why->causes->replay->scenario[scenario].usual_ns == 0;
    price->siblings = why->causes->replay->scenario[scenario].siblings;
    if (price->alike) /* equal times of all are their work, unless others wait for it */
        price->saves_ns = ana_earlier(price->saves_ns, waited_ns);
    price->from_place = from;
    price->to_place = to;
}

static enum ana_price_kind kind_of(enum trc_opclass opclass)
{
    switch (ana_account_of_call(opclass)) {
    case ANA_ACCOUNT_IO:
        return ANA_PRICE_IO;
    case ANA_ACCOUNT_LIBRARY:
        return ANA_PRICE_LIBRARY;
    default:
        return trc_opclass_category(opclass) == TRC_CAT_COLLECTIVE ? ANA_PRICE_COLLECTIVE : ANA_PRICE_TRANSFER;
    }
}

static bool price_of(const struct ana_job *job, const struct ana_pass *pass, uint32_t scenario,
                     const struct ana_path_sums *sums, struct ana_price *price)
{
    const struct ana_why *why = &pass->why;
    uint32_t what = why->causes->replay->scenario[scenario].what;
    if (!what)
        return false;
    if (scenario < ANA_SCENARIO_CALLS) {
        add_ranks(pass, scenario, sums, price);
        price->identity = ana_segment_identity(job, why, price->from_place, price->to_place, price->region);
    } else {
        const struct ana_why_place *place = ana_map_value(&why->places, what - 1);
        price->kind = kind_of(ana_job_members(job)->call[place->call].opclass);
        price->at_most = true;
        price->path_ns = sums->place[what - 1];
        price->from_place = price->to_place = what;
    }
    ana_segment_end_of(job, why, price->from_place, &price->from);
    ana_segment_end_of(job, why, price->to_place, &price->to);
    return price->from.call && price->to.call;
}

void ana_price_words(const struct ana_job *job, const struct ana_price *price, char *out, size_t size)
{
    char where[240], who[160] = "all ranks", before[160];
    if (price->kind == ANA_PRICE_DEVICE) {
        snprintf(out, size, "NCCL's kernels on rank %s while no other runs", ana_rank_label(job, price->rank[0]).text);
        return;
    }
    if (price->kind == ANA_PRICE_PROCESSOR) {
        snprintf(out, size, "a processor for each rank");
        return;
    }
    if (price->kind != ANA_PRICE_SEGMENT) {
        snprintf(out, size, "%s at %s%s%s", price->to.call, price->to.place, price->file ? ", file " : "",
                 price->file ? price->file : "");
        return;
    }
    struct ana_segment_stat segment = {.from = price->from, .to = price->to};
    memcpy(segment.region, price->region, sizeof segment.region);
    ana_segment_words(&segment, where, sizeof where);
    if (price->ranks < ana_job_members(job)->count)
        ana_rank_list(job, price->rank, price->ranks, who, sizeof who);
    ana_rank_list(job, price->after, price->afters, before, sizeof before);
    snprintf(out, size, "%s, %s%s%s", who, where, before[0] ? ", after " : "", before);
}

void ana_price_saving(const struct ana_summary *s, const struct ana_price *price, char *out, size_t size)
{
    char saves[ANA_TEXT], of[ANA_TEXT], share[ANA_TEXT];
    const char *if_so = price->kind == ANA_PRICE_DEVICE      ? "hidden behind others they would save at most"
                        : price->kind == ANA_PRICE_PROCESSOR ? "saves about"
                        : price->at_most                     ? "taking no time would save at most"
                        : price->siblings                    ? "as fast as other work after the same call saves"
                        : price->alike                       ? "never longer than usual saves"
                                                             : "as fast as the others saves";
    snprintf(out, size, "%s %s of %s (%s)", if_so, ana_spoken(saves, sizeof saves, (double)price->saves_ns),
             ana_spoken(of, sizeof of, (double)s->path_ns),
             ana_number(share, sizeof share, ANA_SHARE, (double)price->saves_ns / (double)s->path_ns, false));
}

static bool is_price_of(const struct ana_price *price, const struct ana_segment_stat *segment, size_t rank_index)
{
    if (segment->inside && segment->ranks == 1) /* else it is the price of others' calls, too */
        return (price->kind == ANA_PRICE_IO || price->kind == ANA_PRICE_LIBRARY) &&
               strcmp(price->to.call, segment->to.call) == 0 && strcmp(price->to.place, segment->to.place) == 0;
    if (price->kind != ANA_PRICE_SEGMENT || price->alike || price->afters || price->identity != segment->identity)
        return false;
    for (size_t r = 0; r < price->ranks; r++)
        if (price->rank[r] == rank_index)
            return true;
    return false;
}

const struct ana_price *ana_price_of(const struct ana_summary *s, const struct ana_segment_stat *segment,
                                     size_t rank_index)
{
    for (size_t i = 0; i < s->price_count; i++)
        if (is_price_of(&s->prices[i], segment, rank_index))
            return &s->prices[i];
    return NULL;
}

const char *ana_main_file(const struct ana_summary *s)
{
    int64_t all_ns = 0;
    for (size_t i = 0; i < s->file_count; i++)
        all_ns = ana_plus(all_ns, s->files[i].time_ns);
    return s->file_count && s->files[0].time_ns > all_ns / 2 ? s->files[0].name : NULL;
}

/* Looks up why the ranks of a price take longer: that is known of the worst one. */
static void find_reason(const struct ana_summary *s, struct ana_price *price)
{
    for (size_t i = 0; price->identity && i < s->segment_count; i++)
        for (size_t r = 0; s->segments[i].identity == price->identity && r < price->ranks; r++)
            if (price->rank[r] == s->segments[i].worst_index)
                price->reason = s->segments[i].reason;
}

ANA_COMPARE(by_savings, struct ana_price, ANA_ORDER(y->saves_ns, x->saves_ns), ANA_ORDER(y->path_ns, x->path_ns))

/* Adds the price of the time in which ranks wait for a processor, if all do about as much as the worst; else it matters
 * who waits for them. */
static void add_processors(struct ana_summary *s)
{
    const double share = s->has_accounts ? ana_account_share(&s->account, ANA_ACCOUNT_QUEUED) : 0;
    int64_t worst_ns = 0, least_ns = INT64_MAX;
    for (size_t i = 0; i < s->rank_count; i++) {
        const int64_t ns = s->ranks[i].account.ns[ANA_ACCOUNT_QUEUED];
        worst_ns = ns > worst_ns ? ns : worst_ns;
        least_ns = ana_earlier(ns, least_ns);
    }
    if (share > 0 && least_ns >= worst_ns / 2)
        s->prices[s->price_count++] = (struct ana_price){
            .kind = ANA_PRICE_PROCESSOR, .path_ns = -1, .saves_ns = ana_rounded(share * (double)s->path_ns)};
}

/* Sorts prices by savings. The price of processors comes before calls that cost at most more: with a processor for each
 * rank these would take less time. */
static void sort_prices(struct ana_summary *s)
{
    ana_sort(s->prices, s->price_count, sizeof *s->prices, by_savings);
    for (size_t at = s->price_count; at-- > 1;)
        if (s->prices[at].kind == ANA_PRICE_PROCESSOR && s->prices[at - 1].at_most) {
            const struct ana_price processors = s->prices[at];
            s->prices[at] = s->prices[at - 1];
            s->prices[at - 1] = processors;
        }
}

/* Sets what the ranks that come next save once those before are mended, whose price is in the list already; `room`: of
 * the ranks of a price.  False: no ranks come next. */
static bool set_after(const struct ana_summary *s, const struct ana_replay *replay, const int64_t *saves, size_t room,
                      struct ana_price *price)
{
    uint32_t first = 1;
    while (first < ANA_SCENARIO_SECOND && !replay->scenario[first].then)
        first++;
    price->saves_ns = ana_plus(saves[ANA_SCENARIO_SECOND], -saves[first]);
    for (size_t i = 0; i < s->price_count && !price->after; i++)
        if (s->prices[i].rank == s->price_ranks + first * room) {
            price->after = s->prices[i].rank;
            price->afters = s->prices[i].ranks;
        }
    return price->after && price->ranks && price->saves_ns > 0;
}

static bool list_prices(const struct ana_job *job, struct ana_summary *s, const struct ana_pass *pass,
                        const int64_t *saves, const struct ana_path_sums *sums)
{
    const struct ana_members *members = ana_job_members(job);
    s->prices = calloc(ANA_SCENARIOS + 1, sizeof *s->prices);
    s->price_ranks = calloc(ANA_SCENARIOS * (members->count + 1), sizeof *s->price_ranks);
    if (!s->prices || !s->price_ranks)
        return false;
    for (uint32_t scenario = 1; scenario < ANA_SCENARIOS; scenario++) {
        struct ana_price *price = &s->prices[s->price_count];
        *price = (struct ana_price){.rank = s->price_ranks + scenario * (members->count + 1)};
        price->saves_ns = saves[scenario];
        if (!price_of(job, pass, scenario, sums, price) ||
            (scenario == ANA_SCENARIO_SECOND &&
             !set_after(s, pass->why.causes->replay, saves, members->count + 1, price)))
            continue;
        find_reason(s, price);
        price->file = price->kind == ANA_PRICE_IO && s->file_count == 1 ? s->files[0].name : NULL;
        s->price_count++;
    }
    struct ana_price *device = &s->prices[s->price_count];
    *device = (struct ana_price){
        .kind = ANA_PRICE_DEVICE, .rank = s->price_ranks, .ranks = 1, .at_most = true, .path_ns = -1};
    if (ana_of_all_time(&s->selection)) /* not kept for a window */
        device->saves_ns = ana_earlier(ana_job_upper(job)->exposed(job, device->rank), s->path_ns);
    s->price_count += device->saves_ns > 0;
    add_processors(s);
    sort_prices(s);
    return true;
}

/* POP's two parts of the efficiency of communication: see job.h. */
static void add_efficiency(struct ana_summary *s, int64_t ideal_ns)
{
    double wall = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        wall = fmax(wall, (double)s->ranks[i].wall_ns);
    struct ana_efficiency *e = &s->efficiency;
    if (!(wall > 0) || isnan(e->communication))
        return;
    e->transfer = fmin(fmax((wall - (double)ideal_ns) / wall, e->communication), 1);
    e->serialisation = e->communication / e->transfer;
}

bool ana_path_of_pass(const struct ana_job *job, const struct ana_pass *pass, int64_t begin_ns, int64_t end_ns,
                      struct ana_path_sums *sums, int64_t *saves)
{
    const struct ana_members *members = ana_job_members(job);
    struct ana_causes *causes = pass->why.causes;
    struct ana_path_end *end = find_ends(job);
    bool *over = calloc(members->count + 1, sizeof *over);
    bool ok = end && over && ana_path_decode(causes, end, begin_ns, end_ns, sums);
    for (size_t i = 0; ok && i < members->count; i++)
        over[i] = end[i].over;
    for (uint32_t scenario = 0; ok && scenario < ANA_SCENARIOS; scenario++)
        saves[scenario] = ana_replay_saves(causes, scenario, over);
    free(end);
    free(over);
    return ok;
}

bool ana_summary_prices(const struct ana_job *job, struct ana_summary *s, struct ana_pass *pass)
{
    struct ana_why *why = &pass->why;
    bool whole = ana_is_followed(job, &s->selection);
    s->path_ns = s->path_unknown_ns = -1;
    if (!whole || !why->causes || why->out_of_memory || why->causes->out_of_memory)
        return true; /* it is not known */
    struct ana_path_sums sums = {0};
    int64_t saves[ANA_SCENARIOS];
    bool ok = ana_path_of_pass(job, pass, s->begin_ns, s->end_ns, &sums, saves);
    if (ok && sums.begin_ns != INT64_MAX) {
        s->path_ns = ana_path_length(&sums);
        s->path_unknown_ns = sums.unknown_ns;
        ok = list_prices(job, s, pass, saves, &sums);
        add_efficiency(s, saves[ANA_SCENARIO_IDEAL]);
    }
    ana_path_sums_free(&sums);
    return ok;
}
