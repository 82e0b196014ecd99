#include "tui/output/report_json.h"
#include "tui/sources/node.h"
#include "trace/job/off.h"
#include "trace/job/site_words.h"
#include "trace/job/window.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include "trace/metric/exact.h"
#include "trace/report/report.h"
#include "tui/output/json.h"
#include <ctype.h>
#include <stdlib.h>

/* Adds the stretches of time in which recording was switched off. */
static void add_off(cJSON *root, const struct ana_job *job)
{
    struct ana_offs offs;
    cJSON *list = cJSON_AddArrayToObject(root, "recording_off");
    if (!ana_offs_find(job, &offs))
        return;
    for (size_t i = 0; i < offs.count && i < 1000; i++) {
        const struct ana_off *off = &offs.off[i];
        cJSON *o = tui_json_item(list);
        tui_json_ranks(o, "ranks", job, off->rank, off->ranks);
        tui_json_ns(o, "from_s", off->begin_ns);
        tui_json_real(o, "to_s", off->end_ns == INT64_MAX ? NAN : (double)off->end_ns / 1e9);
    }
    ana_offs_free(&offs);
}

/* Adds the transport of the first rank, and versions and settings that are known to be bad. */
static void add_transport(cJSON *o, const struct ana_job *job)
{
    char *text = NULL;
    const char *known[16];
    size_t size = 0, ranks = ana_job_info(job).ranks;
    FILE *out = open_memstream(&text, &size);
    bool found = out && ranks && ana_transport_write(job, 0, "", out);
    if (out)
        fclose(out);
    tui_json_text(o, "transport", found ? text : NULL);
    free(text);
    cJSON *list = cJSON_AddArrayToObject(o, "known_bad");
    for (size_t i = 0, n = ana_known_bad_of(job, known, 16); i < n; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(known[i]));
}

static void add_job(cJSON *root, const struct ana_job *job, const struct ana_summary *s)
{
    struct ana_job_info info = ana_job_info(job);
    char answer[512], also[512];
    ana_headline(job, s, NULL, answer, sizeof answer);
    cJSON *o = cJSON_AddObjectToObject(root, "job");
    tui_json_text(o, "name", info.name);
    tui_json_text(o, "id", info.id[0] ? info.id : NULL);
    tui_json_text(o, "batch", info.batch[0] ? info.batch : NULL);
    tui_json_text(o, "state", ana_state_name(info.state));
    tui_json_integer(o, "ranks", info.ranks);
    tui_json_integer(o, "world_size", info.world_size);
    cJSON *hosts = cJSON_AddArrayToObject(o, "hosts");
    for (size_t i = 0; i < info.hosts; i++)
        tui_json_word(hosts, info.host[i]);
    tui_json_text(o, "command", info.command);
    tui_json_text(o, "mpi", info.mpi[0] ? info.mpi : NULL);
    add_transport(o, job);
    tui_json_ns(o, "elapsed_s", info.elapsed_ns);
    tui_json_integer(o, "lost_records", info.lost_records);
    tui_json_integer(o, "recycled_records", info.recycled_records);
    tui_json_integer(o, "unknown_requests", info.unknown_requests);
    add_off(o, job);
    tui_json_real(o, "clock_error_s", info.clock_error_s);
    tui_json_real(o, "overhead_s", info.overhead_s);
    tui_json_real(o, "analysed", s->analysed);
    tui_json_text(o, "answer", answer);
    tui_json_text(o, "also", ana_headline_also(job, s, also, sizeof also) ? also : NULL);
}

