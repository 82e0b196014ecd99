/* Horovod's protocol as controller.cc, response_cache.cc and operations.cc of 0.28.1 have it, on the smallest scale.
 * Uses nothing of the analysis. */
#include "tests/support/hvd_world.h"
#include "workloads/hvd_lists.h"

#include <stdio.h>
#include <string.h>

static int bit_of(const struct loop *l, const char *name)
{
    for (int b = 0; b < l->bits; b++)
        if (l->cache[b].used && strcmp(l->cache[b].of.name, name) == 0)
            return b;
    return -1;
}
static bool alike(const struct hvd_request *a, const struct hvd_request *b)
{
    return a->op == b->op && a->type == b->type && a->rows == b->rows && a->columns == b->columns && a->root == b->root;
}
static void cache(struct loop *l, int capacity, const struct hvd_request *r)
{
    int b = bit_of(l, r->name);
    if (capacity == 0 || (r->op != ALLREDUCE && r->op != ALLGATHER))
        return;
    if (b < 0 && l->bits < capacity)
        b = l->bits++;
    for (int i = 0; b < 0 && i < l->bits; i++) { /* the least recently used one is replaced */
        bool oldest = true;
        for (int k = 0; k < l->bits; k++)
            oldest &= l->cache[k].stamp >= l->cache[i].stamp;
        b = oldest ? i : -1;
    }
    l->cache[b] = (struct entry){*r, ++l->stamp, true};
}
/* After entries were dropped: the oldest gets bit 0. */
static void number_anew(struct loop *l)
{
    struct entry kept[BITS];
    int n = 0;
    for (int b = 0; b < l->bits; b++)
        if (l->cache[b].used)
            kept[n++] = l->cache[b];
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && kept[k].stamp < kept[k - 1].stamp; k--) {
            struct entry moved = kept[k];
            kept[k] = kept[k - 1];
            kept[k - 1] = moved;
        }
    memcpy(l->cache, kept, (size_t)n * sizeof *kept);
    l->bits = n;
}

/* ---- the coordinator --------------------------------------------------------------------------------------------- */

static void ask(struct loop *l, int member, const struct hvd_request *r)
{
    int i = 0;
    if (r->op == JOIN) {
        l->joined[member] = true;
        return;
    }
    while (i < l->asks && strcmp(l->asked[i].of[0].name, r->name) != 0)
        i++;
    if (i == l->asks)
        l->asked[l->asks++].n = 0;
    struct asked *a = &l->asked[i];
    a->member[a->n] = member;
    a->of[a->n++] = *r;
}

/* Writes why the requests do not fit together; empty if they do. */
static void find_error(const struct asked *a, int joined, char *out, size_t size)
{
    static const char *const types[] = {"uint8", "int8",    "uint16",  "int16",  "int32",
                                        "int64", "float16", "float32", "float64"};
    static const char *const ops[] = {"ALLREDUCE", "ALLGATHER", "BROADCAST"};
    const struct hvd_request *x = &a->of[0], *y;
    *out = 0;
    for (int i = 1; i < a->n && !*out; i++)
        if ((y = &a->of[i])->type != x->type)
            snprintf(out, size, "Mismatched data types: One rank had type %s, but another rank had type %s.",
                     types[x->type], types[y->type]);
    for (int i = 1; i < a->n && !*out; i++)
        if ((y = &a->of[i])->op != x->op)
            snprintf(out, size, "Mismatched operations: One rank did an %s, but another rank did an %s.", ops[x->op],
                     ops[y->op]);
    for (int i = 1; i < a->n && !*out && x->op != ALLGATHER; i++)
        if ((y = &a->of[i])->rows != x->rows || y->columns != x->columns)
            snprintf(out, size,
                     "Mismatched %s tensor shapes: One rank sent a tensor of shape [%lld, %lld], but another rank sent "
                     "a tensor of shape [%lld, %lld].",
                     ops[x->op], (long long)x->rows, (long long)x->columns, (long long)y->rows, (long long)y->columns);
    for (int i = 1; i < a->n && !*out && x->op == ALLGATHER; i++)
        if ((y = &a->of[i])->columns != x->columns)
            snprintf(out, size,
                     "Mismatched ALLGATHER tensor shapes: One rank gathered a tensor with dimension 1 equal to %lld, "
                     "but another rank gathered a tensor with dimension 1 equal to %lld.",
                     (long long)x->columns, (long long)y->columns);
    for (int i = 1; i < a->n && !*out && x->op == BROADCAST; i++)
        if ((y = &a->of[i])->root != x->root)
            snprintf(out, size,
                     "Mismatched BROADCAST root ranks: One rank specified root rank %d, but another rank specified "
                     "root rank %d.",
                     x->root, y->root);
    if (!*out && joined && x->op != ALLREDUCE)
        snprintf(out, size, "%s is not supported with Join at this time.",
                 x->op == BROADCAST ? "Broadcast" : "Allgather");
}

