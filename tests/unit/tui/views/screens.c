/* Golden screens: each tests/golden/screens/NAME.keys is played on the fixture, what it shows must be NAME.txt.
 * REGENERATE=1 writes the texts anew (look at the difference before committing it).
 * The first line of a script may set the fixture: "# fixture ranks=16 running unknown ascii size=80x24". */
#include "tests/support/check.h"
#include "tests/support/fixture_job.h"
#include "tui/app/loop.h"
#include "tui/views/views.h"

#include <dirent.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    if (!f)
        return NULL;
    if (getdelim(&text, &size, 0, f) < 0)
        *(text ? text : (text = malloc(1))) = 0;
    fclose(f);
    return text;
}

/* Plays a script; returns what it showed (free it), NULL when it cannot be read. */
static char *play(const char *path)
{
    char head[256] = "", *shown = NULL, *option;
    size_t size;
    int cols = 80, rows = 24;
    bool ascii = false;
    struct fixture fixture;
    struct tui_source source = fixture_source(&fixture, 4);
    FILE *script = fopen(path, "r"), *out = open_memstream(&shown, &size);
    if (!script || !out || !fgets(head, sizeof head, script))
        return NULL;
    char *rest = head;
    while ((option = strtok_r(NULL, " \n", &rest))) {
        unsigned n;
        if (sscanf(option, "ranks=%u", &n) == 1)
            fixture.ranks = n;
        else if (strcmp(option, "running") == 0)
            fixture.running = true;
        else if (strcmp(option, "hung") == 0)
            fixture.hung = fixture.running = true;
        else if (strcmp(option, "horovod") == 0)
            fixture.horovod = true;
        else if (strcmp(option, "gpu") == 0)
            fixture.gpu = true;
        else if (strcmp(option, "unknown") == 0)
            fixture.unknown = true;
        else if (strcmp(option, "partial") == 0)
            fixture.analysed = 0.43;
        else if (strcmp(option, "ascii") == 0)
            ascii = true;
        else
            sscanf(option, "size=%dx%d", &cols, &rows);
    }
    struct tui_app app;
    struct tui_term term;
    if (!tui_app_init(&app, source, tui_views) || !tui_term_script(&term, script, out, cols, rows, ascii))
        return NULL;
    tui_loop(&app, term, false);
    term.ops->close(term.data);
    tui_app_free(&app);
    fclose(script);
    fclose(out);
    return shown;
}

static void first_difference(const char *want, const char *got)
{
    int line = 1;
    while (*want && *want == *got) {
        line += *want == '\n';
        want++, got++;
    }
    while (want[-1] != '\n' && line > 1)
        want--, got--;
    printf("  line %d\n  want |%.*s\n  got  |%.*s\n", line, (int)strcspn(want, "\n"), want, (int)strcspn(got, "\n"),
           got);
}

static void compare(const char *folder, const char *keys)
{
    char script[4096], text[4096];
    int stem = (int)(strlen(keys) - strlen(".keys"));
    snprintf(script, sizeof script, "%s/%s", folder, keys);
    snprintf(text, sizeof text, "%s/%.*s.txt", folder, stem, keys);
    char *got = play(script);
    if (getenv("REGENERATE") && got) {
        FILE *f = fopen(text, "w");
        CHECK(f && fputs(got, f) >= 0 && fclose(f) == 0, "%s cannot be written", text);
    }
    char *want = read_all(text);
    bool same = got && want && strcmp(got, want) == 0;
    CHECK(same, "%.*s differs from %s", stem, keys, text);
    if (!same && got && want)
        first_difference(want, got);
    free(got);
    free(want);
}

int main(void)
{
    const char *top = getenv("TOP");
    char folder[2048];
    struct dirent **names;
    setlocale(LC_ALL, "C.UTF-8");
    setenv("TZ", "UTC", 1);
    snprintf(folder, sizeof folder, "%s/tests/golden/screens", top ? top : ".");
    int n = scandir(folder, &names, NULL, alphasort), played = 0;
    for (int i = 0; i < n; i++) {
        size_t length = strlen(names[i]->d_name);
        if (length > 5 && strcmp(names[i]->d_name + length - 5, ".keys") == 0) {
            compare(folder, names[i]->d_name);
            played++;
        }
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    CHECK(played, "no scripts in %s", folder);
    return check_result();
}
