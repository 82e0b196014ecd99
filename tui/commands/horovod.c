/* hpctop horovod [--json] [--hang SECONDS] DIR..: what the loops of a Horovod job did. */
#include "tui/commands/arguments.h"
#include "tui/commands/command.h"
#include "tui/output/horovod_words.h"
#include "tui/output/json.h"
#include "tui/output/report_json.h"
#include "trace/util/rows.h"

#include "trace/horovod/horovod.h"
#include "trace/verdict/verdict.h"
#include "trace/session/session.h"
#include <stdlib.h>
#include <time.h>

#define MOST 20 /* tensors shown */

static const char *const library_word[] = {"none", "mpi", "gloo", "nccl", "not-mpi"};
TRC_ASSERT_ROWS(library_word, ANA_HVD_NOT_MPI);

/* ---- text ------------------------------------------------------------------------------------------------------- */

static void print_tensors(const struct ana_hvd_set *set)
{
    size_t pending = 0, shown = 0;
    for (size_t i = 0; i < set->tensors; i++)
        pending += set->tensor[i].pending;
    if (!pending)
        return;
    printf("\n  waited for                                submitted by (of %zu ranks)  for\n", set->ranks);
    for (size_t i = 0; i < set->tensors && shown < ana_shown(pending, MOST); i++) {
        const struct ana_hvd_tensor *t = &set->tensor[i];
        char marks[72], name[4 * 40 + 1];
        size_t m = 0;
        if (!t->pending)
            continue;
        for (; m < set->ranks && m + 1 < sizeof marks; m++)
            marks[m] = tui_hvd_looks[tui_hvd_state(set, t, m, false)].mark;
        marks[m] = 0;
        printf("  %s  %-27s  %s\n", ana_column(name, sizeof name, t->name, 40, false), marks,
               ANA_SPOKEN((double)(set->now_ns - t->since_ns)));
        shown++;
    }
    if (pending > shown)
        printf("  and %zu more\n", pending - shown);
}

static void print_set(const struct ana_job *job, const struct ana_hvd_set *set, size_t number)
{
    char line[256];
    tui_hvd_set_line(set, number, false, line, sizeof line);
    puts(line);
    tui_hvd_data_line(set, false, line, sizeof line);
    printf("%s\n", line);
    tui_hvd_steps_line(job, set, false, line, sizeof line);
    printf("%s%s\n", line, line[0] ? "\n" : "");
    printf("  rank    cycles  now in          last in  late, mean        negotiating  operating\n");
    for (size_t m = 0; m < set->ranks; m++) {
        const struct ana_hvd_rank *r = &set->rank[m];
        if (r->index == SIZE_MAX) {
            printf("  %4zu  %s\n", m, tui_hvd_now(r));
            continue;
        }
        printf("  %4d  %8llu  %-14s  %7llu  %6.1f cy %6.1f ms  %11s  %9s\n", ana_job_rank(job, r->index)->rank,
               (unsigned long long)r->cycles, tui_hvd_now(r), (unsigned long long)r->last, r->late_cycles, r->late_ms,
               ANA_NUMBER(ANA_NS, (double)r->negotiation_ns, false),
               ANA_NUMBER(ANA_NS, (double)r->operation_ns, false));
    }
    print_tensors(set);
}

