/* Calls that need calls of particular ranks: waiting ranks in an epoch of a window, or for a neighbour, and for how
 * long. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include <string.h>

enum { RANKS = 3, WIN = 3, MS = 1000000 };
enum call { POST, START, COMPLETE, WAIT, NEIGHBOR, FINALIZE, CALLS };

static const struct trc_call table[CALLS] = {
    [POST] = {"MPI_Win_post", TRC_OP_RMA_SYNC},
    [START] = {"MPI_Win_start", TRC_OP_RMA_SYNC},
    [COMPLETE] = {"MPI_Win_complete", TRC_OP_RMA_SYNC},
    [WAIT] = {"MPI_Win_wait", TRC_OP_RMA_SYNC},
    [NEIGHBOR] = {"MPI_Neighbor_alltoall", TRC_OP_NEIGHBOR},
    [FINALIZE] = {"MPI_Finalize", TRC_OP_FINALIZE},
};

/* A call of a rank, from `begin` to `end` in ms. */
struct one {
    int rank;
    enum call call;
    const int32_t *group; /* ends with -1 */
    int begin, end;
};
/* A wait that there must be. */
struct wait {
    int waiter, culprit, ms;
};
struct job {
    const char *what;
    bool neighbors; /* neighbours in a line: 0 - 1 - 2 */
    struct one call[12];
    struct wait wait[4];
};

static const int32_t zero[] = {0, -1}, one[] = {1, -1}, others[] = {1, 2, -1};

static const struct job jobs[] = {
    {"a target posts late, and MPI_Win_start waits",
     false,
     {{0, START, one, 10, 51}, {0, COMPLETE, one, 52, 53}, {1, POST, zero, 50, 51}, {1, WAIT, zero, 52, 54}},
     {{0, 1, 40}}},
    {"a target posts late, MPI_Win_start returns at once, and MPI_Win_complete waits",
     false,
     {{0, START, one, 10, 11}, {0, COMPLETE, one, 20, 53}, {1, POST, zero, 50, 51}, {1, WAIT, zero, 54, 55}},
     {{0, 1, 30}}},
    {"an origin completes late, and is still in there when MPI_Win_wait returns",
     false,
     {{0, START, one, 10, 11}, {0, COMPLETE, one, 70, 90}, {1, POST, zero, 5, 6}, {1, WAIT, zero, 30, 71}},
     {{1, 0, 40}}},
    {"two targets: who waits for both waits once, for each only as long as no other",
     false,
     {{0, START, others, 10, 81},
      {0, COMPLETE, others, 82, 83},
      {1, POST, zero, 30, 31},
      {1, WAIT, zero, 90, 91},
      {2, POST, zero, 80, 81},
      {2, WAIT, zero, 90, 91}},
     {{0, 1, 20}, {0, 2, 50}}},
    {"the second epoch is told from the first",
     false,
     {{0, START, one, 10, 11},
      {0, COMPLETE, one, 12, 13},
      {0, START, one, 20, 61},
      {0, COMPLETE, one, 62, 63},
      {1, POST, zero, 5, 6},
      {1, WAIT, zero, 14, 15},
      {1, POST, zero, 60, 61},
      {1, WAIT, zero, 64, 65}},
     {{0, 1, 40}}},
    {"a line: only the neighbour of who is late waits",
     true,
     {{0, NEIGHBOR, NULL, 50, 52}, {1, NEIGHBOR, NULL, 10, 51}, {2, NEIGHBOR, NULL, 10, 13}},
     {{1, 0, 40}}},
};

static uint32_t list_of(struct tb *tb, const int32_t *ranks)
{
    uint32_t n = 0;
    while (ranks[n] >= 0)
        n++;
    return tb_ranks(tb, ranks, n);
}

