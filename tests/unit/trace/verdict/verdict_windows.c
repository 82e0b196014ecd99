/* Jobs that hang in calls of windows: epochs with groups, locks; and in collectives with neighbours. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/verdict/verdict.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S   INT64_C(1000000000)
#define END (100 * S)
#define WIN 3u /* the window's communicator; a topology's */

#define CALLS(CALL)                                                                                                    \
    CALL(post, "MPI_Win_post", RMA_SYNC)                                                                               \
    CALL(start, "MPI_Win_start", RMA_SYNC)                                                                             \
    CALL(complete, "MPI_Win_complete", RMA_SYNC)                                                                       \
    CALL(wait, "MPI_Win_wait", RMA_SYNC)                                                                               \
    CALL(test, "MPI_Win_test", RMA_TEST)                                                                               \
    CALL(lock, "MPI_Win_lock", RMA_SYNC)                                                                               \
    CALL(unlock, "MPI_Win_unlock", RMA_SYNC)                                                                           \
    CALL(lock_all, "MPI_Win_lock_all", RMA_SYNC)                                                                       \
    CALL(put, "MPI_Put", RMA)                                                                                          \
    CALL(barrier, "MPI_Barrier", BARRIER)                                                                              \
    CALL(neighbor, "MPI_Neighbor_alltoall", NEIGHBOR)                                                                  \
    CALL(recv, "MPI_Recv", RECV)
enum {
#define CALL(id, name, class) C_##id,
    CALLS(CALL)
#undef CALL
};
static const struct trc_call table[] = {
#define CALL(id, name, class) {name, TRC_OP_##class},
    CALLS(CALL)
#undef CALL
};
static const char *const words[] = {
#define CALL(id, name, class) #id,
    CALLS(CALL)
#undef CALL
};

/* Calls of each rank, one after the other: "post 0", "start 1 2", "lock 3".  It is inside the last one, unless that has
 * a full stop behind it; nothing at all: outside MPI. */
struct program {
    const char *what, *rank[4];
    const char *culprits, *says;
    enum ana_verdict_class id;
    const char *sources[4], *destinations[4]; /* neighbours of the topology */
};

static const struct program programs[] = {
    {.what = "a target does not post any more",
     .rank = {"start 1 2, complete, start 1 2", "post 0, wait, post 0, wait", "post 0, wait, barrier", "barrier"},
     "2",
     "rank 2 has not called MPI_Win_post on a window of 4, which rank 0 waits for in MPI_Win_start; it is in "
     "MPI_Barrier",
     ANA_CLASS_CYCLE},
    {.what = "the post is lacking in MPI_Win_complete",
     .rank = {"start 1, put 1, complete", "barrier", "barrier", "barrier"},
     "0,1",
     "rank 1 has not called MPI_Win_post",
     ANA_CLASS_CYCLE},
    {.what = "an epoch is not completed",
     .rank = {"start 1, put 1, barrier", "post 0, wait", "barrier", "barrier"},
     "0",
     "rank 0 has not called MPI_Win_complete on a window of 4, which rank 1 waits for in MPI_Win_wait",
     ANA_CLASS_CYCLE},
    {.what = "an epoch is not completed, its target polls",
     .rank = {"start 1, put 1, barrier", "post 0, test", "barrier", "barrier"},
     "0",
     "rank 0 has not called MPI_Win_complete",
     ANA_CLASS_CYCLE},
    {.what = "an epoch is not completed: it waits for a message",
     .rank = {"start 1, put 1, recv 1", "post 0, wait", "barrier", "barrier"},
     "0",
     "it is in MPI_Recv from rank 1",
     ANA_CLASS_CYCLE},
    {.what = "one origin of two is outside MPI",
     .rank = {"start 2, complete, barrier", "", "post 0 1, wait", "barrier"},
     "1",
     NULL,
     ANA_CLASS_MISSING},
    {.what = "all have done their part",
     .rank = {"start 1, complete", "post 0, wait", "barrier", "barrier"},
     "0,1",
     "do not come out of",
     ANA_CLASS_MISSING},
    {.what = "a lock is taken into a barrier",
     .rank = {"lock 1., barrier", "barrier", "lock 1", "barrier"},
     "0",
     "rank 0 has not called MPI_Win_unlock",
     ANA_CLASS_CYCLE},
    {.what = "all locks wait for one lock",
     .rank = {"lock 1., barrier", "barrier", "lock_all", "barrier"},
     "0",
     "which rank 2 waits for in MPI_Win_lock_all",
     ANA_CLASS_CYCLE},
    {.what = "two locks in another order",
     .rank = {"lock 1., lock 2", "barrier", "barrier", "lock 2., lock 1"},
     "0,3",
     "0 -> 3 -> 0",
     ANA_CLASS_CYCLE},
    {.what = "two locks in another order, the advice",
     .rank = {"lock 1., lock 2", "barrier", "barrier", "lock 2., lock 1"},
     "0,3",
     "between MPI_Win_lock and MPI_Win_unlock",
     ANA_CLASS_CYCLE},
    {.what = "a collective with neighbours is left out by one",
     .rank = {"neighbor., barrier", "neighbor", "barrier", "neighbor"},
     "2",
     "rank 2 has left out MPI_Neighbor_alltoall",
     ANA_CLASS_MISSING,
     {"1 3", "0 2", "1 3", "0 2"},
     {"1 3", "0 2", "1 3", "0 2"}},
    {.what = "only sources are waited for",
     .rank = {"neighbor", "recv 0", "", "barrier"},
     "0,1",
     "a message from rank 0 with tag 5 on MPI_COMM_WORLD that was never sent",
     ANA_CLASS_UNMATCHED,
     {"1", "0", "0", "0"},
     {"1", "0", "0", "0"}},
    {.what = "a source that does not know of it",
     .rank = {"neighbor", "neighbor., barrier", "neighbor., barrier", "neighbor., barrier"},
     "0,2",
     "rank 0 gets from rank 2 in MPI_Neighbor_alltoall",
     ANA_CLASS_MISMATCHED,
     {"1 2 3", "0 2", "1 3", "0 2"},
     {"1 3", "0 2", "1 3", "0 2"}},
};