/* Adds which part of the job it is of; null: all of it. */
static void add_window(cJSON *root, const struct ana_job *job, const struct ana_summary *s)
{
    const struct ana_selection *of = &s->selection;
    if (ana_of_all_time(of) && !of->ranks && !ana_has_filter(of)) {
        cJSON_AddNullToObject(root, "window");
        return;
    }
    cJSON *o = cJSON_AddObjectToObject(root, "window");
    tui_json_ns(o, "from_s", s->begin_ns);
    tui_json_ns(o, "to_s", s->end_ns);
    cJSON *ranks = of->ranks ? cJSON_AddArrayToObject(o, "ranks") : cJSON_AddNullToObject(o, "ranks");
    for (size_t i = 0; of->ranks && i < ana_job_info(job).ranks; i++)
        if (of->ranks[i])
            cJSON_AddItemToArray(ranks, cJSON_CreateNumber(ana_job_rank(job, i)->rank));
    char words[400];
    ana_selection_words(job, of, words, sizeof words);
    tui_json_text(o, "words", words);
    tui_json_integer(o, "cut_calls", s->cut_calls);
}

/* Adds a list: tui_json_rows, or tui_json_text_rows. */
typedef void add_rows(cJSON *root, const char *key, enum ana_metric_kind kind, const void *rows, size_t size,
                      size_t count, const struct ana_whole *whole);

/* Adds the account of the job, of the time outside calls and of each node. */
static void add_account_totals(cJSON *root, const struct ana_job *job, const struct ana_summary *s)
{
    const struct ana_job_info info = ana_job_info(job);
    struct ana_account *node = calloc(info.hosts + 1, sizeof *node);
    tui_json_accounts(root, &s->account);
    tui_json_accounts(cJSON_AddObjectToObject(root, "outside_calls"), &s->outside_calls);
    if (s->region_count)
        tui_json_accounts(cJSON_AddObjectToObject(root, "outside_regions"), &s->outside_regions);
    cJSON *nodes = cJSON_AddArrayToObject(root, "nodes");
    for (size_t i = 0; node && i < s->rank_count; i++)
        ana_account_add(&node[ana_job_rank(job, s->ranks[i].index)->host_index], &s->ranks[i].account);
    for (size_t h = 0; node && h < info.hosts; h++) {
        cJSON *one = tui_json_item(nodes);
        tui_json_text(one, "host", info.host[h]);
        tui_json_accounts(one, &node[h]);
    }
    free(node);
}

static void add_ranks(cJSON *root, const struct ana_summary *s, const struct ana_whole *whole, add_rows *add)
{
    struct ana_rank_row *rows = calloc(s->rank_count + 1, sizeof *rows);
    for (size_t i = 0; rows && i < s->rank_count; i++)
        rows[i] = (struct ana_rank_row){.rank = ana_job_rank(whole->job, s->ranks[i].index), .stat = &s->ranks[i]};
    add(root, "ranks", ANA_KIND_RANK, rows, sizeof *rows, rows ? s->rank_count : 0, whole);
    free(rows);
}

/* Adds why something takes longer, in words; null: not known. */
static void add_reason(cJSON *to, const struct ana_reason *reason)
{
    char words[160];
    ana_reason_words(reason, words, sizeof words);
    tui_json_text(to, "why", words[0] ? words : NULL);
}

/* Adds times of all ranks, NAN where unknown. */
static void add_by_rank(cJSON *row, size_t ranks, const double *real_ns, const int64_t *ns)
{
    cJSON *list = cJSON_AddArrayToObject(row, "by_rank_s");
    for (size_t r = 0; r < ranks; r++) {
        char text[ANA_EXACT];
        const char *exact = ana_exact_real((real_ns ? real_ns[r] : ana_known(ns[r])) / 1e9, text);
        cJSON_AddItemToArray(list, cJSON_CreateRaw(exact ? exact : "null"));
    }
}

static void add_to_segment(cJSON *object, const void *row, const struct ana_whole *whole)
{
    const struct ana_segment_stat *segment = row;
    const size_t ranks = ana_job_info(whole->job).ranks;
    add_by_rank(object, ranks, segment->by_rank_ns, NULL);
    add_reason(object, ana_segment_reason(segment, ranks));
}

