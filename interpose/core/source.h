/* A source: a part of the recorder (MPI, Fortran, NCCL, CUDA, call sites, stacks, loaded objects) that is asked by the
 * parts below it, which know no source by name.  Each source enters itself: IPO_SOURCE(mpi_source).  All members but
 * `name` may be NULL. */
#pragma once

#include "interpose/base/ours.h"
#include "trace/format/opclass.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Answer of a source about a loaded object: nothing; nobody may change its slots; only this source may. */
enum ipo_claim { IPO_UNCLAIMED, IPO_LEFT_ALONE, IPO_MINE };

/* A loaded object during the walk over slots. */
struct ipo_object {
    uintptr_t base;                   /* added to its addresses by the loader */
    const void *start;                /* address of its first segment */
    const struct ipo_source *claimed; /* the source that claimed it; NULL: none */
};

#define IPO_ALL_CALLS 1024u /* room for the rows of all sources */

struct ipo_elf;
struct ipo_name;
struct ipo_thread;

struct ipo_source {
    const char *name;

    /* ---- names and slots (interpose/load).  Under the loader's lock, but for linked and looked_up. */

    /* Whether the program is linked with this library.  Before main, where no function of libc may be called. */
    bool (*linked)(void);
    /* Finds the library, in the scope of the code at an address, or (NULL) in any.  False: it is not loaded. */
    bool (*find)(const void *caller);
    /* A number that changes when slots must be read again though no object was loaded. */
    unsigned (*found_n)(void);
    /* Called before slots are read, in objects from number `first` of the loader's list on. */
    void (*before_walk)(unsigned first);
    /* After it.  True: read all slots again, for names that were met and have a wrapper now. */
    bool (*after_walk)(void);
    /* Claims an object by its path. */
    enum ipo_claim (*claim)(const char *path);
    /* The wrapper for a slot of this name, which is of some table (load/names.h) and leads to `bound` now; NULL: the
     * slot is none of this source's. */
    ipo_function (*wrapper_of)(const struct ipo_name *name, const struct ipo_object *object, const void *bound);
    /* Calls lead(with, slot, wrapper) for slots of an object's tables of virtual functions. */
    void (*tables)(const struct ipo_elf *elf, void (*lead)(void *with, uintptr_t *slot, ipo_function to), void *with);
    /* Whether a slot of the object with this load address, which leads to `bound`, belongs to another library than the
     * one that is recorded: no source leads it to a wrapper. */
    bool (*foreign)(uintptr_t base, const void *bound);
    /* A call of dlsym on a real handle for a name that begins with `names` returns what looked_up returns.  In the
     * program's thread; `caller`: the call's return address. */
    const char *names;
    void *(*looked_up)(void *handle, const char *name, const void *caller);
    /* A call of dlsym for a name that begins with `sign` first calls sign_seen.  In the program's thread. */
    const char *sign;
    void (*sign_seen)(void);
    /* Beginning of a file name: on_library is called, maybe more than once, when an object of such a name was
     * loaded.  In our own thread. */
    const char *library;
    void (*on_library)(void);
    /* Each time that our thread wakes which may ask the loader. */
    void (*serve)(void);
    /* The program calls dlclose, in its thread. */
    void (*unloading)(void);
    /* An object was unloaded: its addresses may belong to another one.  Any thread; no lock may be taken. */
    void (*unloaded)(void);

    /* ---- the recording (interpose/core) */

    /* Writes the source's rows at their numbers; returns the number behind the last. */
    size_t (*calls)(struct trc_call *calls);
    /* The file has been made. */
    void (*begun)(void);
    /* Before the first Init, which may never return, in its thread. */
    void (*live)(void);
    /* The recording has begun, in the thread that began it. */
    void (*run)(void);
    /* Wrappers other than MPI's may record now; `how` is for ipo_arm. */
    void (*arm)(uint32_t how);
    /* Each time that the heartbeat wakes, every 5 to 100 ms. */
    void (*wake)(void);
    /* Called by the heartbeat, ten times a second; the program waits for the `last` round. */
    void (*round)(bool last);
    /* Called by the heartbeat, once a second. */
    void (*second)(void);
    /* Writes facts that take time; by the heartbeat. */
    void (*add_facts)(void);
    /* A thread of the program records for the first time; in that thread. */
    void (*on_thread)(struct ipo_thread *);
    /* MPI_Pcontrol has returned; in its thread. */
    void (*level)(int);
    /* The program calls MPI_Abort, in its thread. */
    void (*aborting)(void);
    /* The MPI library has printed this text.  In its thread. */
    void (*said)(const char *text);
    /* A thread has died, and another one takes its state over. */
    void (*thread_left)(struct ipo_thread *);
    /* The recording ends, in the program's thread. */
    void (*stop)(void);
    /* Wakes this source's threads, which must end. */
    void (*over)(void);
};

/* Enters a source: the linker puts all entries side by side. */
#define IPO_SOURCE(source)                                                                                             \
    __attribute__((used, section("ipo_sources"))) static const struct ipo_source *const enter_##source = &source
extern IPO_OURS const struct ipo_source *const __start_ipo_sources[] __attribute__((weak));
extern IPO_OURS const struct ipo_source *const __stop_ipo_sources[] __attribute__((weak));

/* for (IPO_EACH_SOURCE(source)) ..: all sources, in any order. */
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
