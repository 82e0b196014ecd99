/* Lists of single messages and regions of a time range, for drawing. */
#pragma once

#include "trace/job/job.h"

struct ana_arrow {
    size_t source, destination;   /* rank indices */
    int64_t sent_ns, received_ns; /* job time: the send began, the receive was complete */
};
/* Fills `out` with messages under way in the selected time, between selected ranks, that the filter takes: of each pair
 * of ranks the slowest that was sent in each of `parts` equal parts of the time, at most `room`, the slowest first.
 * *all gets the number of all messages there; some early ones may not be kept any more.  Returns how many were filled
 * in.  O(messages kept). */
size_t ana_arrows(const struct ana_job *job, struct ana_selection selection, size_t parts, size_t room,
                  struct ana_arrow *out, size_t *all);

struct ana_region_span {
    const char *name;         /* valid until the job is closed */
    uint32_t level;           /* 0: it is in no other */
    int64_t begin_ns, end_ns; /* job time; may reach beyond the asked time */
};
/* Fills `out` with the regions of a rank's main thread in [begin_ns, end_ns), at most `room`, in the order of their
 * ends: of as many levels as have room, the outermost first.  Returns their number.  Decodes these events; 0 if they
 * are too many for a redraw. */
size_t ana_region_spans(const struct ana_job *job, size_t index, int64_t begin_ns, int64_t end_ns, size_t room,
                        struct ana_region_span *out);
