#include "tui/sources/source.h"
#include "tui/sources/sentences_impl.h"
#include "trace/util/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads at most that many bytes of a line; the rest of it is stepped over. */
static bool read_line(FILE *in, char out[TUI_SOURCE_WIDTH])
{
    size_t n = 0;
    int c;
    while ((c = getc(in)) != EOF && c != '\n')
        if (n + 1 < TUI_SOURCE_WIDTH && c && c != '\r')
            out[n++] = (char)(c == '\t' ? ' ' : c);
    out[n] = 0;
    trc_clean_text(out);
    return c != EOF || n;
}

static void read_lines(FILE *in, struct tui_source *out)
{
    enum { MOST = 1000000 };
    char line[TUI_SOURCE_WIDTH];
    out->first = out->line > TUI_SOURCE_AROUND ? out->line - TUI_SOURCE_AROUND : 1;
    for (int i = 1; i <= out->line + TUI_SOURCE_AROUND && i < MOST && read_line(in, line); i++)
        if (i >= out->first)
            memcpy(out->text[out->count++], line, sizeof line);
    out->trouble = out->line >= out->first + out->count ? SAY_THE_FILE_HAS : NULL;
}

void tui_source_read(const char *place, int64_t began_ns, struct tui_source *out)
{
    const char *colon = place ? strrchr(place, ':') : NULL;
    *out = (struct tui_source){.trouble = SAY_NOT_KNOWN_NO};
    if (!colon || (size_t)(colon - place) >= sizeof out->file || atoi(colon + 1) < 1)
        return;
    memcpy(out->file, place, (size_t)(colon - place));
    out->line = atoi(colon + 1);
    struct stat info;
    int fd = place[0] == '/' ? open(out->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    FILE *in = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? fdopen(fd, "r") : NULL;
    out->trouble = !in                                           ? SAY_NOT_READABLE_ON
                   : info.st_mtim.tv_sec > began_ns / 1000000000 ? SAY_CHANGED_SINCE_THE
                                                                 : NULL;
    if (!out->trouble)
        read_lines(in, out);
    if (in)
        fclose(in);
    else if (fd >= 0)
        close(fd);
}
