/* Epochs of windows with groups: how often each rank has begun and ended one with each other.  For trace/verdict
 * only. */
#pragma once

#include "trace/relations/partners.h"
#include "trace/verdict/case_impl.h"
#include "trace/verdict/judgement_impl.h"

/* The calls of one rank that begin and end epochs of groups. */
struct ana_epochs {
    struct ana_map counts; /* keyed by window and partner */
    bool known;            /* all epoch calls are in the file, with their groups */
    uint64_t progress;     /* process's progress at the last reading: calls are read again once it has got on */
};
#define ANA_ALL_PARTNERS (SIZE_MAX - 1)
/* Number of calls of a kind on a window with `other` in the group, or of all; -1: not known. */
int64_t ana_epoch_calls(struct ana_case *c, size_t index, uint64_t window, size_t other, enum ana_epoch_call call);
/* The world ranks, `max` at most, whose part of its epoch an operation lacks.  *n 0: nobody's, or that is not known.
 * False: it waits in no epoch of a group. */
bool ana_epoch_dependencies(struct ana_case *c, struct ana_waiting *waiting, int32_t *lacking, size_t max, size_t *n);
/* Frees them; NULL is none. */
void ana_epochs_free(struct ana_epochs *epochs);

/* Explains the lock of a window that a rank keeps from another, and where it took it. */
void ana_explain_lock(struct ana_case *c, const struct ana_dependency *dependency);
/* open_epoch.c: explains that a rank has not done its part of an epoch, or not given a lock back, and how many wait for
 * that. */
void ana_explain_epoch(struct ana_case *c, const struct ana_waiting *waiting, const struct ana_dependency *dependency,
                       size_t waiters);
