/* Signs of life of a rank that others wait for. */
#pragma once

#include "trace/verdict/case_impl.h"

/* Signs of life, the weakest first. */
enum ana_life {
    ANA_LIFE_UNKNOWN, /* nothing is counted */
    ANA_LIFE_NONE,
    ANA_LIFE_UNCOUNTED, /* counts are late: the machine is overloaded */
    ANA_LIFE_UNSEEN,    /* stacks are due, and show a sleep for a set time */
    ANA_LIFE_SLEEPS,    /* for a time that it set; or a thread or child process that it may wait for */
    ANA_LIFE_WAKES,     /* again and again */
    ANA_LIFE_READS,     /* or writes */
    ANA_LIFE_CHILD,     /* a child process uses a processor */
    ANA_LIFE_COMPUTES,
    ANA_LIVES
};
/* The surest sign of life that a rank showed in the last hang_ns outside of the calls that its threads are in.
 * *bytes: a second that it reads and writes; NAN unknown. */
enum ana_life ana_life_of(struct ana_case *c, size_t index, double *bytes);
/* Whether a rank of Horovod reads or writes, has a child process at work, sleeps for a set time, or computes in its
 * main thread: processor time alone may be of Horovod's and Gloo's threads. */
bool ana_is_busy_aside(struct ana_case *c, size_t index);
/* Writes the processor time, in ns, that a thread has used since it came into its call, and the share of that time in
 * which it waited for a processor.  False: it is not known. */
bool ana_life_inside(const struct ana_case *c, const struct ana_waiting *waiting, double *used_ns, double *queued);
/* Whether the recorder of a running rank, which has stood since `from_ns`, has not taken its stacks yet.  One that
 * takes stacks watches signals. */
bool ana_is_unseen(struct ana_case *c, size_t index, int64_t from_ns);
/* Whether threads of a rank outside MPI compute, or a child process does, while others wait in calls. */
bool ana_has_living_threads(struct ana_case *c, size_t index);
/* Sets the state of a verdict that rests on `lasted` ns of standstill, and tells what its culprits do: those without a
 * sign of life are to blame; where all show one, the others wait for them.  False: too short for one. */
bool ana_case_settle_by_time(struct ana_case *c, enum ana_verdict_class id, int64_t lasted);
