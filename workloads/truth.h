/* Expected trace of a run of a workload, worked out from the program's own constants: never measured by
 * wrapping calls, so that it can disagree with a tracer.
 *
 * Rank 0 states it for all ranks and writes it, as one JSON object, to the file that the environment variable TRUTH
 * names; without it nothing is written.  Byte rules: a call is charged with the bytes that it hands to MPI for others
 * (sent) and that arrive through it (received).  Nonblocking, persistent and matched-probe receives are charged to the
 * call that made the request (MPI_Irecv, MPI_Recv_init, MPI_Mrecv); a collective counts each rank's own contribution
 * and result once; MPI_PROC_NULL and cancelled requests move nothing. */
#ifndef TRUTH_H
#define TRUTH_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct truth_call {
    int rank;
    const char *name;
    long calls;
    long long sent, received;
};
struct truth_pair {
    int source, destination;
    long messages;
    long long bytes;
};
struct truth_wait {
    const char *kind, *call; /* "late-sender", "late-receiver", "late-in-collective" */
    int waiter, culprit;
    long count;
    double seconds;
};

static struct {
    struct truth_call *calls;
    struct truth_pair *pairs;
    struct truth_wait waits[64];
    size_t call_count, pair_count, wait_count;
} truth_all;

/* Room for one more of `size` bytes each; ends the program when memory does, this is only a test program. */
static inline void *truth_grow(void *list, size_t count, size_t size)
{
    if (count % 64 != 0)
        return list;
    list = realloc(list, (count + 64) * size);
    if (list == NULL)
        abort();
    return list;
}

/* `calls` calls of `name` on `rank`, which move `sent` and `received` bytes together. */
static inline void truth_call(int rank, const char *name, long calls, long long sent, long long received)
{
    if (calls == 0 && sent == 0 && received == 0)
        return;
#ifdef WITHOUT_MPI
    if (strncmp(name, "MPI_", 4) == 0)
        return;
#endif
    for (size_t i = 0; i < truth_all.call_count; i++) {
        struct truth_call *c = &truth_all.calls[i];
        if (c->rank == rank && strcmp(c->name, name) == 0) {
            c->calls += calls;
            c->sent += sent;
            c->received += received;
            return;
        }
    }
    truth_all.calls = truth_grow(truth_all.calls, truth_all.call_count, sizeof *truth_all.calls);
    truth_all.calls[truth_all.call_count++] = (struct truth_call){rank, name, calls, sent, received};
}

/* Counts calls and bytes, equal on each of `ranks` ranks. */
static inline void truth_each(int ranks, const char *name, long calls, long long sent, long long received)
{
    for (int r = 0; r < ranks; r++)
        truth_call(r, name, calls, sent, received);
}

/* Calls that every workload makes once on each rank. */
static inline void truth_frame(int ranks)
{
    truth_each(ranks, "MPI_Init", 1, 0, 0);
    truth_each(ranks, "MPI_Comm_rank", 1, 0, 0);
    truth_each(ranks, "MPI_Comm_size", 1, 0, 0);
    truth_each(ranks, "MPI_Finalize", 1, 0, 0);
}

/* `messages` point-to-point messages of `bytes` bytes each, in world ranks; counts no call. */
static inline void truth_pair(int source, int destination, long messages, long long bytes)
{
    if (messages == 0)
        return;
    for (size_t i = 0; i < truth_all.pair_count; i++) {
        struct truth_pair *p = &truth_all.pairs[i];
        if (p->source == source && p->destination == destination) {
            p->messages += messages;
            p->bytes += messages * bytes;
            return;
        }
    }
    truth_all.pairs = truth_grow(truth_all.pairs, truth_all.pair_count, sizeof *truth_all.pairs);
    truth_all.pairs[truth_all.pair_count++] = (struct truth_pair){source, destination, messages, messages * bytes};
}

/* `messages` messages, each started by one call of `send` there and one call of `receive` here. */
static inline void truth_message(int source, const char *send, int destination, const char *receive, long messages,
                                 long long bytes)
{
    truth_call(source, send, messages, messages * bytes, 0);
    truth_call(destination, receive, messages, 0, messages * bytes);
    truth_pair(source, destination, messages, bytes);
}

/* `waiter` lost `seconds` in `count` calls of `call` because `culprit` was late.  Adds up. */
static inline void truth_wait(const char *kind, const char *call, int waiter, int culprit, long count, double seconds)
{
    size_t i = 0;
    while (i < truth_all.wait_count && (strcmp(truth_all.waits[i].kind, kind) != 0 ||
                                        truth_all.waits[i].waiter != waiter || truth_all.waits[i].culprit != culprit))
        i++;
    if (i == sizeof truth_all.waits / sizeof truth_all.waits[0])
        return;
    if (i == truth_all.wait_count)
        truth_all.waits[truth_all.wait_count++] = (struct truth_wait){kind, call, waiter, culprit, 0, 0};
    truth_all.waits[i].count += count;
    truth_all.waits[i].seconds += seconds;
}

/* Times at which each rank came where, by truth_now(): rank r's i-th time at [r * each + i].  All ranks share it, by a
 * file beside TRUTH, so that nobody waits for a message with them; after a barrier rank 0 knows them all.  Without
 * TRUTH nobody asks. */
