/* Plans and simulates runs of Horovod: what the ranks' programs do, and one fault. */
#include "tests/support/hvd_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CYCLES_MOST = 40000, LEAVES_AFTER = 80, IDLE_MOST = 400 };
#define LONG_NS INT64_C(40000000000)

static int member_of(const struct hvd_set *set, int rank)
{
    int m = 0;
    while (m < set->size && set->member[m] != rank)
        m++;
    return m < set->size ? m : -1;
}

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

static void plan_sets(struct hvd_run *run)
{
    uint64_t *random = &run->random;
    bool alone = run->joins || run->fault == HVD_FAULT_JOIN || run->fault == HVD_FAULT_JOIN_BCAST;
    run->sets = alone || hvd_random(random, 3) ? 1 : 2 + (int)hvd_random(random, HVD_SETS - 1);
    for (int s = 0; s < run->sets; s++) {
        struct hvd_set *set = &run->set[s];
        for (int r = 0; r < run->ranks; r++)
            if (s == 0 || run->ranks - r <= 2 - set->size || hvd_random(random, 2))
                set->member[set->size++] = r;
        set->tensors = 2 + (int)hvd_random(random, hvd_random(random, 4) ? 6 : HVD_TENSORS - 1);
        for (int i = 0; i < set->tensors; i++) {
            struct hvd_request *t = &set->tensor[i];
            uint32_t kind = alone ? 9 : hvd_random(random, 12);
            t->op = kind == 0 ? ALLGATHER : kind == 1 ? BROADCAST : ALLREDUCE;
            t->type = hvd_random(random, 6) ? 7 : 5;
            t->rows = 1 + hvd_random(random, hvd_random(random, 2) ? 3 : 300);
            t->columns = 1 + hvd_random(random, 3);
            snprintf(t->name, sizeof t->name, "%s.s%d.layer%d.weight", t->op == BROADCAST ? "broadcast" : "allreduce",
                     s, i);
        }
    }
}

static void plan_fault(struct hvd_run *run)
{
    uint64_t *random = &run->random;
    int least = run->steps[0];
    bool early = run->ranks > 2 && run->fault < HVD_FAULT_JOIN;
    run->culprit = (int)hvd_random(random, (uint32_t)run->ranks);
    for (int r = 0; r < run->ranks; r++)
        least = run->steps[r] < least ? run->steps[r] : least;
    least -= run->sets > 1; /* a rank in no such set must not be done before */
    run->at_step = early ? (int)hvd_random(random, (uint32_t)least) : 1 + (int)hvd_random(random, (uint32_t)least - 1);
    do
        run->at_set = (int)hvd_random(random, (uint32_t)run->sets);
    while (member_of(&run->set[run->at_set], run->culprit) < 0);
    struct hvd_set *set = &run->set[run->at_set];
    run->at_tensor = (int)hvd_random(random, (uint32_t)set->tensors - 1);
    if (run->fault == HVD_FAULT_ROOT)
        set->tensor[run->at_tensor].op = BROADCAST;
    if (run->fault == HVD_FAULT_SWAPPED)
        run->blocking = true;
    if (run->fault == HVD_FAULT_JOIN || run->fault == HVD_FAULT_JOIN_BCAST)
        run->steps[run->culprit] = run->at_step;
}

