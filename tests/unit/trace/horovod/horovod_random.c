/* Random runs of Horovod, each with one fault planted or none: does the verdict name it, and is it silent where nothing
 * is wrong?  horovod_random [RUNS [FIRST SEED [-v]]] prints a row for each kind of fault, the table of
 * docs/verdicts.md. */
#include "tests/support/check.h"
#include "tests/support/hvd_run.h"
#include "tests/support/trace_folder.h"
#include "trace/verdict/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNS = 1200, CUT_OFF = HVD_FAULT_KINDS, NO_CACHE, ROWS };

static const char *const faults[] = {
#define FAULT(id, words) words,
    HVD_FAULTS(FAULT)
#undef FAULT
};
/* Right classes; several: any. */
static const enum ana_verdict_class classes[HVD_FAULT_KINDS][3] = {
    [HVD_FAULT_STUCK] = {ANA_CLASS_NOT_SUBMITTED},
    [HVD_FAULT_ONLY] = {ANA_CLASS_NOT_SUBMITTED},
    [HVD_FAULT_NAME] = {ANA_CLASS_NAME_MISMATCH, ANA_CLASS_NOT_SUBMITTED},
    [HVD_FAULT_SHAPE] = {ANA_CLASS_MISMATCHED},
    [HVD_FAULT_TYPE] = {ANA_CLASS_MISMATCHED},
    [HVD_FAULT_OPERATION] = {ANA_CLASS_MISMATCHED},
    [HVD_FAULT_ROOT] = {ANA_CLASS_MISMATCHED},
    [HVD_FAULT_LOOP] = {ANA_CLASS_LOOP_DEAD},
    [HVD_FAULT_KILLED] = {ANA_CLASS_DEAD},
    [HVD_FAULT_SHUTDOWN] = {ANA_CLASS_EARLY_EXIT},
    [HVD_FAULT_JOIN] = {ANA_CLASS_NOT_SUBMITTED},
    [HVD_FAULT_JOIN_BCAST] = {ANA_CLASS_MISMATCHED},
    [HVD_FAULT_SWAPPED] = {ANA_CLASS_CYCLE, ANA_CLASS_NOT_SUBMITTED, ANA_CLASS_NAME_MISMATCH},
    [HVD_FAULT_BARRIER] = {ANA_CLASS_CYCLE},
};

static struct row {
    unsigned runs, right, missed, no_name, both, more, others, other_class, alarms, proven_wrong;
} rows[ROWS];

/* Two sides of equal size: nobody can say which is wrong. */
static bool is_even(const struct hvd_run *run)
{
    const struct hvd_set *set = &run->set[run->at_set];
    return set->size == 2 || (set->size == 3 && run->culprit != set->member[0]); /* the coordinator is not heard */
}

static bool is_coordinator(const struct hvd_run *run)
{
    return run->culprit == run->set[run->at_set].member[0];
}

static const char *judge(const struct hvd_run *run, const struct ana_job *job, const struct ana_verdict *v,
                         struct row *row)
{
    bool right_class = false, named = v->culprits + v->absents > 0, culprit = false;
    bool seen = v->state == ANA_VERDICT_HUNG || v->state == ANA_VERDICT_SLOW ||
                (v->state == ANA_VERDICT_ABORTED && v->id != ANA_CLASS_KILLED);
    row->runs++;
    if (run->fault == HVD_FAULT_NONE) {
        bool alarm = seen || named;
        row->alarms += alarm;
        row->proven_wrong += alarm && v->confidence == ANA_PROVEN;
        row->right += !alarm;
        return alarm ? "false alarm" : NULL;
    }
    for (int i = 0; i < 3; i++)
        right_class |= v->id && v->id == classes[run->fault][i];
    for (size_t i = 0; i < v->culprits; i++)
        culprit |=
            ana_job_rank(job, v->culprit[i])->rank == run->culprit || (run->fault == HVD_FAULT_JOIN && run->ranks == 2);
    right_class |=
        run->fault == HVD_FAULT_ONLY && (is_even(run) || is_coordinator(run)) && v->id == ANA_CLASS_NAME_MISMATCH;
    bool both = culprit && v->culprits == 2 && is_even(run);
    const char *wrong = !seen || v->state == ANA_VERDICT_SLOW ? "missed"
                        : !named                              ? "names nobody"
                        : !culprit                            ? "names others"
                        : v->culprits > 1 && !both            ? "names others, too"
                        : !right_class                        ? "another class"
                                                              : NULL;
    row->missed += wrong && wrong[0] == 'm';
    row->no_name += seen && !named;
    row->others += wrong && strcmp(wrong, "names others") == 0;
    row->more += wrong && strcmp(wrong, "names others, too") == 0;
    row->other_class += wrong && wrong[0] == 'a';
    row->both += !wrong && both;
    row->right += !wrong;
    row->proven_wrong += wrong && !culprit && named && v->confidence == ANA_PROVEN;
    return wrong;
}

