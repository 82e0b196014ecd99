#include "tests/many/rank.h"
#include "trace/format/opclass.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum call { INIT, IRECV, ISEND, WAITALL, WRITE, ALLREDUCE, CALLS };
const struct trc_call rank_calls[CALLS] = {
    [INIT] = {"MPI_Init", TRC_OP_INIT},
    [IRECV] = {"MPI_Irecv", TRC_OP_IRECV},
    [ISEND] = {"MPI_Isend", TRC_OP_ISEND},
    [WAITALL] = {"MPI_Waitall", TRC_OP_WAIT},
    [WRITE] = {"MPI_File_write_at_all", TRC_OP_IO},
    [ALLREDUCE] = {"MPI_Allreduce", TRC_OP_ALLREDUCE},
};
const size_t rank_call_count = CALLS;
static const char *const place[CALLS] = {
    [INIT] = "main+0x20",        [IRECV] = "exchange+0x31", [ISEND] = "exchange+0x57",
    [WAITALL] = "exchange+0x90", [WRITE] = "save+0x44",     [ALLREDUCE] = "solve+0x7c",
};

enum { WORLD = 1, SELF, FILES, LIMIT = 64 << 20, ROUND_MOST = 128, MESSAGE = 8192, RECORD = 1 << 20, SKEW_MS = 37 };
enum { IDENTITY = 0x1001, SITE = 0x400000 };

static uint64_t epoch_realtime, epoch_monotonic, now_ticks;
static uint64_t ticks(void)
{
    return now_ticks;
}

void rank_epoch(uint64_t realtime_ns, uint64_t monotonic_ns)
{
    epoch_realtime = realtime_ns;
    epoch_monotonic = monotonic_ns;
}

/* Each host was booted at another time. */
static uint64_t ticks_at(const struct plan *plan, int32_t rank, int64_t ns)
{
    return epoch_monotonic + (uint64_t)plan_host(plan, rank) * SKEW_MS * 1000000 + (uint64_t)ns;
}

static struct trc_anchor anchor_at(const struct plan *plan, int32_t rank, int64_t ns)
{
    return (struct trc_anchor){.ticks = ticks_at(plan, rank, ns),
                               .monotonic_ns = ticks_at(plan, rank, ns),
                               .realtime_ns = epoch_realtime + (uint64_t)ns,
                               .error_ticks = 50};
}

static void define(struct rank *rank, enum trc_def_type type, uint32_t id, uint32_t a, uint64_t b, const void *payload,
                   size_t size, const char *text, size_t length)
{
    if (!trc_writer_define(&rank->writer, type, id, a, b, payload, size, text, length)) {
        fprintf(stderr, "many: no room for a definition of rank %d\n", (int)rank->number);
        exit(1);
    }
}

static void define_all(struct rank *rank, const struct plan *plan)
{
    struct trc_def_comm world = {
        .identity = IDENTITY, .rank = rank->number, .size = plan->ranks, .flags = TRC_COMM_WORLD, .created_by = INIT};
    struct trc_def_comm files = {.identity = IDENTITY + 1,
                                 .parent = IDENTITY,
                                 .rank = rank->number,
                                 .size = plan->ranks,
                                 .flags = TRC_COMM_ALL,
                                 .created_by = INIT};
    define(rank, TRC_DEF_COMM, WORLD, 0, 0, &world, sizeof world, NULL, 0);
    define(rank, TRC_DEF_NAME, WORLD, 0, 0, NULL, 0, "MPI_COMM_WORLD", 14);
    if (plan->files) {
        define(rank, TRC_DEF_COMM, FILES, 0, 0, &files, sizeof files, NULL, 0);
        define(rank, TRC_DEF_FILE, 1, FILES, 0, NULL, 0, "/scratch/many/state.dat", 23);
    }
    for (unsigned c = 0; c < CALLS; c++) {
        char text[128];
        int n = snprintf(text, sizeof text, "%s%cmany+0x%x", place[c], 0, 0x1000 + 0x40 * c);
        define(rank, TRC_DEF_SITE, 0, 0, SITE + c, NULL, 0, text, (size_t)n);
    }
}

