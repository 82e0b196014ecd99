/* The page and the JSON of a small job: every number of the latter, the shape of the former. */
#include "tests/support/check.h"
#include "trace/report/report.h"
#include "tests/support/trace_folder.h"
#include "tui/output/report_json.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const cJSON *get(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    CHECK(item, "no key \"%s\"", key);
    return item;
}

static bool is(const cJSON *object, const char *key, double want)
{
    const cJSON *item = get(object, key);
    return cJSON_IsNumber(item) && fabs(item->valuedouble - want) <= 1e-12 * fabs(want);
}

static bool says(const cJSON *object, const char *key, const char *want)
{
    const cJSON *item = get(object, key);
    return cJSON_IsString(item) && strcmp(item->valuestring, want) == 0;
}

static const cJSON *call_named(const cJSON *root, const char *name)
{
    const cJSON *call;
    cJSON_ArrayForEach(call, get(root, "calls")) if (says(call, "name", name)) return call;
    return NULL;
}

/* Rank 1 computes 1880 us after its receive and comes 900 us late; rank 0 is unknown before its first call, and rank 1
 * waits for it 900 us, too. */
static void segments(const cJSON *root)
{
    CHECK(cJSON_GetArraySize(get(root, "segments")) == 2 && is(root, "waits_s", 18e-4) && is(root, "delays_s", 18e-4));
    const cJSON *o = cJSON_GetArrayItem(get(root, "segments"), 0);
    CHECK(says(o, "from", "0x1005") && says(o, "to", "0x101a") && is(o, "times", 1) && is(o, "median_s", 1880e-6));
    CHECK(is(o, "worst_rank", 1) && is(o, "worst_s", 1880e-6) && get(o, "costs_s")->valuedouble > 890e-6);
    CHECK(cJSON_GetArraySize(get(o, "by_rank_s")) == 2 && cJSON_IsNull(cJSON_GetArrayItem(get(o, "by_rank_s"), 0)));
    CHECK(cJSON_GetArrayItem(get(o, "by_rank_s"), 1)->valuedouble == 1880e-6);
}