static void add_to_region(cJSON *object, const void *row, const struct ana_whole *whole)
{
    add_by_rank(object, ana_job_info(whole->job).ranks, NULL, ((const struct ana_region_stat *)row)->by_rank_ns);
}

static void add_to_price(cJSON *object, const void *row, const struct ana_whole *whole)
{
    const struct ana_price *price = row;
    add_reason(object, &price->reason);
    tui_json_ranks(object, "ranks", whole->job, price->rank, price->ranks);
    tui_json_ranks(object, "after", whole->job, price->after, price->afters);
}

/* Adds what waits and their causes cost together. */
static void add_delays(cJSON *root, const struct ana_summary *s)
{
    int64_t waits_ns = 0, costs_ns = s->cost_inside_ns;
    for (size_t i = 0; i < s->segment_count; i++)
        costs_ns = ana_plus(costs_ns, s->segments[i].cost_ns);
    for (size_t w = 0; w < s->wait_count; w++)
        waits_ns = ana_plus(waits_ns, s->waits[w].lost_ns);
    tui_json_ns(root, "waits_s", waits_ns);
    tui_json_ns(root, "delays_s", ana_plus(costs_ns, s->cost_unknown_ns));
}

static void add_ends(cJSON *to, const struct ana_segment_end *from, const struct ana_segment_end *stop)
{
    tui_json_text(to, "from", from->place[0] ? from->place : NULL);
    tui_json_text(to, "to", stop->place[0] ? stop->place : NULL);
}

/* Adds the iterations, the slowest ones, and the loops around and inside. */
static void add_iterations(cJSON *root, const struct ana_job *job, const struct ana_iterations *of)
{
    cJSON *object = cJSON_AddObjectToObject(root, "iterations");
    const struct ana_loop_level *own = &of->loop[of->level];
    tui_json_integer(object, "count", own->count);
    tui_json_real(object, "median_s", of->levels ? own->median_ns / 1e9 : NAN);
    tui_json_real(object, "usual_s", of->levels ? own->usual_ns / 1e9 : NAN);
    tui_json_text(object, "end", of->levels ? own->end.place : NULL);
    cJSON *slowest = cJSON_AddArrayToObject(object, "slowest"), *loops = cJSON_AddArrayToObject(object, "loops");
    for (size_t i = 0; i < own->slow_count; i++) {
        const struct ana_slow_iteration *slow = &own->slow[i];
        cJSON *row = tui_json_item(slowest);
        tui_json_integer(row, "index", slow->number);
        tui_json_ns(row, "at_s", slow->begin_ns);
        tui_json_ns(row, "seconds", slow->end_ns - slow->begin_ns);
        tui_json_real(row, "rank", slow->index == SIZE_MAX ? NAN : ana_job_rank(job, slow->index)->rank);
        add_ends(row, &slow->from, &slow->to);
        tui_json_text(row, "region", slow->region[0] ? slow->region : NULL);
        tui_json_real(row, "segment_s", slow->index == SIZE_MAX ? NAN : (double)slow->segment_ns / 1e9);
        add_reason(row, &slow->reason);
    }
    for (size_t i = 0; i < of->levels; i++) {
        cJSON *row = tui_json_item(loops);
        tui_json_integer(row, "count", of->loop[i].count);
        tui_json_real(row, "median_s", of->loop[i].median_ns / 1e9);
        tui_json_text(row, "end", of->loop[i].end.place);
        cJSON_AddBoolToObject(row, "every_few", of->loop[i].is_detour);
    }
}

static void add_access_sizes(cJSON *row, const char *key, const struct ana_file_way *way)
{
    cJSON *list = cJSON_AddArrayToObject(row, key);
    for (int i = 0; i < (int)(sizeof way->size / sizeof *way->size); i++) {
        if (!way->size[i])
            continue;
        cJSON *one = tui_json_item(list);
        tui_json_integer(one, "from_bytes", i ? 1ull << (i - 1) : 0);
        tui_json_integer(one, "accesses", way->size[i]);
    }
}

