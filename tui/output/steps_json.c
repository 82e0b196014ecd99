/* Horovod's gradients and steps in JSON. */
#include "trace/horovod/horovod.h"
#include "tui/output/json.h"
#include "tui/output/report_json.h"
#include "trace/util/rows.h"

static void add_slow(cJSON *list, const struct ana_job *job, const struct ana_hvd_set *set,
                     const struct ana_hvd_step *step)
{
    static const char *const differs[] = {NULL, "late", "before"};
    TRC_ASSERT_ROWS(differs, ANA_HVD_BEFORE);
    cJSON *row = tui_json_item(list);
    size_t index = step->last_rank == UINT32_MAX ? SIZE_MAX : set->rank[step->last_rank].index;
    tui_json_integer(row, "index", step->number);
    tui_json_ns(row, "at_s", step->from_ns);
    tui_json_ns(row, "seconds", step->end_ns - step->from_ns);
    tui_json_ns(row, "before_s", step->begin_ns - step->from_ns);
    tui_json_real(row, "rank", index == SIZE_MAX ? NAN : ana_job_rank(job, index)->rank);
    tui_json_real(row, "late_s", step->ms / 1e3);
    tui_json_text(row, "differs", differs[ana_hvd_step_differs(set, step)]);
}

void tui_gradients_json(cJSON *root, const struct ana_hvd *hvd)
{
    static const char *const library[ANA_HVD_NOT_MPI + 1] = {NULL, "mpi", "gloo", "nccl"};
    static const char *const key[ANA_HVD_NOT_MPI + 1] = {NULL, "mpi_bytes", "gloo_bytes", "nccl_bytes"};
    const struct ana_hvd_gradients of = ana_hvd_gradients(hvd->set, hvd->sets);
    if (hvd->sets == 0) {
        cJSON_AddNullToObject(root, "gradients");
        return;
    }
    cJSON *row = cJSON_AddObjectToObject(root, "gradients");
    tui_json_real(row, "bytes", of.bytes);
    for (int k = ANA_HVD_MPI; k < ANA_HVD_NOT_MPI; k++)
        tui_json_real(row, key[k], of.by[k]);
    tui_json_real(row, "unseen_bytes", of.unseen);
    tui_json_text(row, "control", library[of.control]);
    tui_json_real(row, "control_per_s", of.rounds_per_s);
}

void tui_steps_json(cJSON *root, const struct ana_job *job)
{
    cJSON *rows = cJSON_AddArrayToObject(root, "steps");
    const struct ana_hvd *hvd = ana_job_horovod(job);
    tui_gradients_json(root, hvd);
    for (size_t i = 0; i < hvd->sets; i++) {
        const struct ana_hvd_set *set = &hvd->set[i];
        cJSON *row = tui_json_item(rows);
        tui_json_integer(row, "process_set", i);
        tui_json_integer(row, "count", set->steps);
        tui_json_real(row, "median_s", set->usual.all / 1e9);
        tui_json_real(row, "before_s", set->usual.before / 1e9);
        tui_json_real(row, "late_s", set->usual.late / 1e9);
        cJSON *slowest = cJSON_AddArrayToObject(row, "slowest");
        for (size_t k = 0; k < set->slow_steps; k++)
            add_slow(slowest, job, set, &set->slow[k]);
    }
}
