/* A running rank that others wait for is not to blame before its stacks are there, which show whether it sleeps for a
 * set time; nor later, if they do. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/job/analysis.h"
#include "trace/util/now.h"
#include "trace/verdict/verdict.h"
#include <stdio.h>
#include <string.h>

#define S INT64_C(1000000000)

enum { RANKS = 3 };

static const struct {
    const char *what;
    int since;      /* rank 0 has been outside MPI for so long, s */
    const char *on; /* activity in the stack; NULL: no stack */
    enum ana_verdict_state state;
    const char *why;
    bool listens; /* a thread of it waits for messages from any source */
} cases[] = {
    {"no stack yet", 32, NULL, ANA_VERDICT_WAITING, "rank 0 has no stacks yet", false},
    {"no stack comes", 40, NULL, ANA_VERDICT_HUNG, "", false},
    {"it waits for a lock", 32, "futex", ANA_VERDICT_HUNG, "", false},
    {"it sleeps", 32, "sleep()", ANA_VERDICT_WAITING, "sleeps for a set time", false},
    {"it sleeps, and a thread listens", 32, "sleep()", ANA_VERDICT_WAITING, "sleeps for a set time", true},
};

static void make(size_t k, int64_t wall_ns)
{
    folder_make("due");
    for (int r = 0; r < RANKS; r++) {
        struct tb *tb = tb_new(r, RANKS);
        char text[100];
        struct trc_sig sig = tb_sig(TB_BARRIER);
        const int64_t end = (cases[k].since + 2) * S;
        tb_clock(tb, 1000000000u, (uint64_t)(wall_ns - end), 1);
        snprintf(tb_head(tb)->host, sizeof tb_head(tb)->host, "alpha");
        snprintf(tb_head(tb)->boot_id, sizeof tb_head(tb)->boot_id, "11111111-0000-0000-0000-000000000000");
        tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 0);
        tb_running(tb, end);
        tb_head(tb)->heartbeats = 100;
        tb_head(tb)->end.watched = 1;
        sig.comm = TB_WORLD;
        sig.flags = TRC_SIG_COLL;
        if (r > 0)
            tb_inside(tb, 0, &sig, 2 * S + S / 100, 1);
        if (r == 0 && cases[k].listens)
            tb_listens(tb, 1, 1 * S);
        if (r == 0 && cases[k].on) {
            snprintf(text, sizeof text, "on\t%s\nnative\twait+0x1\tlibc.so.6+0x2\n", cases[k].on);
            tb_stack(tb, 1, 1, (struct trc_def_stack){.reason = TRC_STACK_HANG, .state = 'S', .flags = TRC_STACK_MAIN},
                     text);
            tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING}, "");
        }
        folder_write(tb, r);
        tb_free(tb);
    }
}

int main(void)
{
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        make(k, ana_wall_ns());
        struct ana_job *job = folder_open();
        ana_job_refresh(job);
        const struct ana_verdict *v = ana_job_verdict(job);
        CHECK(v && v->state == cases[k].state && v->culprits == 1 && v->culprit[0] == 0, "%s: %s, %s", cases[k].what,
              v ? ana_verdict_state_name(v->state) : "out of memory", v ? v->summary.text : "");
        bool said = !cases[k].why[0];
        for (size_t i = 0; v && i < v->facts; i++)
            said = said || strstr(v->fact[i].text, cases[k].why);
        CHECK(said, "%s: does not say '%s'", cases[k].what, cases[k].why);
        ana_job_close(job);
        folder_remove();
    }
    return check_result();
}