/* Adds the callers of a path, the innermost first; an empty list for NULL. */
static void add_path(cJSON *object, const struct ana_job *job, size_t index, const struct trc_path *path)
{
    cJSON *list = cJSON_AddArrayToObject(object, "path");
    char words[ANA_CALLER];
    for (uint32_t i = 0; path && i < path->n; i++) {
        ana_caller_words(job, index, path->site[i], words, sizeof words);
        tui_json_word(list, words);
    }
}

static void add_to_site(cJSON *object, const void *row, const struct ana_whole *whole)
{
    const struct ana_site *site = row;
    add_path(object, whole->job, site->index, site->path);
}

static void add_to_file(cJSON *object, const void *row, const struct ana_whole *whole)
{
    const struct ana_file_stat *file = row;
    (void)whole;
    add_access_sizes(object, "read_sizes", &file->read);
    add_access_sizes(object, "write_sizes", &file->write);
}

/* Adds the clocks, if there is more than one. */
static void add_clocks(cJSON *root, const struct ana_whole *whole)
{
    size_t n = ana_job_clocks(whole->job);
    struct ana_job_clock *clocks = calloc(n + 1, sizeof *clocks);
    for (size_t i = 0; clocks && i < n; i++)
        clocks[i] = ana_job_clock(whole->job, i);
    tui_json_rows(root, "clocks", ANA_KIND_CLOCK, clocks, sizeof *clocks, clocks && n > 1 ? n : 0, whole);
    free(clocks);
}

static void add_devices(cJSON *root, const struct ana_summary *s, const struct ana_whole *whole)
{
    struct ana_gpu_summary look;
    struct ana_carried by[ANA_LIBRARIES];
    if (!ana_gpu_summarize_all(whole->job, &look))
        return;
    ana_gpu_carried(s, &look, by);
    tui_json_rows(root, "libraries", ANA_KIND_LIBRARY, by, sizeof *by, ANA_LIBRARIES, whole);
    tui_json_rows(root, "nccl", ANA_KIND_NCCL, look.nccl, sizeof *look.nccl, look.nccl_count, whole);
    tui_json_rows(root, "nccl_pairs", ANA_KIND_NCCL_PAIR, look.nccl_pairs, sizeof *look.nccl_pairs,
                  look.nccl_pair_count, whole);
    tui_json_rows(root, "kernels", ANA_KIND_KERNEL, look.kernels, sizeof *look.kernels, look.kernel_count, whole);
    tui_json_rows(root, "gpus", ANA_KIND_GPU, look.ranks, sizeof *look.ranks, look.rank_count, whole);
    tui_json_integer(root, "kernels_unmatched", look.unmatched);
    tui_json_text(root, "kernels_unknown", look.why_not[0] ? look.why_not : NULL);
    ana_gpu_summary_free(&look);
}

static void add_networks(cJSON *root, const struct ana_summary *s)
{
    cJSON *list = cJSON_AddArrayToObject(root, "networks");
    for (size_t i = 0; i < s->network_count; i++) {
        const struct ana_network *of = &s->networks[i];
        cJSON *one = tui_json_item(list);
        tui_json_text(one, "host", of->host);
        tui_json_integer(one, "retransmits", of->retransmits);
        tui_json_integer(one, "bytes_sent", of->sent);
        tui_json_integer(one, "bytes_received", of->received);
        tui_json_integer(one, "errors", of->errors);
        tui_json_integer(one, "link_waits", of->waits);
    }
}

