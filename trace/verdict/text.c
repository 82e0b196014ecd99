/* The verdict in words: who, doing what, where. */
#include "trace/horovod/horovod.h"
#include "trace/job/inside.h"
#include "trace/job/site_words.h"
#include "trace/util/hash.h"
#include "trace/util/sort.h"
#include "trace/verdict/verdict_impl.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 64

void ana_call_fact_words(const struct ana_case *c, struct ana_call call, char *out, size_t size)
{
    struct trc_sig sig = *call.sig;
    /* MPI_Wait records its request's partner, but not what kind of request it is. */
    if (call.opclass == TRC_OP_WAIT || trc_opclass_is_probe(call.opclass))
        sig.flags |= sig.rtag != TRC_TAG_NONE ? TRC_SIG_P2P_IN : sig.tag != TRC_TAG_NONE ? TRC_SIG_P2P_OUT : 0;
    ana_call_words(c->job, call.index, call.name, &sig, out, size);
}

void ana_dependency_words(const struct ana_case *c, const struct ana_dependency *w, char *out, size_t size)
{
    char comm[128], tag[32] = "any tag", from[64] = "any rank";
    size_t partner = ana_dependency_partner(c, w);
    ana_comm_words(c->job, w->comm, comm, sizeof comm);
    if (w->tag != TRC_TAG_ANY)
        snprintf(tag, sizeof tag, "tag %d", w->tag);
    if (w->peer != TRC_PEER_ANY)
        snprintf(from, sizeof from, "rank %s", partner == SIZE_MAX ? "?" : ana_rank_label(c->job, partner).text);
    snprintf(out, size, "a message from %s with %s on %s", from, tag, comm);
}

/* ---- activity of each rank -------------------------------------------------------------------------------------- */

void ana_site_words(const struct ana_job *job, size_t index, uint64_t site, char *out, size_t size)
{
    const char *function = NULL, *module = NULL;
    *out = 0;
    trc_site(ana_job_members(job)->process[index].rank.file, site, &function, &module);
    if (function || module)
        ana_caller_words(job, index, site, out, size);
}

void ana_stack_place_words(const struct ana_job *job, const struct ana_stack *stack, char *out, size_t size)
{
    const struct ana_frame *frame = ana_stack_place(stack);
    *out = 0;
    if (frame)
        ana_frame_words(job, stack->index, frame, out, size);
}

/* Writes where its stack was taken.  One from before `since_ns`, when the rank came to where it is now, is dropped. */
static void stack_words(struct ana_case *c, size_t index, const struct ana_waiting *waiting, int64_t since_ns,
                        struct ana_verdict_group *g)
{
    const struct ana_stack *stack = ana_stack_of(c->stacks, index);
    if (stack && ana_clock_job_time(c->members->clock, index, stack->ticks) < since_ns) {
        ana_stacks_forget(c->stacks, index);
        return;
    }
    if (stack && !waiting && stack->state == 'Z') {
        size_t used = strlen(g->doing);
        snprintf(g->doing + used, sizeof g->doing - used, "; that thread has ended");
    }
    /* Inside a call its own source line says more than native frames, after one more than that the rank runs. */
    if (!stack ||
        (g->where[0] && (waiting ? !stack->python_count && !ana_stack_in_callback(stack) : !ana_stack_place(stack))))
        return;
    char place[200];
    ana_stack_place_words(c->job, stack, place, sizeof place);
    if (stack->flags & TRC_STACK_CRASHED)
        snprintf(g->where, sizeof g->where, "%s", place);
    else
        ana_stack_line_at(stack, stack->python_count ? NULL : place, g->where, sizeof g->where);
}

/* Makes the stack of the thread that a rank's line tells of stand for the rank. */
static void choose_stack(struct ana_case *c, size_t index, uint32_t thread)
{
    if (thread != UINT32_MAX)
        ana_stacks_choose(c->stacks, index, trc_thread(ana_case_file(c, index), thread)->tid);
}

/* Writes what Horovod's loop on a rank of c->loops does.  False: its MPI calls say more.  The places of the loops'
 * threads tell nothing while the loops turn: only a program's wait for its tensors counts. */
