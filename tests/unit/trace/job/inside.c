/* Age from which a wait is worth a word: two seconds, or one where most wait and nobody gets on; what must be known of
 * it, where the news of a rank are old; and when to look again, where it may soon be. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/job/inside.h"
#include "trace/members/members.h"
#include "trace/util/now.h"
#include <string.h>

enum { RANKS = 16, MS = 1000000, AGE = 8000 /* age of the job, ms */ };

static const struct {
    const char *what;
    int waiting;  /* number of ranks that wait in MPI_Barrier, the others are outside */
    int for_ms;   /* so long */
    int ended_ms; /* the others' last call ended so long ago */
    int heard_ms; /* time since all were heard */
    const char *begins;
    int due_ms; /* the time to look again; 0: it is no other than usual */
} cases[] = {
    {"all but one, for one second", 15, 1300, 1500, 50, "rank 0 has been in MPI_Barrier for 1.", 0},
    {"all but one, for less", 15, 600, 1500, 50, NULL, 500},
    {"some, for less", 3, 600, 1500, 50, NULL, 500},
    {"one, for less", 1, 600, 1500, 50, NULL, 0},
    {"half of them, for one second", 8, 1300, 1500, 50, NULL, 0},
    {"half of them, for two seconds", 8, 2300, 2500, 50, "rank 0 has been in MPI_Barrier for 2.", 0},
    {"all but one, which gets on", 15, 1300, 300, 50, NULL, 250},
    {"all but one, for two seconds, though it gets on", 15, 2300, 300, 50, "rank 0 has been in MPI_Barrier for 2.", 0},
    {"they were in it when last heard, and may have come out", 15, 2300, 2500, 2200, NULL, 0},
    {"they have been silent since, but had been in it for long", 15, 4300, 4500, 2200,
     "rank 0 has been in MPI_Barrier for 4.", 0},
};

/* False: this machine was busy elsewhere for so long that the waits are others. */
static bool one(size_t k)
{
    int64_t begun = ana_now_ns();
    uint64_t made = (uint64_t)ana_wall_ns() - (uint64_t)AGE * MS;
    folder_make("inside");
    for (int r = 0; r < RANKS; r++) {
        struct tb *tb = tb_new(r, RANKS);
        tb_clock(tb, 1000000000u, made, 1);
        folder_this_process(tb);
        tb_barrier(tb, 0, 1 * MS, 2 * MS, TB_WORLD, 0);
        struct trc_sig sig = tb_sig(TB_BARRIER);
        sig.comm = TB_WORLD;
        sig.flags = TRC_SIG_COLL;
        bool waits = r < cases[k].waiting;
        int ended_ms = waits ? cases[k].for_ms + 200 : cases[k].ended_ms;
        tb_send(tb, 0, (int64_t)(AGE - ended_ms - 1) * MS, (int64_t)(AGE - ended_ms) * MS, (r + 1) % RANKS, 7, 8);
        tb_running(tb, (int64_t)(AGE - cases[k].heard_ms) * MS);
        tb_head(tb)->heartbeats = 70;
        if (waits)
            tb_inside(tb, 0, &sig, (int64_t)(AGE - cases[k].for_ms) * MS, 1);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    char out[512] = "";
    bool said = ana_write_longest_inside(job, out, sizeof out);
    bool in_time = ana_now_ns() - begun < 300 * MS;
    if (in_time && cases[k].begins)
        CHECK(said && strncmp(out, cases[k].begins, strlen(cases[k].begins)) == 0, "%s: %s", cases[k].what, out);
    else if (in_time)
        CHECK(!said, "%s: %s", cases[k].what, out);
    int64_t due_ns = ana_inside_due(job), left_ms = (due_ns - ana_job_members(job)->read_ns) / MS,
            most_ms = cases[k].due_ms;
    if (in_time && cases[k].due_ms)
        CHECK(left_ms > most_ms - 300 && left_ms <= most_ms, "%s: due in %d ms", cases[k].what, (int)left_ms);
    else if (in_time)
        CHECK(due_ns == INT64_MAX, "%s: due in %d ms", cases[k].what, (int)left_ms);
    ana_job_close(job);
    folder_remove();
    return in_time;
}

int main(void)
{
#if defined __SANITIZE_THREAD__
    printf("ThreadSanitizer makes a job slower than the waits in it\n");
    return 77;
#endif
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        while (!one(k))
            ;
    return check_result();
}