/* `many` adds lists that may be long. */
static cJSON *make_report(const struct ana_job *job, const struct ana_summary *s, add_rows *many)
{
#define ROWS(kind, rows, count) ANA_KIND_##kind, s->rows, sizeof *s->rows, s->count, &whole
    struct ana_whole whole = ana_whole_of(job, s, NULL);
    cJSON *root = tui_json_document();
    add_job(root, job, s);
    add_window(root, job, s);
    if (s->has_accounts)
        add_account_totals(root, job, s);
    tui_json_rows(root, "calls", ROWS(CALL, calls, call_count));
    add_ranks(root, s, &whole, many);
    many(root, "pairs", ROWS(PAIR, pairs, pair_count));
    tui_json_rows(root, "sizes", ROWS(SIZE, sizes, size_count));
    tui_json_rows_more(root, "sites", ROWS(SITE, sites, site_count), add_to_site);
    many(root, "collectives", ROWS(COLLECTIVE, collectives, collective_count));
    many(root, "waits", ROWS(WAIT, waits, wait_count));
    if (!s->exact) {
        tui_json_rows(root, "outliers", ROWS(OUTLIER, outliers, outlier_count));
        tui_json_rows(root, "slowest_messages", ROWS(SLOW, slow, slow_count));
    }
    tui_json_rows_more(root, "segments", ROWS(SEGMENT, segments, segment_count), add_to_segment);
    add_delays(root, s);
    tui_json_rows_more(root, "regions", ROWS(REGION, regions, region_count), add_to_region);
    if (s->region_unmatched)
        tui_json_integer(root, "regions_unmatched", s->region_unmatched);
    tui_json_ns(root, "path_s", s->path_ns);
    tui_json_ns(root, "path_unknown_s", s->path_unknown_ns);
    tui_json_rows_more(root, "prices", ROWS(PRICE, prices, price_count), add_to_price);
    add_iterations(root, job, &s->iterations);
    tui_steps_json(root, job);
    tui_json_rows_more(root, "files", ROWS(FILE, files, file_count), add_to_file);
    add_networks(root, s);
    add_clocks(root, &whole);
    add_devices(root, s, &whole);
    tui_node_json(root, job);
    cJSON *e = cJSON_AddObjectToObject(root, "efficiency");
    tui_json_real(e, "parallel", s->efficiency.parallel);
    tui_json_real(e, "load_balance", s->efficiency.load_balance);
    tui_json_real(e, "communication", s->efficiency.communication);
    tui_json_real(e, "serialisation", s->efficiency.serialisation);
    tui_json_real(e, "transfer", s->efficiency.transfer);
    tui_json_real(e, "processor", s->efficiency.processor);
    return root;
}

cJSON *tui_report_tree(const struct ana_job *job, const struct ana_summary *s)
{
    return make_report(job, s, tui_json_rows);
}

char *tui_report_json(const struct ana_job *job, const struct ana_summary *s)
{
    return tui_json_close(make_report(job, s, tui_json_text_rows), true);
}

/* "SENT_FEWER" as "sent-fewer". */
static void add_kind(cJSON *to, const char *id)
{
    char kind[64];
    size_t n = 0;
    for (; id[n] && n + 1 < sizeof kind; n++)
        kind[n] = id[n] == '_' ? '-' : (char)tolower(id[n]);
    kind[n] = 0;
    cJSON_AddStringToObject(to, "kind", kind);
}

/* Adds what a sentence tells: {"kind": "sent-fewer", "who": [3], "count": 7}. */
static void add_fact(cJSON *to, const struct ana_job *job, const struct ana_verdict_fact *fact)
{
    cJSON *one = tui_json_item(to);
    add_kind(one, fact->id);
    for (size_t i = 0; i < fact->values; i++) {
        const struct ana_verdict_value *value = &fact->value[i];
        char name[64];
        snprintf(name, sizeof name, "%s%s", value->name, value->kind == ANA_VALUE_NS ? "_s" : "");
        if (value->kind == ANA_VALUE_TEXT)
            tui_json_text(one, name, value->text);
        else if (value->kind == ANA_VALUE_REAL)
            tui_json_real(one, name, value->real);
        else if (value->kind == ANA_VALUE_COUNT)
            cJSON_AddNumberToObject(one, name, (double)value->number);
        else if (value->kind == ANA_VALUE_NS)
            tui_json_ns(one, name, value->number);
        else if (value->kind == ANA_VALUE_RANKS)
            tui_json_ranks(one, name, job, value->rank, value->ranks);
    }
}

