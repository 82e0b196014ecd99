/* Words of both `hpctop horovod` and the Horovod screen: lines of numbers, and the state of a tensor on a rank. */
#pragma once

#include "trace/horovod/horovod.h"
#include "tui/widgets/style.h"

#define TUI_HVD_NONE "no Horovod loop seen (with Gloo as controller none can be)"

/* The state of a tensor on a rank, the least advanced first: the one that a cell of several ranks shows. */
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
    char mark; /* can be told from the others without colour */
    enum tui_style style;
    const char *word, *help;
};
/* The looks of the states. */
extern const struct tui_hvd_look tui_hvd_looks[TUI_HVD_STATES];

/* Whether any rank of the set is in a data operation: what tui_hvd_state wants to know. */
bool tui_hvd_operating(const struct ana_hvd_set *set);

/* The state of a tensor on a member of the set; `operating` is tui_hvd_operating(set). */
enum tui_hvd_state tui_hvd_state(const struct ana_hvd_set *set, const struct ana_hvd_tensor *tensor, size_t member,
                                 bool operating);

/* Returns the activity of a rank's loop: "joined", "no trace file", or a phase.  Static. */
const char *tui_hvd_now(const struct ana_hvd_rank *rank);

/* Writes a line about a process set: its ranks, cycles, steps and tensors.  `number` is the set's.  With `utf8` a dash
 * may be one of Unicode. */
void tui_hvd_set_line(const struct ana_hvd_set *set, size_t number, bool utf8, char *out, size_t size);

/* Writes a line about the library that carried a set's data, and how much that was.  `utf8` as in tui_hvd_set_line. */
void tui_hvd_data_line(const struct ana_hvd_set *set, bool utf8, char *out, size_t size);

/* Writes a line about a set's steps: how long, and which took longest and why; "" if there are less than two. */
void tui_hvd_steps_line(const struct ana_job *job, const struct ana_hvd_set *set, bool utf8, char *out, size_t size);

/* Bytes a second of a rank while it is in data operations; NAN if it was in none. */
double tui_hvd_bandwidth(uint64_t bytes, int64_t ns);
