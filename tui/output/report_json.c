#include "tui/output/report_json.h"
#include "tui/sources/node.h"
#include "trace/verdict/verdict.h"
#include "tui/output/json.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_job(cJSON *root, const struct ana_job *job, const struct ana_summary *s)
{
    struct ana_job_info info = ana_job_info(job);
    char answer[512];
    ana_answer(job, s, NULL, answer, sizeof answer);
    cJSON *o = cJSON_AddObjectToObject(root, "job");
    tui_json_text(o, "name", info.name);
    tui_json_text(o, "id", info.id[0] ? info.id : NULL);
    tui_json_text(o, "batch", info.batch[0] ? info.batch : NULL);
    tui_json_text(o, "state", ana_state_name(info.state));
    tui_json_integer(o, "ranks", info.ranks);
    tui_json_integer(o, "world_size", info.world_size);
    cJSON *hosts = cJSON_AddArrayToObject(o, "hosts");
    for (size_t i = 0; i < info.hosts; i++)
        cJSON_AddItemToArray(hosts, cJSON_CreateString(info.host[i]));
    tui_json_text(o, "command", info.command);
    tui_json_text(o, "mpi", info.mpi[0] ? info.mpi : NULL);
    tui_json_ns(o, "elapsed_s", info.elapsed_ns);
    tui_json_integer(o, "lost_records", info.lost_records);
    tui_json_integer(o, "recycled_records", info.recycled_records);
    tui_json_integer(o, "unknown_requests", info.unknown_requests);
    tui_json_real(o, "clock_error_s", info.clock_error_s);
    tui_json_real(o, "overhead_s", info.overhead_s);
    tui_json_real(o, "analysed", s->analysed);
    tui_json_text(o, "answer", answer);
}

/* Only where there is more than one. */
static void add_clocks(cJSON *root, const struct ana_job *job)
{
    cJSON *list = cJSON_AddArrayToObject(root, "clocks");
    for (size_t i = 0; ana_job_clocks(job) > 1 && i < ana_job_clocks(job); i++) {
        struct ana_job_clock clock = ana_job_clock(job, i);
        cJSON *o = cJSON_CreateObject();
        tui_json_text(o, "host", clock.host);
        tui_json_integer(o, "ranks", clock.ranks);
        tui_json_real(o, "offset_s", clock.offset_s);
        tui_json_real(o, "realtime_s", clock.realtime_s);
        tui_json_real(o, "drift_ppm", clock.drift_ppm);
        tui_json_real(o, "error_s", clock.error_s);
        cJSON_AddBoolToObject(o, "fitted", clock.fitted);
        cJSON_AddItemToArray(list, o);
    }
}

static void add_calls(cJSON *root, const struct ana_summary *s)
{
    cJSON *list = cJSON_AddArrayToObject(root, "calls");
    for (size_t i = 0; i < s->call_count; i++) {
        const struct ana_call_stat *c = &s->calls[i];
        cJSON *o = cJSON_CreateObject();
        tui_json_text(o, "name", c->name);
        tui_json_integer(o, "calls", c->times.count);
        tui_json_integer(o, "bytes_sent", c->sent);
        tui_json_integer(o, "bytes_received", c->received);
        tui_json_ns(o, "time_s", c->times.total_ns);
        tui_json_real(o, "min_s", c->times.min_ns / 1e9);
        tui_json_real(o, "p50_s", c->times.p50_ns / 1e9);
        tui_json_real(o, "p99_s", c->times.p99_ns / 1e9);
        tui_json_real(o, "max_s", c->times.max_ns / 1e9);
        tui_json_ns(o, "waiting_s", c->waiting_ns);
        cJSON_AddItemToArray(list, o);
    }
}