static inline double *truth_times(int ranks, int each)
{
    size_t size = (size_t)ranks * (size_t)each * sizeof(double);
    const char *truth = getenv("TRUTH");
    char path[4096];
    if (truth == NULL || *truth == '\0') {
        double *unread = calloc(1, size);
        return unread ? unread : (abort(), NULL);
    }
    snprintf(path, sizeof path, "%s.times", truth);
    int file = open(path, O_RDWR | O_CREAT, 0666);
    void *at = file < 0 || ftruncate(file, (off_t)size) != 0
                   ? MAP_FAILED
                   : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED)
        abort();
    close(file);
    return at;
}

/* `times` messages: `waiter` came to its call of the i-th at came[i], `culprit` to its own at late[i] (of one clock).
 * Where the culprit was there first nobody waited. */
static inline void truth_late(const char *kind, const char *call, int waiter, int culprit, int times,
                              const double *came, const double *late)
{
    for (int i = 0; i < times; i++)
        if (late[i] > came[i])
            truth_wait(kind, call, waiter, culprit, 1, late[i] - came[i]);
}

/* `times` instances of the collective `call`, to which rank r came at arrival[r * stride + i] (of one clock):
 * everybody waits for the last rank. */
static inline void truth_arrivals(const char *call, int ranks, int times, int stride, const double *arrival)
{
    for (int i = 0; i < times; i++) {
        int last = 0;
        for (int r = 1; r < ranks; r++)
            if (arrival[r * stride + i] > arrival[last * stride + i])
                last = r;
        for (int r = 0; r < ranks; r++)
            if (r != last)
                truth_wait("late-in-collective", call, r, last, 1,
                           arrival[last * stride + i] - arrival[r * stride + i]);
    }
}

/* CLOCK_MONOTONIC in seconds: how long an injected delay really took.  Where a test gives ranks on one machine
 * different clocks, it names in TRUTH_CLOCK the number of one that they still share. */
static inline double truth_now(void)
{
    static clockid_t clock = -1;
    struct timespec t;
    if (clock == -1)
        clock = getenv("TRUTH_CLOCK") ? atoi(getenv("TRUTH_CLOCK")) : CLOCK_MONOTONIC;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Sleeps; returns the seconds that it really took. */
static inline double truth_sleep(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    double begin = truth_now();
    nanosleep(&t, NULL);
    return truth_now() - begin;
}

static inline void truth_write_ranks(FILE *f, int ranks)
{
    fprintf(f, " \"ranks_detail\": [");
    for (int r = 0; r < ranks; r++) {
        long calls = 0;
        long long sent = 0, received = 0;
        for (size_t i = 0; i < truth_all.call_count; i++) {
            const struct truth_call *c = &truth_all.calls[i];
            calls += c->rank == r ? c->calls : 0;
            sent += c->rank == r ? c->sent : 0;
            received += c->rank == r ? c->received : 0;
        }
        fprintf(f, "%s\n  {\"rank\": %d, \"calls\": %ld, \"bytes_sent\": %lld, \"bytes_received\": %lld}", r ? "," : "",
                r, calls, sent, received);
    }
    fprintf(f, "],\n");
}

static inline void truth_write_calls(FILE *f)
{
    fprintf(f, " \"calls\": {");
    const char *comma = "";
    for (size_t i = 0; i < truth_all.call_count; i++) {
        struct truth_call sum = truth_all.calls[i];
        size_t j = 0;
        while (strcmp(truth_all.calls[j].name, sum.name) != 0)
            j++;
        if (j < i)
            continue; /* summed where its name came first */
        for (j = i + 1; j < truth_all.call_count; j++) {
            const struct truth_call *c = &truth_all.calls[j];
            if (strcmp(c->name, sum.name) == 0) {
                sum.calls += c->calls;
                sum.sent += c->sent;
                sum.received += c->received;
            }
        }
        fprintf(f, "%s\n  \"%s\": {\"calls\": %ld, \"bytes_sent\": %lld, \"bytes_received\": %lld}", comma, sum.name,
                sum.calls, sum.sent, sum.received);
        comma = ",";
    }
    fprintf(f, "},\n");
}

/* Rank 0, after everything was stated.  Returns 0, or 1 if the file could not be written. */
static inline int truth_write(int ranks)
{
    const char *path = getenv("TRUTH");
    if (path == NULL || *path == '\0')
        return 0;
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        perror(path);
        return 1;
    }
    fprintf(f, "{\"ranks\": %d,\n", ranks);
    truth_write_calls(f);
    truth_write_ranks(f, ranks);
    fprintf(f, " \"pairs\": [");
    for (size_t i = 0; i < truth_all.pair_count; i++) {
        const struct truth_pair *p = &truth_all.pairs[i];
        fprintf(f, "%s\n  {\"src\": %d, \"dst\": %d, \"messages\": %ld, \"bytes\": %lld}", i ? "," : "", p->source,
                p->destination, p->messages, p->bytes);
    }
    fprintf(f, "],\n \"waits\": [");
    for (size_t i = 0; i < truth_all.wait_count; i++) {
        const struct truth_wait *w = &truth_all.waits[i];
        fprintf(f,
                "%s\n  {\"kind\": \"%s\", \"call\": \"%s\", \"waiter\": %d, \"culprit\": %d, \"count\": %ld, "
                "\"seconds\": %.6f}",
                i ? "," : "", w->kind, w->call, w->waiter, w->culprit, w->count, w->seconds);
    }
    fprintf(f, "]}\n");
    return fclose(f) != 0;
}

#endif
