/* A stand-in for Horovod: the same loop on a thread of its own and the same calls in the same order (negotiation by
 * bitwise AND of ready words, lists of requests and responses as FlatBuffers, a cache of responses), but no tensors
 * worth the name and faults on demand.  Up to 64 ranks.
 *
 *   hvd_standin [-s STEPS] [-t TENSORS] [-c CYCLE_US] [-k CAPACITY] [-m COMPUTE_MS] [-f FAULT] [-r RANK] [-a STEP]
 *               [-d MS] [-x HOLD_MS] [-e ELEMENTS]
 *
 * -e: elements of the first tensor; each further one has one more.
 * Fault of rank -r at step -a:
 *   none       trains -s steps and ends               idle       trains, then only the loop runs for -d ms
 *   missing    stops submitting, for ever             metric     waits for a tensor that nobody else submits
 *   name       one tensor has another name here       loopdead   its loop stands still between two calls
 *   inside     its loop stands still before the data operation that the others are in
 *   straggler  submits -d ms late at every step       pause      once comes -d ms late
 *   shutdown   leaves early                           barrier    waits in MPI_Barrier instead
 *   join       has no more data and joins             reshape    one tensor changes its shape there, on all ranks
 *   kill       SIGKILL to itself                      stop       SIGSTOP to itself
 *   shape      one tensor has another shape here      type       one tensor has another type here
 *   alone      joins, and the others neither join nor submit anything more
 *   compute    once computes for -d ms more
 * A job that hangs is killed by its own ranks -x ms after the start, as a batch system would.  Prints
 * "standin: rank R pid P done after N steps". */
#include "hvd_tensors.h"
#include "hvd_time.h"
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORDS    16 /* words of 64 bits: three flags and a bit for each entry of the cache */
#define UNPROVEN 2  /* cycles before the program begins: a loop without a cache is known by them */

static int rank, size, steps = 20, tensors = 4, cycle_us = 1000, compute_ms = 5, at_step = 10, late_ms = 50,
                       hold_ms = 20000, culprit = 1, first_elements = 1000;
static const char *fault = "none";
static MPI_Comm comm;

/* Tensors handed to the loop by the program, and their results. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct tensor queue[TENSORS];
static int queued, pending, up, down, leaving, joined_here, join_over, dead_loop, dead_inside, failed;

static void for_ever(void)
{
    for (;;)
        pause();
}
static int is(const char *name)
{
    return strcmp(fault, name) == 0;
}

/* ---- requests by tensor, at the coordinator ---------------------------------------------------------------------- */

static struct tensor asked[TENSORS];
static uint64_t askers[TENSORS], joined;
static char differs[TENSORS][128];           /* reason of a refusal; empty: none */
static int asked_n, asked_to_leave, refuses; /* refuses in the next cycle */

static void ask(int who, const struct tensor *t)
{
    if (t->type == JOIN) {
        joined |= 1ull << who;
        return;
    }
    int i = 0;
    while (i < asked_n && strcmp(asked[i].name, t->name) != 0)
        i++;
    if (i == asked_n) {
        asked[asked_n] = *t;
        differs[asked_n][0] = 0;
        askers[asked_n++] = 0;
    }
    if (asked[i].dtype != t->dtype)
        snprintf(differs[i], sizeof *differs,
                 "Mismatched data types: One rank had type float%d, but another rank had type float%d.",
                 asked[i].dtype == FLOAT32 ? 32 : 64, t->dtype == FLOAT32 ? 32 : 64);
    else if (asked[i].elements != t->elements)
        snprintf(differs[i], sizeof *differs,
                 "Mismatched ALLREDUCE tensor shapes: One rank sent a tensor of shape [%lld], but another rank sent a "
                 "tensor of shape [%lld].",
                 (long long)asked[i].elements, (long long)t->elements);
    askers[i] |= 1ull << who;
}
static void ask_all(int who, const unsigned char *bytes)
{
    const unsigned char *requests = field(follow(bytes), 0), *leave = field(follow(bytes), 1);
    asked_to_leave |= leave && *leave;
    requests = requests ? follow(requests) : NULL;
    for (uint32_t i = 0; requests && i < load(requests); i++) {
        const unsigned char *table = follow(requests + 4 + 4 * i), *shape = field(table, 6), *type = field(table, 1),
                            *dtype = field(table, 2);
        struct tensor t = {.elements = 1, .type = type ? *type : 0, .dtype = dtype ? *dtype : 0};
        snprintf(t.name, sizeof t.name, "%s", (const char *)follow(field(table, 3)) + 4);
        if (shape)
            memcpy(&t.elements, follow(shape) + 4, 8);
        ask(who, &t);
    }
}

/* ---- the loop -------------------------------------------------------------------------------------------------- */

