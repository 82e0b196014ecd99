/* Marks and notes: saved ones are read again, and other lines do no harm. */
#include "tests/support/check.h"
#include "tui/app/marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct tui_marks marks, again;
static char folder[] = "/tmp/hpctop-marks-XXXXXX", error[200], path[256];

static bool set(int64_t at_ns, const char *rank, char letter, const char *note)
{
    struct tui_mark mark = {.at_ns = at_ns, .letter = letter};
    snprintf(mark.rank, sizeof mark.rank, "%s", rank);
    snprintf(mark.note, sizeof mark.note, "%s", note);
    return tui_marks_set(&marks, &mark, error, sizeof error);
}

static bool same(const struct tui_marks *a, const struct tui_marks *b)
{
    for (int i = 0; i < a->count && a->count == b->count; i++)
        if (a->mark[i].at_ns != b->mark[i].at_ns || a->mark[i].letter != b->mark[i].letter ||
            strcmp(a->mark[i].rank, b->mark[i].rank) != 0 || strcmp(a->mark[i].note, b->mark[i].note) != 0)
            return false;
    return a->count == b->count;
}

static void some(void)
{
    tui_marks_read(&marks, folder);
    CHECK(marks.count == 0, "none at first");
    CHECK(set(3000000001, "3", 'a', "") && set(1500000000, "w1:2", 'b', "two words") && set(7, "0", '-', "a note"),
          "%s", error);
    CHECK(marks.count == 3 && marks.mark[0].at_ns == 7 && marks.mark[2].letter == 'a', "in order of time");
    CHECK(set(2000000000, "1", 'a', "moved") && marks.count == 3, "a letter is there once");
    CHECK(tui_marks_find(&marks, 'a')->at_ns == 2000000000 && !tui_marks_find(&marks, 'c'), "found by their letter");
    CHECK(!tui_marks_find(&marks, '-'), "a note has none");
    const struct tui_mark *near = tui_marks_near(&marks, NULL, 1900000000, 200000000);
    CHECK(near && near->letter == 'a', "the nearest");
    CHECK(!tui_marks_near(&marks, "0", 1900000000, 200000000) && !tui_marks_near(&marks, NULL, 1900000000, 1000),
          "of that rank, and near");
    tui_marks_read(&again, folder);
    CHECK(same(&marks, &again), "read again");
    CHECK(set(7, "0", '-', "") && marks.count == 2, "an empty note drops it");
    CHECK(access(path, F_OK) == 0, "beside the trace");
}

/* Random marks: read again they are the same; lines in between that are no marks are left out. */
static void many(void)
{
    unsigned seed = 9;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 30; i++) {
            char rank[16], note[64];
            seed = seed * 1103515245 + 12345;
            snprintf(rank, sizeof rank, seed >> 20 & 1 ? "%u" : "w2:%u", seed >> 16 & 1023);
            snprintf(note, sizeof note, seed >> 21 & 1 ? "words %u - \xc3\xa4" : "", seed >> 18);
            set((int64_t)(seed >> 8) * (seed >> 22) * 1000 + seed % 1000, rank, "abcXYZ09-"[(seed >> 17) % 9], note);
        }
        tui_marks_read(&again, folder);
        CHECK(same(&marks, &again), "round %d: %d and %d marks", round, marks.count, again.count);
        FILE *f = fopen(path, "a");
        fprintf(f, "nothing\n-1 3 a b\n5\n5 3\n5 3 ab c\n5 3 - \n99999999999999999999 1 a\n\n5 3 ! x\n\xff\xfe\n");
        fclose(f);
        tui_marks_read(&again, folder);
        CHECK(same(&marks, &again), "what is no mark is left out: %d", again.count - marks.count);
    }
    for (int i = 0; i < 2 * TUI_MARKS; i++)
        if (!set(i, "0", '-', "note"))
            break;
    CHECK(marks.count == TUI_MARKS && strstr(error, "marks already"), "not more than there is room for: %s", error);
}

static void elsewhere(void)
{
    setenv("XDG_CACHE_HOME", folder, 1);
    tui_marks_read(&marks, "/proc/1");
    CHECK(set(5, "1", 'q', "cached") && !access(marks.path[1], F_OK), "where the trace cannot be written: %s", error);
    CHECK(strncmp(marks.path[1], folder, strlen(folder)) == 0, "in the cache: %s", marks.path[1]);
    tui_marks_read(&again, "/proc/1");
    CHECK(again.count == 1 && tui_marks_find(&again, 'q'), "and read there");
    tui_marks_read(&again, "/proc/2");
    CHECK(again.count == 0, "of that trace alone");
    unlink(marks.path[1]);
    setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
    tui_marks_read(&marks, "/proc/1");
    CHECK(!set(5, "1", 'q', "") && error[0] && marks.count == 1, "nowhere: told, and there until the end");
    tui_marks_read(&marks, NULL);
    CHECK(!set(5, "1", 'q', "") && strstr(error, "no folder"), "%s", error);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/marks.txt", folder);
    some();
    many();
    elsewhere();
    unlink(path);
    snprintf(path, sizeof path, "%s/hpctop", folder);
    rmdir(path);
    CHECK(rmdir(folder) == 0, "nothing else was written");
    return check_result();
}
