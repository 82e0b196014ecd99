#include "tui/app/settings.h"
#include "tui/app/sentences_impl.h"
#include "tui/app/user_file.h"
#include "tui/app/view.h"
#include "tui/widgets/columns.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 512, SHORTEST_MS = 100, LONGEST_MS = 60000 };

const struct tui_setting tui_settings[] = {
#define SETTING(id, example, help) {#id, example, help},
#include "tui/app/settings.def"
    {NULL, NULL, NULL}};

static bool find_file(char *out, size_t size)
{
    return tui_user_path("XDG_CONFIG_HOME", ".config", "config", out, size);
}

static void complain(struct tui_settings *s, int number, const char *what, const char *value)
{
    if (s->complaints++ == 0)
        snprintf(s->complaint, sizeof s->complaint, "%.300s:%d: %s %.40s", s->path, number, what, value);
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

/* Cuts blanks off both ends of a text, in place. */
static char *trim(char *text)
{
    text += strspn(text, " \t\r\n");
    size_t n = strlen(text);
    while (n && strchr(" \t\r\n", text[n - 1]))
        text[--n] = 0;
    return text;
}

static void set_theme(struct tui_settings *s, int number, const char *value)
{
    for (int t = 0; t < TUI_THEMES; t++)
        if (strcasecmp(tui_theme_names[t], value) == 0) {
            s->theme = (enum tui_theme)t;
            return;
        }
    complain(s, number, SAY_THERE_IS_NO_THEME, value);
}

static void set_refresh(struct tui_settings *s, int number, const char *value)
{
    char *end;
    double ms = strtod(value, &end) * 1000;
    if (end == value || *end || !(ms >= SHORTEST_MS && ms <= LONGEST_MS))
        complain(s, number, SAY_NOT_TO_SECONDS, value);
    else
        s->refresh_ms = (int)ms;
}

static void parse_line(struct tui_settings *s, int number, char *text)
{
    char *value = strchr(text, '='), *dot;
    if (*text == '#' || !*text)
        return;
    if (!value) {
        complain(s, number, "no = in", text);
        return;
    }
    *value++ = 0;
    value = trim(value);
    text = trim(text);
    dot = strchr(text, '.');
    if (strcmp(text, "theme") == 0)
        set_theme(s, number, value);
    else if (strcmp(text, "refresh") == 0)
        set_refresh(s, number, value);
    else if (!dot || (strncmp(text, "columns", 7) != 0 && strncmp(text, "sort", 4) != 0) ||
             strcspn(text, ".") != (*text == 'c' ? 7u : 4u))
        complain(s, number, SAY_THERE_IS_NO_SETTING, text);
    else if (s->lines == TUI_SETTINGS)
        complain(s, number, SAY_TOO_MANY_LINES, text);
    else {
        struct tui_table_line *line = &s->line[s->lines++];
        line->number = number;
        line->sort = *text == 's';
        snprintf(line->view, sizeof line->view, "%s", dot + 1);
        snprintf(line->value, sizeof line->value, "%s", value);
    }
}

void tui_settings_read(struct tui_settings *out)
{
    char text[LONGEST];
    *out = (struct tui_settings){.theme = tui_theme_of_ground(getenv("COLORFGBG"))};
    FILE *f = find_file(out->path, sizeof out->path) ? fopen(out->path, "r") : NULL;
    if (!f) {
        if (out->path[0] && errno != ENOENT && errno != ENOTDIR) {
            out->complaints = 1;
            snprintf(out->complaint, sizeof out->complaint, "%.300s: %s", out->path, strerror(errno));
        }
        return;
    }
    for (int number = 1; fgets(text, sizeof text, f); number++) {
        if (!strchr(text, '\n') && !feof(f)) { /* the rest of a line that is too long belongs to it */
            for (int c; (c = getc(f)) != EOF && c != '\n';)
                ;
            complain(out, number, SAY_LINE_TOO_LONG, trim(text));
            continue;
        }
        parse_line(out, number, trim(text));
    }
    fclose(f);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Writes the name of a view in the file: its title in small letters, without blanks. */
static void name_view(int view, char *out, size_t size)
{
    size_t n = 0;
    for (const char *c = tui_view_words[view].title; *c && n + 1 < size; c++)
        out[n++] = *c == ' ' ? '-' : (char)tolower((unsigned char)*c);
    out[n] = 0;
}

static int find_view(const struct tui_app *app, const char *name)
{
    char own[24];
    for (int v = 0; v < TUI_VIEWS; v++) {
        name_view(v, own, sizeof own);
        if (app->views[v]->table && strcasecmp(own, name) == 0)
            return v;
    }
    return -1;
}

static int find_column(const struct tui_table_spec *spec, const char *title)
{
    for (int c = 0; c < spec->column_count; c++)
        if (strcasecmp(spec->columns[c].metric->title, title) == 0)
            return c;
    return -1;
}

static void apply_columns(struct tui_settings *s, const struct tui_table_line *line, const struct tui_table_spec *spec,
                          struct tui_table *table)
{
    char value[TUI_SETTING], *rest = value, *title;
    int list[TUI_TABLE_COLUMNS], n = 0;
    bool there[TUI_TABLE_COLUMNS] = {false};
    memcpy(value, line->value, sizeof value);
    while ((title = strtok_r(rest, ",", &rest))) {
        int column = find_column(spec, trim(title));
        if (column < 0)
            complain(s, line->number, SAY_THERE_IS_NO_COLUMN, trim(title));
        else if (!there[column])
            list[n++] = column;
        if (column >= 0)
            there[column] = true;
    }
    tui_columns_choose(table, list, n);
}

static void apply_sort(struct tui_settings *s, const struct tui_table_line *line, const struct tui_table_spec *spec,
                       struct tui_table *table)
{
    bool inverted = line->value[0] == '-';
    int column = find_column(spec, line->value + inverted);
    if (column < 0) {
        complain(s, line->number, SAY_THERE_IS_NO_COLUMN, line->value + inverted);
        return;
    }
    table->sort = column;
    table->inverted = inverted;
    table->started = true;
}

void tui_settings_apply(struct tui_settings *s, struct tui_app *app)
{
    for (int i = 0; i < s->lines; i++) {
        int v = find_view(app, s->line[i].view);
        if (v < 0)
            complain(s, s->line[i].number, SAY_NO_TABLE, s->line[i].view);
        else
            (s->line[i].sort ? apply_sort : apply_columns)(s, &s->line[i], app->views[v]->table, &app->table[v]);
    }
    app->refresh_ms = s->refresh_ms;
    tui_app_update_table(app);
    size_t n = strlen(app->message);
    if (s->complaints > 1)
        ana_append(app->message, sizeof app->message, &n, "%s%s (and %d more)", n ? "; " : "", s->complaint,
                   s->complaints - 1);
    else if (s->complaints)
        ana_append(app->message, sizeof app->message, &n, "%s%s", n ? "; " : "", s->complaint);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write_table(const struct tui_app *app, const char *view, FILE *out)
{
    const struct tui_table *table = &app->table[app->view];
    const struct tui_table_spec *spec = tui_app_view(app)->table;
    int list[TUI_TABLE_COLUMNS], n = tui_columns_wanted(table, list);
    for (int i = 0; table->wanted_count && i < n; i++)
        fprintf(out, "%s%s%s", i ? ", " : "columns.", i ? "" : view, i ? "" : " = "),
            fputs(spec->columns[list[i]].metric->title, out);
    if (table->wanted_count)
        fputc('\n', out);
    if (table->sort >= 0)
        fprintf(out, "sort.%s = %s%s\n", view, table->inverted ? "-" : "", spec->columns[table->sort].metric->title);
}

/* Copies the lines of the old file, but for those about a view's table. */
static void copy_others(const char *path, const char *view, FILE *out)
{
    char *text = NULL, key[48];
    size_t size = 0;
    FILE *in = fopen(path, "r");
    while (in && getline(&text, &size, in) >= 0) {
        int length = (int)strcspn(text, "=");
        snprintf(key, sizeof key, "%.*s", length, text);
        const char *name = trim(key), *dot = strchr(name, '.');
        bool own = dot && strcasecmp(dot + 1, view) == 0 &&
                   (strncmp(name, "columns.", 8) == 0 || strncmp(name, "sort.", 5) == 0);
        if (!own)
            fprintf(out, "%s%s", text, strchr(text, '\n') ? "" : "\n");
    }
    free(text);
    if (in)
        fclose(in);
}

void tui_settings_save(const struct tui_app *app, char *message, size_t size)
{
    char path[512], view[24];
    if (!find_file(path, sizeof path)) {
        snprintf(message, size, SAY_NOWHERE_TO_KEEP);
        return;
    }
    name_view((int)app->view, view, sizeof view);
    tui_user_folders(path, 0777);
    FILE *out = tui_user_begin(path);
    if (out) {
        copy_others(path, view, out);
        write_table(app, view, out);
    }
    bool ok = out && tui_user_end(path, out);
    snprintf(message, size, ok ? "kept in %.150s%s" : "cannot write %.120s: %s", path, ok ? "" : strerror(errno));
}
