#include "trace/diff/diff_impl.h"
#include "trace/util/grow.h"

#include <stdlib.h>
#include <string.h>

/* Returns the number, + 1, of a region of `a` by its name, and adds it if it is new; 0: out of memory. */
static uint32_t region_in(struct ana_portions *a, const struct ana_region_name *name)
{
    for (size_t i = 0; i < a->regions; i++)
        if (strcmp(a->region[i].text, name->text) == 0)
            return (uint32_t)i + 1;
    struct ana_region_name *moved = realloc(a->region, (a->regions + 1) * sizeof *moved);
    if (!moved)
        return 0;
    a->region = moved;
    a->region[a->regions] = *name;
    return (uint32_t)++a->regions;
}

static uint32_t renamed(uint32_t place, const uint32_t *of_b, size_t a_count)
{
    return !place ? 0 : of_b[place - 1] ? of_b[place - 1] : (uint32_t)a_count + place;
}

/* Writes the key of a portion: its name. */
static void key_of(const struct ana_portion *p, uint64_t key[3])
{
    key[0] = (uint64_t)p->index << 32 | p->region;
    key[1] = (uint64_t)p->from << 32 | p->to;
    key[2] = p->kind;
}

/* Adds the times of a portion to another of its name and takes them away.  False: out of memory. */
static bool merge_portions(struct ana_portion *to, struct ana_portion *from)
{
    to->room = (uint32_t)ana_lengthen(&to->ns, to->room, from->blocks, sizeof *to->ns);
    if (from->blocks > to->room)
        return false;
    while (to->blocks < from->blocks)
        to->ns[to->blocks++] = (struct ana_portion_time){0, 0};
    for (uint32_t i = 0; i < from->blocks; i++) {
        to->ns[i].sum += from->ns[i].sum;
        to->ns[i].first += from->ns[i].first;
    }
    to->total_ns += from->total_ns;
    free(from->ns);
    from->ns = NULL;
    return true;
}

/* Merges portions that have the same name after renaming.  False: out of memory. */
static bool sort_in(struct ana_portions *of)
{
    struct ana_map sorted;
    uint64_t key[3];
    bool ok = true;
    ana_map_init(&sorted, sizeof(struct ana_portion));
    for (size_t i = 0; ok && i < of->portion.count; i++) {
        struct ana_portion *p = ana_map_value(&of->portion, i);
        key_of(p, key);
        struct ana_portion *to = ana_map_add(&sorted, key[0], key[1], key[2]);
        ok = to;
        if (ok && (to->ns || to->total_ns > 0)) {
            ok = merge_portions(to, p);
        } else if (ok) {
            *to = *p;
            p->ns = NULL;
        }
    }
    for (size_t i = 0; i < of->portion.count; i++)
        free(((struct ana_portion *)ana_map_value(&of->portion, i))->ns);
    ana_map_free(&of->portion);
    of->portion = sorted;
    return ok;
}

/* Makes one segment of the two around a place that the other run does not have, where these are clear: an added call
 * cuts a segment in two. */
static void bridge(struct ana_portions *of, uint32_t place)
{
    uint32_t before = 0, after = 0, befores = 0, afters = 0;
    for (size_t i = 0; i < of->portion.count; i++) {
        const struct ana_portion *p = ana_map_value(&of->portion, i);
        if (p->kind != ANA_PORTION_SEGMENT)
            continue;
        if (p->to == place && p->from != before) {
            before = p->from;
            befores++;
        }
        if (p->from == place && p->to != after) {
            after = p->to;
            afters++;
        }
    }
    if (befores != 1 || afters != 1 || before == place || after == place)
        return;
    for (size_t i = 0; i < of->portion.count; i++) {
        struct ana_portion *p = ana_map_value(&of->portion, i);
        if (p->kind == ANA_PORTION_SEGMENT && (p->from == place || p->to == place)) {
            p->from = before;
            p->to = after;
        }
    }
}

