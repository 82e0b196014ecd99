/* Effects of a cycle on tensors and steps: names, submissions, agreement, lateness. */
#include "trace/horovod/horovod_impl.h"
#include "trace/util/hash.h"
#include "trace/util/numfmt.h"
#include "trace/util/text.h"
#include "trace/util/grow.h"
#include <stdlib.h>

#define TENSORS_MAX   65536u
#define FORMS_MAX     4096u
#define SAME_NAME_MAX 16u

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

void hvd_free_tensor(struct ana_hvd_tensor *t)
{
    free(t->name);
    free(t->submitted);
    free(t->submitted_ns);
    free(t->submitted_cycle);
    free(t->form);
}

static bool add_tensor(struct ana_hvd_set *set, struct hvd_work *work, const char *name, size_t size)
{
    if (!hvd_cells(work->cells, set->ranks))
        return false;
    if (set->tensors >= TENSORS_MAX || !ana_grow_alone(&set->tensor, set->tensors, sizeof *set->tensor))
        return false;
    struct ana_hvd_tensor t = {.dtype = -1, .agreed_ns = ANA_HVD_NEVER, .since_ns = ANA_HVD_NEVER};
    t.name = malloc(2 * size + 2); /* printable name, followed by its raw bytes */
    t.submitted = calloc(set->ranks, sizeof *t.submitted);
    t.submitted_ns = calloc(set->ranks, sizeof *t.submitted_ns);
    t.submitted_cycle = calloc(set->ranks, sizeof *t.submitted_cycle);
    t.form = calloc(set->ranks, sizeof *t.form);
    if (!t.name || !t.submitted || !t.submitted_ns || !t.submitted_cycle || !t.form) {
        hvd_free_tensor(&t);
        return false;
    }
    memcpy(t.name, name, size);
    t.name[size] = 0;
    trc_clean_text(t.name);
    memcpy(t.name + size + 1, name, size);
    for (size_t m = 0; m < set->ranks; m++)
        t.submitted_ns[m] = ANA_HVD_NEVER;
    set->tensor[set->tensors++] = t;
    return true;
}

int32_t hvd_tensor_of(struct ana_hvd_set *set, struct hvd_work *work, const char *name, size_t size)
{
    uint64_t hash = ana_hash(name, size);
    for (uint64_t same = 0; same < SAME_NAME_MAX; same++) {
        uint32_t *found = ana_map_find(&work->names, hash, same, size);
        if (found && memcmp(set->tensor[*found].name + size + 1, name, size) == 0)
            return (int32_t)*found;
        if (found)
            continue;
        if (!add_tensor(set, work, name, size) || !(found = ana_map_add(&work->names, hash, same, size)))
            return -1;
        *found = (uint32_t)set->tensors - 1;
        return (int32_t)*found;
    }
    return -1;
}

int32_t hvd_tensor_at_bit(struct ana_hvd_set *set, struct hvd_work *work, uint32_t bit)
{
    if (bit < work->cache.bits && work->cache.tensor[bit] >= 0)
        return work->cache.tensor[bit];
    char name[40];
    int n = snprintf(name, sizeof name, "tensor at bit %u", bit);
    int32_t t = hvd_tensor_of(set, work, name, (size_t)n);
    if (t >= 0)
        ana_hvd_cache_assume(&work->cache, bit, t);
    set->names_lost = true;
    return t;
}

/* ---- contents of requests ---------------------------------------------------------------------------------------- */

void hvd_learn(struct ana_hvd_tensor *t, const struct ana_hvd_entry *entry)
{
    if (entry->op >= 0 && entry->op < ANA_HVD_OPS)
        t->op = (enum ana_hvd_op)entry->op;
    t->dtype = entry->dtype;
    if (entry->elements)
        t->elements = entry->elements;
}

