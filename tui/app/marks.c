#include "tui/app/marks.h"
#include "tui/app/sentences_impl.h"
#include "tui/app/user_file.h"
#include "trace/util/hash.h"
#include "trace/util/sort.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Parses a line of the file. */
static bool parse(char *line, struct tui_mark *out)
{
    char *end;
    line[strcspn(line, "\r\n")] = 0;
    long long seconds = strtoll(line, &end, 10), ns = 0;
    if (end == line || seconds < 0 || seconds > INT64_MAX / 2000000000)
        return false;
    int digits = 0;
    if (*end == '.')
        for (end++; *end >= '0' && *end <= '9' && digits < 9; end++, digits++)
            ns = ns * 10 + (*end - '0');
    for (; digits < 9; digits++)
        ns *= 10;
    int used = 0;
    char letter[8] = "";
    *out = (struct tui_mark){.at_ns = seconds * 1000000000 + ns};
    if (sscanf(end, " %23s %7s %n", out->rank, letter, &used) < 2 || !used || letter[1] ||
        (letter[0] != '-' && !is_letter(letter[0])))
        return false;
    out->letter = letter[0];
    snprintf(out->note, sizeof out->note, "%.79s", end + used);
    for (char *c = out->note; *c; c++) /* nothing but text reaches the terminal */
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    return out->letter != '-' || out->note[0];
}

static void find_cache(const char *folder, char *out, size_t size)
{
    char *whole = realpath(folder, NULL), name[48];
    snprintf(name, sizeof name, "marks-%016" PRIx64 ".txt", ana_hash_text(whole ? whole : folder));
    tui_user_path("XDG_CACHE_HOME", ".cache", name, out, size);
    free(whole);
}

static bool read_file(struct tui_marks *marks, const char *path)
{
    char line[512];
    FILE *f = *path ? fopen(path, "r") : NULL;
    if (!f)
        return false;
    while (marks->count < TUI_MARKS && fgets(line, sizeof line, f))
        marks->count += parse(line, &marks->mark[marks->count]);
    fclose(f);
    return true;
}

void tui_marks_read(struct tui_marks *marks, const char *folder)
{
    struct stat of;
    *marks = (struct tui_marks){0};
    if (!folder)
        return;
    if (stat(folder, &of) == 0 && S_ISDIR(of.st_mode) &&
        (size_t)snprintf(marks->path[0], sizeof marks->path[0], "%s/marks.txt", folder) >= sizeof marks->path[0])
        marks->path[0][0] = 0;
    find_cache(folder, marks->path[1], sizeof marks->path[1]);
    if (!read_file(marks, marks->path[0]))
        read_file(marks, marks->path[1]);
}

ANA_COMPARE(by_time, struct tui_mark, ANA_ORDER(x->at_ns, y->at_ns))

static bool write_file(const struct tui_marks *marks, const char *path)
{
    FILE *out = tui_user_begin(path);
    for (int i = 0; out && i < marks->count; i++) {
        const struct tui_mark *m = &marks->mark[i];
        fprintf(out, "%" PRId64 ".%09" PRId64 " %s %c%s%s\n", m->at_ns / 1000000000, m->at_ns % 1000000000, m->rank,
                m->letter, m->note[0] ? " " : "", m->note);
    }
    return out && tui_user_end(path, out);
}

static bool add(const struct tui_marks *marks, char *error, size_t size)
{
    if (write_file(marks, marks->path[0]))
        return true;
    tui_user_folders(marks->path[1], 0777);
    if (write_file(marks, marks->path[1]))
        return true;
    snprintf(error, size, SAY_THE_MARKS_CANNOT, marks->path[0][0] || marks->path[1][0] ? strerror(errno) : "no folder");
    return false;
}

bool tui_marks_set(struct tui_marks *marks, const struct tui_mark *mark, char *error, size_t size)
{
    int i = 0;
    while (i < marks->count &&
           (mark->letter != '-' ? marks->mark[i].letter != mark->letter
                                : marks->mark[i].letter != '-' || marks->mark[i].at_ns != mark->at_ns ||
                                      strcmp(marks->mark[i].rank, mark->rank) != 0))
        i++;
    bool none = mark->letter == '-' && !mark->note[0];
    if (i == TUI_MARKS) {
        snprintf(error, size, SAY_THERE_ARE_MARKS, TUI_MARKS);
        return false;
    }
    if (none && i < marks->count)
        marks->mark[i] = marks->mark[--marks->count];
    else if (!none) {
        marks->count += i == marks->count;
        marks->mark[i] = *mark;
    }
    ana_sort(marks->mark, (size_t)marks->count, sizeof *marks->mark, by_time);
    return add(marks, error, size);
}

const struct tui_mark *tui_marks_find(const struct tui_marks *marks, char letter)
{
    for (int i = 0; i < marks->count && letter != '-'; i++)
        if (marks->mark[i].letter == letter)
            return &marks->mark[i];
    return NULL;
}

const struct tui_mark *tui_marks_near(const struct tui_marks *marks, const char *rank, int64_t at_ns, int64_t most_ns)
{
    const struct tui_mark *best = NULL;
    int64_t far = 0;
    for (int i = 0; i < marks->count; i++) {
        const struct tui_mark *m = &marks->mark[i];
        int64_t away = m->at_ns > at_ns ? m->at_ns - at_ns : at_ns - m->at_ns;
        if ((!rank || strcmp(m->rank, rank) == 0) && away <= most_ns && (!best || away < far)) {
            best = m;
            far = away;
        }
    }
    return best;
}
