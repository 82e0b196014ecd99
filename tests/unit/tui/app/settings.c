/* The configuration file: good lines hold, bad ones are reported with their numbers, and none is fatal. */
#include "tests/support/check.h"
#include "tests/support/screen_job.h"
#include "tests/support/still_clock.h"
#include "tests/support/trace_folder.h"
#include "tui/app/chooser.h"
#include "tui/app/settings.h"
#include "tui/app/view.h"
#include "tui/views/views.h"
#include "tui/widgets/columns.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[64] = "/tmp/hpctop-settings-XXXXXX", path[128];
static struct tui_app app;
static struct tui_settings settings;

static void write_file(const char *text)
{
    char folder[128];
    snprintf(folder, sizeof folder, "%s/hpctop", home);
    mkdir(folder, 0777);
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

static const char *read_file(void)
{
    static char text[2048];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = 0;
    if (f)
        fclose(f);
    return text;
}

static void start(void)
{
    struct screen_job of = {.ranks = 4, .steps = 20};
    struct ana_job *job = screen_job_open(&of, &still_clock_ns);
    ana_job_advance(job, 0);
    CHECK(tui_app_init(&app, job, tui_views), "init");
}

static void end(void)
{
    tui_app_free(&app);
    folder_remove();
}

static void apply(const char *text)
{
    write_file(text);
    tui_settings_read(&settings);
    app.message[0] = 0;
    tui_settings_apply(&settings, &app);
}

/* The titles of a view's columns as they are shown, with blanks between. */
static const char *titles(enum tui_view_id view)
{
    static char text[256];
    int list[TUI_TABLE_COLUMNS], n = tui_columns_wanted(&app.table[view], list);
    text[0] = 0;
    for (int i = 0; i < n; i++)
        sprintf(text + strlen(text), "%s%s", i ? "|" : "", tui_views[view]->table->columns[list[i]].metric->title);
    return text;
}

static void good_lines(void)
{
    start();
    apply("# mine\n\n theme = light \nrefresh=1.5\ncolumns.ranks = HOST, waited , rank\nsort.ranks = -WAITED\n"
          "columns.between-calls = TIMES\n");
    CHECK(settings.theme == TUI_THEME_LIGHT && app.refresh_ms == 1500, "theme and refresh");
    CHECK(strcmp(titles(TUI_VIEW_RANKS), "RANK|HOST|WAITED") == 0, "%s", titles(TUI_VIEW_RANKS));
    const struct tui_table *table = &app.table[TUI_VIEW_RANKS];
    const char *sorted = tui_views[TUI_VIEW_RANKS]->table->columns[table->sort].metric->title;
    CHECK(table->inverted && strcmp(sorted, "WAITED") == 0, "%s", sorted);
    tui_app_open(&app, TUI_VIEW_RANKS);
    CHECK(table->inverted && tui_table_row(table) != SIZE_MAX, "and stays so when the view is opened");
    CHECK(!app.message[0] && !settings.complaints, "nothing to complain about: %s", app.message);
    end();
}

static void bad_lines(void)
{
    static const struct {
        const char *line, *said;
    } bad[] = {{"theme = purple", "there is no theme purple"},
               {"refresh = soon", "not 0.1 to 60 seconds: soon"},
               {"refresh = 0.001", "not 0.1 to 60 seconds: 0.001"},
               {"refresh = nan", "not 0.1 to 60 seconds: nan"},
               {"colour = red", "there is no setting colour"},
               {"columnsranks = RANK", "there is no setting columnsranks"},
               {"just words", "no = in just words"},
               {"columns.timeline = RANK", "there is no table timeline"},
               {"columns.ranks = RANK, SHOE SIZE", "there is no column SHOE SIZE"},
               {"sort.calls = nothing", "there is no column nothing"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[256], want[256];
        start();
        snprintf(text, sizeof text, "# one\ntheme = colour-blind\n%s\nrefresh = 2\n", bad[i].line);
        apply(text);
        snprintf(want, sizeof want, "%s:3: %s", path, bad[i].said);
        CHECK(strcmp(app.message, want) == 0, "%s instead of %s", app.message, want);
        CHECK(app.refresh_ms == 2000 && settings.theme == TUI_THEME_COLOUR_BLIND, "the other lines hold");
        end();
    }
}

/* Good and bad lines in any order: as many complaints as there are bad ones, and the first one is named. */
static void any_lines(void)
{
    static const char *const good[] = {
        "", "# c", "theme=dark", "refresh = 3", "sort.calls = TIME", "columns.ranks = HOST"};
    static const char *const bad[] = {"x",         "= =",        "theme =",           "refresh = -1",
                                      "sort. = A", ".ranks = A", "columns.ranks = ?", "\x01\xff = \xfe"};
    unsigned seed = 11;
    start();
    for (int round = 0; round < 60; round++) {
        char text[2048] = "";
        int wrong = 0;
        for (int line = 0; line < 20; line++) {
            seed = seed * 1103515245 + 12345;
            bool is_bad = seed >> 20 & 1;
            strcat(text, is_bad ? bad[(seed >> 16) % 8] : good[(seed >> 16) % 6]);
            strcat(text, "\n");
            wrong += is_bad;
        }
        apply(text);
        CHECK(settings.complaints == wrong, "%d complaints about %d lines in %s", settings.complaints, wrong, text);
        CHECK(!wrong || strncmp(app.message, path, strlen(path)) == 0, "%s", app.message);
    }
    char longest[3000];
    memset(longest, 'a', sizeof longest);
    strcpy(longest + 2000, "\nrefresh = 4\n");
    apply(longest);
    CHECK(settings.complaints == 1 && app.refresh_ms == 4000, "a long line is one line: %s", app.message);
    end();
}

static void press(const char *name)
{
    tui_app_key(&app, tui_key_of(name));
}

/* The next start shows the columns that the chooser saved; comments and other tables stay. */
static void kept(void)
{
    start();
    apply("# mine\ncolumns.calls = CALL\nsort.ranks = HOST\n");
    tui_app_open(&app, TUI_VIEW_RANKS);
    const char *all = strdup(titles(TUI_VIEW_RANKS));
    press("c");
    CHECK(app.choosing, "open");
    press("Space");
    CHECK(strcmp(titles(TUI_VIEW_RANKS), all) == 0, "the first column stays");
    press("Down");
    press("Space");
    CHECK(!strstr(titles(TUI_VIEW_RANKS), "HOST"), "HOST is left out: %s", titles(TUI_VIEW_RANKS));
    CHECK(app.table[TUI_VIEW_RANKS].sort == 0, "and no longer sorted by");
    press("]");
    press("s");
    press("w");
    CHECK(strstr(app.message, "kept in"), "%s", app.message);
    press("Esc");
    CHECK(!app.choosing && app.view == TUI_VIEW_RANKS, "closed");
    char want[256];
    snprintf(want, sizeof want, "%s", titles(TUI_VIEW_RANKS));
    CHECK(strstr(read_file(), "# mine\n") && strstr(read_file(), "columns.calls = CALL\n") &&
              !strstr(read_file(), "sort.ranks = HOST"),
          "%s", read_file());
    end();
    start();
    tui_settings_read(&settings);
    tui_settings_apply(&settings, &app);
    CHECK(!settings.complaints && strcmp(titles(TUI_VIEW_RANKS), want) == 0, "%s after %s: %s", titles(TUI_VIEW_RANKS),
          want, settings.complaint);
    tui_app_open(&app, TUI_VIEW_RANKS);
    press("c");
    press("a");
    CHECK(strcmp(titles(TUI_VIEW_RANKS), all) == 0, "a: all again");
    setenv("XDG_CONFIG_HOME", "/proc/nowhere", 1);
    press("w");
    CHECK(strstr(app.message, "cannot write"), "%s", app.message);
    setenv("XDG_CONFIG_HOME", home, 1);
    end();
    free((void *)(uintptr_t)all);
}

static void themes(void)
{
    CHECK(tui_theme_of_ground(NULL) == TUI_THEME_DARK && tui_theme_of_ground("0;15") == TUI_THEME_LIGHT &&
              tui_theme_of_ground("0;default;7") == TUI_THEME_LIGHT && tui_theme_of_ground("15;0") == TUI_THEME_DARK &&
              tui_theme_of_ground("0;default") == TUI_THEME_DARK && tui_theme_of_ground("15") == TUI_THEME_DARK,
          "the ground that a terminal tells of");
    struct tui_look dark = *tui_style(TUI_STYLE_NOTABLE);
    tui_theme_use(TUI_THEME_LIGHT);
    CHECK(tui_style(TUI_STYLE_NOTABLE)->fore8 != 3 && tui_style(TUI_STYLE_NOTABLE)->fore256 != dark.fore256,
          "no yellow on white");
    tui_theme_use(TUI_THEME_COLOUR_BLIND);
    CHECK(tui_style(TUI_STYLE_FINE)->fore8 != 2 && tui_style(TUI_STYLE_TROUBLE)->fore8 == 1,
          "no green that red has to be told from");
    tui_theme_use(TUI_THEME_DARK);
    CHECK(memcmp(&dark, tui_style(TUI_STYLE_NOTABLE), sizeof dark) == 0, "and as before");
}

int main(void)
{
    if (!mkdtemp(home))
        return 1;
    setenv("XDG_CONFIG_HOME", home, 1);
    snprintf(path, sizeof path, "%s/hpctop/config", home);
    tui_settings_read(&settings);
    CHECK(!settings.complaints && !settings.lines && strcmp(settings.path, path) == 0, "no file: no settings");
    good_lines();
    bad_lines();
    any_lines();
    kept();
    themes();
    remove(path);
    char folder[128];
    snprintf(folder, sizeof folder, "%s/hpctop", home);
    rmdir(folder);
    rmdir(home);
    return check_result();
}
