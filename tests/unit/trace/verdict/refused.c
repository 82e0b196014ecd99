/* Two processes are gone at one time, and one was inside a call that returns at once: the MPI library ended it for an
 * error, unless it was there for too long. */
#include "tests/support/verdict_ranks.h"

static void refused(const char *what, enum tb_call call, int32_t peer, int64_t since, enum ana_verdict_class id,
                    const char *culprits, const char *says)
{
    static const struct rank rank[] = {OUTSIDE, OUTSIDE};
    folder_make("refused");
    for (int r = 0; r < 2; r++) {
        struct tb *tb = make(&rank[r], r, 2);
        struct trc_sig sig = tb_sig(call);
        sig.comm = TB_WORLD;
        sig.flags = TRC_SIG_P2P_OUT;
        sig.peer = peer;
        sig.tag = 1 << 28;
        if (r)
            tb_inside(tb, 0, &sig, since, 0);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    judge(what, job, ANA_VERDICT_ABORTED, id, culprits, says);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    refused("no such rank", TB_SEND, TRC_PEER_UNKNOWN, END - 2000000, ANA_CLASS_EARLY_EXIT, "1",
            "rank 1 was ended by the MPI library for an error");
    refused("a send that may wait", TB_SEND, 0, END - 2000000, ANA_CLASS_KILLED, "", "");
    refused("a buffered send", TB_BSEND, 0, END - 2000000, ANA_CLASS_EARLY_EXIT, "1",
            "rank 1 was ended by the MPI library for an error");
    refused("refused", TB_ISEND, 0, END - 2000000, ANA_CLASS_EARLY_EXIT, "1",
            "rank 1 was ended by the MPI library for an error");
    refused("inside for long", TB_ISEND, 0, END - 3 * S, ANA_CLASS_KILLED, "", "killed");
    return check_result();
}
