/* Lines around a place: first and last ones, long ones, with control characters; files that are none. */
#include "tests/support/check.h"
#include "tui/sources/source.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[64];

/* Reads around a line of the file; `began_ns` as tui_source_read. */
static struct tui_source read_at(int line, int64_t began_ns)
{
    static struct tui_source source;
    char place[96];
    snprintf(place, sizeof place, "%s:%d", path, line);
    tui_source_read(place, began_ns, &source);
    return source;
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/hpctop-source-%d.c", (int)getpid());
    FILE *out = fopen(path, "w");
    for (int i = 1; i <= 9; i++)
        fprintf(out, "\tline %d\r\n", i);
    fputs("\033[2J\xff\n", out);
    for (int i = 0; i < 5000; i++)
        fputs("long", out);
    fputs("\nlast", out);
    fclose(out);
    struct tui_source s = read_at(2, INT64_MAX);
    CHECK(strcmp(s.file, path) == 0 && s.line == 2 && !s.trouble && s.first == 1 && s.count == 5);
    CHECK(strcmp(s.text[0], " line 1") == 0, "%s", s.text[0]);
    s = read_at(11, INT64_MAX);
    CHECK(s.first == 8 && s.count == 5 && strcmp(s.text[2], "?[2J?") == 0, "%s", s.text[2]);
    CHECK(strlen(s.text[3]) == TUI_SOURCE_WIDTH - 1 && strcmp(s.text[4], "last") == 0);
    s = read_at(12, INT64_MAX);
    CHECK(s.first == 9 && s.count == 4 && !s.trouble);
    CHECK(strstr(read_at(13, INT64_MAX).trouble, "no such line"));
    CHECK(strstr(read_at(2, 0).trouble, "changed") && !read_at(2, 0).count);
    CHECK(!read_at(0, INT64_MAX).file[0] && !read_at(-1, INT64_MAX).file[0]);
    unlink(path);
    CHECK(strstr(read_at(2, INT64_MAX).trouble, "not readable"));
    tui_source_read("/tmp:1", INT64_MAX, &s);
    CHECK(strstr(s.trouble, "not readable"));
    tui_source_read("app.c:17", INT64_MAX, &s);
    CHECK(s.line == 17 && strcmp(s.file, "app.c") == 0 && strstr(s.trouble, "not readable"));
    tui_source_read(NULL, 0, &s);
    CHECK(!s.file[0] && s.trouble);
    return check_result();
}