static void carry_out(const struct tensor *tensor, int n)
{
    int64_t elements = 0;
    for (int i = 0; i < n; i++)
        elements += tensor[i].elements;
    float *fused = calloc((size_t)elements + 1, sizeof *fused);
    if (dead_inside)
        for_ever();
    MPI_Allreduce(MPI_IN_PLACE, fused, (int)elements, MPI_FLOAT, MPI_SUM, comm);
    free(fused);
    pthread_mutex_lock(&lock);
    pending = joined_here || pending < n ? 0 : pending - n;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Rank 0: receives what the others ask for, and says what all have asked for. */
static void coordinate(struct list *list, const struct tensor *mine, int n, const uint64_t *common, int shutdown)
{
    static struct tensor ready[TENSORS];
    int lengths[64] = {0}, places[64] = {0}, total = 0, ready_n = 0, kept = 0, type = ALLREDUCE;
    char why[sizeof *differs] = "";
    MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, lengths, 1, MPI_INT, 0, comm);
    lengths[0] = 0;
    for (int i = 1; i < size; i++) {
        places[i] = total;
        total += lengths[i];
    }
    unsigned char *all = malloc((size_t)total + 1);
    MPI_Gatherv(NULL, 0, MPI_BYTE, all, lengths, places, MPI_BYTE, 0, comm);
    for (int i = 0; i < n; i++)
        ask(0, &mine[i]);
    for (int i = 1; i < size; i++)
        ask_all(i, all + places[i]);
    free(all);
    for (int b = 0; __builtin_popcountll(joined) < size && b < bits; b++)
        if (common[(b + 3) / 64] >> (b + 3) % 64 & 1)
            ready[ready_n++] = cached[by_bit[b]];
    refuses = 0;
    for (int i = 0; i < asked_n; i++)
        if (__builtin_popcountll(askers[i] | joined) == size && !*why && (!*differs[i] || ready_n == 0)) {
            ready[ready_n++] = asked[i];
            memcpy(why, differs[i], sizeof why); /* alone in its response */
        } else {
            asked[kept] = asked[i];
            memmove(differs[kept], differs[i], sizeof *differs);
            refuses |= __builtin_popcountll(askers[i] | joined) == size;
            askers[kept++] = askers[i];
        }
    asked_n = kept;
    type = *why ? REFUSED : type;
    if (ready_n == 0 && __builtin_popcountll(joined) == size) {
        ready[ready_n++] = (struct tensor){.name = "join.noname", .type = JOIN};
        type = JOIN;
        joined = 0;
    }
    write_responses(list, size, type, ready, ready_n, why, shutdown || asked_to_leave);
}

/* Does what rank 0 has said: one response at most. */
static void respond(const unsigned char *responses)
{
    static struct tensor ready[TENSORS];
    const unsigned char *table = follow(responses + 4), *kind = field(table, 0);
    if (kind && *kind == JOIN) {
        pthread_mutex_lock(&lock);
        join_over = 1;
        joined_here = 0;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        return;
    }
    if (kind && *kind == REFUSED) { /* error that a program gets as an exception */
        pthread_mutex_lock(&lock);
        failed = 1;
        pending = 0;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        return;
    }
    const unsigned char *names = follow(field(table, 1)), *sizes = follow(field(table, 4));
    int n = (int)load(names);
    for (int i = 0; i < n; i++) {
        ready[i] = (struct tensor){.type = ALLREDUCE, .dtype = FLOAT32};
        snprintf(ready[i].name, sizeof ready[i].name, "%s", (const char *)follow(names + 4 + 4 * i) + 4);
        memcpy(&ready[i].elements, sizes + 4 + 8 * i, 8);
        cache(&ready[i]);
    }
    carry_out(ready, n);
}

/* Returns whether the job leaves. */
static int negotiate(const struct tensor *mine, int n, const uint64_t *common, int shutdown)
{
    static struct list list;
    int length;
    if (rank > 0) {
        write_requests(&list, rank, mine, n, shutdown);
        length = (int)list.used;
        MPI_Gather(&length, 1, MPI_INT, NULL, 1, MPI_INT, 0, comm);
        MPI_Gatherv(list.bytes, length, MPI_BYTE, NULL, NULL, NULL, MPI_BYTE, 0, comm);
    } else {
        coordinate(&list, mine, n, common, shutdown);
        length = (int)list.used;
    }
    MPI_Bcast(&length, 1, MPI_INT, 0, comm);
    list.used = (uint32_t)length;
    MPI_Bcast(list.bytes, length, MPI_BYTE, 0, comm);
    const unsigned char *responses = field(follow(list.bytes), 0), *over = field(follow(list.bytes), 1);
    shutdown = over && *over;
    responses = responses ? follow(responses) : NULL;
    if (responses && load(responses) > 0)
        respond(responses);
    return shutdown;
}

