/* The trace files of a simulated run of Horovod: each rank's loop is thread 1, its program thread 0. */
#include "tests/support/hvd_run.h"
#include "tests/support/trace_builder.h"
#include "workloads/hvd_lists.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOP = 1, FIRST_COMM = 4, NCCL_COMM = 20, ROUND_NS = 20000, UNPROVEN = 2 };

/* One loop of one rank. */
struct lane {
    uint64_t sequence, unfolded;
    uint64_t in[2][2], out[2][2]; /* words of the last AND and OR, as far as they matter here */
    int words[2];
};

struct hvd_files {
    const struct hvd_run *run;
    struct tb *tb[HVD_RANKS];
    int64_t now_ns, at_ns[HVD_RANKS]; /* the cycle; the end of a rank's last item */
    struct lane lane[HVD_RANKS][HVD_SETS];
};

struct hvd_files *hvd_files_open(const struct hvd_run *run)
{
    struct hvd_files *files = calloc(1, sizeof *files);
    files->run = run;
    for (int r = 0; r < run->ranks; r++) {
        char capacity[16];
        snprintf(capacity, sizeof capacity, "%d", run->capacity);
        files->tb[r] = tb_new(r, run->ranks);
        tb_fact(files->tb[r], "env.HOROVOD_CACHE_CAPACITY", capacity);
        tb_barrier(files->tb[r], 0, 1000, 2000, TB_WORLD, 0);
        const struct trc_def_comm nccl = {
            .identity = 0x60, .rank = r, .size = run->ranks, .flags = TRC_COMM_ALL, .created_by = TB_NCCL_INIT};
        if (run->nccl_from)
            tb_define(files->tb[r], TRC_DEF_COMM, NCCL_COMM, 0, 0, &nccl, sizeof nccl, 0);
        for (int s = 0; s < run->sets; s++)
            for (int m = 0; m < run->set[s].size; m++)
                if (run->set[s].member[m] == r)
                    tb_comm(files->tb[r], FIRST_COMM + (uint32_t)s, 0x4400u + (uint64_t)s, m, run->set[s].member,
                            run->set[s].size);
    }
    return files;
}

void hvd_files_time(struct hvd_files *files, int64_t ns)
{
    files->now_ns = ns;
}

static struct trc_sig round_sig(enum tb_call call, int set, uint32_t site)
{
    struct trc_sig sig = tb_sig(call);
    sig.flags = TRC_SIG_COLL | TRC_SIG_CONTROL;
    sig.comm = FIRST_COMM + (uint32_t)set;
    sig.site = site;
    return sig;
}

/* Counts the rounds in which nothing new was said. */
static void fold(struct hvd_files *files, int rank)
{
    for (int s = 0; s < files->run->sets; s++) {
        struct lane *lane = &files->lane[rank][s];
        if (!lane->unfolded)
            continue;
        struct trc_sig sig = files->run->capacity ? round_sig(TB_ALLREDUCE, s, 0x2000) : round_sig(TB_BCAST, s, 0x2300);
        int64_t end = files->now_ns > files->at_ns[rank] ? files->now_ns : files->at_ns[rank];
        tb_fold(files->tb[rank], LOOP, &sig, files->at_ns[rank], end, lane->unfolded,
                (int64_t)lane->unfolded * ROUND_NS);
        files->at_ns[rank] = end;
        lane->unfolded = 0;
    }
}

static void say(struct hvd_files *files, int rank, int set, enum trc_round_kind kind, uint64_t cycle, const void *bytes,
                size_t size)
{
    fold(files, rank);
    int64_t begin = files->now_ns > files->at_ns[rank] ? files->now_ns : files->at_ns[rank];
    tb_round(files->tb[rank], LOOP, kind, FIRST_COMM + (uint32_t)set, files->lane[rank][set].sequence, cycle, begin,
             begin + ROUND_NS, bytes, size);
}

static void one_round(struct hvd_files *files, int rank, int set, enum tb_call call, uint32_t site)
{
    struct trc_sig sig = round_sig(call, set, site);
    int64_t begin = files->now_ns > files->at_ns[rank] ? files->now_ns : files->at_ns[rank];
    tb_fold(files->tb[rank], LOOP, &sig, begin, begin + ROUND_NS, 1, ROUND_NS);
    files->at_ns[rank] = begin + ROUND_NS;
    files->lane[rank][set].sequence++;
}

void hvd_files_words(struct hvd_files *files, int set, int member, bool is_or, uint64_t cycle, const uint64_t *in,
                     const uint64_t *out, int words)
{
    int rank = files->run->set[set].member[member];
    struct lane *lane = &files->lane[rank][set];
    size_t size = (size_t)words * sizeof *in;
    uint64_t both[4];
    bool same =
        lane->words[is_or] == words && !memcmp(lane->in[is_or], in, size) && !memcmp(lane->out[is_or], out, size);
    if (same && !is_or) {
        lane->unfolded++;
        lane->sequence++;
        return;
    }
    memcpy(lane->in[is_or], in, size);
    memcpy(lane->out[is_or], out, size);
    lane->words[is_or] = words;
    memcpy(both, in, size);
    memcpy(both + words, out, size);
    say(files, rank, set, is_or ? TRC_ROUND_OR : TRC_ROUND_AND, cycle, both, 2 * size);
    one_round(files, rank, set, TB_ALLREDUCE, is_or ? 0x2100 : 0x2000);
}