static void print_verdict(const struct ana_verdict *v)
{
    char line[768];
    ana_verdict_headline(v, line, sizeof line);
    bool named = v->state == ANA_VERDICT_HUNG || v->state == ANA_VERDICT_WAITING;
    printf("%s%s%s.\n", named ? "" : ana_verdict_state_name(v->state), named ? "" : ": ", line);
    for (size_t i = 0; i < v->facts; i++)
        printf("  %s\n", v->fact[i].text);
    if (v->next[0])
        printf("  next: look at %s\n", v->next);
    printf("\n");
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static void add_tensors(cJSON *o, const struct ana_job *job, const struct ana_hvd_set *set)
{
    cJSON *tensors = cJSON_AddArrayToObject(o, "tensors");
    for (size_t i = 0; i < set->tensors; i++) {
        const struct ana_hvd_tensor *t = &set->tensor[i];
        cJSON *x = tui_json_item(tensors);
        cJSON_AddStringToObject(x, "name", t->name);
        cJSON_AddStringToObject(x, "operation", ana_hvd_op_name(t->op));
        cJSON_AddNumberToObject(x, "elements", (double)t->elements);
        cJSON_AddNumberToObject(x, "done", (double)t->done);
        cJSON_AddBoolToObject(x, "pending", t->pending);
        if (t->pending)
            tui_json_ns(x, "since_s", set->now_ns - t->since_ns);
        cJSON *who = cJSON_AddArrayToObject(x, "submitted");
        for (size_t m = 0; m < set->ranks; m++)
            if (t->submitted[m] == ANA_HVD_YES) /* thus it has a file */
                cJSON_AddItemToArray(who, cJSON_CreateNumber(ana_job_rank(job, set->rank[m].index)->rank));
    }
}

static void add_ranks(cJSON *o, const struct ana_job *job, const struct ana_hvd_set *set)
{
    cJSON *ranks = cJSON_AddArrayToObject(o, "ranks");
    for (size_t m = 0; m < set->ranks; m++) {
        const struct ana_hvd_rank *r = &set->rank[m];
        cJSON *x = tui_json_item(ranks);
        tui_json_real(x, "rank", r->index == SIZE_MAX ? NAN : ana_job_rank(job, r->index)->rank);
        cJSON_AddNumberToObject(x, "cycles", (double)r->cycles);
        cJSON_AddStringToObject(x, "phase", ana_hvd_phase_name(r->phase));
        cJSON_AddBoolToObject(x, "joined", r->joined);
        cJSON_AddBoolToObject(x, "wants_shutdown", r->wants_shutdown);
        cJSON_AddNumberToObject(x, "steps", (double)r->steps);
        cJSON_AddNumberToObject(x, "last", (double)r->last);
        cJSON_AddNumberToObject(x, "late_cycles", r->late_cycles);
        cJSON_AddNumberToObject(x, "late_s", r->late_ms / 1e3);
        cJSON_AddNumberToObject(x, "operations", (double)r->operations);
        cJSON_AddNumberToObject(x, "operation_bytes", (double)r->operation_bytes);
        tui_json_ns(x, "operation_s", r->operation_ns);
        tui_json_ns(x, "negotiation_s", r->negotiation_ns);
    }
}

static void add_refusal(cJSON *o, const struct ana_hvd_set *set)
{
    cJSON *refused = cJSON_AddObjectToObject(o, "refused");
    tui_json_text(refused, "tensor", set->tensor[set->refusal.tensor].name);
    tui_json_text(refused, "error", set->refusal.error);
    cJSON_AddNumberToObject(refused, "cycle", (double)set->refusal.cycle);
    cJSON *said = cJSON_AddArrayToObject(refused, "said"); /* each rank's value of the differing property */
    for (size_t m = 0; m < set->ranks; m++)
        cJSON_AddItemToArray(said,
                             *set->refusal.said[m] ? cJSON_CreateString(set->refusal.said[m]) : cJSON_CreateNull());
}

static char *make_json(const struct ana_job *job, const struct ana_hvd *hvd, const struct ana_verdict *v)
{
    cJSON *root = tui_json_document(), *sets = cJSON_AddArrayToObject(root, "sets");
    tui_gradients_json(root, hvd);
    for (size_t i = 0; i < hvd->sets; i++) {
        const struct ana_hvd_set *set = &hvd->set[i];
        cJSON *o = tui_json_item(sets);
        cJSON_AddNumberToObject(o, "cycles", (double)set->cycles);
        cJSON_AddNumberToObject(o, "cycles_per_s", set->cycle_rate);
        cJSON_AddNumberToObject(o, "steps", (double)set->steps);
        cJSON_AddStringToObject(o, "library", library_word[set->library]);
        cJSON_AddBoolToObject(o, "names_lost", set->names_lost);
        cJSON *last = cJSON_AddArrayToObject(o, "last_by_step"); /* kept steps only; null: two at once */
        for (size_t k = 0; k < set->kept_steps; k++)
            cJSON_AddItemToArray(last, set->step[k].last_rank == UINT32_MAX
                                           ? cJSON_CreateNull()
                                           : cJSON_CreateNumber(set->step[k].last_rank));
        add_ranks(o, job, set);
        add_tensors(o, job, set);
        if (set->refusal.count)
            add_refusal(o, set);
    }
    cJSON_AddItemToObject(root, "verdict", tui_verdict_tree(job, v, v->summary.text));
    return tui_json_close(root, true);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

int tui_command_horovod(int argc, char **argv)
{
    bool json = false;
    double hang_s = TUI_HANG_S;
    struct ana_job *job;
    const struct tui_argument known[] = {{"json", 0, TUI_FLAG, &json}, {"hang", 0, TUI_SECONDS, &hang_s}, {0}};
    const int status = tui_arguments_job(argc, argv, known, &job);
    if (status != TUI_EXIT_OK)
        return status;
    ana_job_set_hang(job, hang_s);
    tui_sample_twice(job, 0.6);
    if (ana_job_samples(job) < 2 && ana_job_info(job).quiet_ns >= 0) { /* it runs: one sample tells little */
        nanosleep(&(struct timespec){.tv_nsec = 600000000}, NULL);
        ana_job_refresh(job);
    }
    const struct ana_verdict *v = ana_job_verdict(job);
    const struct ana_hvd *hvd = ana_job_horovod(job);
    char line[400], *text = v && json ? make_json(job, hvd, v) : NULL;
    if (text)
        puts(text);
    if (v && !json && v->state != ANA_VERDICT_HEALTHY)
        print_verdict(v);
    if (!json && ana_hvd_gradients_words(hvd, false, line, sizeof line))
        puts(line);
    if (!json && hvd->sets == 0)
        puts(TUI_HVD_NONE);
    for (size_t i = 0; !json && i < hvd->sets; i++)
        print_set(job, &hvd->set[i], i);
    bool done = v && (text || !json);
    free(text);
    ana_job_close(job);
    return done ? tui_finish(TUI_EXIT_OK) : tui_input_error("out of memory");
}