/* Contents of a cycle: this rank's duties, and the words of all. */
struct turn {
    struct tensor mine[TENSORS];
    int n, shutdown, uncached, invalid;
    uint64_t word[WORDS]; /* three flags, then ready tensors by their bits in the cache */
    uint64_t bad[WORDS];  /* bits of tensors that changed since they were cached */
};

/* The bit of a tensor that is cached as it is; -1: none.  `any`: the bit of its name. */
static int bit_as_is(const struct tensor *t, int *any)
{
    *any = t->type == JOIN ? -1 : bit_of(t->name);
    return *any >= 0 && cached[by_bit[*any]].elements == t->elements && cached[by_bit[*any]].dtype == t->dtype ? *any
                                                                                                               : -1;
}

static void take_queue(struct turn *turn)
{
    pthread_mutex_lock(&lock);
    memcpy(turn->mine, queue, sizeof *queue * (size_t)queued);
    turn->n = queued;
    queued = 0;
    turn->shutdown = leaving;
    pthread_mutex_unlock(&lock);
}

/* All ranks' words become one. */
static void agree(struct turn *turn)
{
    int words = (bits + 3 + 63) / 64;
    for (int i = 0; i < turn->n; i++) {
        int any, b = bit_as_is(&turn->mine[i], &any);
        if (b >= 0) {
            turn->word[(b + 3) / 64] |= 1ull << (b + 3) % 64;
            continue;
        }
        turn->uncached = 1;
        if (any >= 0) {
            turn->invalid = 1;
            turn->bad[any / 64] |= 1ull << any % 64;
        }
        if (turn->mine[i].type == JOIN)
            joined_here = 1;
    }
    turn->uncached |= refuses;
    for (int b = 0; joined_here && b < bits; b++)
        turn->word[(b + 3) / 64] |= 1ull << (b + 3) % 64;
    turn->word[0] |= (uint64_t)!turn->shutdown | (uint64_t)!turn->uncached << 1 | (uint64_t)!turn->invalid << 2;
    if (capacity == 0)
        return;
    MPI_Allreduce(MPI_IN_PLACE, turn->word, words, MPI_LONG_LONG_INT, MPI_BAND, comm);
    turn->shutdown = !(turn->word[0] & 1);
    turn->uncached = !(turn->word[0] & 2);
    turn->invalid = !(turn->word[0] & 4);
    if (turn->invalid)
        MPI_Allreduce(MPI_IN_PLACE, turn->bad, words, MPI_LONG_LONG_INT, MPI_BOR, comm);
}

/* Cached tensors that are not ready everywhere return to the queue; tensors to be asked for stay. */
static void put_back(struct turn *turn)
{
    static struct tensor again[TENSORS];
    int kept = 0, asking = 0;
    for (int i = 0; i < turn->n; i++) {
        int any, b = bit_as_is(&turn->mine[i], &any);
        if (b < 0)
            turn->mine[asking++] = turn->mine[i];
        else if (!(turn->word[(b + 3) / 64] >> (b + 3) % 64 & 1))
            again[kept++] = turn->mine[i];
    }
    turn->n = asking;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < kept && queued < TENSORS; i++)
        queue[queued++] = again[i];
    pthread_mutex_unlock(&lock);
}

/* One cycle.  Returns 0 when the job leaves. */
static int cycle(void)
{
    static struct turn turn;
    static struct tensor fused[TENSORS];
    int fused_n = 0;
    turn = (struct turn){.n = 0};
    take_queue(&turn);
    if (dead_loop)
        for_ever();
    agree(&turn);
    put_back(&turn);
    for (int b = 0; turn.invalid && b < bits; b++)
        if (turn.bad[b / 64] >> b % 64 & 1) {
            turn.word[(b + 3) / 64] &= ~(1ull << (b + 3) % 64);
            drop(b);
        }
    if (turn.uncached || capacity == 0) {
        turn.shutdown = negotiate(turn.mine, turn.n, turn.word, turn.shutdown);
    } else {
        for (int b = 0; b < bits; b++)
            if (turn.word[(b + 3) / 64] >> (b + 3) % 64 & 1) {
                fused[fused_n++] = cached[by_bit[b]];
                touch(by_bit[b]);
            }
        if (fused_n)
            carry_out(fused, fused_n);
    }
    if (turn.invalid)
        number_anew();
    return !turn.shutdown;
}