/* The recorder knows a loop by its first AND; without a cache by its first two negotiations, which it does not keep. */
static bool is_unproven(const struct hvd_files *files, uint64_t cycle)
{
    return !files->run->capacity && cycle < UNPROVEN;
}

void hvd_files_idle(struct hvd_files *files, int set, int member, uint64_t cycle)
{
    if (is_unproven(files, cycle))
        return;
    struct lane *lane = &files->lane[files->run->set[set].member[member]][set];
    lane->unfolded++;
    lane->sequence += 2;
}

static void put_requests(struct list *l, int rank, const struct hvd_request *request, int n, bool shutdown)
{
    uint32_t at[8];
    l->used = 0;
    put_table(l, put32(l, 0), (const unsigned char[]){0, 1, 0xff}, at);
    l->bytes[at[1]] = shutdown;
    link_here(l, at[0]);
    put32(l, (uint32_t)n);
    uint32_t slots = l->used;
    for (int i = 0; i < n; i++)
        put32(l, 0);
    for (int i = 0; i < n; i++) {
        put_table(l, slots + 4 * (uint32_t)i, (const unsigned char[]){0, 1, 2, 3, 4, 6, 0xff}, at);
        memcpy(l->bytes + at[0], &rank, 4);
        l->bytes[at[1]] = (unsigned char)request[i].op;
        l->bytes[at[2]] = (unsigned char)request[i].type;
        put_string(l, at[3], request[i].name);
        memcpy(l->bytes + at[4], &request[i].root, 4);
        link_here(l, at[5]);
        put32(l, 2);
        put(l, &request[i].rows, 8, 4);
        put(l, &request[i].columns, 8, 4);
    }
    l->bytes[l->used++] = 0;
}

void hvd_files_lists(struct hvd_files *files, int set, int member, uint64_t cycle, const struct hvd_request *request,
                     int requests, bool shutdown, const void *answer, uint32_t size)
{
    static struct list list;
    int rank = files->run->set[set].member[member];
    if (is_unproven(files, cycle))
        return;
    if (member > 0) {
        put_requests(&list, member, request, requests, shutdown);
        say(files, rank, set, TRC_ROUND_REQUEST, cycle, list.bytes, list.used);
        one_round(files, rank, set, TB_GATHER, 0x2200);
    } else {
        files->lane[rank][set].sequence++; /* the root's part of that */
    }
    say(files, rank, set, TRC_ROUND_RESPONSE, cycle, answer, size);
    one_round(files, rank, set, TB_BCAST, 0x2300);
}

static void operate(struct hvd_files *files, int set, int rank, enum tb_call call, uint32_t comm, uint64_t bytes)
{
    struct trc_sig sig = tb_sig(call);
    sig.flags = TRC_SIG_COLL;
    sig.comm = comm;
    sig.sent = sig.received = bytes;
    fold(files, rank);
    int64_t begin = files->now_ns > files->at_ns[rank] ? files->now_ns : files->at_ns[rank];
    tb_event(files->tb[rank], LOOP, &sig, begin, begin + 10 * ROUND_NS,
             (struct tb_more){.sequence = files->lane[rank][set].sequence++});
    files->at_ns[rank] = begin + 10 * ROUND_NS;
}

void hvd_files_operation(struct hvd_files *files, int set, int member, const uint64_t bytes[2])
{
    int rank = files->run->set[set].member[member];
    if (bytes[0] || !files->run->nccl_from)
        operate(files, set, rank, TB_ALLREDUCE, FIRST_COMM + (uint32_t)set, bytes[0]);
    if (bytes[1] && !files->run->nccl_hidden)
        operate(files, set, rank, TB_NCCL_ALLREDUCE, NCCL_COMM, bytes[1]);
}

/* Most of a file are pages that nobody has touched. */
static void write_sparse(const char *path, const uint8_t *image, size_t size)
{
    static const uint8_t zero[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = fd >= 0 && !ftruncate(fd, (off_t)size);
    for (size_t at = 0; good && at < size; at += sizeof zero) {
        size_t n = size - at < sizeof zero ? size - at : sizeof zero;
        if (memcmp(image + at, zero, n) != 0)
            good = pwrite(fd, image + at, n, (off_t)at) == (ssize_t)n;
    }
    if (!good)
        perror(path);
    close(fd);
}

static void close_rank(struct hvd_files *files, int rank, const struct hvd_end *end, const char *folder)
{
    struct tb *tb = files->tb[rank];
    struct trc_sig barrier = tb_sig(TB_BARRIER), wait = round_sig(TB_ALLREDUCE, end->waits_in, 0x2000);
    barrier.comm = TB_WORLD;
    barrier.flags = TRC_SIG_COLL;
    fold(files, rank);
    if (!end->finalized)
        tb_running(tb, end->ns);
    if (end->in_barrier)
        tb_inside(tb, 0, &barrier, end->since_ns, 1);
    if (end->waits_in >= 0)
        tb_inside(tb, LOOP, &wait, end->since_ns > files->at_ns[rank] ? end->since_ns : files->at_ns[rank],
                  files->lane[rank][end->waits_in].sequence);
    char path[512];
    size_t size;
    const uint8_t *image = tb_image(tb, &size);
    snprintf(path, sizeof path, "%s/%d.hpctop", folder, rank);
    write_sparse(path, image, size);
    tb_free(tb);
}

void hvd_files_close(struct hvd_files *files, const struct hvd_end *end, const char *folder)
{
    for (int r = 0; r < files->run->ranks; r++)
        close_rank(files, r, &end[r], folder);
    free(files);
}