static void write_rank(const struct job *job, int rank)
{
    static const int32_t all[RANKS] = {0, 1, 2}, beside[RANKS][3] = {{1, -1}, {0, 2, -1}, {1, -1}};
    struct tb *tb = tb_new(rank, RANKS);
    tb_comm(tb, WIN, 77, rank, all, RANKS);
    if (job->neighbors)
        tb_neighbors(tb, WIN, list_of(tb, beside[rank]), list_of(tb, beside[rank]));
    else
        tb_win(tb, WIN, WIN);
    for (const struct one *c = job->call; c->end; c++) {
        struct trc_sig sig = tb_sig((enum tb_call)c->call);
        sig.comm = WIN;
        sig.object = c->group ? WIN : 0;
        sig.flags = c->group ? TRC_SIG_RMA : TRC_SIG_COLL;
        sig.tag = c->group ? (int32_t)list_of(tb, c->group) : TRC_TAG_NONE;
        if (c->rank == rank)
            tb_event(tb, 0, &sig, (int64_t)c->begin * MS, (int64_t)c->end * MS, (struct tb_more){0});
    }
    struct trc_sig end = tb_sig((enum tb_call)FINALIZE);
    tb_event(tb, 0, &end, 100 * MS, 101 * MS, (struct tb_more){0});
    folder_write(tb, rank);
    tb_free(tb);
}

static void expect(const struct job *want)
{
    size_t wanted = 0;
    folder_make("partners");
    for (int r = 0; r < RANKS; r++)
        write_rank(want, r);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    for (const struct wait *w = want->wait; w->ms; w++, wanted++) {
        int64_t lost = -1;
        for (size_t i = 0; i < s.wait_count; i++)
            if ((int)s.waits[i].waiter == w->waiter && (int)s.waits[i].culprit == w->culprit &&
                s.waits[i].kind == (want->neighbors ? ANA_LATE_IN_COLLECTIVE : ANA_LATE_IN_EPOCH))
                lost = s.waits[i].lost_ns;
        CHECK(lost == (int64_t)w->ms * MS, "%s: %d waits for %d, %lld ns", want->what, w->waiter, w->culprit,
              (long long)lost);
    }
    CHECK(s.wait_count == wanted, "%s: %zu waits", want->what, s.wait_count);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Communicators that are made, used once and dropped, more than there is room for at a time: each wait is still
 * seen. */
static void many_communicators(void)
{
    enum { COMMS = 20000, FIRST = 10 };
    static const int32_t all[RANKS] = {0, 1, 2}, beside[RANKS][3] = {{1, -1}, {0, 2, -1}, {1, -1}},
                         round[RANKS][3] = {{1, 2, -1}, {0, 2, -1}, {0, 1, -1}};
    folder_make("partners");
    for (int r = 0; r < RANKS; r++) {
        struct tb *tb = tb_new(r, RANKS);
        struct trc_sig sig = tb_sig((enum tb_call)NEIGHBOR), end = tb_sig((enum tb_call)FINALIZE);
        sig.flags = TRC_SIG_COLL;
        for (uint32_t i = 0; i < COMMS; i++) {
            int64_t begin = 100000 * (int64_t)(i + 1), late = r == 0 ? 5000 : 0;
            sig.comm = FIRST + i;
            tb_comm(tb, FIRST + i, 1000 + i, r, all, RANKS);
            uint32_t list = list_of(tb, i ? beside[r] : round[r]); /* room that ends in the midst of one */
            tb_neighbors(tb, FIRST + i, list, list);
            tb_event(tb, 0, &sig, begin + late, begin + 6000, (struct tb_more){0});
        }
        tb_event(tb, 0, &end, 100000 * (int64_t)(COMMS + 2), 100000 * (int64_t)(COMMS + 3), (struct tb_more){0});
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    CHECK(s.wait_count == 2 && s.waits[0].waiter == 1 && s.waits[0].culprit == 0 && s.waits[0].count == COMMS &&
              s.waits[0].lost_ns == (int64_t)COMMS * 5000,
          "%zu, of them %llu", s.wait_count, s.wait_count ? (unsigned long long)s.waits[0].count : 0);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    tb_use_calls(table, CALLS);
    many_communicators();
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        expect(&jobs[i]);
    return check_result();
}
