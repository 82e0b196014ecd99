/* TALP's metrics: of the ranks that are asked for alone, and of the whole run without an event being read. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/export/export.h"
#include "trace/job/window.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 6, HOSTS = 3 };

static void make_job(void)
{
    folder_make("talp");
    for (int r = 0; r < RANKS; r++) {
        struct tb *tb = tb_new(r, RANKS);
        snprintf(tb_head(tb)->host, sizeof tb_head(tb)->host, "n%d", r % HOSTS);
        tb_barrier(tb, 0, 1000000 * (r + 1), 20000000, TB_WORLD, 0);
        folder_write(tb, r);
        tb_free(tb);
    }
}

/* The first number behind a key; -1: it is not there. */
static double number_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtod(at + strlen(key), NULL) : -1;
}

static void hold(const char *ranks_text, int ranks, int nodes)
{
    struct ana_job *job = folder_open();
    char out[64], error[256], text[4096] = "";
    uint8_t ranks_of[RANKS] = {0};
    snprintf(out, sizeof out, "talp-%d.json", (int)getpid());
    struct ana_export ask = {.format = "talp", .out = out, .part = {.begin_ns = INT64_MIN, .end_ns = INT64_MAX}};
    if (ranks_text) {
        CHECK(ana_ranks_of_text(job, ranks_text, ranks_of, error, sizeof error));
        ask.part.ranks = ranks_of;
    }
    CHECK(ana_export(job, &ask, error, sizeof error), "%s", error);
    FILE *file = fopen(out, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[n] = 0;
    if (file)
        fclose(file);
    unlink(out);
    const char *of = ranks_text ? ranks_text : "all";
    CHECK(number_of(text, "\"numNodes\": ") == nodes, "%s: %g nodes", of, number_of(text, "\"numNodes\": "));
    const char *region = strstr(text, "Global");
    CHECK(region && number_of(region, "\"numNodes\": ") == nodes, "%s: nodes of the region", of);
    CHECK(number_of(text, "\"numMpiRanks\": ") == ranks, "%s: %g ranks", of, number_of(text, "\"numMpiRanks\": "));
    struct ana_summary s;
    CHECK(ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &s) == TRC_OK);
    CHECK(ranks_text || s.analysed < 1, "events were read, which nothing needs");
    ana_summary_free(&s);
    ana_job_close(job);
}

int main(void)
{
    make_job();
    hold(NULL, RANKS, HOSTS);
    hold("0,3", 2, 1);
    hold("1,2,4", 3, 2);
    folder_remove();
    return check_result();
}
