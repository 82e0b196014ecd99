/* Summaries of the places in the program that call. */
#include "trace/summary/accounts_impl.h"
#include "trace/util/sort.h"
#include <stdlib.h>

/* A place in the program, on all ranks that have it; several, of one source line, where that is known. */
struct place {
    size_t index; /* rank that spends most there */
    uint64_t address;
    int64_t most_ns;
    size_t names, ranks; /* names: without lines */
    bool several;        /* a rank may have several sums: of paths that differ elsewhere */
    uint64_t sent, received;
    int64_t time_ns, open_ns; /* see ana_site_sum; part in calls that have not ended */
    struct ana_account account;
    struct ana_times_small times;
};

struct places {
    struct ana_map names;  /* uint32_t, of a place, + 1; by name without line, call number */
    struct ana_map places; /* struct place by name, call number */
    struct ana_map ranks;  /* places with several names: struct ana_count_sum by place, rank */
    uint32_t *of;          /* part -> its place + 1; 0: it does not count */
};

ANA_COMPARE(sites_by_time, struct ana_site, ANA_ORDER(y->time_ns, x->time_ns))

/* Finds the place of a part: each name has its line looked up once, not on each rank.  0: out of memory. */
static uint32_t place_of(const struct ana_job *job, struct places *p, const struct ana_site_part *part)
{
    uint32_t *of = ana_map_add(&p->names, ana_site_name(job, part->index, part->site, false), part->call, 0);
    if (!of || *of)
        return of ? *of : 0;
    struct place *place = ana_map_add(&p->places, ana_site_name(job, part->index, part->site, true), part->call, 0);
    if (!place)
        return 0;
    place->names++;
    return *of = (uint32_t)(place - (struct place *)p->places.values) + 1;
}

static bool is_empty(const struct ana_site_part *part)
{
    const struct ana_site_sum *sum = part->sum;
    return !part->open && (!sum || (!sum->times.calls && !sum->time_ns && !sum->sent && !sum->received));
}

static bool find_places(const struct ana_job *job, const struct ana_summary *s, const struct ana_site_parts *parts,
                        struct places *p)
{
    p->of = calloc(parts->n + 1, sizeof *p->of);
    for (size_t i = 0; p->of && i < parts->n; i++) {
        const struct ana_site_part *part = &parts->part[i];
        bool counts = ana_selected(s->selection.ranks, part->index) && !is_empty(part);
        if (counts && !(p->of[i] = place_of(job, p, part)))
            return false;
        if (p->of[i] && trc_path_of(ana_job_members(job)->process[part->index].rank.file, part->site))
            ((struct place *)ana_map_value(&p->places, p->of[i] - 1))->several = true;
    }
    return p->of;
}

/* Adds a part to its place; false: out of memory. */
static bool add_part(struct places *p, uint32_t at, const struct ana_site_part *part)
{
    static const struct ana_site_sum none = {.times.min_ns = INT64_MAX};
    const struct ana_site_sum *sum = part->sum ? part->sum : &none;
    struct place *place = ana_map_value(&p->places, at - 1);
    const int64_t ns = ana_plus(sum->times.total_ns, part->open_ns);
    if (!place->ranks || ns > place->most_ns) {
        place->index = part->index;
        place->address = part->site;
        place->most_ns = ns;
    }
    struct ana_count_sum once = {0}, *seen = place->names > 1 || place->several
                                                 ? ana_map_add(&p->ranks, at, part->index, 0)
                                                 : &once;
    if (!seen)
        return false;
    place->ranks += seen->count++ == 0;
    place->sent += sum->sent;
    place->received += sum->received;
    place->time_ns = ana_plus(place->time_ns, sum->time_ns);
    place->open_ns = ana_plus(place->open_ns, part->open_ns);
    ana_account_add(&place->account, &part->account);
    if (sum->times.calls)
        ana_small_merge_slim(&place->times, &sum->times);
    return true;
}

