/* Headline, page, Why screen and JSON tell the same verdict: of a job that hangs, while it is seen to hang and to move
 * again, of a slow one, and of one with a file whose end is missing. */
#include "tests/support/check.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include "tests/support/trace_folder.h"
#include "trace/report/report.h"
#include "tui/app/view.h"
#include "tui/output/report_json.h"
#include "tui/views/views.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

static struct tui_app app;

static void look(void)
{
    CHECK(tui_app_init(&app, folder_open(), tui_views), "init");
    ana_job_advance(app.job, 0);
    tui_app_load(&app);
}

static void refresh(void)
{
    ana_job_refresh(app.job);
    ana_job_advance(app.job, 0);
    tui_app_load(&app);
}

/* Text without line breaks and indents: each stretch of white space as one blank. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *c = text; *c; c++)
        if (*c != ' ' && *c != '\n')
            *to++ = *c;
        else if (to == text || to[-1] != ' ')
            *to++ = ' ';
    *to = 0;
}

static bool page_says(const char *page, const char *text)
{
    char wanted[1024];
    snprintf(wanted, sizeof wanted, "%s", text);
    squeeze(wanted);
    return strstr(page, wanted) != NULL;
}

static bool is(const cJSON *object, const char *key, const char *want)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return want ? cJSON_IsString(item) && strcmp(item->valuestring, want) == 0 : cJSON_IsNull(item);
}

static void compare_page(const char *what, struct ana_summary *s)
{
    char *page = NULL, headline[512];
    size_t size;
    const struct ana_verdict *v = app.verdict;
    FILE *out = open_memstream(&page, &size);
    ana_report_text(app.job, s, true, out);
    fclose(out);
    squeeze(page);
    CHECK(page_says(page, app.headline), "%s: the page has another headline than \"%s\"", what, app.headline);
    for (size_t i = 0; i < v->facts; i++)
        CHECK(page_says(page, v->fact[i].text), "%s: the page lacks \"%s\"", what, v->fact[i].text);
    CHECK((strstr(page, " next: look at ") != NULL) == (v->next[0] != 0), "%s: what is next", what);
    free(page);
    enum ana_weight weight = ana_headline(app.job, s, NULL, headline, sizeof headline);
    CHECK(weight == app.weight && strcmp(headline, app.headline) == 0, "%s: \"%s\"", what, headline);
}

static void compare_json(const char *what, struct ana_summary *s)
{
    const struct ana_verdict *v = app.verdict;
    char *text = tui_report_json(app.job, s);
    cJSON *report = cJSON_Parse(text);
    free(text);
    CHECK(is(cJSON_GetObjectItem(report, "job"), "answer", app.headline), "%s: the report's answer", what);
    cJSON_Delete(report);
    text = tui_verdict_json(app.job, ana_job_verdict(app.job), v->summary.text);
    cJSON *verdict = cJSON_Parse(text);
    free(text);
    CHECK(is(verdict, "state", ana_verdict_state_name(v->state)) &&
              is(verdict, "class", ana_verdict_class_name(v->id)) &&
              cJSON_GetArraySize(cJSON_GetObjectItem(verdict, "culprits")) == (int)v->culprits,
          "%s: the verdict as JSON", what);
    cJSON_Delete(verdict);
}

static void compare_screen(const char *what)
{
    struct tui_grid grid = {0};
    char *screen = NULL;
    size_t size;
    const struct ana_verdict *v = app.verdict;
    enum tui_view_id before = app.view;
    CHECK(tui_app_offers(&app, TUI_VIEW_VERDICT) == (v->state != ANA_VERDICT_HEALTHY), "%s: the Why screen", what);
    app.view = TUI_VIEW_VERDICT;
    tui_app_update_table(&app);
    tui_grid_resize(&grid, 200, 50);
    tui_app_draw(&app, &grid);
    FILE *out = open_memstream(&screen, &size);
    tui_grid_write(&grid, out, false);
    fclose(out);
    squeeze(screen);
    CHECK(page_says(screen, app.headline), "%s: the screen lacks \"%s\"", what, app.headline);
    for (size_t i = 0; i < v->facts && v->state != ANA_VERDICT_HEALTHY; i++)
        CHECK(page_says(screen, v->fact[i].text), "%s: the Why screen lacks \"%s\"", what, v->fact[i].text);
    CHECK(v->state == ANA_VERDICT_HEALTHY || page_says(screen, v->group[0].who), "%s: the Why screen lacks \"%s\"",
          what, v->group[0].who);
    app.view = before;
    free(screen);
    tui_grid_free(&grid);
}

static void agree(const char *what, enum ana_verdict_state state, enum ana_verdict_class id, const char *says)
{
    const struct ana_verdict *held = app.verdict;
    CHECK(held->state == state && held->id == id && strstr(app.headline, says), "%s: %s: %s", what,
          ana_verdict_state_name(held->state), app.headline);
    struct ana_summary s = folder_summary(app.job);
    compare_page(what, &s);
    compare_json(what, &s);
    compare_screen(what);
    ana_summary_free(&s);
    CHECK(app.verdict == held && ana_job_verdict(app.job) == held, "%s: it was made twice", what);
}

static void write_sender(struct tb *tb, int rank, int64_t inside_ns)
{
    struct trc_sig sig = tb_sig(TB_SEND);
    sig.comm = TB_WORLD;
    sig.flags = TRC_SIG_P2P_OUT;
    sig.peer = 1 - rank;
    sig.tag = 3;
    sig.sent = 1 << 20;
    if (inside_ns > 20 * S)
        tb_event(tb, 0, &sig, 20 * S, inside_ns - 1, (struct tb_more){0});
    tb_inside(tb, 0, &sig, inside_ns, 0);
    folder_write(tb, rank);
}

/* Two ranks of a running job send to each other: at the first sample nothing is known, at the second it hangs, and then
 * both sends have returned. */