static void set(int *flag)
{
    pthread_mutex_lock(&lock);
    *flag = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void *loop(void *unused)
{
    (void)unused;
    int provided;
    MPI_Comm first, local, mine;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(first, &mine);
    MPI_Comm_split_type(first, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    MPI_Comm_dup(mine, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int cycles = 1; cycle(); cycles++) {
        struct timespec now;
        if (cycles == UNPROVEN)
            set(&up);
        clock_gettime(CLOCK_MONOTONIC, &now);
        next.tv_nsec += cycle_us % 1000000 * 1000L;
        next.tv_sec += cycle_us / 1000000 + next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        if (next.tv_sec < now.tv_sec || (next.tv_sec == now.tv_sec && next.tv_nsec < now.tv_nsec))
            next = now;
        else
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    set(&down);
    MPI_Comm_free(&first);
    MPI_Comm_free(&mine);
    MPI_Comm_free(&local);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return NULL;
}

/* ---- the program ----------------------------------------------------------------------------------------------- */

static void submit(const char *name, int64_t elements, int type, int dtype)
{
    pthread_mutex_lock(&lock);
    if (queued < TENSORS) {
        snprintf(queue[queued].name, NAME, "%s", name);
        queue[queued].elements = elements;
        queue[queued].dtype = dtype;
        queue[queued++].type = type;
        pending += type == ALLREDUCE;
    }
    pthread_mutex_unlock(&lock);
}
static void wait_for_all(void)
{
    pthread_mutex_lock(&lock);
    while (pending > 0 && !down)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void *batch_system(void *unused)
{
    (void)unused;
    sleep_ms(hold_ms);
    kill(getpid(), SIGKILL);
    return NULL;
}

/* Acts at the culprit's step; returns 1 when its training is over. */
static int misbehave(int step)
{
    if (is("straggler"))
        sleep_ms(late_ms);
    if (step != at_step)
        return 0;
    if (is("pause"))
        sleep_ms(late_ms);
    else if (is("compute"))
        compute(late_ms);
    else if (is("missing"))
        for_ever();
    else if (is("kill"))
        kill(getpid(), SIGKILL);
    else if (is("stop")) {
        kill(getpid(), SIGSTOP);
        kill(getpid(), SIGKILL); /* a launcher that ends a job continues it first */
    } else if (is("barrier"))
        MPI_Barrier(MPI_COMM_WORLD);
    else if (is("loopdead"))
        dead_loop = 1;
    else if (is("inside"))
        dead_inside = 1;
    else if (is("metric")) {
        submit("allreduce.val_loss", 1, ALLREDUCE, FLOAT32);
        wait_for_all();
    }
    if (is("shutdown")) /* a rank that leaves before the others have submitted anything leaves them nothing to miss */
        sleep_ms(50);
    return is("shutdown") || is("join") || is("alone");
}

int main(int argc, char **argv)
{
    for (int o; (o = getopt(argc, argv, "s:t:c:k:m:f:r:a:d:x:e:")) != -1;) {
        int *number[] = {
            ['s'] = &steps,   ['t'] = &tensors, ['c'] = &cycle_us, ['k'] = &capacity, ['m'] = &compute_ms,
            ['r'] = &culprit, ['a'] = &at_step, ['d'] = &late_ms,  ['x'] = &hold_ms,  ['e'] = &first_elements};
        if (o == 'f')
            fault = optarg;
        else if (o == '?')
            return 64;
        else
            *number[o] = atoi(optarg);
    }
    if (tensors > TENSORS / 2 || capacity > 1024)
        return 64;
    pthread_t loop_thread, killer;
    pthread_create(&killer, NULL, batch_system, NULL);
    pthread_create(&loop_thread, NULL, loop, NULL);
    pthread_mutex_lock(&lock);
    while (!up)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);

    int step = 0, here = rank == culprit;
    for (; step < steps && !down && !failed; step++) {
        sleep_ms(compute_ms);
        if (here && misbehave(step))
            break;
        if (is("alone") && step == at_step + 3)
            for_ever();
        for (int i = 0; i < tensors; i++) {
            char name[NAME];
            int64_t elements = first_elements + i;
            snprintf(name, sizeof name, "allreduce.layer%d.weight", i);
            if (here && is("name") && step == at_step && i == 0)
                snprintf(name, sizeof name, "allreduce.layer%d_1.weight", i);
            int odd = here && step == at_step && i == 1;
            if ((is("reshape") && step >= at_step && i == 1) || (is("shape") && odd))
                elements += 10;
            submit(name, elements, ALLREDUCE, is("type") && odd ? FLOAT64 : FLOAT32);
        }
        wait_for_all();
    }
    if (is("idle"))
        sleep_ms(late_ms);
    if (is("join") || is("alone")) {
        submit("join.noname", 0, JOIN, FLOAT32);
        pthread_mutex_lock(&lock);
        while (!join_over && !down)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
    }
    set(&leaving);
    pthread_join(loop_thread, NULL);
    printf("standin: rank %d pid %d done after %d steps\n", rank, (int)getpid(), step);
    return 0;
}
