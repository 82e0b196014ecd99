/* A wait as long as one that ended is no hang; without --hang, that is. */
#include "tests/support/verdict_ranks.h"

/* Rank 2 is outside MPI; the others wait for it in a barrier for 40 s, and did before for `before`. */
static void wait_again(const char *what, int64_t before, double hang_s, enum ana_verdict_state state,
                       enum ana_verdict_class id, const char *culprits)
{
    struct rank waits = BARRIER(END - 40 * S), outside = OUTSIDE;
    struct trc_sig barrier = sig_of(&waits);
    folder_make("patience");
    for (int r = 0; r < 3; r++) {
        struct tb *tb = make(&outside, r, 3);
        tb_barrier(tb, 0, r == 2 ? 3 * S + before - 1 : 3 * S, 3 * S + before, TB_WORLD, 1);
        if (r < 2)
            tb_inside(tb, 0, &barrier, waits.since, 2);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    ana_job_set_hang(job, hang_s);
    judge(what, job, state, id, culprits, NULL);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    wait_again("longer than ever", 1 * S, 0, ANA_VERDICT_HUNG, ANA_CLASS_MISSING, "2");
    wait_again("not twice as long as before", 21 * S, 0, ANA_VERDICT_ABORTED, ANA_CLASS_KILLED, "");
    wait_again("more than twice as long", 19 * S, 0, ANA_VERDICT_HUNG, ANA_CLASS_MISSING, "2");
    wait_again("the user says how long", 21 * S, 30, ANA_VERDICT_HUNG, ANA_CLASS_MISSING, "2");
    return check_result();
}
