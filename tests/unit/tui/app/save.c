/* Tables as CSV and JSON have the numbers that the screen rounds; files are new ones. */
#include "tests/support/check.h"
#include "tests/support/screen_job.h"
#include "tests/support/still_clock.h"
#include "tests/support/trace_folder.h"
#include "tui/app/save.h"
#include "tui/app/view.h"
#include "tui/views/views.h"
#include "tui/widgets/columns.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct tui_app app;

static char *table_text(bool json)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    CHECK(tui_save_table(&app, out, json), "a table");
    fclose(out);
    return text;
}

/* The i-th field of a line, without its quotes. */
static const char *field(const char *line, int i)
{
    static char out[128];
    size_t n = 0;
    for (bool quoted = false; *line && *line != '\r' && i >= 0; line++) {
        if (*line == '"' && quoted && line[1] == '"' && i == 0)
            out[n++] = *line++;
        else if (*line == '"')
            quoted = !quoted;
        else if (*line == ',' && !quoted)
            i--;
        else if (i == 0)
            out[n++] = *line;
    }
    out[n] = 0;
    return out;
}

static const char *line_of(const char *text, int i)
{
    while (i-- > 0 && text)
        text = strstr(text, "\r\n") ? strstr(text, "\r\n") + 2 : NULL;
    return text ? text : "";
}

static int find_title(const char *text, const char *title)
{
    int i = 0;
    while (i < TUI_TABLE_COLUMNS && strcmp(field(text, i), title) != 0)
        i++;
    return i;
}

static void tables(void)
{
    app.rank[2].host = "a \"b\", c";
    tui_app_open(&app, TUI_VIEW_RANKS);
    char *csv = table_text(false), *json = table_text(true);
    cJSON *rows = cJSON_Parse(json);
    CHECK(cJSON_GetArraySize(rows) == 6, "%s", json);
    int waited = find_title(csv, "WAITED (s)"), host = find_title(csv, "HOST"), since = find_title(csv, "SINCE (s)");
    for (int i = 0; i < 6; i++) {
        size_t index = (size_t)atoi(field(line_of(csv, i + 1), 0));
        const cJSON *row = cJSON_GetArrayItem(rows, i);
        double want = (double)tui_app_stat(&app, index)->waiting_ns / 1e9,
               got = atof(field(line_of(csv, i + 1), waited));
        CHECK(index < 6 && fabs(got - want) < 1e-9, "rank %zu waited %g, not %g", index, want, got);
        CHECK(cJSON_GetNumberValue(cJSON_GetObjectItem(row, "WAITED (s)")) == got, "as in JSON");
        CHECK(strcmp(field(line_of(csv, i + 1), host), app.rank[index].host) == 0, "host %s of %s",
              field(line_of(csv, i + 1), host), line_of(csv, i + 1));
        CHECK(strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(row, "HOST")), app.rank[index].host) == 0, "JSON's host");
        CHECK(!*field(line_of(csv, i + 1), since) && cJSON_IsNull(cJSON_GetObjectItem(row, "SINCE (s)")),
              "what is unknown is empty");
    }
    cJSON_Delete(rows);
    free(csv);
    free(json);
    snprintf(app.table[TUI_VIEW_RANKS].filter, 8, "n02");
    tui_columns_choose(&app.table[TUI_VIEW_RANKS], (const int[]){0, 1}, 2);
    tui_app_update_table(&app);
    csv = table_text(false);
    CHECK(strcmp(csv, "\"RANK\",\"HOST\"\r\n3,\"n02\"\r\n4,\"n02\"\r\n5,\"n02\"\r\n") == 0,
          "rows and columns that are wanted: %s", csv);
    free(csv);
    tui_app_open(&app, TUI_VIEW_MATRIX);
    CHECK(!tui_save_table(&app, stdout, false), "no table");
}

static bool holds(const char *name, const char *what)
{
    char text[65536];
    FILE *f = fopen(name, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = 0;
    if (f)
        fclose(f);
    return strstr(text, what);
}

static void files(void)
{
    char folder[] = "/tmp/hpctop-save-XXXXXX";
    struct tui_grid grid = {0};
    CHECK(mkdtemp(folder) && chdir(folder) == 0, "a folder");
    tui_grid_resize(&grid, 80, 24);
    tui_app_open(&app, TUI_VIEW_OVERVIEW);
    tui_app_draw(&app, &grid);
    static const struct {
        const char *name, *file, *what;
    } saved[] = {{"", "hpctop-screen-1.txt", "MPI_Allreduce"},
                 {"", "hpctop-screen-2.txt", "MPI_Allreduce"},
                 {"a.svg", "a.svg", "<svg "},
                 {"a.html", "a.html", "<pre "},
                 {"a.CSV", "a.CSV", "\"CALL\",\"/s\""},
                 {"a.json", "a.json", "\"CALL\": \"MPI_Allreduce\""},
                 {"a.txt", "a.txt", "MPI_Allreduce"}};
    for (size_t i = 0; i < sizeof saved / sizeof *saved; i++) {
        tui_save_file(&app, &grid, saved[i].name);
        CHECK(strstr(app.message, "written to") && holds(saved[i].file, saved[i].what), "%s: %s", saved[i].file,
              app.message);
    }
    tui_save_file(&app, &grid, "a.svg");
    CHECK(strstr(app.message, "cannot write a.svg: File exists"), "%s", app.message);
    tui_save_file(&app, &grid, "no/such/folder.txt");
    CHECK(strstr(app.message, "cannot write"), "%s", app.message);
    tui_app_open(&app, TUI_VIEW_MATRIX);
    tui_save_file(&app, &grid, "b.csv");
    CHECK(strstr(app.message, "no table") && access("b.csv", F_OK) != 0, "%s", app.message);
    for (size_t i = 0; i < sizeof saved / sizeof *saved; i++)
        unlink(saved[i].file);
    CHECK(chdir("/") == 0 && rmdir(folder) == 0, "nothing else was written");
    tui_grid_free(&grid);
}

int main(void)
{
    struct screen_job of = {.ranks = 6, .steps = 100};
    struct ana_job *job = screen_job_open(&of, &still_clock_ns);
    ana_job_advance(job, 0);
    CHECK(tui_app_init(&app, job, tui_views), "init");
    tables();
    tui_app_load(&app);
    files();
    tui_app_free(&app);
    folder_remove();
    return check_result();
}
