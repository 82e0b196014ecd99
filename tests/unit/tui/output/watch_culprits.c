/* Culprits in a line of `hpctop watch`: the same ranks as the verdict's own JSON, those without a file included. */
#include "tests/support/verdict_ranks.h"
#include "tui/output/report_json.h"
#include "tui/output/watch_line.h"

#include <stdlib.h>

/* The list of culprits in JSON, without blanks; "": there is none. */
static void culprits_in(const char *json, char *out, size_t size)
{
    const char *at = strstr(json, "\"culprits\""), *begin = at ? strchr(at, '[') : NULL;
    size_t n = 0;
    for (; begin && *begin && n + 2 < size; begin++) {
        if (!strchr(" \t\n", *begin))
            out[n++] = *begin;
        if (*begin == ']')
            break;
    }
    out[n] = 0;
}

/* Ranks below `here` wait in MPI_Init for those from `here` to `n`. */
static void not_started(int here, int n, const char *want)
{
    char line[64], whole[64];
    folder_make("start");
    for (int i = 0; i < here; i++) {
        struct tb *tb = tb_new(i, n);
        struct trc_sig sig = tb_sig(TB_INIT);
        tb_running(tb, END);
        tb_inside(tb, 0, &sig, S, 0);
        folder_write(tb, i);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v && v->absents == (size_t)(n - here), "nobody is absent");
    char *watched = tui_watch_json(job, &s), *told = v ? tui_verdict_json(job, v, "") : NULL;
    culprits_in(watched ? watched : "", line, sizeof line);
    culprits_in(told ? told : "", whole, sizeof whole);
    CHECK(strcmp(line, want) == 0 && strcmp(whole, want) == 0, "watch %s, verdict %s, want %s", line, whole, want);
    free(watched);
    free(told);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    not_started(2, 3, "[2]");
    not_started(3, 6, "[3,4,5]");
    return check_result();
}