static uint32_t list_of(struct tb *tb, const char *text)
{
    int32_t ranks[8];
    uint32_t n = 0;
    for (char *end; *text; text = end) {
        ranks[n++] = (int32_t)strtol(text, &end, 10);
        if (end == text)
            break;
    }
    return tb_ranks(tb, ranks, text[0] ? n - 1 : n);
}

static uint32_t call_of(const char *word)
{
    for (uint32_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    CHECK(false, "no call %s", word);
    return 0;
}

/* Common arguments of a rank's calls. */
struct state {
    uint64_t barriers, neighbours;
    uint32_t posted, started;
};

static struct trc_sig sig_of(struct tb *tb, uint32_t call, const char *rest, struct state *state, uint64_t *sequence)
{
    struct trc_sig sig = tb_sig((enum tb_call)call);
    sig.comm = sig.object = WIN;
    sig.flags = TRC_SIG_RMA;
    switch (call) {
    case C_post:
    case C_start:
        *(call == C_post ? &state->posted : &state->started) = list_of(tb, rest);
        sig.tag = (int32_t)(call == C_post ? state->posted : state->started);
        break;
    case C_complete:
        sig.tag = (int32_t)state->started;
        break;
    case C_wait:
    case C_test:
        sig.tag = (int32_t)state->posted;
        break;
    case C_barrier:
    case C_neighbor:
        sig.comm = call == C_barrier ? TB_WORLD : WIN;
        sig.object = 0;
        sig.flags = TRC_SIG_COLL;
        *sequence = (*(call == C_barrier ? &state->barriers : &state->neighbours))++;
        break;
    case C_recv:
        sig.comm = TB_WORLD;
        sig.object = 0;
        sig.flags = TRC_SIG_P2P_IN;
        sig.source = atoi(rest);
        sig.rtag = 5;
        break;
    default:
        sig.peer = *rest ? atoi(rest) : TRC_PEER_NONE;
    }
    return sig;
}

static void write_rank(struct tb *tb, const char *text)
{
    struct state state = {0};
    char copy[256], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", text);
    int64_t at = S;
    for (char *one = strtok_r(copy, ",", &rest); one; one = strtok_r(NULL, ",", &rest), at += S) {
        char word[16] = "";
        int used = 0;
        uint64_t sequence = 0;
        sscanf(one, " %15[a-z_]%n", word, &used);
        bool last = !*rest && !strchr(one, '.');
        struct trc_sig sig = sig_of(tb, call_of(word), one + used, &state, &sequence);
        if (last && sig.call == C_test) {
            sig.flags |= TRC_SIG_POLL;
            tb_fold(tb, 0, &sig, at, END - 1000, 1000, S);
        } else if (last) {
            tb_inside(tb, 0, &sig, 20 * S, sequence);
        } else {
            tb_event(tb, 0, &sig, at, at + 1000, (struct tb_more){.sequence = sequence});
        }
    }
}

static void expect(const struct program *p, bool forgotten)
{
    static const int32_t all[4] = {0, 1, 2, 3};
    char got[64] = "";
    folder_make("windows");
    for (int r = 0; r < 4; r++) {
        struct tb *tb = tb_new(r, 4);
        tb_comm(tb, WIN, 77, r, all, 4);
        if (!p->sources[0])
            tb_win(tb, WIN, WIN);
        else
            tb_neighbors(tb, WIN, list_of(tb, p->sources[r]), list_of(tb, p->destinations[r]));
        tb_running(tb, END);
        write_rank(tb, p->rank[r]);
        if (forgotten)
            tb_forget(tb);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    const struct ana_verdict *v = ana_job_verdict(job);
    for (size_t i = 0; v && i < v->culprits; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", i ? "," : "",
                 ana_job_rank(job, v->culprit[i])->rank);
    if (!v)
        CHECK(false, "out of memory");
    else if (forgotten)
        CHECK(v->confidence != ANA_PROVEN, "%s, overwritten: proven, %s", p->what, v->summary.text);
    else
        CHECK(v->state == ANA_VERDICT_HUNG && v->id == p->id && strcmp(got, p->culprits) == 0 &&
                  (!p->says || strstr(v->summary.text, p->says) || strstr(v->next, p->says)),
              "%s: %s %s culprits %s: %s", p->what, ana_verdict_state_name(v->state),
              v->id ? ana_verdict_class_name(v->id) : "-", got, v->summary.text);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    tb_use_calls(table, sizeof table / sizeof *table);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        expect(&programs[i], false);
        if (!programs[i].sources[0])
            expect(&programs[i], true);
    }
    return check_result();
}