void hvd_plan(uint64_t seed, struct hvd_run *run)
{
    *run = (struct hvd_run){.random = seed * 0x9e3779b97f4a7c15u + 1,
                            .fault = (enum hvd_fault)(seed % (HVD_FAULT_KINDS + 3))};
    uint64_t *random = &run->random;
    if (run->fault >= HVD_FAULT_KINDS) /* more healthy runs */
        run->fault = HVD_FAULT_NONE;
    for (int i = 0; i < 8; i++)
        hvd_random(random, 2);
    bool joins = run->fault == HVD_FAULT_JOIN || run->fault == HVD_FAULT_JOIN_BCAST;
    run->ranks = 2 + (int)hvd_random(random, HVD_RANKS - 1);
    uint32_t cache = hvd_random(random, 6);
    run->joins = run->fault == HVD_FAULT_NONE && cache && hvd_random(random, 3) == 0;
    run->capacity = cache == 0 && !joins ? 0 : cache == 1 ? 2 + (int)hvd_random(random, 6) : 100;
    run->blocking = hvd_random(random, 4) == 0;
    run->fused = hvd_random(random, 2);
    run->compute = 1 + (int)hvd_random(random, 20);
    run->jitter = (int)hvd_random(random, 30);
    run->cycle_ns = (1 + (int)hvd_random(random, 5)) * INT64_C(1000000);
    int steps = 3 + (int)hvd_random(random, 10);
    for (int r = 0; r < run->ranks; r++)
        run->steps[r] = run->joins ? steps + (int)hvd_random(random, 6) : steps;
    plan_sets(run);
    plan_fault(run);
    if (run->fault == HVD_FAULT_NONE && hvd_random(random, 2))
        run->cut = 20 + (int)hvd_random(random, (uint32_t)(steps * (run->compute + run->jitter + 4)));
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

static void submit(struct world *w, int s, int m, const struct hvd_request *r)
{
    struct loop *l = &w->loop[s];
    l->queue[m][l->queued[m]++] = *r;
    l->open[m]++;
    w->moved = true;
}

/* Property of a tensor that the culprit gets wrong. */
static void spoil(const struct hvd_run *run, struct hvd_request *r)
{
    if (run->fault == HVD_FAULT_NAME)
        strcat(r->name, "_1");
    else if (run->fault == HVD_FAULT_SHAPE)
        r->columns += 3;
    else if (run->fault == HVD_FAULT_TYPE)
        r->type = 8;
    else if (run->fault == HVD_FAULT_OPERATION)
        r->op = r->op == ALLREDUCE ? ALLGATHER : ALLREDUCE;
    else if (run->fault == HVD_FAULT_ROOT)
        r->root += 1;
}

/* The fault comes when a rank is about to submit a tensor.  True: it does something else from now on. */
static bool misbehave(struct world *w, struct rank *r, int m)
{
    const struct hvd_run *run = w->run;
    switch (run->fault) {
    case HVD_FAULT_STUCK:
        return r->stuck = true;
    case HVD_FAULT_ONLY:
        submit(w, r->set, m, &(struct hvd_request){.name = "metric.val_loss", .type = 7, .rows = 1, .columns = 1});
        return r->stuck = true;
    case HVD_FAULT_LOOP:
        return r->loop_dead = true;
    case HVD_FAULT_KILLED:
        return r->killed = true;
    case HVD_FAULT_BARRIER:
        return r->stuck = r->barrier = true;
    default:
        return false;
    }
}

/* Whether a rank has to wait before it can go on. */
static bool waits(const struct world *w, const struct rank *r, int rank)
{
    for (int s = 0; s < w->run->sets; s++) {
        int m = member_of(&w->run->set[s], rank);
        if (m >= 0 && w->loop[s].open[m] > 0 && (w->run->blocking || s != r->set || r->next == 0 || r->joined))
            return true;
    }
    return false;
}

static void leave_or_join(struct world *w, struct rank *r, int rank)
{
    const struct hvd_run *run = w->run;
    bool culprit = rank == run->culprit, joins = run->fault == HVD_FAULT_JOIN || run->fault == HVD_FAULT_JOIN_BCAST;
    int m = member_of(&run->set[0], rank);
    if (joins && !culprit) { /* the others have no more data, and do something else */
        if (run->fault == HVD_FAULT_JOIN_BCAST && !r->stuck)
            submit(
                w, 0, m,
                &(struct hvd_request){.name = "broadcast.state", .op = BROADCAST, .type = 7, .rows = 5, .columns = 1});
        r->stuck = true;
    } else if ((run->joins || joins) && !r->joined && w->loop[0].open[m] == 0 && !r->stuck) {
        submit(w, 0, m, &(struct hvd_request){.name = "join.noname", .op = JOIN});
        w->loop[0].joins[m] = r->joined = true;
        r->stuck = true;
    } else if (!r->joined) {
        r->leaving = w->moved = true;
    }
}

static void submit_next(struct world *w, struct rank *r, int rank)
{
    const struct hvd_run *run = w->run;
    const struct hvd_set *set = &run->set[r->set];
    int m = member_of(set, rank), which = r->next;
    bool here = rank == run->culprit && r->step == run->at_step && r->set == run->at_set;
    if (here && r->next == run->at_tensor && misbehave(w, r, m))
        return;
    if (here && run->fault == HVD_FAULT_SWAPPED && (which == run->at_tensor || which == run->at_tensor + 1))
        which = 2 * run->at_tensor + 1 - which;
    struct hvd_request request = set->tensor[which];
    if (here && which == run->at_tensor)
        spoil(run, &request);
    submit(w, r->set, m, &request);
    r->next++;
}

/* Lets a program go on for as long as it need not wait. */
static void advance(struct world *w, int rank)
{
    struct hvd_run *run = w->run;
    struct rank *r = &w->rank[rank];
    if (r->failed && !r->killed) /* an error: the exception ends the program */
        r->leaving = true;
    while (!r->leaving && !r->killed && !r->loop_dead) {
        if (r->stuck && !(r->set == 0 && r->step >= run->steps[rank] && run->joins && !r->joined))
            return;
        if (waits(w, r, rank))
            return;
        if (r->step >= run->steps[rank]) {
            if (run->joins && r->stuck && !r->joined) /* all have joined */
                r->leaving = w->moved = true;
            else
                leave_or_join(w, r, rank);
            return;
        }
        if (r->set == 0 && r->next == 0 && !r->started) {
            r->compute = run->compute + (int)hvd_random(&run->random, (uint32_t)run->jitter + 1);
            if (rank == run->culprit && run->fault == HVD_FAULT_SHUTDOWN && r->step == run->at_step)
                r->compute += LEAVES_AFTER + run->jitter;
            r->started = true;
        }
        if (r->compute > 0) {
            r->compute--;
            w->moved = true;
            return;
        }
        if (rank == run->culprit && run->fault == HVD_FAULT_SHUTDOWN && r->step == run->at_step) {
            r->leaving = true;
            return;
        }
        if (member_of(&run->set[r->set], rank) >= 0 && r->next < run->set[r->set].tensors) {
            submit_next(w, r, rank);
            continue;
        }
        r->next = 0;
        if (waits(w, r, rank)) { /* for all of the set */
            r->next = run->set[r->set].tensors;
            return;
        }
        if (++r->set == run->sets) {
            r->set = 0;
            r->started = false;
            r->step++;
        }
    }
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* Says where each rank ended. */
static void close_run(struct world *w, bool finished, struct hvd_end *end)
{
    struct hvd_run *run = w->run;
    bool held = false;
    for (int r = 0; r < run->ranks; r++)
        held |= w->rank[r].loop_dead || w->rank[r].killed;
    run->finished = finished;
    run->end_ns = w->now_ns + (finished || run->cut ? 0 : LONG_NS);
    for (int r = 0; r < run->ranks; r++) {
        const struct rank *rank = &w->rank[r];
        bool gone = rank->killed || rank->loop_dead;
        end[r] = (struct hvd_end){.ns = rank->killed ? w->now_ns : run->end_ns,
                                  .finalized = finished,
                                  .in_barrier = rank->barrier && !finished,
                                  .waits_in = held && !gone ? 0 : -1,
                                  .since_ns = w->now_ns};
    }
    hvd_files_time(w->files, held ? w->now_ns : run->end_ns);
}

void hvd_simulate(struct hvd_run *run, const char *folder)
{
    struct world *w = calloc(1, sizeof *w);
    int idle = 0;
    w->run = run;
    w->files = hvd_files_open(run);
    for (int cycle = 1; !w->over && idle < IDLE_MOST && cycle < CYCLES_MOST && cycle != run->cut; cycle++) {
        bool held = false;
        w->now_ns = cycle * run->cycle_ns;
        w->moved = false;
        hvd_files_time(w->files, w->now_ns);
        for (int r = 0; r < run->ranks; r++) {
            advance(w, r);
            held |= w->rank[r].loop_dead || w->rank[r].killed;
        }
        for (int s = 0; s < run->sets && !held && !w->over; s++)
            hvd_turn_set(w, s);
        idle = held ? IDLE_MOST : w->moved ? 0 : idle + 1;
    }
    struct hvd_end end[HVD_RANKS];
    close_run(w, w->over, end);
    hvd_files_close(w->files, end, folder);
    free(w);
}
