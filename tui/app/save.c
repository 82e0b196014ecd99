#include "tui/app/save.h"
#include "tui/app/sentences_impl.h"
#include "tui/app/view.h"
#include "tui/widgets/columns.h"
#include "tui/widgets/picture.h"
#include "trace/util/mode.h"
#include "trace/util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void put_quoted(const char *text, bool json, FILE *out)
{
    fprintf(out, "\"%s", json ? "" : trc_text_defuse(text));
    for (; *text; text++) {
        if (json && ((unsigned char)*text < ' ' || *text == '\\' || *text == '"'))
            fprintf(out, "\\u%04x", (unsigned char)*text);
        else if (*text == '"')
            fputs("\"\"", out);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

/* A title with its unit, if it is one that a number of a file can be in. */
static void put_title(const struct tui_column *column, bool json, FILE *out)
{
    char title[64];
    int unit = column->metric->unit;
    const char *name = unit == ANA_NS                                                    ? " (s)"
                       : unit == ANA_BYTES                                               ? " (B)"
                       : unit == ANA_BYTES_PER_S && !strstr(column->metric->title, "/s") ? " (B/s)"
                       : unit == ANA_PER_S && !strstr(column->metric->title, "/s")       ? " (1/s)"
                                                                                         : "";
    snprintf(title, sizeof title, "%s%s", column->metric->title, name);
    put_quoted(title, json, out);
}

static void put_value(const struct tui_column *column, const struct tui_value *value, bool json, FILE *out)
{
    double number = value->number;
    if (!isnan(number) && column->metric->unit != ANA_UNIT_TEXT)
        fprintf(out, "%.12g", column->metric->unit == ANA_NS ? number / 1e9 : number);
    else if (column->metric->unit == ANA_UNIT_TEXT && strcmp(value->text, "\xe2\x80\x93") != 0)
        put_quoted(value->text, json, out);
    else if (json)
        fputs("null", out);
}

bool tui_save_table(struct tui_app *app, FILE *out, bool json)
{
    const struct tui_table_spec *spec = tui_app_view(app)->table;
    const struct tui_table *table = &app->table[app->view];
    int list[TUI_TABLE_COLUMNS], n = spec ? tui_columns_wanted(table, list) : 0;
    for (int i = 0; !json && i < n; i++) {
        fputs(i ? "," : "", out);
        put_title(&spec->columns[list[i]], false, out);
    }
    if (n)
        fputs(json ? "[" : "\r\n", out);
    for (size_t row = 0; n && row < table->count; row++) {
        fputs(!json ? "" : row ? ",\n {" : "\n {", out);
        for (int i = 0; i < n; i++) {
            struct tui_value value;
            tui_table_text(table, table->order[row], list[i], &value);
            fputs(!i ? "" : json ? ", " : ",", out);
            if (json) {
                put_title(&spec->columns[list[i]], true, out);
                fputs(": ", out);
            }
            put_value(&spec->columns[list[i]], &value, json, out);
        }
        fputs(json ? "}" : "\r\n", out);
    }
    if (n && json)
        fputs("\n]\n", out);
    return n > 0;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcasecmp(name + n - m, end) == 0;
}

/* Makes a new file; NULL: errno says why not. */
static FILE *make_file(char *name, size_t size)
{
    int fd = -1;
    bool any = !*name;
    for (int i = 1; i < 10000 && fd < 0; i++) {
        if (any)
            snprintf(name, size, "hpctop-screen-%d.txt", i);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, ana_mode_of(name));
        if (fd < 0 && (errno != EEXIST || !any))
            return NULL;
    }
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out && fd >= 0)
        close(fd);
    return out;
}

void tui_save_file(struct tui_app *app, const struct tui_grid *grid, const char *typed)
{
    char name[128];
    bool csv = ends_in(typed, ".csv"), json = ends_in(typed, ".json");
    snprintf(name, sizeof name, "%s", typed);
    if ((csv || json) && !tui_app_view(app)->table) {
        snprintf(app->message, sizeof app->message, SAY_THERE_IS_NO_TABLE_HERE, name);
        return;
    }
    FILE *out = make_file(name, sizeof name);
    if (!out) {
        snprintf(app->message, sizeof app->message, "cannot write %s: %s", name, strerror(errno));
        return;
    }
    if (csv || json)
        tui_save_table(app, out, json);
    else if (ends_in(name, ".svg"))
        tui_picture_svg(grid, out);
    else if (ends_in(name, ".html") || ends_in(name, ".htm"))
        tui_picture_html(grid, app->info.name ? app->info.name : "hpctop", out);
    else
        tui_grid_write(grid, out, false);
    bool failed = ferror(out);
    failed |= fclose(out) != 0;
    snprintf(app->message, sizeof app->message, failed ? SAY_IS_NOT_COMPLETE : "written to %s", name);
}

/* ---- clipboard --------------------------------------------------------------------------------------------------- */

void tui_save_copy(struct tui_app *app, const struct tui_term *term, const struct tui_grid *grid, bool table)
{
    enum { MOST = 74000 }; /* longest text; terminals drop longer ones */
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool any = out && (!table || tui_save_table(app, out, false));
    if (out && !table)
        tui_grid_write(grid, out, false);
    bool ok = out && fclose(out) == 0;
    if (!any)
        snprintf(app->message, sizeof app->message, SAY_THERE_IS_NO_TABLE);
    else if (!ok || size > MOST)
        snprintf(app->message, sizeof app->message, SAY_TOO_MUCH_FOR, size / 1000, table ? ":save table.csv" : ":save");
    else if (!term->ops->copy || !term->ops->copy(term->data, text, size))
        snprintf(app->message, sizeof app->message, SAY_THIS_TERMINAL_HAS);
    else
        snprintf(app->message, sizeof app->message, SAY_COPIED_IF_THE, table ? SAY_THE_TABLE_IS : SAY_THE_SCREEN_IS);
    free(text);
}

bool tui_save_edit(const struct tui_term *term, const struct tui_source *source)
{
    char command[sizeof source->file + 64];
    const char *editor = getenv("VISUAL") ? "VISUAL" : "EDITOR";
    if (!getenv(editor) || !term->ops->run || source->file[0] != '/' || strchr(source->file, '\'') ||
        access(source->file, R_OK) != 0)
        return false;
    snprintf(command, sizeof command, "$%s +%d '%s'", editor, source->line, source->file);
    return term->ops->run(term->data, command);
}
