/* Finds how each process ended, and whose end was the first: from its own record and its last heartbeat. */
#pragma once

#include "trace/verdict/case_impl.h"

#define ANA_APART_NS 300000000 /* heartbeats that end so far apart, ten a second, ended one after the other */

enum ana_end {
    ANA_END_NONE,    /* it lives, or it finished */
    ANA_END_CRASHED, /* a signal caused by the process itself */
    ANA_END_LEFT,    /* exited by exit() and the like */
    ANA_END_REFUSED, /* noted nothing inside a call that returns at once: the MPI library ended it for an error there */
    ANA_END_TOLD,    /* it was told to: by a signal, or by the MPI library that lost its launcher */
    ANA_END_VANISHED /* it noted nothing: killed, or its host failed */
};
struct ana_death {
    enum ana_end how;
    int64_t at_ns; /* job time; VANISHED: of its last heartbeat */
    int handled;   /* the signal that it caused itself, and in whose handler it left by exit() and the like; 0: none */
    bool in_handler; /* it did so in a handler of its own of a signal from outside */
};
/* Returns how a rank of the case ended. */
struct ana_death ana_death_of(struct ana_case *c, size_t index);
/* Whether a process that this signal ended has crashed. */
bool ana_signal_is_error(int number);
/* The signal of a crash, by a stack in the file only; 0: none. */
int ana_crash_signal(const struct trc_file *file);
/* "SIGSEGV"; "a signal" for a number without a name. */
const char *ana_signal_name(int number);
/* The sentence on a process that this signal ended, and that caused it. */
enum ana_sentence ana_signal_sentence(int number);

/* The first end among the processes that are gone. */
struct ana_deaths {
    size_t gone, told;
    int64_t first_ns, last_ns; /* earliest and latest of all ends */
    int64_t told_ns;           /* time when the first was told to end; INT64_MAX: nobody noted it */
    size_t teller;             /* the first rank that noted it, and by which signal if any did; SIZE_MAX none */
    bool teller_left;          /* .. and it noted no signal */
    bool lost;                 /* a call of Gloo failed there instead: another rank was gone */
    size_t first;              /* the rank whose end came first; SIZE_MAX: not known, or all were ended from outside */
    int64_t ahead_ns;          /* one was seen to end by so much before the others; 0: none was */
    bool certain;              /* the process's own record gives the cause of its end */
    bool in_turn;              /* they ended one after the other */
};
/* Ranks to look at, as bits: processes that are gone; all ranks in c->gone. */
enum ana_deaths_of { ANA_OF_DEAD = 1, ANA_OF_GONE = 2 };
/* Looks at the ends of the ranks selected by `of`. */
struct ana_deaths ana_deaths_find(struct ana_case *c, unsigned of);

/* killed.c: the time, in ns, that a rank had been in its call (*call) or, NULL, outside MPI when it ended. */
int64_t ana_still_ns(struct ana_case *c, size_t index, const char **call);

/* The earliest end, in job time, if every process that is gone was killed or told to end; else INT64_MAX. */
int64_t ana_first_killed_ns(struct ana_case *c);