static void add_ranks(cJSON *root, const struct ana_job *job, const struct ana_summary *s)
{
    cJSON *list = cJSON_AddArrayToObject(root, "ranks");
    for (size_t i = 0; i < s->rank_count; i++) {
        const struct ana_rank_stat *stat = &s->ranks[i];
        const struct ana_rank *r = ana_job_rank(job, stat->index);
        bool inside = r->inside && r->state != ANA_RANK_DONE;
        cJSON *o = cJSON_CreateObject();
        if (r->rank >= 0)
            tui_json_signed(o, "rank", r->rank);
        else
            cJSON_AddNullToObject(o, "rank");
        tui_json_integer(o, "world", r->world);
        tui_json_text(o, "host", r->host);
        tui_json_integer(o, "pid", r->pid);
        tui_json_text(o, "runtime", r->runtime[0] ? r->runtime : NULL);
        tui_json_text(o, "image", r->image[0] ? r->image : NULL);
        tui_json_known(o, "calls", stat->counted, stat->calls);
        tui_json_known(o, "bytes_sent", stat->counted, stat->sent);
        tui_json_known(o, "bytes_received", stat->counted, stat->received);
        tui_json_ns(o, "mpi_s", stat->counted ? stat->mpi_sum_ns : -1);
        tui_json_ns(o, "nccl_s",
                    stat->counted && r->file && trc_fact(r->file, "nccl") ? stat->nccl_ns
                                                                          : -1); /* in calls on the host */
        tui_json_ns(o, "wall_s", stat->counted ? stat->wall_ns : -1);
        tui_json_ns(o, "waiting_s", stat->waiting_ns);
        tui_json_text(o, "state", ana_rank_state_name(r->state));
        tui_json_text(o, "inside", inside ? r->inside : NULL);
        tui_json_ns(o, "inside_s", inside ? r->inside_ns : -1);
        tui_json_text(o, "nccl_operation", r->gpu_op ? trc_call(r->file, r->gpu_op->call)->name : NULL);
        tui_json_text(o, "nccl_state", r->gpu_op ? ana_gpu_standing(r->gpu_op) : NULL);
        tui_json_ns(o, "nccl_state_s", r->gpu_op ? r->gpu_ns : -1);
        cJSON_AddItemToArray(list, o);
    }
}

static void add_pairs(cJSON *root, const struct ana_job *job, const struct ana_summary *s)
{
    cJSON *list = cJSON_AddArrayToObject(root, "pairs");
    for (size_t i = 0; i < s->pair_count; i++) {
        cJSON *o = cJSON_CreateObject();
        tui_json_signed(o, "src", ana_job_rank(job, s->pairs[i].source)->rank);
        tui_json_signed(o, "dst", ana_job_rank(job, s->pairs[i].destination)->rank);
        tui_json_integer(o, "src_world", ana_job_rank(job, s->pairs[i].source)->world);
        tui_json_integer(o, "dst_world", ana_job_rank(job, s->pairs[i].destination)->world);
        tui_json_integer(o, "messages", s->pairs[i].messages);
        tui_json_integer(o, "bytes", s->pairs[i].bytes);
        cJSON_AddItemToArray(list, o);
    }
}

/* Who lost time waiting for whom. */
static void add_waits(cJSON *root, const struct ana_job *job, const struct ana_summary *s)
{
    static const char *const kind[] = {[ANA_LATE_SENDER] = "late-sender",
                                       [ANA_LATE_RECEIVER] = "late-receiver",
                                       [ANA_LATE_IN_COLLECTIVE] = "late-in-collective"};
    cJSON *list = cJSON_AddArrayToObject(root, "waits");
    for (size_t i = 0; i < s->wait_count; i++) {
        cJSON *o = cJSON_CreateObject();
        tui_json_text(o, "kind", kind[s->waits[i].kind]);
        tui_json_signed(o, "waiter", ana_job_rank(job, s->waits[i].waiter)->rank);
        tui_json_signed(o, "culprit", ana_job_rank(job, s->waits[i].culprit)->rank);
        tui_json_integer(o, "count", s->waits[i].count);
        tui_json_ns(o, "lost_s", s->waits[i].lost_ns);
        cJSON_AddItemToArray(list, o);
    }
}

