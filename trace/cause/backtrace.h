/* The ways back from a wait; see causes.h. */
#pragma once

#include "trace/cause/causes.h"

/* The last kept step of a rank that had ended by a time, 0: none; steps are in order of their ends. */
uint32_t ana_step_ended(const struct ana_causes *causes, size_t index, int64_t ns);

/* Hop from the begin of a call back to the begin of the one before, or of another rank's call that was waited for.
 * The time between belongs to rank `index`: in the last call to `left`, outside until `until`, in polls until
 * `begin`. */
struct ana_hop {
    uint32_t index, place, segment, polled; /* place of the call before, of this one; + 1, 0 unknown */
    int64_t begin_ns, until_ns, ended_ns, left_ns;
    bool known; /* the step before is */
};
/* Whether a step had been polled for, until another rank's call came. */
static inline bool ana_step_was_released(const struct ana_cause_step *step)
{
    return step->spins && step->releaser && step->release_ns <= step->begin_ns;
}
/* Follows a wait back from the begin of a step, which is *number of rank *index, to another one, which it returns;
 * NULL: that step is not kept, or not known (*index and *number are then unchanged).  `came`: to the call that it was
 * polled for (ana_step_was_released). */
static inline __attribute__((always_inline)) struct ana_cause_step *ana_hop_from(const struct ana_causes *causes,
                                                                                 const struct ana_cause_step *step,
                                                                                 bool arrived, uint32_t *index,
                                                                                 uint32_t *number, struct ana_hop *hop)
{
    hop->index = *index;
    hop->begin_ns = hop->until_ns = step->begin_ns;
    hop->polled = step->place;
    hop->segment = step->segment;
    hop->place = 0;
    hop->known = true;
    if (__builtin_expect(step->spins, 0)) {
        hop->until_ns = hop->ended_ns = hop->left_ns = arrived ? step->release_ns : ana_step_until(causes, step);
        if (arrived) {
            *index = step->releaser - 1;
            *number = step->releaser_step;
            return ana_step_at(causes, *index, *number);
        }
    }
    uint32_t back = ana_step_back(step, *number);
    struct ana_cause_step *before = ana_step_at(causes, *index, back);
    if (!before) {
        hop->ended_ns = hop->left_ns = hop->until_ns;
        hop->known = false;
        return NULL;
    }
    hop->ended_ns = before->end_ns;
    hop->left_ns = before->begin_ns;
    hop->place = before->place;
    *number = back;
    if (!before->releaser || before->release_ns <= before->begin_ns)
        return before;
    hop->left_ns = before->release_ns;
    *number = before->releaser_step;
    *index = before->releaser - 1;
    return ana_step_at(causes, *index, *number);
}

/* Follows a step back: to the call that ended its polls, or else to the step before or the end of its wait. */
static inline __attribute__((always_inline)) struct ana_cause_step *ana_hop_back(const struct ana_causes *causes,
                                                                                 const struct ana_cause_step *step,
                                                                                 uint32_t *index, uint32_t *number,
                                                                                 struct ana_hop *hop)
{
    return ana_hop_from(causes, step, ana_step_was_released(step), index, number, hop);
}

/* Room for one wait's ways, among `ranks` ranks; NULL: out of memory. */
struct ana_backtrace *ana_backtrace_new(size_t ranks);
/* Frees it; NULL is none. */
void ana_backtrace_free(struct ana_backtrace *backtrace);

/* Follows waits `from` .. `to` - 1 back, and notes the charges: to the causes of each, just as much as was waited.
 * They may take `left` steps, and a few more; returns the number taken.  Only reads the causes: others may follow
 * other waits meanwhile. */
int64_t ana_backtrace_follow(const struct ana_causes *causes, struct ana_backtrace *backtrace, uint64_t from,
                             uint64_t to, int64_t left);
/* Charges the noted costs. */
void ana_backtrace_charge(struct ana_causes *causes, struct ana_backtrace *backtrace);