static void add_site(const struct ana_job *job, struct ana_summary *s, const struct place *place, uint32_t call)
{
    const struct ana_members *members = ana_job_members(job);
    struct ana_site *site = &s->sites[s->site_count++];
    *site = (struct ana_site){
        .call = members->call[call].name,
        .address = trc_site_address(members->process[place->index].rank.file, place->address),
        .path = trc_path_of(members->process[place->index].rank.file, place->address),
        .index = place->index,
        .ranks = place->ranks,
        .times = ana_small_of(&place->times),
        .time_ns = s->exact ? ana_plus(place->times.total_ns, place->open_ns) : place->time_ns,
        .open_ns = place->open_ns,
        .account = place->account,
        .sent = place->sent,
        .received = place->received,
        .identity = ana_site_identity(job, place->index, call, place->address),
    };
    trc_site(members->process[place->index].rank.file, place->address, &site->function, &site->module);
    site->line = ana_site_line(job, place->index, site->module);
    site->function = ana_site_function(job, place->index, site->module, site->function);
}

/* Lists the parts that count.  False: out of memory. */
static bool list_path_parts(struct ana_summary *s, const struct ana_site_parts *parts, const uint32_t *of)
{
    s->path_parts = malloc((parts->n + 1) * sizeof *s->path_parts);
    for (size_t i = 0; s->path_parts && i < parts->n; i++) {
        const struct ana_site_part *part = &parts->part[i];
        static const struct ana_site_sum none;
        const struct ana_site_sum *sum = part->sum ? part->sum : &none;
        if (of[i])
            s->path_parts[s->path_part_count++] = (struct ana_path_part){
                .site = part->site,
                .index = (uint32_t)part->index,
                .call = part->call,
                .around = part->around,
                .time_ns = s->exact ? ana_plus(sum->times.total_ns, part->open_ns) : sum->time_ns,
                .waiting_ns = part->account.ns[ANA_ACCOUNT_WAIT],
                .calls = sum->times.calls,
                .sent = sum->sent,
            };
    }
    return s->path_parts;
}

/* Copies the percentiles of a call to the place that makes all of them: places have coarser buckets, from events. */
static void share_percentiles(struct ana_summary *s, struct ana_site *site)
{
    for (size_t i = 0; i < s->call_count; i++) {
        const struct ana_times *of = &s->calls[i].times;
        if (s->calls[i].name != site->call || of->count != site->times.count)
            continue;
        site->times.p50_ns = of->p50_ns;
        site->times.p90_ns = of->p90_ns;
        site->times.p99_ns = of->p99_ns;
        site->times.max_ns = of->max_ns;
    }
}

bool ana_summary_sites(struct ana_job *job, struct ana_summary *s, const struct ana_tally *t)
{
    struct places p = {0};
    struct ana_site_parts parts;
    ana_map_init(&p.names, sizeof(uint32_t));
    ana_map_init(&p.places, sizeof(struct place));
    ana_map_init(&p.ranks, sizeof(struct ana_count_sum));
    bool ok = ana_summary_accounts(job, s, t, &parts) && ana_summary_regions(job, s, &parts) &&
              find_places(job, s, &parts, &p);
    for (size_t i = 0; ok && i < parts.n; i++)
        ok = !p.of[i] || add_part(&p, p.of[i], &parts.part[i]);
    s->sites = ok ? calloc(p.places.count + 1, sizeof *s->sites) : NULL;
    for (size_t i = 0; s->sites && i < p.places.count; i++)
        add_site(job, s, ana_map_value(&p.places, i), (uint32_t)ana_map_key(&p.places, i)[1]);
    if (s->sites)
        ana_sort(s->sites, s->site_count, sizeof *s->sites, sites_by_time);
    for (size_t i = 0; s->sites && i < s->site_count; i++)
        share_percentiles(s, &s->sites[i]);
    ok = s->sites && list_path_parts(s, &parts, p.of);
    free(parts.part);
    free(p.of);
    ana_map_free(&p.names);
    ana_map_free(&p.places);
    ana_map_free(&p.ranks);
    return ok;
}
