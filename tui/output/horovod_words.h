/* What `hpctop horovod` and the Horovod screen both say: lines of numbers, and the state of a tensor on a rank. */
#ifndef TUI_HOROVOD_WORDS_H
#define TUI_HOROVOD_WORDS_H

#include "trace/horovod/horovod.h"
#include "tui/widgets/style.h"

#define TUI_HVD_NONE "no Horovod loop seen (with Gloo as controller none can be)"

/* The least advanced first: of ranks that share a cell, the first of these is shown. */
enum tui_hvd_state {
    TUI_HVD_MISSING,
    TUI_HVD_UNKNOWN,
    TUI_HVD_SUBMITTED,
    TUI_HVD_AGREED,
    TUI_HVD_RUNNING,
    TUI_HVD_DONE,
    TUI_HVD_JOINED,
    TUI_HVD_STATES
};

struct tui_hvd_look {
    char mark; /* one cell, told apart without colour */
    enum tui_style style;
    const char *word, *help;
};
const struct tui_hvd_look *tui_hvd_look(enum tui_hvd_state state);

/* Whether any rank of the set is in a data operation: to be asked once for many calls of the next. */
bool tui_hvd_operating(const struct ana_hvd_set *set);
enum tui_hvd_state tui_hvd_state(const struct ana_hvd_set *set, const struct ana_hvd_tensor *tensor, size_t member,
                                 bool operating);

/* "joined", or the phase of its loop. */
const char *tui_hvd_now(const struct ana_hvd_rank *rank);

/* Both are terminated; `utf8`: the dash of what is not known may be one of Unicode. */
void tui_hvd_set_line(const struct ana_hvd_set *set, size_t number, bool utf8, char *out, size_t size);
void tui_hvd_data_line(const struct ana_hvd_set *set, bool utf8, char *out, size_t size);

/* Bytes a second of a rank while it is in data operations; NAN: none seen. */
double tui_hvd_bandwidth(uint64_t bytes, int64_t ns);

#endif
