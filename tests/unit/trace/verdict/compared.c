/* Verdicts on a collective that does not end: it failed on some ranks; calls fit together only if their arguments were
 * compared. */
#include "tests/support/verdict_ranks.h"

static struct trc_sig sig_in_world(enum tb_call call, uint32_t flags)
{
    struct trc_sig sig = tb_sig(call);
    sig.comm = TB_WORLD;
    sig.flags = TRC_SIG_COLL | flags;
    return sig;
}

/* Rank 1 has come out of the collective, with an error or without; rank 0 is still inside. */
static void comes_out(bool fails)
{
    folder_make("failed");
    for (int r = 0; r < 2; r++) {
        static const struct rank outside = OUTSIDE;
        struct tb *tb = make(&outside, r, 2);
        struct trc_sig dup = sig_in_world(TB_COMM_DUP, r && fails ? TRC_SIG_FAILED : 0),
                       then = sig_in_world(TB_BARRIER, 0);
        if (r)
            tb_event(tb, 0, &dup, 20 * S, 20 * S + 1000, (struct tb_more){.sequence = 1});
        tb_inside(tb, 0, r ? &then : &dup, 20 * S + 2000, r ? 2 : 1);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    if (fails)
        judge("it failed on rank 1", job, ANA_VERDICT_HUNG, ANA_CLASS_MISMATCHED, "1",
              "MPI_Comm_dup on MPI_COMM_WORLD failed on rank 1");
    else
        judge("it ended on rank 1", job, ANA_VERDICT_HUNG, ANA_CLASS_INSIDE, "", "have come to MPI_Comm_dup");
    ana_job_close(job);
    folder_remove();
}

/* All are inside one collective. */
static void all_inside(enum tb_call call, const char *next)
{
    folder_make("inside");
    for (int r = 0; r < 2; r++) {
        static const struct rank outside = OUTSIDE;
        struct tb *tb = make(&outside, r, 2);
        struct trc_sig sig = sig_in_world(call, 0);
        tb_inside(tb, 0, &sig, 20 * S, 1);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    judge("all inside", job, ANA_VERDICT_HUNG, ANA_CLASS_INSIDE, "", "have come to");
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v && strstr(v->next, next), "next: %s, not %s", v ? v->next : "", next);
    ana_job_close(job);
    folder_remove();
}

/* Rank 0 is in a collective without a number, which the others do not come to. */
static void spawns_alone(int ranks, enum ana_verdict_class id, const char *culprits, const char *said)
{
    folder_make("spawn");
    for (int r = 0; r < ranks; r++) {
        static const struct rank outside = OUTSIDE;
        struct tb *tb = make(&outside, r, ranks);
        struct trc_sig sig = r ? sig_in_world(TB_BARRIER, 0) : tb_sig(TB_COMM_SPAWN);
        sig.comm = TB_WORLD;
        tb_inside(tb, 0, &sig, 20 * S, r ? 1 : 0);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    judge("it spawns alone", job, ANA_VERDICT_HUNG, id, culprits, said);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    spawns_alone(2, ANA_CLASS_CYCLE, "0,1", "MPI_Comm_spawn");
    spawns_alone(4, ANA_CLASS_MISSING, "0",
                 "rank 0 does not come out of MPI_Comm_spawn, and 3 of 4 wait in MPI_Barrier on MPI_COMM_WORLD");
    comes_out(true);
    comes_out(false);
    all_inside(TB_BARRIER, "calls fit together");
    all_inside(TB_ALLREDUCE, "calls fit together");
    all_inside(TB_COMM_DUP, "are not compared");
    return check_result();
}