/* Writes a shape as Horovod does; of operations that join the ranks' tensors the first dimension counts for nothing. */
static void write_shape(const struct ana_hvd_entry *entry, char *out, size_t size)
{
    bool any_first = entry->op == ANA_HVD_ALLGATHER || entry->op == ANA_HVD_ALLTOALL;
    size_t at = 0;
    ana_append(out, size, &at, "[");
    for (size_t i = 0; i < entry->dimensions && at + 1 < size; i++) {
        int64_t value;
        memcpy(&value, entry->shape + 8 * i, sizeof value);
        if (i == 0 && any_first)
            ana_append(out, size, &at, "*");
        else
            ana_append(out, size, &at, "%s%lld", i ? ", " : "", (long long)value);
    }
    ana_append(out, size, &at, "]");
}

uint32_t hvd_form_of(struct ana_hvd_set *set, struct hvd_work *work, const struct ana_hvd_entry *entry)
{
    struct ana_hvd_form form;
    memset(&form, 0, sizeof form);
    form.op = entry->op;
    form.dtype = entry->dtype;
    form.reduction = entry->reduction;
    form.root = entry->root;
    write_shape(entry, form.shape, sizeof form.shape);
    uint64_t hash = ana_hash(&form, sizeof form);
    uint32_t *known = ana_map_find(&work->forms, hash, 0, 0);
    if (known || set->forms == FORMS_MAX)
        return known ? *known : 0;
    if (!ana_grow_alone(&set->form, set->forms, sizeof *set->form))
        return 0;
    if (!(known = ana_map_add(&work->forms, hash, 0, 0)))
        return 0;
    set->form[set->forms++] = form;
    return *known = (uint32_t)set->forms;
}

/* ---- agreement -------------------------------------------------------------------------------------------------- */

/* Counts the lateness for a tensor agreed on in this cycle; a submitter may be unknown, e.g. at the begin without a
 * cache. */
static void count_lateness(const struct ana_hvd_set *set, struct hvd_work *work, const struct ana_hvd_tensor *t,
                           uint64_t cycle, int64_t ns)
{
    uint64_t first = UINT64_MAX;
    int64_t first_ns = INT64_MAX;
    for (size_t m = 0; m < set->ranks; m++)
        if (t->submitted[m] == ANA_HVD_YES && t->submitted_cycle[m] < first) {
            first = t->submitted_cycle[m];
            first_ns = t->submitted_ns[m];
        }
    if (first == UINT64_MAX) {
        first = cycle;
        first_ns = ns;
    }
    for (size_t m = 0; m < set->ranks; m++) {
        if (t->submitted[m] != ANA_HVD_YES)
            continue;
        double cycles = (double)(t->submitted_cycle[m] - first);
        double ms = t->submitted_ns[m] > first_ns ? (double)(t->submitted_ns[m] - first_ns) / 1e6 : 0;
        if (cycles > work->member[m].late_cycles)
            work->member[m].late_cycles = cycles;
        if (ms > work->member[m].late_ms)
            work->member[m].late_ms = ms;
    }
    if (work->batch++ == 0 || first < work->batch_first) {
        work->batch_first = first;
        work->batch_begin_ns = first_ns;
    }
}

bool hvd_agree(struct ana_hvd_set *set, struct hvd_work *work, int32_t tensor, uint64_t cycle, int64_t ns, bool by_name,
               const struct ana_hvd_entry *refused)
{
    struct ana_hvd_tensor *t = &set->tensor[tensor];
    const struct ana_hvd_rank *root = &set->rank[0];
    bool revealed = by_name && t->submitted[0] != ANA_HVD_YES && root->asks && root->asks_cycle <= cycle;
    if (revealed) { /* requests of member 0 are on no wire, but it must have submitted by then */
        t->submitted[0] = ANA_HVD_YES;
        t->submitted_cycle[0] = root->asks_cycle;
        t->submitted_ns[0] = root->asks_ns;
    }
    if (refused) {
        hvd_refuse(set, (size_t)tensor, cycle, ns, refused);
    } else {
        for (size_t m = 0; m < set->ranks; m++)
            t->agreed_form = t->form[m] ? t->form[m] : t->agreed_form;
        if (t->step == set->steps + 1) /* the second time in this step, and nobody was seen to submit it */
            hvd_end_step(set, work);
        count_lateness(set, work, t, cycle, ns);
        t->done++;
        t->step = set->steps + 1;
        t->agreed_ns = set->agreed_ns = ns;
        work->batch_end_ns = ns;
        if (set->refusal.tensor == (size_t)tensor || set->steps > set->refusal.step)
            set->refusal.count = 0;
    }
    set->pending -= t->pending;
    t->pending = false;
    for (size_t m = 0; m < set->ranks; m++)
        if (t->submitted[m] != ANA_HVD_YES)
            t->submitted_ns[m] = ANA_HVD_NEVER;
    memset(t->submitted, ANA_HVD_NO, set->ranks);
    memset(t->form, 0, set->ranks * sizeof *t->form);
    uint32_t bit = ana_hvd_cache_bit(&work->cache, tensor) + HVD_STATUS_BITS;
    for (size_t m = 0; bit >= HVD_STATUS_BITS && bit / 64 < TRC_ROUND_WORDS && m < set->ranks; m++)
        work->member[m].in[bit / 64] &= ~(1ull << bit % 64);
    return revealed;
}

