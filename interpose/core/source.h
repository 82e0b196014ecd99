/* What the parts of the recorder that know MPI, NCCL, CUDA, Fortran and stacks are asked, by those below them, which
 * know none of them by name.  Each part enters itself: IPO_SOURCE(mpi_source).  All members but `name` may be NULL. */
#ifndef IPO_SOURCE_H
#define IPO_SOURCE_H

#include "interpose/base/ours.h"
#include "trace/format/schema.h"

#include <stdbool.h>
#include <stdint.h>

/* Objects whose slots are not led anywhere, or only by the source that claims them. */
enum ipo_claim { IPO_UNCLAIMED, IPO_LEFT_ALONE, IPO_MINE };

/* A loaded object whose slots are looked at. */
struct ipo_object {
    uintptr_t base;                   /* what the loader adds to its addresses */
    const void *start;                /* of its first segment */
    const struct ipo_source *claimed; /* by whom; NULL: nobody */
};

#define IPO_SCHEMA_CALLS 1024u /* room for the rows of all sources */

struct ipo_thread;

struct ipo_source {
    const char *name;

    /* ---- names and slots (interpose/load).  Under the loader's lock, but for linked and looked_up. */

    bool (*linked)(void);       /* the program is linked with this library.  Before main: no call of libc */
    bool (*find)(const void *); /* finds the library; the address of a caller, or NULL.  False: it is not there */
    unsigned (*found_n)(void);  /* changes when slots have to be looked at again though no object was loaded */
    void (*before_walk)(void);  /* before slots are looked at */
    bool (*after_walk)(void);   /* true: names that were met can be led now, so that slots are looked at again */
    enum ipo_claim (*claim)(const char *path); /* of an object */
    /* The wrapper that a slot of this name is to lead to; `bound`: where it leads now.  NULL: none of this source. */
    ipo_function (*wrapper_of)(const char *name, const struct ipo_object *object, const void *bound);
    const char *names;                                  /* dlsym on a real handle, of names that begin so, asks .. */
    void *(*looked_up)(void *handle, const char *name); /* .. this, in the program's thread */
    const char *sign;                                   /* dlsym of names that begin so calls .. */
    void (*sign_seen)(void);                            /* .. this before, in the program's thread */
    const char *library;                                /* a library whose file name begins so was loaded: calls .. */
    void (*library_came)(void);                         /* .. this, in our own thread, maybe more than once */
    void (*serve)(void); /* our thread that may ask the loader: each time it looks around */

    /* ---- the recording (interpose/core) */

    size_t (*schema)(
        struct trc_schema_call *calls); /* writes its rows at its numbers; returns the number behind them */
    void (*begun)(void);                /* the file is there */
    void (*live)(void);                 /* before the first Init, which may never return; in its thread */
    void (*run)(void);                  /* recording has begun; in that thread */
    void (*arm)(uint32_t how);          /* wrappers other than MPI's may record */
    void (*wake)(void);                 /* our own thread: each time it wakes, from 5 to 100 ms */
    void (*round)(bool over);           /* our own thread: ten times a second; once a second when recording is over */
    void (*second)(void);               /* our own thread: once a second */
    void (*add_facts)(void);            /* our own thread: facts that need time; again when the first Init is over */
    void (*thread_left)(struct ipo_thread *); /* its thread is dead, and another one is about to take its place */
    void (*stop)(void);                       /* at the end of recording, in the program's thread */
    void (*over)(void);                       /* only threads of ours are left: they are to end */
};

/* The linker puts the entries side by side. */
#define IPO_SOURCE(source)                                                                                             \
    __attribute__((used, section("ipo_sources"))) static const struct ipo_source *const enter_##source = &source
extern IPO_OURS const struct ipo_source *const __start_ipo_sources[] __attribute__((weak));
extern IPO_OURS const struct ipo_source *const __stop_ipo_sources[] __attribute__((weak));

/* for (IPO_EACH_SOURCE(source)) ..: in no order that means anything. */
#define IPO_EACH_SOURCE(source)                                                                                        \
    const struct ipo_source *const *source = __start_ipo_sources;                                                      \
    source < __stop_ipo_sources;                                                                                       \
    source++

/* Calls this member of all sources that have it. */
#define IPO_ASK_SOURCES(member, ...)                                                                                   \
    do                                                                                                                 \
        for (IPO_EACH_SOURCE(source_))                                                                                 \
            if ((*source_)->member)                                                                                    \
                (*source_)->member(__VA_ARGS__);                                                                       \
    while (0)

#endif