static bool loop_words(const struct ana_case *c, size_t index, char *out, size_t size)
{
    const struct ana_hvd_set *set = c->loops;
    size_t m = 0, waits = 0, unknown = 0;
    while (set && m < set->ranks && set->rank[m].index != index)
        m++;
    if (!set || m == set->ranks || set->rank[m].main_inside || c->members->process[index].stopped)
        return false;
    for (size_t i = 0; i < set->tensors; i++) {
        const struct ana_hvd_tensor *t = &set->tensor[i];
        waits += t->pending && t->submitted[m] == ANA_HVD_YES;
        unknown += t->pending && t->submitted[m] == ANA_HVD_UNKNOWN;
    }
    struct ana_fact fact = {set->rank[m].joined ? ANA_SENTENCE_HVD_HAS_JOINED
                            : waits             ? ANA_SENTENCE_HVD_WAITS
                            : unknown           ? ANA_SENTENCE_HVD_ASKS_UNSEEN
                                                : ANA_SENTENCE_HVD_AWAITED,
                            .count = (int64_t)waits};
    ana_render(c, c->out, &fact, out, size);
    return true;
}

static void describe(struct ana_case *c, size_t index, struct ana_verdict_group *g)
{
    const struct ana_process *p = &c->members->process[index];
    const struct ana_rank *r = &p->rank;
    const bool outside = c->rank[index].lives;
    const uint32_t thread = outside ? ana_thread_outside(c, index) : UINT32_MAX;
    struct ana_waiting *waiting = outside ? NULL : ana_rank_waiting(c, index);
    if (waiting && waiting->kind == ANA_WAITING_DEVICE)
        waiting = NULL; /* the call or the operation itself tells more */
    bool inside = r->inside && !outside;
    const struct trc_sig *sig = waiting ? waiting->sig : inside ? r->inside_sig : NULL;
    char call[200] = "";
    g->first = index;
    if (ana_case_ended(c, index)) {
        snprintf(g->doing, sizeof g->doing, "finished");
        return;
    }
    if (loop_words(c, index, g->doing, sizeof g->doing)) {
        stack_words(c, index, NULL, c->loops_since_ns, g);
        return;
    }
    choose_stack(c, index, waiting ? waiting->thread : thread);
    if (waiting)
        ana_call_fact_words(c, ana_waiting_call(waiting), call, sizeof call);
    else if (inside)
        ana_inside(c->job, index, call, sizeof call);
    const char *how = p->traced                                                     ? "stopped by a debugger, "
                      : p->stopped                                                  ? "stopped by a signal, "
                      : c->live && c->rank[index].gone && r->state == ANA_RANK_DEAD ? "gone, "
                      : !c->live && c->rank[index].gone                             ? "gone first, "
                                                                                    : "";
    if (call[0]) {
        const struct trc_sig *nested = waiting ? waiting->nested : NULL;
        snprintf(g->doing, sizeof g->doing, "%s%s %s%s%s", how,
                 waiting && waiting->kind == ANA_WAITING_POLL ? "polls with" : "in", call,
                 nested ? ", whose callback is in " : "", nested ? trc_call(r->file, nested->call)->name : "");
        sig = nested ? nested : sig;
    } else {
        char op[200];
        ana_gpu_inside(c->job, index, op, sizeof op);
        if (*op) {
            snprintf(g->doing, sizeof g->doing, "%sin %s", how, op);
            ana_site_words(c->job, index, r->gpu_op->site, g->where, sizeof g->where);
            stack_words(c, index, NULL, c->members->process[index].last_end_ns, g);
            return;
        }
        sig = thread == UINT32_MAX ? ana_last_call(r->file, NULL)
                                   : trc_live_sig(r->file, thread, trc_thread(r->file, thread)->last);
        if (r->off)
            snprintf(g->doing, sizeof g->doing, "%srecording is off (MPI_Pcontrol)", how);
        else if (!ana_case_known(c, index))
            snprintf(g->doing, sizeof g->doing, "%strace file cut off", how);
        else
            snprintf(g->doing, sizeof g->doing, "%soutside MPI%s%s", how, sig ? ", after " : "",
                     sig ? trc_call(r->file, sig->call)->name : "");
    }
    if (sig)
        ana_site_words(c->job, index, sig->site, g->where, sizeof g->where);
    stack_words(c, index, waiting, waiting ? waiting->since_ns : p->last_end_ns, g);
}