static void add_collectives(cJSON *root, const struct ana_job *job, const struct ana_summary *s)
{
    cJSON *list = cJSON_AddArrayToObject(root, "collectives");
    for (size_t i = 0; i < s->collective_count; i++) {
        const struct ana_collective *c = &s->collectives[i];
        const struct ana_rank *last = ana_job_rank(job, c->last_index);
        cJSON *o = cJSON_CreateObject();
        tui_json_text(o, "name", c->name);
        tui_json_text(o, "communicator", c->comm_name);
        tui_json_integer(o, "instances", c->instances);
        tui_json_integer(o, "incomplete", c->incomplete);
        tui_json_real(o, "skew_p50_s", c->skew_p50_ns / 1e9);
        tui_json_real(o, "skew_p99_s", c->skew_p99_ns / 1e9);
        tui_json_real(o, "skew_max_s", c->skew_max_ns / 1e9);
        tui_json_ns(o, "lost_s", c->lost_ns);
        if (last)
            tui_json_signed(o, "last_rank", last->rank);
        else
            cJSON_AddNullToObject(o, "last_rank");
        tui_json_real(o, "last_share", c->last_share);
        cJSON_AddItemToArray(list, o);
    }
}

/* The object as text, ended by a newline; deletes it. */
static char *print(cJSON *root)
{
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    if (!text)
        return NULL;
    size_t n = strlen(text);
    char *out = malloc(n + 2);
    if (out) {
        memcpy(out, text, n);
        memcpy(out + n, "\n", 2);
    }
    cJSON_free(text);
    return out;
}

char *tui_report_json(const struct ana_job *job, const struct ana_summary *s)
{
    cJSON *root = cJSON_CreateObject();
    if (!root)
        return NULL;
    add_job(root, job, s);
    add_calls(root, s);
    add_ranks(root, job, s);
    add_pairs(root, job, s);
    add_collectives(root, job, s);
    add_waits(root, job, s);
    add_clocks(root, job);
    tui_report_json_devices(root, job, s);
    tui_node_json(root, job);
    cJSON *e = cJSON_AddObjectToObject(root, "efficiency");
    tui_json_real(e, "parallel", s->efficiency.parallel);
    tui_json_real(e, "load_balance", s->efficiency.load_balance);
    tui_json_real(e, "communication", s->efficiency.communication);
    return print(root);
}

char *tui_verdict_json(const struct ana_job *job, const struct ana_verdict *v)
{
    cJSON *root = cJSON_CreateObject();
    if (!root)
        return NULL;
    tui_json_text(root, "state", ana_verdict_state_name(v->state));
    tui_json_text(root, "class", ana_verdict_class_name(v->id));
    cJSON *culprits = cJSON_AddArrayToObject(root, "culprits");
    cJSON *worlds = cJSON_AddArrayToObject(root, "culprit_worlds");
    for (size_t i = 0; i < v->culprits; i++) {
        cJSON_AddItemToArray(culprits, cJSON_CreateNumber(ana_job_rank(job, v->culprit[i])->rank));
        cJSON_AddItemToArray(worlds, cJSON_CreateNumber(ana_job_rank(job, v->culprit[i])->world));
    }
    for (size_t i = 0; i < v->absents; i++) { /* of the first world: its launcher told its size */
        cJSON_AddItemToArray(culprits, cJSON_CreateNumber(v->absent[i]));
        cJSON_AddItemToArray(worlds, cJSON_CreateNumber(0));
    }
    tui_json_ns(root, "since_s", v->since_ns);
    tui_json_text(root, "summary", v->summary);
    cJSON *evidence = cJSON_AddArrayToObject(root, "evidence");
    for (size_t i = 0; i < v->groups && i < 64; i++) {
        char line[640];
        const struct ana_verdict_group *g = &v->group[i];
        snprintf(line, sizeof line, "%s: %s%s%s", g->who, g->doing, g->where[0] ? ", at " : "", g->where);
        cJSON_AddItemToArray(evidence, cJSON_CreateString(line));
    }
    for (size_t i = 0; i < v->lines; i++)
        cJSON_AddItemToArray(evidence, cJSON_CreateString(v->line[i]));
    tui_json_text(root, "next", v->next[0] ? v->next : NULL);
    tui_json_text(root, "confidence", v->state == ANA_HEALTHY ? NULL : ana_confidence_name(v->confidence));
    return print(root);
}
