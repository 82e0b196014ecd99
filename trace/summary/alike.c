#include "trace/summary/alike.h"
#include "trace/util/hash.h"
#include "trace/util/hash_map.h"
#include "trace/util/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 4, KINDS = 24, BLAMED = 16, FEW = 3, HOST_ROWS = 8 };
#define STUCK_NS     INT64_C(5000000000) /* a call that lasts longer is a state */
#define MOST_OF_HOST 0.8
#define BLAME_SHARE  0.005

struct feature {
    float share[FEATURES];
    uint64_t state;
};

static uint64_t state_of(const struct ana_rank *r)
{
    bool moves = r->state == ANA_RANK_RUN || r->state == ANA_RANK_IN_MPI;
    if (r->state == ANA_RANK_DONE || (moves && r->inside_ns < STUCK_NS))
        return moves;
    return ana_hash_text(r->inside) * 31 + 2 + (moves ? 0 : r->state);
}

static struct feature feature_of(const struct ana_job *job, const struct ana_rank_stat *stat)
{
    struct feature f = {.state = state_of(ana_job_rank(job, stat->index))};
    double all = (double)ana_rank_time_ns(stat), seen = (double)ana_rank_seen_ns(stat), mpi = 0;
    if (!stat->counted || all <= 0) {
        f.state ^= 1ull << 62;
        return f;
    }
    for (int c = TRC_CAT_COMPUTE + 1; c < TRC_CATEGORIES; c++)
        mpi += (double)stat->category_ns[c] / all;
    f.share[0] = seen > 0 && stat->waiting_ns > 0 ? (float)((double)stat->waiting_ns / seen) : 0;
    f.share[1] = (float)(mpi - f.share[0]);
    f.share[2] = (float)((double)stat->category_ns[TRC_CAT_IO] / all);
    f.share[3] = (float)((double)stat->category_ns[TRC_CAT_NCCL] / all);
    return f;
}

static float distance(const struct feature *a, const struct feature *b)
{
    float far = a->state == b->state ? 0 : 2;
    for (int i = 0; i < FEATURES; i++)
        far = fmaxf(far, fabsf(a->share[i] - b->share[i]));
    return far;
}

ANA_COMPARE(compare_floats, float, ANA_ORDER(*x, *y))

/* The rank in the middle of all: the first kind is like it. */
static size_t find_middle(const struct feature *f, size_t n, float *scratch)
{
    struct feature middle = {0};
    for (int i = 0; i < FEATURES; i++) {
        for (size_t r = 0; r < n; r++)
            scratch[r] = f[r].share[i];
        ana_sort(scratch, n, sizeof *scratch, compare_floats);
        middle.share[i] = scratch[n / 2];
    }
    size_t best = 0;
    float nearest = 9;
    for (size_t r = 0; r < n; r++) {
        middle.state = f[r].state;
        float far = distance(&f[r], &middle);
        if (far < nearest) {
            nearest = far;
            best = r;
        }
    }
    return best;
}

/* Sorts features into kinds; returns the number of kinds. */
static unsigned find_kinds(const struct feature *f, size_t n, size_t middle, uint8_t *kind)
{
    const struct feature *leader[KINDS] = {&f[middle]};
    unsigned kinds = 1;
    for (size_t r = 0; r < n; r++) {
        unsigned best = 0;
        float nearest = 9;
        for (unsigned k = 0; k < kinds && nearest > ANA_ALIKE_SHARE; k++) {
            float far = distance(&f[r], leader[k]);
            if (far < nearest) {
                nearest = far;
                best = k;
            }
        }
        if (nearest > ANA_ALIKE_SHARE && kinds < KINDS) {
            best = kinds;
            leader[kinds++] = &f[r];
        }
        kind[r] = (uint8_t)best;
    }
    return kinds;
}

/* ---- hosts ------------------------------------------------------------------------------------------------------- */

