/* Call paths in what people and scripts read.  Two ranks call MPI through a wrapper, from two places each, at other
 * addresses on each rank: two rows by place, with the path in JSON, on the page and in exports. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/export/export.h"
#include "trace/report/report.h"
#include "trace/summary/paths.h"
#include "tui/output/report_json.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 2, TIMES = 3 };

static void write_rank(int rank)
{
    struct tb *tb = tb_new(rank, RANKS);
    const uint64_t base = 0x10000u * (unsigned)(rank + 1), wrapper = base + 0x30, at[] = {base + 0x100, base + 0x200};
    tb_site(tb, wrapper, "sendReceiveParallel+0x30", "/opt/app+0x1030");
    tb_site(tb, at[0], "haloExchange+0x10", "/opt/app+0x1100");
    tb_site(tb, at[1], "exchangeForces+0x20", "/opt/app+0x1200");
    for (uint32_t p = 0; p < 2; p++)
        tb_path(tb, p + 1, (uint64_t[]){wrapper, at[p]}, 2, TRC_PATH_LIMITED);
    tb_path(tb, 3, (uint64_t[]){wrapper, at[0], at[1]}, 3,
            TRC_PATH_LIMITED); /* the same place, called from elsewhere */
    for (int i = 0; i < 2 * TIMES; i++) {
        struct trc_sig sig = tb_sig(TB_ALLREDUCE);
        sig.flags = TRC_SIG_COLL;
        sig.comm = TB_WORLD;
        sig.sent = sig.received = 8;
        sig.site = wrapper;
        sig.path = i == 2 ? 3 : (uint32_t)i % 2 + 1;
        tb_event(tb, 0, &sig, 1000 * (i + 1), 1000 * (i + 1) + 500, (struct tb_more){.sequence = (uint64_t)i + 1});
    }
    folder_write(tb, rank);
    tb_free(tb);
}

static void check_json(struct ana_job *job, const struct ana_summary *s)
{
    char *text = tui_report_json(job, s);
    cJSON *root = cJSON_Parse(text);
    const cJSON *site;
    int seen = 0;
    cJSON_ArrayForEach(site, cJSON_GetObjectItem(root, "sites"))
    {
        const cJSON *path = cJSON_GetObjectItem(site, "path");
        if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(site, "call")), "MPI_Allreduce") != 0)
            continue;
        seen++;
        CHECK(cJSON_GetArraySize(path) >= 2 &&
                  !strcmp(cJSON_GetStringValue(cJSON_GetArrayItem(path, 0)), "sendReceiveParallel+0x30"),
              "%s", text);
        CHECK(cJSON_GetNumberValue(cJSON_GetObjectItem(site, "ranks")) == RANKS &&
                  cJSON_GetNumberValue(cJSON_GetObjectItem(site, "calls")) == TIMES * RANKS,
              "%s", text);
    }
    CHECK(seen == 2, "%d places", seen);
    cJSON_Delete(root);
    free(text);
}

/* Returns the number of a node below another; `count` where there is none. */
static size_t find_node(const struct ana_paths *paths, uint32_t parent, const char *name)
{
    for (size_t i = 0; i < paths->count; i++)
        if (paths->node[i].parent == parent && strcmp(paths->node[i].name, name) == 0)
            return i;
    return paths->count;
}

/* The wrapper is no caller of its own; a function is one node, wherever in it the next is called. */
static void check_tree(const struct ana_job *job, const struct ana_summary *s)
{
    struct ana_paths paths;
    double by_rank[RANKS + 1];
    int64_t whole_ns = 0, sites_ns = 0;
    CHECK(ana_paths_make(job, s, &paths), "out of memory");
    const size_t top = find_node(&paths, UINT32_MAX, "exchangeForces"),
                 other = find_node(&paths, UINT32_MAX, "haloExchange"),
                 inner = find_node(&paths, (uint32_t)top, "haloExchange");
    CHECK(paths.count == 6 && top < 6 && other < 6 && inner < 6 && paths.node[inner].level == 1, "%zu nodes",
          paths.count);
    if (paths.count == 6) {
        const size_t call = find_node(&paths, (uint32_t)inner, "MPI_Allreduce haloExchange+0x10");
        CHECK(call < 6 && paths.node[call].is_call && paths.node[call].calls == RANKS, "a call of each rank");
        CHECK(paths.node[top].calls == 4 * RANKS && paths.node[top].time_ns == 4 * RANKS * 500, "what is below counts");
        CHECK(paths.node[other].calls == 2 * RANKS && !paths.node[other].level, "the same function, called by others");
        ana_path_by_rank(s, &paths, top, ANA_PATH_TIME, by_rank, RANKS + 1);
        CHECK(by_rank[0] == 4 * 500 && by_rank[1] == 4 * 500 && by_rank[2] != by_rank[2], "%g by rank", by_rank[0]);
        ana_path_by_rank(s, &paths, other, ANA_PATH_SENT, by_rank, RANKS);
        CHECK(by_rank[1] == 2 * 8, "%g bytes", by_rank[1]);
    }
    for (size_t i = 0; i < paths.count; i++)
        whole_ns += paths.node[i].level ? 0 : paths.node[i].time_ns;
    for (size_t i = 0; i < s->site_count; i++)
        sites_ns += s->sites[i].time_ns;
    CHECK(whole_ns == sites_ns, "the tree has the time of all places: %lld", (long long)whole_ns);
    ana_paths_free(&paths);
}

