/* Time-independent actions of made jobs: work is what is not waiting; ranks that do more are levelled; copies of ranks
 * have neighbours all around; messages share what a network can do. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/export/export.h"
#include "trace/export/ti.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4, MS = 1000000, ROUNDS = 10, MOST = 64 };

struct seen {
    double work[MOST]; /* by rank */
    int sent[MOST][MOST], received[MOST][MOST];
};

/* Each rank works for 1 ms, and `late` for 5, before it sends to the next of a ring; then all meet. */
static void make_ring(int late)
{
    folder_make("ring");
    for (int r = 0; r < RANKS; r++) {
        struct tb *tb = tb_new(r, RANKS);
        int64_t at = MS;
        tb_barrier(tb, 0, 0, at, TB_WORLD, 0);
        for (int i = 0; i < ROUNDS; i++, at += 8 * MS) {
            int64_t works = r == late ? 5 * MS : MS;
            uint64_t request = tb_irecv(tb, 0, at, at, (r + RANKS - 1) % RANKS, 3, 4096);
            tb_send(tb, 0, at + works, at + works + 1000, (r + 1) % RANKS, 3, 4096);
            tb_wait_recv(tb, 0, at + works + 1000, at + 6 * MS, request, (r + RANKS - 1) % RANKS, 3, 4096);
            tb_allreduce(tb, 0, at + 6 * MS, at + 8 * MS, TB_WORLD, (uint64_t)i + 1, 8);
        }
        folder_write(tb, r);
        tb_free(tb);
    }
}

static struct seen read_actions(const char *path)
{
    struct seen seen = {0};
    char line[256], word[32];
    FILE *file = fopen(path, "r");
    int rank, peer;
    double ns;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%d compute %lf", &rank, &ns) == 2 && rank < MOST)
            seen.work[rank] += ns;
        else if (sscanf(line, "%d %31s %d", &rank, word, &peer) == 3 && rank < MOST && peer >= 0 && peer < MOST) {
            seen.sent[rank][peer] += strcmp(word, "send") == 0 || strcmp(word, "isend") == 0;
            seen.received[rank][peer] += strcmp(word, "recv") == 0 || strcmp(word, "irecv") == 0;
        }
    }
    if (file)
        fclose(file);
    unlink(path);
    return seen;
}

static struct seen export(struct ana_ti *ti)
{
    struct ana_job *job = folder_open();
    char out[64], error[256];
    snprintf(out, sizeof out, "ti-%d", (int)getpid());
    struct ana_export ask = {
        .format = "ti", .out = out, .part = {.begin_ns = INT64_MIN, .end_ns = INT64_MAX}, .ti = ti};
    CHECK(ana_export(job, &ask, error, sizeof error), "%s", error);
    ana_job_close(job);
    return read_actions(out);
}

static void test_work(void)
{
    uint8_t level[RANKS] = {0, 0, 1, 0};
    struct ana_ti was = {0}, levelled = {.level = level};
    make_ring(2);
    struct seen a = export(&was), b = export(&levelled);
    for (int r = 0; r < RANKS; r++) {
        double want = r == 2 ? 5.0 * ROUNDS * MS : 1.0 * ROUNDS * MS;
        CHECK(fabs(a.work[r] - want) < 1, "rank %d works %g ns, not %g", r, a.work[r], want);
        CHECK(fabs(b.work[r] - 1.0 * ROUNDS * MS) < ROUNDS, "levelled, rank %d works %g ns", r, b.work[r]);
        CHECK(a.sent[r][(r + 1) % RANKS] == ROUNDS && a.received[r][(r + RANKS - 1) % RANKS] == ROUNDS, "rank %d", r);
    }
    CHECK(was.ranks == RANKS && was.left_out == 0 && was.begin_ns == 0, "%zu ranks, %llu left out, from %lld",
          was.ranks, (unsigned long long)was.left_out, (long long)was.begin_ns);
    folder_remove();
}

/* A ring of any multiple is a ring again; each message that is sent is received. */
static void test_copies(void)
{
    make_ring(-1);
    for (unsigned copies = 1; copies <= 5; copies += 2) {
        struct ana_ti ti = {.copies = copies};
        struct seen seen = export(&ti);
        int all = RANKS * (int)copies, wrong = 0;
        for (int r = 0; r < all; r++)
            for (int p = 0; p < all; p++)
                wrong += seen.sent[r][p] != (p == (r + 1) % all ? ROUNDS : 0) || seen.sent[r][p] != seen.received[p][r];
        CHECK(wrong == 0, "%d ranks: %d pairs", all, wrong);
    }
    folder_remove();
}

/* `at_once` messages of `bytes` are under way from 0 to 1 and back, and share a link that carries 1 byte in a ns. */
static void hold_network(int at_once, uint64_t bytes, int64_t latency)
{
    folder_make("network");
    int64_t takes = latency + (int64_t)bytes * at_once;
    struct tb *tb[2] = {tb_new(0, 2), tb_new(1, 2)};
    for (int i = 0; i < 20; i++)
        for (int r = 0; r < 2; r++) {
            int64_t at = 100 * MS * (i + 1);
            uint64_t in[8], out[8];
            for (int m = 0; m < at_once; m++)
                in[m] = tb_irecv(tb[r], 0, at, at, 1 - r, m, bytes);
            for (int m = 0; m < at_once; m++)
                out[m] = tb_isend(tb[r], 0, at, at, 1 - r, m, bytes);
            tb_wait_recv(tb[r], 0, at, at + takes, in[0], 1 - r, 0, bytes);
            for (int m = 1; m < at_once; m++)
                tb_completed_recv(tb[r], 0, in[m], 1 - r, m, bytes);
            for (int m = 0; m < at_once; m++)
                tb_wait_send(tb[r], 0, at + takes, at + takes, out[m]);
            uint64_t small = tb_irecv(tb[r], 0, at + 50 * MS, at + 50 * MS, 1 - r, 9, 8);
            tb_send(tb[r], 0, at + 50 * MS, at + 50 * MS, 1 - r, 9, 8);
            tb_wait_recv(tb[r], 0, at + 50 * MS, at + 50 * MS + latency, small, 1 - r, 9, 8);
        }
    for (int r = 0; r < 2; r++) {
        folder_write(tb[r], r);
        tb_free(tb[r]);
    }
    struct ana_job *job = folder_open();
    struct ana_ti_network network;
    CHECK(ana_ti_measure(job, &network));
    CHECK(fabs(network.latency_ns / (double)latency - 1) < 0.07, "latency %g, not %lld", network.latency_ns,
          (long long)latency);
    CHECK(fabs(network.ns_per_byte - 1) < 0.07, "%d of %llu B at once: %g ns a byte", at_once,
          (unsigned long long)bytes, network.ns_per_byte);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    test_work();
    test_copies();
    hold_network(1, 1000000, 10000);
    hold_network(4, 1000000, 10000);
    hold_network(2, 100000, 50000);
    return check_result();
}