static bool sort_by_host(const struct ana_job *job, struct ana_alike *a)
{
    for (size_t i = 0; i < a->ranks; i++)
        a->host[i] = ana_job_rank(job, i)->host_index;
    a->hosts = ana_job_info(job).hosts;
    a->host_begin = calloc(a->hosts + 2, sizeof *a->host_begin);
    if (!a->host_begin)
        return false;
    for (size_t i = 0; i < a->ranks; i++)
        a->host_begin[a->host[i] + 2]++;
    for (size_t h = 2; h < a->hosts + 2; h++)
        a->host_begin[h] += a->host_begin[h - 1];
    for (size_t i = 0; i < a->ranks; i++)
        a->by_host[a->host_begin[a->host[i] + 1]++] = i;
    return true;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

struct work {
    struct ana_alike *out;
    size_t n;                /* ranks in the summary */
    struct feature *feature; /* index: order of ranks in the summary */
    float *scratch;
    uint8_t *kind;     /* index: order of ranks in the summary */
    uint8_t *kind_of;  /* rank index -> kind; KINDS: none */
    uint32_t *on_host; /* host -> number of ranks of one kind */
};

static uint32_t new_group(struct ana_alike *a, uint32_t host, bool blamed)
{
    if (a->groups == ANA_ALIKE_GROUPS)
        return UINT32_MAX;
    a->group[a->groups] = (struct ana_alike_group){.host = host, .blamed = blamed};
    return (uint32_t)a->groups++;
}

/* Assigns the ranks of a kind to their groups: hosts, single ranks, and one for the rest. */
static void split_kind(struct work *w, uint8_t kind, bool whole)
{
    struct ana_alike *a = w->out;
    size_t hosts = 0, left = 0;
    memset(w->on_host, 0, a->hosts * sizeof *w->on_host);
    for (size_t i = 0; i < a->ranks; i++)
        w->on_host[a->host[i]] += w->kind_of[i] == kind && a->group_of[i] == UINT32_MAX;
    for (size_t h = 0; h < a->hosts; h++) {
        size_t there = a->host_begin[h + 1] - a->host_begin[h];
        bool most = w->on_host[h] > 1 && (double)w->on_host[h] >= MOST_OF_HOST * (double)there;
        hosts += most;
        left += most ? 0 : w->on_host[h];
    }
    bool by_host = !whole && hosts > 0 && hosts <= HOST_ROWS && a->hosts > 1;
    bool single = !whole && (by_host ? left : left + hosts) <= FEW;
    uint32_t rest = UINT32_MAX;
    for (size_t h = 0; h < a->hosts; h++) {
        size_t begin = a->host_begin[h], end = a->host_begin[h + 1];
        bool most = w->on_host[h] > 1 && (double)w->on_host[h] >= MOST_OF_HOST * (double)(end - begin);
        uint32_t own = by_host && most ? new_group(a, (uint32_t)h, false) : UINT32_MAX;
        for (size_t m = begin; m < end; m++) {
            size_t i = a->by_host[m];
            if (w->kind_of[i] != kind || a->group_of[i] != UINT32_MAX)
                continue;
            uint32_t to = own != UINT32_MAX ? own : single ? new_group(a, UINT32_MAX, false) : rest;
            if (to == UINT32_MAX)
                to = rest = rest != UINT32_MAX ? rest : new_group(a, UINT32_MAX, false);
            a->group_of[i] = to != UINT32_MAX ? to : (uint32_t)a->groups - 1;
        }
    }
}

ANA_COMPARE(by_size, struct ana_alike_group, ANA_ORDER(y->blamed, x->blamed),
            x->blamed ? 0 : ANA_ORDER(x->count, y->count), ANA_ORDER(x->first, y->first))

/* Orders the groups and lists their members. */
static void list_groups(struct ana_alike *a)
{
    uint32_t place[ANA_ALIKE_GROUPS];
    for (size_t i = 0; i < a->ranks; i++)
        if (a->group_of[i] != UINT32_MAX)
            a->group[a->group_of[i]].count++;
    for (uint32_t g = 0; g < a->groups; g++)
        a->group[g].first = g; /* for now: where it was */
    ana_sort(a->group, a->groups, sizeof *a->group, by_size);
    size_t at = 0;
    for (uint32_t g = 0; g < a->groups; g++) {
        place[a->group[g].first] = g;
        a->group[g].first = at;
        at += a->group[g].count;
    }
    size_t next[ANA_ALIKE_GROUPS];
    for (uint32_t g = 0; g < a->groups; g++)
        next[g] = a->group[g].first;
    for (size_t m = 0; m < a->ranks; m++) {
        size_t i = a->by_host[m];
        if (a->group_of[i] == UINT32_MAX)
            continue;
        a->group_of[i] = place[a->group_of[i]];
        a->member[next[a->group_of[i]]++] = i;
    }
    if (a->groups)
        a->group[a->groups - 1].most = !a->group[a->groups - 1].blamed;
}

static void make_groups(const struct ana_job *job, const struct ana_summary *s, struct work *w, const size_t *blamed,
                        size_t n)
{
    struct ana_alike *a = w->out;
    size_t count[KINDS] = {0};
    memset(w->kind_of, KINDS, a->ranks);
    for (size_t r = 0; r < w->n; r++)
        w->feature[r] = feature_of(job, &s->ranks[r]);
    unsigned kinds = find_kinds(w->feature, w->n, find_middle(w->feature, w->n, w->scratch), w->kind);
    for (size_t r = 0; r < w->n; r++) {
        w->kind_of[s->ranks[r].index] = w->kind[r];
        count[w->kind[r]]++;
    }
    for (size_t i = 0; i < n && i < BLAMED; i++)
        if (blamed[i] < a->ranks && w->kind_of[blamed[i]] < KINDS && a->group_of[blamed[i]] == UINT32_MAX)
            a->group_of[blamed[i]] = new_group(a, UINT32_MAX, true);
    unsigned largest = 0;
    for (unsigned k = 1; k < kinds; k++)
        largest = count[k] > count[largest] ? k : largest;
    split_kind(w, (uint8_t)largest, true);
    for (unsigned k = 0; k < kinds; k++)
        if (k != largest)
            split_kind(w, (uint8_t)k, false);
    list_groups(a);
}

bool ana_alike_find(const struct ana_job *job, const struct ana_summary *summary, const size_t *blamed, size_t n,
                    struct ana_alike *out)
{
    size_t ranks = ana_job_info(job).ranks;
    *out = (struct ana_alike){.ranks = ranks};
    out->host = calloc(ranks + 1, sizeof *out->host);
    out->member = calloc(ranks + 1, sizeof *out->member);
    out->by_host = calloc(ranks + 1, sizeof *out->by_host);
    out->group_of = malloc((ranks + 1) * sizeof *out->group_of);
    if (!out->host || !out->member || !out->by_host || !out->group_of || !sort_by_host(job, out))
        return false;
    memset(out->group_of, 0xff, ranks * sizeof *out->group_of);
    struct work w = {.out = out, .n = summary->rank_count};
    w.feature = calloc(w.n + 1, sizeof *w.feature);
    w.scratch = calloc(w.n + 1, sizeof *w.scratch);
    w.kind = calloc(w.n + 1, 1);
    w.kind_of = calloc(ranks + 1, 1);
    w.on_host = calloc(out->hosts + 1, sizeof *w.on_host);
    bool ok = w.feature && w.scratch && w.kind && w.kind_of && w.on_host;
    if (ok && w.n)
        make_groups(job, summary, &w, blamed, n);
    free(w.feature);
    free(w.scratch);
    free(w.kind);
    free(w.kind_of);
    free(w.on_host);
    return ok;
}

void ana_alike_free(struct ana_alike *a)
{
    free(a->host);
    free(a->member);
    free(a->by_host);
    free(a->host_begin);
    free(a->group_of);
    *a = (struct ana_alike){0};
}

size_t ana_alike_blame(const struct ana_summary *s, size_t *out, size_t room)
{
    double all = 0;
    const struct ana_rank_stat *worst = NULL;
    for (size_t i = 0; i < s->rank_count; i++) {
        all += (double)ana_rank_time_ns(&s->ranks[i]);
        if (s->ranks[i].caused_ns > (worst ? worst->caused_ns : 0))
            worst = &s->ranks[i];
    }
    if (!room || !worst || (double)worst->caused_ns < BLAME_SHARE * all)
        return 0;
    *out = worst->index;
    return 1;
}

ANA_COMPARE(by_loss, struct ana_wait_group, ANA_ORDER(y->all.lost_ns, x->all.lost_ns), ANA_ORDER(x->first, y->first))

struct ana_wait_group *ana_wait_groups(const struct ana_summary *s, size_t *count)
{
    struct ana_map of; /* struct ana_wait_group by kind, culprit */
    ana_map_init(&of, sizeof(struct ana_wait_group));
    for (size_t i = 0; i < s->wait_count; i++) {
        const struct ana_wait *w = &s->waits[i];
        struct ana_wait_group *g = ana_map_add(&of, w->kind, w->culprit, 0);
        if (!g)
            continue;
        if (!g->all.count)
            *g = (struct ana_wait_group){.all = {.kind = w->kind, .culprit = w->culprit}, .first = i};
        g->waiters += w->waiter != ANA_ANY_RANK;
        g->others |= w->waiter == ANA_ANY_RANK;
        g->all.count += w->count;
        g->all.lost_ns += w->lost_ns;
    }
    struct ana_wait_group *group = of.values;
    *count = of.count;
    if (group)
        ana_sort(group, of.count, sizeof *group, by_loss);
    of.values = NULL; /* the caller's now */
    ana_map_free(&of);
    return group;
}