static void check_page(struct ana_job *job, const struct ana_summary *s)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ana_report_text(job, s, false, out);
    fclose(out);
    const char *place = strstr(text, "haloExchange+0x10"), *by = place ? strstr(place, "by sendReceiveParallel") : NULL;
    CHECK(place && by && strstr(text, "exchangeForces+0x20"), "%s", text);
    free(text);
}

/* Whether a file holds a text. */
static bool holds(const char *path, const char *text)
{
    static char bytes[1 << 20];
    FILE *in = fopen(path, "r");
    size_t n = in ? fread(bytes, 1, sizeof bytes - 1, in) : 0;
    if (in)
        fclose(in);
    return memmem(bytes, n, text, strlen(text)) != NULL;
}

static void check_exports(struct ana_job *job)
{
    static const struct {
        const char *format, *file;
    } formats[] = {{"csv", "/events.csv"}, {"perfetto", ""}, {"otf2", "/traces.def"}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char error[256] = "", out[64], file[96];
        snprintf(out, sizeof out, "call-paths-%s", formats[i].format);
        snprintf(file, sizeof file, "%s%s", out, formats[i].file);
        struct ana_export ask = {.format = formats[i].format, .out = out, .part = {.end_ns = INT64_MAX}};
        bool done = ana_export(job, &ask, error, sizeof error);
        if (!done && strstr(error, "libotf2"))
            continue; /* it is not installed */
        CHECK(done, "%s", error);
        CHECK(holds(file, "sendReceiveParallel+0x30 < exchangeForces+0x20 < .."), "%s", formats[i].format);
    }
}

static const char *find_inlined(void *context, const struct trc_file *file, const char *module, bool named)
{
    (void)context, (void)file, (void)named;
    return strcmp(module, "/opt/app+0x1000") == 0 ? "step" : NULL;
}

/* A function that is inlined into main stands below it, and what calls main is left out. */
static void test_inlined(void)
{
    struct tb *tb = tb_new(0, 1);
    tb_site(tb, 0x1000, "main+0x10", "/opt/app+0x1000");
    tb_site(tb, 0x2000, "_start+0x25", "/opt/app+0x2000");
    tb_path(tb, 1, (uint64_t[]){0x1000, 0x2000}, 2, TRC_PATH_WHOLE);
    struct trc_sig sig = tb_sig(TB_ALLREDUCE);
    sig.flags = TRC_SIG_COLL;
    sig.comm = TB_WORLD;
    sig.site = 0x1000;
    sig.path = 1;
    tb_event(tb, 0, &sig, 1000, 1500, (struct tb_more){.sequence = 1});
    folder_make("inlined");
    folder_write(tb, 0);
    tb_free(tb);
    struct ana_job *job = folder_open();
    ana_job_set_name_finder(job, find_inlined);
    struct ana_summary s = folder_summary(job);
    struct ana_paths paths;
    CHECK(ana_paths_make(job, &s, &paths), "out of memory");
    const size_t top = find_node(&paths, UINT32_MAX, "main");
    CHECK(top < paths.count && find_node(&paths, (uint32_t)top, "step") < paths.count && paths.count == 3,
          "%zu nodes, the first %s", paths.count, paths.node[0].name);
    ana_paths_free(&paths);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    test_inlined();
    folder_make("paths");
    for (int rank = 0; rank < RANKS; rank++)
        write_rank(rank);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    check_json(job, &s);
    check_tree(job, &s);
    check_page(job, &s);
    check_exports(job);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
    return check_result();
}