void hvd_end_step(struct ana_hvd_set *set, struct hvd_work *work)
{
    if (work->batch == 0)
        return;
    size_t last = 0, second = SIZE_MAX;
    for (size_t m = 1; m < set->ranks; m++)
        if (work->member[m].late_cycles > work->member[last].late_cycles)
            last = m;
    for (size_t m = 0; m < set->ranks; m++)
        if (m != last && (second == SIZE_MAX || work->member[m].late_cycles > work->member[second].late_cycles))
            second = m;
    struct hvd_member *late = &work->member[last];
    bool told = second != SIZE_MAX && late->late_cycles > work->member[second].late_cycles;
    int64_t from_ns = set->steps ? work->ended_ns : work->batch_begin_ns;
    struct ana_hvd_step step = {.number = set->steps + 1,
                                .from_ns = from_ns,
                                .begin_ns = work->batch_begin_ns,
                                .end_ns = work->batch_end_ns,
                                .tensors = work->batch,
                                .last_rank = told ? (uint32_t)last : UINT32_MAX,
                                .cycles = late->late_cycles,
                                .ms = late->late_ms};
    work->ended_ns = work->batch_end_ns;
    hvd_store_slow(set, &step);
    size_t place = set->steps % HVD_STEPS;
    if (work->step)
        work->step[place] = work->step[place + HVD_STEPS] = step;
    set->steps++;
    set->kept_steps = !work->step ? 0 : set->steps < HVD_STEPS ? set->steps : HVD_STEPS;
    set->step = work->step ? work->step + (set->steps <= HVD_STEPS ? 0 : (set->steps % HVD_STEPS)) : NULL;
    for (size_t m = 0; m < set->ranks; m++) {
        struct hvd_member *member = &work->member[m];
        struct ana_hvd_rank *rank = &set->rank[m];
        rank->steps++;
        member->sum_cycles += member->late_cycles;
        member->sum_ms += member->late_ms;
        if (told && m == last) {
            rank->last++;
            member->last_sum_cycles += member->late_cycles;
            member->last_sum_ms += member->late_ms;
        }
        rank->late_cycles = member->sum_cycles / (double)rank->steps;
        rank->late_ms = member->sum_ms / (double)rank->steps;
        rank->last_cycles = rank->last ? member->last_sum_cycles / (double)rank->last : 0;
        rank->last_ms = rank->last ? member->last_sum_ms / (double)rank->last : 0;
        member->late_cycles = member->late_ms = 0;
    }
    work->batch = 0;
}

void hvd_submit(struct ana_hvd_set *set, struct hvd_work *work, int32_t tensor, size_t member, uint64_t cycle,
                int64_t ns, uint32_t form)
{
    struct ana_hvd_tensor *t = &set->tensor[tensor];
    t->form[member] = form ? form : t->form[member];
    if (t->submitted[member] == ANA_HVD_YES)
        return; /* asked for anew after its cache entry was dropped: it has waited since the first time */
    if (t->step == set->steps + 1) /* the second time in this step: so it is the next one */
        hvd_end_step(set, work);
    t->submitted[member] = ANA_HVD_YES;
    t->submitted_ns[member] = ns;
    t->submitted_cycle[member] = cycle;
    if (!t->pending) {
        t->pending = true;
        t->since_ns = ns;
        set->pending++;
    }
}