static void try(uint64_t seed, const char *folder, bool verbose)
{
    static struct hvd_run run;
    hvd_plan(seed, &run);
    hvd_simulate(&run, folder);
    struct ana_job *job = folder_open();
    const struct ana_verdict *v = ana_job_verdict(job);
    size_t row = run.capacity == 0 ? NO_CACHE : run.fault == HVD_FAULT_NONE && run.cut ? CUT_OFF : run.fault;
    const char *wrong = v ? judge(&run, job, v, &rows[row]) : "?";
    CHECK(v, "seed %llu: no verdict", (unsigned long long)seed);
    if (v && verbose && wrong) {
        printf("seed %llu%s, %d ranks, %d sets, %s of rank %d at step %d, set %d (%d), tensor %d, cache %d%s%s: %s: %s "
               "%s %s: %s\n",
               (unsigned long long)seed, run.finished ? " (finished)" : "", run.ranks, run.sets, faults[run.fault],
               run.culprit, run.at_step, run.at_set, run.set[run.at_set].size, run.at_tensor, run.capacity,
               run.blocking ? ", blocking" : "", run.joins ? ", joins" : "", wrong ? wrong : "right",
               ana_verdict_state_name(v->state), v->id ? ana_verdict_class_name(v->id) : "-",
               ana_confidence_name(v->confidence), v->summary.text);
        for (size_t i = 0; i < v->facts; i++)
            printf("    %s\n", v->fact[i].text);
    }
    ana_job_close(job);
    for (int r = 0; r < run.ranks; r++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%d.hpctop", folder, r);
        unlink(path);
    }
}

static void print(void)
{
    printf("| fault | runs | right | of these both of two named | missed | names nobody | names others, too | names "
           "others | "
           "another class | false alarms | proven, wrong |\n"
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (int f = 0; f < ROWS; f++) {
        const struct row *r = &rows[f];
        if (r->runs)
            printf("| %s | %u | %.1f %% | %u | %u | %u | %u | %u | %u | %u | %u |\n",
                   f == CUT_OFF    ? "none, cut off"
                   : f == NO_CACHE ? "any of these, response cache off"
                                   : faults[f],
                   r->runs, 100.0 * r->right / r->runs, r->both, r->missed, r->no_name, r->more, r->others,
                   r->other_class, r->alarms, r->proven_wrong);
    }
}

int main(int argc, char **argv)
{
    unsigned long runs = argc > 1 ? strtoul(argv[1], NULL, 10) : RUNS;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const char *folder = folder_make("horovod");
    for (uint64_t seed = first; seed < first + runs; seed++)
        try(seed, folder, argc > 3);
    folder_remove();
    print();
    for (int f = 0; f < ROWS; f++) {
        unsigned wrong = rows[f].runs - rows[f].right;
        CHECK(rows[f].alarms == 0 && rows[f].proven_wrong == 0, "row %d: %u false alarms, %u wrong proofs", f,
              rows[f].alarms, rows[f].proven_wrong);
        /* Cache off: nothing at all is seen of the submissions of coordinators. */
        CHECK(wrong * (f == NO_CACHE ? 20 : 50) <= rows[f].runs + 50, "row %d: %u of %u runs are judged wrongly", f,
              wrong, rows[f].runs);
        CHECK(rows[f].runs || runs < RUNS, "no run of row %d", f);
    }
    return check_result();
}
