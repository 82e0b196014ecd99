/* Marks and notes that users put into the timeline.  They are kept in the file marks.txt of the trace's folder or,
 * where that cannot be written, in $XDG_CACHE_HOME/hpctop: a line each, "SECONDS RANK LETTER NOTE". */
#pragma once

#include "trace/job/job.h"

enum { TUI_MARKS = 200, TUI_NOTE = 80 };

struct tui_mark {
    int64_t at_ns; /* job time */
    char rank[32]; /* name of the rank: "3", "w1:3" */
    char letter;   /* letter that leads to it; '-': it is a note alone */
    char note[TUI_NOTE];
};

struct tui_marks {
    char path[2][768]; /* files of the marks: beside the trace, else in the cache; empty: nowhere */
    struct tui_mark mark[TUI_MARKS];
    int count;
};

/* Reads the marks of a trace in a folder; NULL: of none, nothing is kept.  Lines that are none are left out. */
void tui_marks_read(struct tui_marks *marks, const char *folder);

/* Sets a mark, in place of the one with that letter or, without one, of the note at that time and rank; an empty note
 * without letter removes that.  Keeps all in the file.  False, with a line in `error`: they are not kept, or there are
 * too many. */
bool tui_marks_set(struct tui_marks *marks, const struct tui_mark *mark, char *error, size_t size);

/* The mark with a letter; NULL: there is none.  It belongs to `marks`. */
const struct tui_mark *tui_marks_find(const struct tui_marks *marks, char letter);

/* The nearest mark within `most_ns` of a time, of that rank or of any (NULL); NULL: there is none. */
const struct tui_mark *tui_marks_near(const struct tui_marks *marks, const char *rank, int64_t at_ns, int64_t most_ns);
