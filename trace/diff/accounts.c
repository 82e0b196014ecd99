#include "trace/diff/diff_impl.h"
#include "trace/job/window.h"
#include "trace/util/hash.h"
#include "trace/util/sort.h"
#include "trace/util/text.h"

#define ALL_RANKS UINT32_MAX

/* A call site in both runs. */
struct site {
    struct ana_segment_end at;
    struct ana_account run[2];
};

struct work {
    struct ana_map number;   /* uint32_t, number in both runs, by call, place and run */
    struct ana_map sites;    /* struct site, by number */
    struct ana_map segments; /* struct ana_diff_segment, by numbers of both ends, region and rank */
};

static bool number_places(struct work *w, const struct ana_diff_names *names)
{
    for (uint32_t side = 0; side < 2; side++)
        for (size_t i = 0; i < names->places[side]; i++) {
            const struct ana_portion_place *p = &names->place[side][i];
            if (!p->call)
                continue;
            uint32_t *number = ana_map_add(&w->number, ana_hash_text(p->call), ana_hash_text(p->at.place), side);
            if (!number)
                return false;
            const uint32_t of_b = side ? names->of_b[i] : 0;
            if (!*number)
                *number = (uint32_t)(of_b ? of_b : side * names->places[0] + i + 1);
        }
    return true;
}

/* Returns the number of a place; without one, a hash of its name, which is the same in both runs. */
static uint64_t number_of(const struct work *w, const struct ana_segment_end *end, uint32_t side)
{
    if (!end->call)
        return 0;
    const uint64_t call = ana_hash_text(end->call), place = ana_hash_text(end->place);
    const uint32_t *number = ana_map_find(&w->number, call, place, side);
    return number ? *number : (call * 31 + place) | 1ull << 63;
}

static struct ana_segment_end end_of(const struct ana_site *site)
{
    struct ana_segment_end end = {.call = site->call};
    const char *text = site->line ? site->line : site->function && *site->function ? site->function : site->module;
    snprintf(end.place, sizeof end.place, "%s", !text ? "" : site->function ? text : trc_base_name(text));
    return end;
}

static bool add_sites(struct work *w, const struct ana_summary *s, uint32_t side)
{
    for (size_t i = 0; i < s->site_count; i++) {
        const struct ana_segment_end end = end_of(&s->sites[i]);
        struct site *site = ana_map_add(&w->sites, number_of(w, &end, side), 0, 0);
        if (!site)
            return false;
        site->at = end;
        ana_account_add(&site->run[side], &s->sites[i].account);
    }
    return true;
}

static bool add_segment(struct work *w, const struct ana_segment_stat *segment, uint32_t side, uint32_t rank,
                        struct ana_rank_id id, int64_t ns)
{
    if (!segment->to.call || ns <= 0)
        return true;
    struct ana_diff_segment *to =
        ana_map_add(&w->segments, number_of(w, &segment->from, side), number_of(w, &segment->to, side),
                    (ana_hash_text(segment->region) << 1 | segment->inside) << 32 | rank);
    if (!to)
        return false;
    snprintf(to->region, sizeof to->region, "%s", segment->region);
    to->inside = segment->inside;
    to->from = segment->from;
    to->to = segment->to;
    to->rank = id;
    to->ns[side] += ns;
    return true;
}

static bool add_segments(struct work *w, const struct ana_job *job, const struct ana_summary *s, uint32_t side)
{
    bool ok = true;
    for (size_t i = 0; ok && i < s->segment_count; i++) {
        const struct ana_segment_stat *segment = &s->segments[i];
        if (!segment->inside)
            ok = add_segment(w, segment, side, ALL_RANKS, (struct ana_rank_id){0}, segment->total_ns);
        for (size_t r = 0; ok && segment->cost_ns > 0 && r < s->rank_count; r++) {
            const size_t index = s->ranks[r].index;
            ok = add_segment(w, segment, side, (uint32_t)index, ana_rank_id(ana_job_rank(job, index)),
                             segment->cost_by_rank_ns[index]);
        }
    }
    return ok;
}

static int64_t size_of(const int64_t ns[2])
{
    return ns[1] > ns[0] ? ns[1] - ns[0] : ns[0] - ns[1];
}

ANA_COMPARE(by_size, struct ana_diff_place, ANA_ORDER(size_of(y->ns), size_of(x->ns)))

static bool list_places(const struct work *w, struct ana_diff_accounts *out)
{
    out->place = calloc(w->sites.count * ANA_ACCOUNTS + 1, sizeof *out->place);
    for (size_t i = 0; out->place && i < w->sites.count; i++) {
        const struct site *site = ana_map_value(&w->sites, i);
        for (size_t id = 0; id < ANA_ACCOUNTS; id++)
            if (site->run[0].ns[id] != site->run[1].ns[id])
                out->place[out->places++] = (struct ana_diff_place){
                    site->at, (enum ana_account_id)id, {site->run[0].ns[id], site->run[1].ns[id]}};
    }
    if (out->places)
        ana_sort(out->place, out->places, sizeof *out->place, by_size);
    out->places = out->places < ANA_DIFF_PLACES ? out->places : ANA_DIFF_PLACES;
    return out->place;
}

/* Finds the largest changes of segments. */
static void find_segments(const struct work *w, struct ana_diff_accounts *out)
{
    for (size_t i = 0; i < w->segments.count; i++) {
        const struct ana_diff_segment *s = ana_map_value(&w->segments, i);
        const bool all = (uint32_t)ana_map_key(&w->segments, i)[2] == ALL_RANKS;
        struct ana_diff_segment *best = all ? &out->longer : &out->culprit;
        if (size_of(s->ns) > size_of(best->ns))
            *best = *s;
    }
}

bool ana_diff_accounts_find(struct ana_job *const job[2], const struct ana_selection selection[2],
                            const struct ana_diff_names *names, struct ana_diff_accounts *out)
{
    if (!ana_of_all_time(&selection[0]) || !ana_of_all_time(&selection[1]))
        return true;
    struct ana_summary s[2] = {0};
    struct work w;
    ana_map_init(&w.number, sizeof(uint32_t));
    ana_map_init(&w.sites, sizeof(struct site));
    ana_map_init(&w.segments, sizeof(struct ana_diff_segment));
    bool ok = number_places(&w, names);
    out->known = true;
    for (uint32_t side = 0; ok && side < 2; side++) {
        ok = ana_summarize(job[side], selection[side], &s[side]) == TRC_OK && add_sites(&w, &s[side], side) &&
             add_segments(&w, job[side], &s[side], side);
        out->run[side] = s[side].account;
        out->known &= s[side].has_accounts && s[side].exact;
    }
    ok = ok && list_places(&w, out);
    find_segments(&w, out);
    ana_summary_free(&s[0]);
    ana_summary_free(&s[1]);
    ana_map_free(&w.number);
    ana_map_free(&w.sites);
    ana_map_free(&w.segments);
    return ok;
}
