/* Losses that are trouble (state slow) and losses that are none: seconds, a pattern that repeats, one rank that causes
 * it. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/summary/summary.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include <string.h>

#define US 1000ll
#define MS 1000000ll

/* Lateness of `rank` at collective i. */
typedef int64_t lateness(int rank, int i);

static int64_t of_ms(int rank, int i)
{
    (void)i;
    return rank == 1 ? MS : 0;
}
static int64_t of_5_ms(int rank, int i)
{
    (void)i;
    return rank == 1 ? 5 * MS : 0;
}
static int64_t of_7_us(int rank, int i)
{
    (void)i;
    return rank == 1 ? 7 * US : 0;
}
static int64_t once(int rank, int i)
{
    return rank == 1 ? (i == 3 ? 1500 * MS : 2 * US) : 0;
}
static int64_t in_turn(int rank, int i)
{
    return i % 5 < 3 ? (rank == 1 ? 2 * MS : 0) : (rank == 0 ? 2 * MS : 0);
}
static int64_t by_slices(int rank, int i)
{
    return rank == 1 ? (i % 20 == 0 ? 7 * MS : 2 * US) : 0;
}
static int64_t at_checkpoints(int rank, int i)
{
    return rank == 0 ? (i % 50 == 49 ? 100 * MS : 2 * US) : 0;
}

/* `times` collectives of `ranks` ranks, each after `step_ns` of computing. */
static void judge(const char *what, int ranks, int times, int64_t step_ns, lateness *late, int culprit)
{
    struct tb *tb[8];
    folder_make("slow");
    for (int r = 0; r < ranks; r++) {
        int64_t at = 0;
        tb[r] = tb_new(r, ranks);
        for (int i = 0; i < times; i++) {
            int64_t latest = 0;
            for (int k = 0; k < ranks; k++)
                latest = late(k, i) > latest ? late(k, i) : latest;
            int64_t begin = at + step_ns + late(r, i), end = at + step_ns + latest + US;
            tb_allreduce(tb[r], 0, begin, end, TB_WORLD, (uint64_t)i + 1, 8);
            at = end;
        }
        folder_write(tb[r], r);
        tb_free(tb[r]);
    }
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v, "a verdict");
    CHECK(v->state == (culprit < 0 ? ANA_VERDICT_HEALTHY : ANA_VERDICT_SLOW), "%s: %s, %s", what,
          ana_verdict_state_name(v->state), v->summary.text);
    if (culprit >= 0)
        CHECK(v->id == ANA_CLASS_STRAGGLER && v->culprits == 1 && v->culprit[0] == (size_t)culprit, "%s: who", what);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Messages of any source whose source is unknown (MPICH 4.0's MPI_Isendrecv): no rank is blamed. */
static void nobody_told(void)
{
    enum { TIMES = 100 };
    struct tb *tb[3];
    folder_make("told");
    for (int r = 0; r < 3; r++)
        tb[r] = tb_new(r, 3);
    for (int i = 0; i < TIMES; i++) {
        int64_t at = i * 40 * MS;
        uint64_t any = tb_irecv(tb[1], 0, at, at + 1000, TRC_PEER_ANY, TRC_TAG_ANY, 8);
        tb_wait_recv(tb[1], 0, at + 2000, at + 30 * MS, any, TRC_PEER_NONE, TRC_TAG_NONE, 8);
        tb_send(tb[i % 2 ? 0 : 2], 0, at + 29 * MS, at + 29 * MS + 1000, 1, 5, 8);
    }
    for (int r = 0; r < 3; r++) {
        folder_write(tb[r], r);
        tb_free(tb[r]);
    }
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    char out[512];
    ana_headline(job, &s, NULL, out, sizeof out);
    CHECK(s.wait_count == 0 && s.uncertain_messages > 0, "%zu waits, %llu uncertain", s.wait_count,
          (unsigned long long)s.uncertain_messages);
    CHECK(!strstr(out, "late"), "%s", out);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    judge("a rank that is late, in 50 ms", 4, 25, MS, of_ms, -1);
    judge("one long wait among many short", 2, 5000, 400 * US, once, -1);
    judge("how MPI works inside", 4, 60000, 20 * US, of_7_us, -1);
    judge("two ranks, both late", 2, 1000, MS, in_turn, -1);
    judge("more ranks than cores", 2, 5000, 200 * US, by_slices, -1);
    judge("a rank that is late, for 2 s", 4, 300, 2 * MS, of_5_ms, 1);
    judge("a rank of two that is late, for 2 s", 2, 300, 2 * MS, of_5_ms, 1);
    judge("a rank that writes checkpoints", 4, 1000, 2 * MS, at_checkpoints, 0);
    nobody_told();
    return check_result();
}