bool ana_portions_join(struct ana_portions *a, struct ana_portions *b, const uint32_t *of_b, size_t a_count,
                       size_t b_count)
{
    uint32_t *region = calloc(b->regions + 1, sizeof *region);
    bool *in_b = calloc(a_count + 1, sizeof *in_b), ok = region && in_b;
    for (size_t i = 0; ok && i < b->regions; i++)
        ok = (region[i] = region_in(a, &b->region[i])) != 0;
    for (size_t i = 0; ok && i < b->portion.count; i++) {
        struct ana_portion *p = ana_map_value(&b->portion, i);
        p->from = renamed(p->from, of_b, a_count);
        p->to = renamed(p->to, of_b, a_count);
        p->region = p->region ? region[p->region - 1] : 0;
    }
    for (size_t i = 0; ok && i < b_count; i++) {
        in_b[of_b[i]] = true;
        if (!of_b[i])
            bridge(b, (uint32_t)(a_count + i + 1));
    }
    for (size_t i = 1; ok && i <= a_count; i++)
        if (!in_b[i])
            bridge(a, (uint32_t)i);
    free(region);
    free(in_b);
    return ok && sort_in(a) && sort_in(b);
}

/* Adds a portion, divided by `ranks`, to rank 0. */
static bool add_share(struct ana_portions *out, const struct ana_portion *p, size_t ranks)
{
    struct ana_portion *to = ana_map_add(&out->portion, p->region, (uint64_t)p->from << 32 | p->to, p->kind);
    if (!to)
        return false;
    if (!to->ns) {
        *to = *p;
        to->index = 0;
        to->total_ns = 0;
        to->blocks = to->room = out->room;
        to->ns = calloc(out->room + 1, sizeof *to->ns);
    }
    to->total_ns += p->total_ns / (double)ranks;
    for (uint32_t i = 0; to->ns && i < p->blocks && i < out->room; i++)
        to->ns[i] = (struct ana_portion_time){to->ns[i].sum + p->ns[i].sum / (float)ranks,
                                              to->ns[i].first + p->ns[i].first / (float)ranks};
    return to->ns;
}

bool ana_portions_mean(const struct ana_portions *of, struct ana_portions *out)
{
    size_t ranks = 0;
    struct ana_portion_rank mean = {.iterations = UINT64_MAX};
    *out = (struct ana_portions){.ranks = 1, .width = of->width, .room = of->room};
    ana_map_init(&out->portion, sizeof(struct ana_portion));
    for (size_t i = 0; i < of->ranks; i++)
        if (of->rank[i].iterations) {
            ranks++;
            mean.iterations = of->rank[i].iterations < mean.iterations ? of->rank[i].iterations : mean.iterations;
        }
    bool looped = ranks, ok = (out->rank = malloc(sizeof *out->rank));
    if (!looped)
        mean.iterations = 0;
    if (ok)
        *out->rank = mean;
    for (size_t i = 0; ok && i < of->portion.count; i++) {
        const struct ana_portion *p = ana_map_value(&of->portion, i);
        if (!looped || of->rank[p->index].iterations)
            ok = add_share(out, p, looped ? ranks : of->ranks);
    }
    for (size_t i = 0; ok && i < of->ranks; i++) {
        out->rank->covered_ns += of->rank[i].covered_ns / (double)of->ranks;
        out->rank->cpu_ns += of->rank[i].cpu_ns / (double)of->ranks;
        out->rank->queued_ns += of->rank[i].queued_ns / (double)of->ranks;
    }
    return ok;
}

bool ana_portions_pair(const struct ana_portions *a, const struct ana_portions *b, struct ana_map *out)
{
    const struct ana_portions *run[2] = {a, b};
    ana_map_init(out, sizeof(struct ana_portion_pair));
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < run[side]->portion.count; i++) {
            const struct ana_portion *p = ana_map_value(&run[side]->portion, i);
            struct ana_portion_pair *pair =
                ana_map_add(out, (uint64_t)p->index << 32 | p->region, (uint64_t)p->from << 32 | p->to, p->kind);
            if (!pair)
                return false;
            pair->of[side] = p;
        }
    return true;
}