static int odd_first(const void *a, const void *b)
{
    const struct ana_verdict_group *x = a, *y = b;
    if (x->culprit != y->culprit)
        return x->culprit ? -1 : 1;
    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* A long read or write in a job that is over looks like one that never ends: nothing tells whether its bytes moved. */
void ana_doubt_files(struct ana_case *c)
{
    if (c->live || c->out->state != ANA_VERDICT_HUNG)
        return;
    for (size_t i = 0; i < c->out->culprits; i++) {
        size_t index = c->out->culprit[i];
        const struct ana_stack *stack = ana_rank_waiting(c, index) ? NULL : ana_stack_of(c->stacks, index);
        if (!stack || !strstr(stack->on, "() on /") || strstr(stack->on, "() on /dev/") ||
            ana_clock_job_time(c->members->clock, index, stack->ticks) < c->members->process[index].last_end_ns)
            continue;
        ANA_FACT(c, ANA_SENTENCE_FILE_DOUBT, .who = ana_one_rank(index), .name = stack->on);
        if (c->out->confidence == ANA_LIKELY)
            c->out->confidence = ANA_POSSIBLE;
    }
}

void ana_explain_threads(struct ana_case *c)
{
    char place[200], line[512];
    for (size_t i = 0; i < c->stacks->count; i++) {
        const struct ana_stack *stack = &c->stacks->stack[i];
        if (!ana_is_culprit(c->out, stack->index) || !ana_is_silent_thread(c, stack))
            continue;
        ana_stack_place_words(c->job, stack, place, sizeof place);
        ana_stack_line_at(stack, stack->python_count ? NULL : place, line, sizeof line);
        ana_case_fact(c, (struct ana_fact){ANA_SENTENCE_SILENT_THREAD, .who = ana_one_rank(stack->index),
                                           .name = ana_case_text(c, line)});
    }
}

/* Makes one group of ranks at equal places: O(ranks). */
void ana_case_groups(struct ana_case *c, struct ana_verdict *v)
{
    struct ana_map known;
    size_t *group_of = ana_case_room(c), *member = ana_case_room(c);
    ana_map_init(&known, sizeof(struct ana_verdict_group));
    for (size_t i = 0, culprits = 0; i < c->count && group_of && member; i++) {
        struct ana_verdict_group one = {.culprit = culprits < c->out->culprits && c->out->culprit[culprits] == i};
        culprits += one.culprit;
        describe(c, i, &one);
        struct ana_verdict_group *g =
            ana_map_add(&known, ana_hash_text(one.doing), ana_hash_text(one.where), one.culprit);
        if (!g) {
            c->memory = true;
            break;
        }
        size_t count = g->count, first = g->first;
        *g = one;
        g->count = count + 1;
        g->first = count ? first : i;
        group_of[i] = (size_t)(g - (struct ana_verdict_group *)known.values);
    }
    for (size_t k = 0; k < known.count && group_of && member; k++) {
        struct ana_verdict_group *g = ana_map_value(&known, k);
        size_t n = 0;
        /* Only the first few of many groups are ever shown. */
        for (size_t i = g->first; i < c->count && k < GROUPS_MAX; i++)
            if (group_of[i] == k)
                member[n++] = i;
        ana_rank_list(c->job, member, n, g->who, sizeof g->who);
    }
    v->divergences = ana_stacks_divergence(c->job, c->stacks, &v->divergence);
    v->groups = known.count;
    v->group = known.values;
    if (v->groups)
        ana_sort(v->group, v->groups, sizeof *v->group, odd_first);
    size_t used = strlen(v->next);
    if (c->loops && c->live && v->groups && v->group[0].culprit && !v->group[0].where[0])
        snprintf(v->next + used, sizeof v->next - used, "; `hpctop stacks` asks it where it is");
    free(known.keys);
    free(known.slots);
}
