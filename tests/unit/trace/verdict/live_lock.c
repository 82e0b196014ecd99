/* Loops of calls that complete nothing: a live-lock if others wait long for that rank, and only then. */
#include "tests/support/verdict_ranks.h"

static int64_t period = S / 10; /* time from call to call */

/* Ranks 1 and 2 are in a barrier from `since` on.  Rank 0 calls `call` again and again from `from` to `to`; at
 * `message` it has sent something (0: never). */
static void loop(const char *what, enum tb_call call, int64_t from, int64_t to, int64_t message, int64_t since,
                 enum ana_verdict_state state, enum ana_verdict_class id, const char *culprits)
{
    struct rank waits = BARRIER(since), outside = OUTSIDE;
    struct trc_sig sig = tb_sig(call), send = tb_sig(TB_SEND);
    send.comm = TB_WORLD;
    send.flags = TRC_SIG_P2P_OUT;
    send.peer = 0;
    folder_make("live-lock");
    struct tb *tb = make(&outside, 0, 3);
    for (int64_t at = from; at < to; at += period) {
        if (message && at <= message && message < at + period)
            tb_event(tb, 0, &send, at, at + 1000, (struct tb_more){0});
        tb_event(tb, 0, &sig, at + 2000, at + 3000, (struct tb_more){0});
    }
    folder_write(tb, 0);
    tb_free(tb);
    for (int r = 1; r < 3; r++) {
        tb = make(&waits, r, 3);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    judge(what, job, state, id, culprits, id == ANA_CLASS_LIVE_LOCK ? "that completed nothing" : NULL);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    loop("waits for requests that are not active", TB_WAIT, 3 * S, END, 0, 20 * S, ANA_VERDICT_HUNG,
         ANA_CLASS_LIVE_LOCK, "0");
    loop("tests an inactive request", TB_TEST, 3 * S, END, 0, 20 * S, ANA_VERDICT_HUNG, ANA_CLASS_LIVE_LOCK, "0");
    loop("the others have just come", TB_WAIT, 3 * S, END, 0, END - 5 * S, ANA_VERDICT_ABORTED, ANA_CLASS_KILLED, "");
    loop("it sent something of late", TB_WAIT, 3 * S, END, END - 5 * S, 20 * S, ANA_VERDICT_ABORTED, ANA_CLASS_KILLED,
         "");
    loop("it stopped long ago", TB_WAIT, 3 * S, 40 * S, 0, 20 * S, ANA_VERDICT_HUNG, ANA_CLASS_MISSING, "0");
    period = S / 20;
    loop("polls a value in a window", TB_PUT, 3 * S, END, 0, 20 * S, ANA_VERDICT_HUNG, ANA_CLASS_LIVE_LOCK, "0");
    period = S / 2;
    loop("takes small tasks from a window", TB_PUT, 3 * S, END, 0, 20 * S, ANA_VERDICT_ABORTED, ANA_CLASS_KILLED, "");
    return check_result();
}