static struct trc_sig sig_of(enum call call, uint32_t flags)
{
    return (struct trc_sig){.call = call,
                            .flags = flags,
                            .peer = TRC_PEER_NONE,
                            .tag = TRC_TAG_NONE,
                            .source = TRC_PEER_NONE,
                            .rtag = TRC_TAG_NONE,
                            .site = SITE + call};
}

/* Signature of a step; `flags` beside the flags that the call always has. */
static struct trc_sig sig_of_step(const struct rank *rank, const struct plan *plan, const struct plan_step *step,
                                  uint32_t flags)
{
    static const struct {
        enum call call;
        uint32_t flags;
    } of[] = {[PLAN_IRECV] = {IRECV, TRC_SIG_P2P_IN},
              [PLAN_ISEND] = {ISEND, TRC_SIG_P2P_OUT},
              [PLAN_WAITALL] = {WAITALL, 0},
              [PLAN_WRITE] = {WRITE, 0},
              [PLAN_ALLREDUCE] = {ALLREDUCE, TRC_SIG_COLL}};
    struct trc_sig sig = sig_of(of[step->call].call, of[step->call].flags | flags);
    int32_t other = plan_neighbours(plan) ? plan_neighbour(plan, rank->number, step->neighbour) : 0;
    sig.comm = step->call == PLAN_WAITALL ? 0 : step->call == PLAN_WRITE ? FILES : WORLD;
    if (step->call == PLAN_IRECV) {
        sig.source = other;
        sig.rtag = 1 + (step->neighbour ^ 1);
        sig.received = MESSAGE;
    } else if (step->call == PLAN_ISEND) {
        sig.peer = other;
        sig.tag = 1 + step->neighbour;
        sig.sent = MESSAGE;
    } else if (step->call == PLAN_WRITE) {
        sig.object = 1;
        sig.sent = RECORD;
    } else if (step->call == PLAN_ALLREDUCE) {
        sig.sent = sig.received = 8;
    }
    return sig;
}

/* All requests of the round end with MPI_Waitall: receives, then sends, in the order in which they were begun. */
static void complete(struct rank *rank, const struct plan *plan)
{
    int n = plan_neighbours(plan);
    struct trc_thread *live = &rank->stream->page->thread;
    for (int i = 0; i < 2 * n; i++) {
        struct plan_step step = {.call = i < n ? PLAN_IRECV : PLAN_ISEND, .neighbour = i % n};
        struct trc_sig sig = sig_of_step(rank, plan, &step, TRC_SIG_SUB | TRC_SIG_COMPLETE);
        uint32_t index = trc_stream_intern(rank->stream, &sig);
        rank->stream->state[index].use->uses++;
        trc_stream_sub(rank->stream, index, false, 0, (uint64_t)(2 * n - 1 - i), 0);
        live->completes++;
    }
}

static void finish_step(struct rank *rank, const struct plan *plan, const struct plan_step *step, uint32_t index)
{
    struct trc_thread *live = &rank->stream->page->thread;
    uint64_t begin = ticks_at(plan, rank->number, step->begin_ns), end = ticks_at(plan, rank->number, step->end_ns);
    now_ticks = end;
    trc_stream_event(rank->stream, index, begin, end, (uint64_t)rank->round);
    trc_stream_count(rank->stream, index, end - begin);
    live->last = index + 1;
    live->last_end = end;
    if (trc_stream_sig(rank->stream, index)->flags & TRC_SIG_START)
        live->starts++;
    if (step->call == PLAN_WAITALL)
        complete(rank, plan);
}

void rank_go_on(struct rank *rank, const struct plan *plan, int64_t now_ns)
{
    struct trc_thread *live = &rank->stream->page->thread;
    struct plan_step step;
    while (rank->round < plan->rounds) {
        if (!plan_step(plan, rank->number, rank->round, rank->next, &step)) {
            struct plan_step later;
            if (!plan_step(plan, rank->number, rank->round + 1, 0, &later))
                return;
            rank->round++;
            rank->next = 0;
            continue;
        }
        if (step.begin_ns > now_ns)
            return;
        bool starts = step.call == PLAN_IRECV || step.call == PLAN_ISEND;
        struct trc_sig sig = sig_of_step(rank, plan, &step, starts ? TRC_SIG_START : 0);
        uint32_t index = trc_stream_intern(rank->stream, &sig);
        if (step.end_ns > now_ns) {
            live->inside_since = ticks_at(plan, rank->number, step.begin_ns);
            live->inside_sequence = (uint64_t)rank->round;
            __atomic_store_n(&live->inside, index + 1, __ATOMIC_RELEASE);
            return;
        }
        finish_step(rank, plan, &step, index);
        __atomic_store_n(&live->inside, 0, __ATOMIC_RELEASE);
        rank->next++;
    }
}

