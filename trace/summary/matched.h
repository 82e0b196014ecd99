/* Kept messages, waits and collectives that the filter of a selection takes. */
#pragma once

#include "trace/job/job.h"

struct ana_matched {
    uint32_t comm;  /* number of ana_store_comm; 0: any */
    bool *of_place; /* place of trace/why -> taken; NULL: any */
};

/* Finds what the filter of a selection takes; free out->of_place.  False: out of memory. */
bool ana_matched_find(const struct ana_job *job, const struct ana_selection *selection, struct ana_matched *out);
/* Whether it takes something on a communicator, done at a place or at another (0: none). */
static inline bool ana_matched_has(const struct ana_matched *taken, uint32_t comm, uint32_t place, uint32_t other_place)
{
    bool there =
        !taken->of_place || (place && taken->of_place[place - 1]) || (other_place && taken->of_place[other_place - 1]);
    return there && (!taken->comm || comm == taken->comm);
}
