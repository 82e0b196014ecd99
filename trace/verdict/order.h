/* Ranks' places in the program by their last calls; ranks that left out their part. For trace/verdict only. */
#pragma once

#include "trace/verdict/case_impl.h"

/* steps.c */
struct ana_step {
    uint64_t place;              /* place in the program: an equal number on all ranks */
    uint64_t identity, sequence; /* identity and number of a collective; 0: it is none */
    uint64_t channel;            /* communicator identity of a message */
    uint32_t to, from;           /* destination and source of a message; UINT32_MAX: nobody, or not known */
    int32_t tag;                 /* tag of the message sent */
    uint32_t call;               /* call and call site, as its own file has them */
    uint64_t site;
    uint64_t begin; /* ticks */
};
struct ana_steps {
    struct ana_step *step;
    size_t count;
    bool whole; /* the first one is the thread's first */
    bool open;  /* it is inside the last one */
    size_t index;
    uint32_t thread;
    struct ana_steps *next;
};
/* The last steps of a blocked rank, read when they are first asked for: of its thread `thread` or, where that is not
 * blocked, of the one that has been blocked longest.  Never NULL: empty when out of memory. */
const struct ana_steps *ana_case_steps(struct ana_case *c, size_t index, uint32_t thread);
/* The last steps of this very thread, also where it is not blocked: then the last one is behind it.  Where there is no
 * such thread, as ana_case_steps. */
const struct ana_steps *ana_thread_steps(struct ana_case *c, size_t index, uint32_t thread);
/* Frees all steps. */
void ana_case_free_steps(struct ana_case *c);

/* order.c: where one is whom a rank waits for. */
enum ana_past {
    ANA_PAST_UNKNOWN,
    ANA_ON_ITS_WAY, /* it has not come to the place where that rank waits */
    ANA_LEFT_OUT,   /* it has gone past that place, without its part there */
    ANA_WAS_THERE   /* it has been there as often as the waiter, and is elsewhere now */
};
/* Whether it has been at a place and come on. */
bool ana_was_at(const struct ana_steps *steps, uint64_t place);
/* Place of `suspect`, the rank that `waiter` waits for; `collective`: in a collective. */
enum ana_past ana_is_past(struct ana_case *c, const struct ana_waiting *waiter, bool collective, size_t suspect);

/* A rank's record of a collective that it has completed or started; NULL: it has none, or it is too old. */
const struct ana_last_collective *ana_past_collective(struct ana_case *c, size_t index, uint64_t identity,
                                                      uint64_t sequence);