void rank_beat(struct rank *rank, const struct plan *plan, int64_t now_ns)
{
    struct trc_head *head = rank->writer.head;
    __atomic_fetch_add(&head->latest_version, 1, __ATOMIC_ACQ_REL);
    head->latest = anchor_at(plan, rank->number, now_ns);
    __atomic_fetch_add(&head->latest_version, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&head->heartbeats, head->heartbeats + 1, __ATOMIC_RELAXED);
    trc_writer_grow(&rank->writer, 8);
}

void rank_host(struct trc_digest_head *head, int32_t number)
{
    memset(head->host, 0, sizeof head->host);
    memset(head->boot_id, 0, sizeof head->boot_id);
    snprintf(head->host, sizeof head->host, "node%03d", (int)number);
    snprintf(head->boot_id, sizeof head->boot_id, "%08x-0000-4000-8000-000000000000", (unsigned)number);
}

void rank_open(struct rank *rank, const struct plan *plan, int32_t number, const char *folder)
{
    char path[4096];
    struct trc_stream *stream = rank->stream;
    if (stream)
        memset(stream, 0, sizeof *stream);
    else
        stream = calloc(1, sizeof *stream); /* most of it is never touched */
    *rank = (struct rank){.number = number, .stream = stream};
    rank->writer.calls = rank_calls;
    rank->writer.call_count = CALLS;
    struct trc_head head = {.clock_source = TRC_CLOCK_MONOTONIC,
                            .state = TRC_STATE_RUNNING,
                            .rank = number,
                            .world_size = plan->ranks,
                            .pid = 10000u + (uint32_t)number,
                            .pid_start = 1,
                            .abi = TRC_ABI_OPENMPI,
                            .world_identity = IDENTITY,
                            .call_cost_q10 = 50 << 10,
                            .job = "many",
                            .exe = "/home/user/many",
                            .command = "./many",
                            .mpi = "Open MPI 5.0.6"};
    struct trc_digest_head host;
    rank_host(&host, plan_host(plan, number));
    memcpy(head.host, host.host, sizeof head.host);
    memcpy(head.boot_id, host.boot_id, sizeof head.boot_id);
    snprintf(path, sizeof path, "%s/%d.hpctop", folder, (int)number);
    now_ticks = ticks_at(plan, number, -1000000);
    head.init_ticks = ticks_at(plan, number, 0);
    uint64_t all = (uint64_t)plan->rounds * ROUND_MOST; /* a finished job's events are all kept */
    int error = trc_writer_open(&rank->writer, path, all > LIMIT ? all : LIMIT, &head, ticks);
    if (error || !stream || !trc_stream_open(stream, &rank->writer, head.pid, "many")) {
        fprintf(stderr, "many: %s: %s\n", path, strerror(error ? error : ENOMEM));
        exit(1);
    }
    rank->writer.head->start = rank->writer.head->latest = anchor_at(plan, number, -1000000);
    define_all(rank, plan);
    struct trc_sig init = sig_of(INIT, 0);
    uint32_t index = trc_stream_intern(stream, &init);
    now_ticks = head.init_ticks;
    trc_stream_event(stream, index, head.init_ticks - 900000, head.init_ticks, 0);
    trc_stream_count(stream, index, 900000);
}

void rank_close(struct rank *rank, const struct plan *plan, int64_t now_ns, bool finalized)
{
    struct trc_head *head = rank->writer.head;
    if (finalized) {
        head->end_ticks = ticks_at(plan, rank->number, now_ns);
        head->state = TRC_STATE_FINALIZED;
    }
    trc_writer_trim(&rank->writer);
    munmap(rank->writer.base, rank->writer.size);
    munmap((void *)(uintptr_t)rank->writer.chunk_blocks, rank->writer.blocks_most);
    close(rank->writer.fd);
}
