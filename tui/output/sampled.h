/* Stacks of a late rank, sampled for some seconds, beside the stacks of a rank that is not late. */
#pragma once

#include "trace/summary/summary.h"
#include "tui/sources/samples.h"
#include "tui/widgets/wrap.h"

/* The ranks of both sides. */
struct tui_sides {
    struct tui_samples_process process[TUI_SAMPLES_MOST];
    size_t count;
    char name[TUI_SAMPLES_SIDES][80]; /* "rank 3"; "": none */
};

/* Whether a rank runs on this host now. */
bool tui_is_here(const struct ana_rank *rank);
/* Chooses the processes of the ranks with a byte of `late` set and, of the others, the one that the job waited for
 * least.  False: none of the late ones runs on this host. */
bool tui_choose_sides(const struct ana_job *job, const struct ana_summary *summary, const uint8_t *late,
                      struct tui_sides *out);
/* Passes the difference of both sides, by function and line, to `line`, which gets `to`.  Sorts the samples. */
void tui_sampled_lines(struct tui_samples *samples, const struct tui_sides *sides, tui_line_do *line, void *to);