static void live(void)
{
    struct timespec now, pause = {0, 700000000};
    clock_gettime(CLOCK_REALTIME, &now);
    struct tb *tb[2];
    folder_make("live");
    for (int r = 0; r < 2; r++) {
        tb[r] = tb_new(r, 2);
        tb_clock(tb[r], 1000000000u, (uint64_t)(now.tv_sec - 25) * 1000000000u, 1);
        folder_this_process(tb[r]);
        tb_barrier(tb[r], 0, 1 * S, 2 * S, TB_WORLD, 0);
        tb_running(tb[r], 24 * S);
        write_sender(tb[r], r, 20 * S);
    }
    look();
    agree("one sample", ANA_VERDICT_HEALTHY, ANA_CLASS_NONE, "MPI_Send");
    nanosleep(&pause, NULL);
    refresh();
    agree("two samples", ANA_VERDICT_HUNG, ANA_CLASS_CYCLE, "hung for ");
    for (int r = 0; r < 2; r++)
        write_sender(tb[r], r, 23 * S + 950 * MS);
    nanosleep(&pause, NULL);
    refresh();
    agree("it moves", ANA_VERDICT_HEALTHY, ANA_CLASS_NONE, "");
    tui_app_free(&app);
    folder_remove();
    tb_free(tb[0]);
    tb_free(tb[1]);
}

/* Rank 2 comes 300 ms late to each of 40 collectives; `cut` bytes of its file are left, 0: all. */
static void slow(const char *what, off_t cut, enum ana_verdict_state state, enum ana_verdict_class id, const char *says)
{
    const char *folder = folder_make("slow");
    char path[600];
    for (int r = 0; r < 4; r++) {
        struct tb *tb = tb_new(r, 4);
        for (int i = 0; i < 40; i++)
            tb_allreduce(tb, 0, i * 400 * MS + (r == 2 ? 300 * MS : 0), i * 400 * MS + 301 * MS, TB_WORLD,
                         (uint64_t)i + 1, 8);
        folder_write(tb, r);
        tb_free(tb);
    }
    snprintf(path, sizeof path, "%s/2.hpctop", folder);
    CHECK(!cut || truncate(path, cut) == 0);
    look();
    agree(what, state, id, says);
    tui_app_free(&app);
    folder_remove();
}

int main(void)
{
    live();
    slow("slow", 0, ANA_VERDICT_SLOW, ANA_CLASS_STRAGGLER, "rank 2 is late");
    slow("cut", 3000, ANA_VERDICT_UNKNOWN, ANA_CLASS_NONE, "the trace file of rank 2 is cut off");
    return check_result();
}