static void json(void)
{
    folder_make("json");
    struct two two = two_ranks();
    struct trc_sig inside = tb_sig(TB_RECV);
    tb_inside(two.rank[1], 0, &inside, 3100000, 0);
    tb_running(two.rank[1], 3500000);
    two_write(two);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    char *text = tui_report_json(job, &s);
    CHECK(text && text[strlen(text) - 1] == '}');
    cJSON *root = cJSON_Parse(text);
    CHECK(root);

    const cJSON *o = get(root, "job");
    CHECK(says(o, "state", "aborted") && is(o, "ranks", 2) && says(o, "command", "./app"));
    CHECK(says(o, "mpi", "Test MPI 1.0") && is(o, "elapsed_s", 3.5e-3) && is(o, "lost_records", 0));
    CHECK(cJSON_GetArraySize(get(o, "hosts")) == 1 && cJSON_IsNumber(get(o, "clock_error_s")));
    CHECK(cJSON_IsNull(get(o, "overhead_s")));

    CHECK(cJSON_GetArraySize(get(root, "calls")) == 3);
    o = call_named(root, "MPI_Allreduce");
    CHECK(is(o, "calls", 2) && is(o, "bytes_sent", 16) && is(o, "bytes_received", 16) && is(o, "time_s", 1.1e-3));
    CHECK(is(o, "min_s", 1e-4) && is(o, "max_s", 1e-3) && cJSON_IsNumber(get(o, "p50_s")));
    o = call_named(root, "MPI_Recv");
    CHECK(is(o, "p99_s", 920e-6) && is(o, "bytes_received", 4096));

    CHECK(cJSON_GetArraySize(get(root, "ranks")) == 2);
    o = cJSON_GetArrayItem(get(root, "ranks"), 0);
    CHECK(is(o, "rank", 0) && says(o, "host", "host0") && is(o, "pid", 1000) && is(o, "calls", 2));
    CHECK(is(o, "bytes_sent", 4104) && is(o, "bytes_received", 8) && is(o, "mpi_s", 1.01e-3));
    CHECK(cJSON_IsNull(get(o, "nccl_s")) && is(o, "wall_s", 3.001e-3) && says(o, "state", "done"));
    CHECK(cJSON_IsNull(get(o, "inside")) && cJSON_IsNull(get(o, "inside_s")));
    o = cJSON_GetArrayItem(get(root, "ranks"), 1);
    CHECK(says(o, "state", "dead") && says(o, "inside", "MPI_Recv") && is(o, "inside_s", 4e-4));

    CHECK(cJSON_GetArraySize(get(root, "pairs")) == 1);
    o = cJSON_GetArrayItem(get(root, "pairs"), 0);
    CHECK(is(o, "src", 0) && is(o, "dst", 1) && is(o, "messages", 1) && is(o, "bytes", 4096));
    CHECK(cJSON_GetArraySize(get(root, "waits")) == 2);
    const cJSON *w;
    cJSON_ArrayForEach(w, get(root, "waits"))
    {
        bool sender = says(w, "kind", "late-sender");
        CHECK(sender || says(w, "kind", "late-in-collective"));
        CHECK(is(w, "waiter", sender) && is(w, "culprit", !sender) && is(w, "count", 1) && is(w, "lost_s", 9e-4));
    }
    segments(root);
    o = cJSON_GetArrayItem(get(root, "collectives"), 0);
    CHECK(says(o, "name", "MPI_Allreduce") && says(o, "communicator", "WORLD") && is(o, "instances", 1));
    CHECK(is(o, "skew_max_s", 9e-4) && is(o, "lost_s", 9e-4) && is(o, "last_rank", 1) && is(o, "last_share", 1));
    o = get(root, "efficiency");
    CHECK(is(o, "parallel", s.efficiency.parallel) && is(o, "load_balance", s.efficiency.load_balance) &&
          is(o, "communication", s.efficiency.communication));
    cJSON_Delete(root);
    free(text);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* 2^53 + 1 is no double. */
static void large_integers_are_exact(void)
{
    folder_make("large");
    struct two two = two_ranks();
    tb_send(two.rank[0], 0, 3000100, 3000200, 1, 9, 9007199254740993u - 4096);
    two_write(two);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    char *text = tui_report_json(job, &s);
    CHECK(text && strstr(text, "\"bytes_sent\":\t9007199254740993,"));
    CHECK(text && strstr(text, "\"bytes\":\t9007199254740993,\n"));
    CHECK(s.unmatched_sends == 1);
    free(text);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

static int width_of(const char *line, size_t bytes)
{
    int n = 0;
    for (size_t i = 0; i < bytes; i++)
        n += ((unsigned char)line[i] & 0xc0) != 0x80;
    return n;
}

/* Lines fit, ASCII is ASCII, sections are there in their order. */
static void page(bool utf8)
{
    folder_make("page");
    struct two two = two_ranks();
    tb_head(two.rank[0])->recycled_records = 17;
    tb_site(two.rank[0], 0x1000u + TB_ALLREDUCE, "a_function_whose_name_is_longer_than_any_column_of_places+0x10",
            "app+0x1300");
    two_write(two);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ana_report_text(job, &s, utf8, out);
    fclose(out);
    bool ascii = true;
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        CHECK(width_of(at, n) <= 80, "%.*s", (int)n, at);
        CHECK(n == 0 || at[n - 1] != ' ');
        for (size_t i = 0; i < n; i++)
            ascii &= at[i] >= ' ' && at[i] <= '~';
        at += n + (at[n] == '\n');
    }
    CHECK(ascii == !utf8);
    const char *at = text;
    const char *const want[] = {"hpctop  page  finished",
                                "rank 1 is late: last in 100% of MPI_Allreduce",
                                "parallel efficiency 66.2% = load balance 99.7% x communication 66.3%",
                                "RANKS",
                                "CALLS",
                                "MPI_Allreduce",
                                "COLLECTIVES",
                                "WORLD",
                                "WHO WAITS FOR WHOM",
                                "comes last for",
                                "MESSAGES",
                                "4.10 kB",
                                "WHERE",
                                "deliver+0x10",
                                "WHAT THIS RESTS ON",
                                "HPCTOP_LIMIT: 17"};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const char *found = strstr(at, want[i]);
        CHECK(found, "not in the page, or not in its place: %s\n%s", want[i], text);
        if (!found)
            break;
        at = found;
    }
    free(text);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    json();
    large_integers_are_exact();
    page(false);
    page(true);
    return check_result();
}