void tui_culprits_json(cJSON *root, const struct ana_job *job, const struct ana_verdict *v)
{
    tui_json_ranks(root, "culprits", job, v ? v->culprit : NULL, v ? v->culprits : 0);
    for (size_t i = 0; v && i < v->absents; i++)
        cJSON_AddItemToArray(cJSON_GetObjectItem(root, "culprits"), cJSON_CreateNumber(v->absent[i]));
}

/* Adds the call that the first rank of a group is inside, with its callers; nothing if it is in none. */
static void add_inside(cJSON *list, const struct ana_job *job, const struct ana_verdict_group *group)
{
    const struct ana_rank *rank = ana_job_rank(job, group->first);
    if (!rank->inside_sig)
        return;
    cJSON *one = tui_json_item(list);
    tui_json_text(one, "who", group->who);
    tui_json_text(one, "call", trc_call(rank->file, rank->inside_sig->call)->name);
    add_path(one, job, group->first, trc_path_of(rank->file, rank->inside_sig->site));
}

cJSON *tui_verdict_tree(const struct ana_job *job, const struct ana_verdict *v, const char *summary)
{
    cJSON *root = tui_json_document();
    tui_json_text(root, "state", ana_verdict_state_name(v->state));
    tui_json_text(root, "class", ana_verdict_class_name(v->id));
    tui_culprits_json(root, job, v);
    cJSON *worlds = cJSON_AddArrayToObject(root, "culprit_worlds");
    for (size_t i = 0; i < v->culprits; i++)
        cJSON_AddItemToArray(worlds, cJSON_CreateNumber(ana_job_rank(job, v->culprit[i])->world));
    for (size_t i = 0; i < v->absents; i++) /* absent ranks of the first world, whose size is known */
        cJSON_AddItemToArray(worlds, cJSON_CreateNumber(0));
    tui_json_ns(root, "since_s", v->since_ns);
    tui_json_text(root, "summary", summary);
    cJSON *evidence = cJSON_AddArrayToObject(root, "evidence");
    for (size_t i = 0; i < v->groups && i < 64; i++) {
        char line[640];
        const struct ana_verdict_group *g = &v->group[i];
        snprintf(line, sizeof line, "%s: %s%s%s", g->who, g->doing, g->where[0] ? ", at " : "", g->where);
        tui_json_word(evidence, line);
    }
    for (size_t i = 0; i < v->facts; i++)
        tui_json_word(evidence, v->fact[i].text);
    cJSON *inside = cJSON_AddArrayToObject(root, "inside");
    for (size_t i = 0; i < v->groups && i < 64; i++)
        add_inside(inside, job, &v->group[i]);
    cJSON *facts = cJSON_AddArrayToObject(root, "facts"); /* the summary's, then the evidence's */
    if (v->state != ANA_VERDICT_HEALTHY)
        add_fact(facts, job, &v->summary);
    for (size_t i = 0; i < v->facts; i++)
        add_fact(facts, job, &v->fact[i]);
    cJSON *part = cJSON_AddArrayToObject(root, "where_they_part"); /* indented by two columns a shared frame */
    for (size_t i = 0; i < v->divergences; i++)
        tui_json_word(part, v->divergence[i]);
    tui_json_text(root, "next", v->next[0] ? v->next : NULL);
    tui_json_text(root, "confidence", v->state == ANA_VERDICT_HEALTHY ? NULL : ana_confidence_name(v->confidence));
    return root;
}

char *tui_verdict_json(const struct ana_job *job, const struct ana_verdict *v, const char *summary)
{
    return tui_json_close(tui_verdict_tree(job, v, summary), true);
}