static void answer_asked(struct world *w, struct loop *l, const struct hvd_set *set)
{
    int joined = 0, kept = 0;
    for (int m = 0; m < set->size; m++)
        joined += l->joined[m];
    for (int i = 0; i < l->asks; i++) {
        if (l->asked[i].n + joined < set->size) {
            l->asked[kept++] = l->asked[i];
            continue;
        }
        char *error = w->said.error[w->said.answers];
        find_error(&l->asked[i], joined, error, sizeof *w->said.error);
        struct hvd_request *answer = &w->said.answer[w->said.answers++];
        *answer = l->asked[i].of[0];
        if (*error)
            answer->op = REFUSED;
    }
    l->asks = kept;
    if (joined == set->size) {
        w->said.error[w->said.answers][0] = 0;
        w->said.answer[w->said.answers++] = (struct hvd_request){.name = "join.noname", .op = JOIN};
    }
}

/* One response of `n` tensors. */
static void put_response(struct list *l, uint32_t slot, const struct hvd_request *r, int n, int size, const char *error)
{
    uint32_t one[8];
    put_table(l, slot, (const unsigned char[]){0, 1, 2, 3, 4, 5, 0xff}, one);
    l->bytes[one[0]] = (unsigned char)r->op;
    l->bytes[one[5]] = (unsigned char)r->type;
    link_here(l, one[1]);
    put32(l, (uint32_t)n);
    uint32_t names = l->used;
    for (int i = 0; i < n; i++)
        put32(l, 0);
    for (int i = 0; i < n; i++)
        put_string(l, names + 4 * (uint32_t)i, r[i].name);
    put_string(l, one[2], error);
    link_here(l, one[3]);
    put32(l, (uint32_t)size);
    for (int i = 0; i < size; i++)
        put32(l, (uint32_t)-1);
    link_here(l, one[4]);
    put32(l, (uint32_t)n);
    for (int i = 0; i < n; i++) {
        int64_t elements = r[i].rows * r[i].columns;
        put(l, &elements, 8, 4);
    }
}

static void put_answer(const struct world *w, struct list *l, int size, bool shutdown)
{
    uint32_t at[2];
    int n = w->said.answers, responses = 0, from[2 * HVD_TENSORS + 1];
    for (int i = 0; i < n; i++) {
        const struct hvd_request *a = &w->said.answer[i], *b = &w->said.answer[i ? i - 1 : 0];
        bool fuses = w->run->fused && i && a->op == ALLREDUCE && b->op == ALLREDUCE && a->type == b->type;
        if (!fuses)
            from[responses++] = i;
    }
    from[responses] = n;
    l->used = 0;
    put_table(l, put32(l, 0), (const unsigned char[]){0, 1, 0xff}, at);
    l->bytes[at[1]] = shutdown;
    link_here(l, at[0]);
    put32(l, (uint32_t)responses);
    uint32_t slots = l->used;
    for (int i = 0; i < responses; i++)
        put32(l, 0);
    for (int i = 0; i < responses; i++)
        put_response(l, slots + 4 * (uint32_t)i, &w->said.answer[from[i]], from[i + 1] - from[i], size,
                     w->said.error[from[i]]);
    l->bytes[l->used++] = 0;
}

/* ---- a cycle of a set -------------------------------------------------------------------------------------------- */

struct turn {
    uint64_t in[HVD_RANKS][WORDS], all[WORDS], bad[HVD_RANKS][WORDS], any_bad[WORDS];
    bool uncached, invalid, shutdown;
};

static bool has_bit(const uint64_t *word, int b)
{
    return word[b / 64] >> b % 64 & 1;
}
static void set_bit(uint64_t *word, int b)
{
    word[b / 64] |= 1ull << b % 64;
}

static void fill_words(const struct world *w, const struct loop *l, const struct hvd_set *set, int m, struct turn *t)
{
    bool uncached = false, invalid = false, shutdown = w->rank[set->member[m]].leaving;
    for (int i = 0; i < l->queued[m]; i++) {
        const struct hvd_request *r = &l->queue[m][i];
        int b = r->op == JOIN ? -1 : bit_of(l, r->name);
        if (b >= 0 && alike(&l->cache[b].of, r)) {
            set_bit(t->in[m], b + STATUS);
            continue;
        }
        uncached = true;
        if (b >= 0) {
            invalid = true;
            set_bit(t->bad[m], b);
        }
    }
    for (int b = 0; l->joins[m] && b < l->bits; b++)
        set_bit(t->in[m], b + STATUS);
    t->in[m][0] |= (shutdown ? 0 : NO_SHUTDOWN) | (uncached ? 0 : NO_UNCACHED) | (invalid ? 0 : NO_INVALID);
    t->uncached |= uncached;
    t->invalid |= invalid;
    t->shutdown |= shutdown;
}

