#include "trace/gpu/device.h"
#include "trace/job/process.h"
#include "tui/output/json.h"

#include <math.h>

static void add_libraries(cJSON *root, const struct ana_summary *s, const struct ana_gpu_look *look)
{
    struct ana_carried by[ANA_LIBRARIES];
    ana_gpu_carried(s, look, by);
    cJSON *list = cJSON_AddArrayToObject(root, "libraries");
    for (size_t i = 0; i < ANA_LIBRARIES; i++) {
        cJSON *o = cJSON_CreateObject();
        tui_json_text(o, "name", by[i].name);
        tui_json_known(o, "calls", by[i].known, by[i].calls);
        tui_json_known(o, "bytes_sent", by[i].known, by[i].sent);
        tui_json_known(o, "bytes_received", by[i].known, by[i].received);
        cJSON_AddItemToArray(list, o);
    }
}

static void add_nccl(cJSON *root, const struct ana_gpu_look *look)
{
    cJSON *list = cJSON_AddArrayToObject(root, "nccl");
    for (size_t i = 0; i < look->nccl_count; i++) {
        const struct ana_nccl_stat *n = &look->nccl[i];
        cJSON *o = cJSON_CreateObject();
        tui_json_text(o, "name", n->call);
        tui_json_text(o, "communicator", n->comm_name);
        tui_json_signed(o, "ranks", n->size);
        tui_json_integer(o, "calls", n->calls);
        tui_json_known(o, "bytes", n->bytes != UINT64_MAX, n->bytes);
        tui_json_integer(o, "timed", n->timed);
        tui_json_real(o, "algbw", n->algbw);
        tui_json_real(o, "busbw", n->busbw);
        tui_json_real(o, "transfer_s", n->transfer_p50_ns / 1e9);
        tui_json_real(o, "skew_p50_s", n->skew_p50_ns / 1e9);
        tui_json_real(o, "skew_p99_s", n->skew_p99_ns / 1e9);
        tui_json_text(o, "algorithm", n->algorithm[0] ? n->algorithm : NULL);
        tui_json_text(o, "protocol", n->protocol[0] ? n->protocol : NULL);
        tui_json_known(o, "channels_min", n->channels_most > 0, n->channels_least);
        tui_json_known(o, "channels_max", n->channels_most > 0, n->channels_most);
        tui_json_ns(o, "kernel_s", n->kernel_ns > 0 ? n->kernel_ns : -1);
        cJSON_AddItemToArray(list, o);
    }
}

static void add_rank(cJSON *o, const char *key, const struct ana_job *job, size_t index)
{
    const struct ana_rank *rank = index != SIZE_MAX ? ana_job_rank(job, index) : NULL;
    if (rank && rank->rank >= 0)
        tui_json_signed(o, key, rank->rank);
    else
        cJSON_AddNullToObject(o, key);
}

static void add_nccl_pairs(cJSON *root, const struct ana_job *job, const struct ana_gpu_look *look)
{
    cJSON *list = cJSON_AddArrayToObject(root, "nccl_pairs");
    for (size_t i = 0; i < look->nccl_pair_count; i++) {
        const struct ana_nccl_pair *pair = &look->nccl_pairs[i];
        cJSON *o = cJSON_CreateObject();
        add_rank(o, "src", job, pair->source);
        add_rank(o, "dst", job, pair->destination);
        tui_json_integer(o, "sends", pair->sends);
        tui_json_integer(o, "bytes_sent", pair->bytes_sent);
        tui_json_integer(o, "receives", pair->receives);
        tui_json_integer(o, "bytes_received", pair->bytes_received);
        cJSON_AddItemToArray(list, o);
    }
}

static void add_kernels(cJSON *root, const struct ana_gpu_look *look)
{
    cJSON *list = cJSON_AddArrayToObject(root, "kernels");
    for (size_t i = 0; i < look->kernel_count; i++) {
        const struct ana_kernel_stat *k = &look->kernels[i];
        cJSON *o = cJSON_CreateObject();
        tui_json_text(o, "name", k->name);
        cJSON_AddBoolToObject(o, "nccl", k->nccl);
        tui_json_integer(o, "calls", k->times.count);
        tui_json_ns(o, "time_s", k->times.total_ns);
        tui_json_real(o, "p50_s", k->times.p50_ns / 1e9);
        tui_json_real(o, "max_s", k->times.max_ns / 1e9);
        tui_json_integer(o, "ranks", k->ranks);
        cJSON_AddItemToArray(list, o);
    }
}

static void add_gpus(cJSON *root, const struct ana_job *job, const struct ana_gpu_look *look)
{
    cJSON *list = cJSON_AddArrayToObject(root, "gpus");
    for (size_t i = 0; i < look->rank_count; i++) {
        const struct ana_gpu_rank *r = &look->ranks[i];
        cJSON *o = cJSON_CreateObject();
        add_rank(o, "rank", job, r->index);
        tui_json_integer(o, "devices", r->devices);
        tui_json_integer(o, "kernels", r->kernels);
        tui_json_integer(o, "copies", r->copies);
        tui_json_integer(o, "bytes_to_device", r->to_device);
        tui_json_integer(o, "bytes_from_device", r->from_device);
        tui_json_integer(o, "bytes_between_devices", r->other_bytes);
        tui_json_ns(o, "compute_s", r->compute_ns);
        tui_json_ns(o, "communication_s", r->communication_ns);
        tui_json_ns(o, "overlap_s", r->overlap_ns);
        tui_json_ns(o, "exposed_s", r->communication_ns - r->overlap_ns);
        tui_json_ns(o, "copy_s", r->copy_ns);
        tui_json_ns(o, "busy_s", r->busy_ns);
        tui_json_ns(o, "wall_s", r->wall_ns);
        cJSON_AddItemToArray(list, o);
    }
}

void tui_report_json_devices(cJSON *root, const struct ana_job *job, const struct ana_summary *s)
{
    struct ana_gpu_look look;
    if (!ana_gpu_take_whole(job, &look))
        return;
    add_libraries(root, s, &look);
    add_nccl(root, &look);
    add_nccl_pairs(root, job, &look);
    add_kernels(root, &look);
    add_gpus(root, job, &look);
    tui_json_integer(root, "kernels_unmatched", look.unmatched);
    tui_json_text(root, "kernels_unknown", look.why_not[0] ? look.why_not : NULL);
    ana_gpu_look_free(&look);
}