static void agree(struct world *w, int s, struct turn *t)
{
    struct loop *l = &w->loop[s];
    const struct hvd_set *set = &w->run->set[s];
    int words = (l->bits + STATUS + 63) / 64;
    memset(t->all, 0xff, sizeof t->all);
    for (int m = 0; m < set->size; m++) {
        fill_words(w, l, set, m, t);
        for (int i = 0; i < WORDS; i++) {
            t->all[i] &= t->in[m][i];
            t->any_bad[i] |= t->bad[m][i];
        }
    }
    for (int m = 0; w->run->capacity && m < set->size; m++)
        hvd_files_words(w->files, s, m, false, l->cycle, t->in[m], t->all, words);
    for (int m = 0; w->run->capacity && t->invalid && m < set->size; m++)
        hvd_files_words(w->files, s, m, true, l->cycle, t->bad[m], t->any_bad, words);
}

/* The requests of a member that are asked by name; cached tensors that are not common stay queued. */
static int take_queue(struct loop *l, int m, const struct turn *t, struct hvd_request *asking)
{
    int kept = 0, n = 0;
    for (int i = 0; i < l->queued[m]; i++) {
        const struct hvd_request r = l->queue[m][i];
        int b = r.op == JOIN ? -1 : bit_of(l, r.name);
        if (b < 0 || !alike(&l->cache[b].of, &r))
            asking[n++] = r;
        else if (!has_bit(t->all, b + STATUS))
            l->queue[m][kept++] = r;
    }
    l->queued[m] = kept;
    return n;
}

static void take_hits(struct world *w, struct loop *l, const struct turn *t, const struct hvd_set *set)
{
    int joined = 0;
    for (int m = 0; m < set->size; m++)
        joined += l->joins[m];
    for (int b = 0; joined < set->size && b < l->bits; b++)
        if (has_bit(t->all, b + STATUS) && l->cache[b].used) {
            w->said.error[w->said.answers][0] = 0;
            w->said.answer[w->said.answers++] = l->cache[b].of;
        }
}

/* All ranks carry out the answer. */
static void carry_out(struct world *w, int s)
{
    struct loop *l = &w->loop[s];
    const struct hvd_set *set = &w->run->set[s];
    uint64_t bytes[2] = {0}; /* fused: by MPI, by NCCL */
    for (int i = 0; i < w->said.answers; i++) {
        const struct hvd_request *r = &w->said.answer[i];
        const uint64_t of = r->op == JOIN || r->op == REFUSED ? 0 : (uint64_t)(r->rows * r->columns) * 4;
        bytes[w->run->nccl_from && of >= w->run->nccl_from] += of;
    }
    for (int i = 0; i < w->said.answers; i++) {
        const struct hvd_request *r = &w->said.answer[i];
        w->moved = true;
        if (r->op != JOIN && r->op != REFUSED)
            cache(l, w->run->capacity, r);
        for (int m = 0; m < set->size; m++) {
            struct rank *rank = &w->rank[set->member[m]];
            if (r->op == JOIN)
                l->joined[m] = l->joins[m] = rank->joined = false;
            else if (r->op != REFUSED && i == 0)
                hvd_files_operation(w->files, s, m, bytes);
            if (r->op == REFUSED && !l->joins[m])
                rank->failed = true;
            if (l->open[m] > 0 && !l->joins[m])
                l->open[m]--;
        }
    }
}

void hvd_turn_set(struct world *w, int s)
{
    static struct hvd_request asking[HVD_RANKS][HVD_QUEUE];
    static struct list list;
    struct loop *l = &w->loop[s];
    const struct hvd_set *set = &w->run->set[s];
    struct turn t = {.uncached = false};
    int n[HVD_RANKS];
    w->said.answers = 0;
    agree(w, s, &t);
    for (int b = 0; t.invalid && b < l->bits; b++)
        l->cache[b].used &= !has_bit(t.any_bad, b);
    for (int m = 0; m < set->size; m++)
        n[m] = take_queue(l, m, &t, asking[m]);
    take_hits(w, l, &t, set);
    if (t.uncached || !w->run->capacity) {
        bool news = w->said.answers || t.shutdown;
        for (int m = 0; m < set->size; m++)
            for (int i = 0; i < n[m]; i++, news = true)
                ask(l, m, &asking[m][i]);
        answer_asked(w, l, set);
        put_answer(w, &list, set->size, t.shutdown);
        for (int m = 0; news && m < set->size; m++)
            hvd_files_lists(w->files, s, m, l->cycle, asking[m], n[m], w->rank[set->member[m]].leaving, list.bytes,
                            list.used);
        for (int m = 0; !news && m < set->size; m++)
            hvd_files_idle(w->files, s, m, l->cycle);
    } else if (w->said.answers) {
        for (int b = 0; b < l->bits; b++)
            if (has_bit(t.all, b + STATUS))
                l->cache[b].stamp = ++l->stamp;
    }
    carry_out(w, s);
    if (t.invalid)
        number_anew(l);
    l->cycle++;
    w->over |= t.shutdown;
}
