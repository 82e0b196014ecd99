/* Other profilers: their calls of CUPTI lead here, and we stop using CUPTI. */
#include "interpose/cuda/cupti.h"
#include "interpose/cuda/cupti_inside.h"
#include "interpose/mpi/record.h"

#include <dlfcn.h>

static _Atomic(const char *) first_foreign; /* another profiler's first call, before CUPTI was started */

const char *ipo_cupti_others_call(void)
{
    return atomic_load(&first_foreign);
}

/* Stops using CUPTI and restores its state; records so far are kept. */
static void step_aside(const char *because)
{
    int on = IPO_CUPTI_ON;
    if (ipo_cupti_own || !(*ipo_armed || *ipo_nccl_armed) ||
        !atomic_compare_exchange_strong(&ipo_cupti_state, &on, IPO_CUPTI_STEPPING))
        return;
    ipo_cupti_own = true;
    ipo_cupti.ActivityFlushAll(IPO_CUPTI_FLUSH_FORCED);
    for (int i = 0; i < IPO_CUPTI_KINDS; i++)
        ipo_cupti.ActivityDisable(ipo_cupti_kinds[i]);
    ipo_cupti_put_clock_back();
    ipo_cupti_own = false;
    ipo_cupti_fact("timed until another profiler came: it called cupti", because);
    atomic_store(&ipo_cupti_state, IPO_CUPTI_NEVER);
}

/* The function that a caller reaches by a name: its scope may have another copy of CUPTI.  An object that was linked
 * without CUPTI has no CUPTI in its scope: then it is the copy in use. */
static void *find_meant(const void *caller, const char *name)
{
    Dl_info info;
    void *scope = dladdr(caller, &info) && info.dli_fname ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = scope ? dlsym(scope, name) : NULL;
    if (scope)
        dlclose(scope);
    if (!found)
        found = dlsym(RTLD_DEFAULT, name);
    void *only = found ? NULL : ipo_loaded("libcupti.so");
    return only ? dlsym(only, name) : found;
}

static void meet_other(const char *call)
{
    if (ipo_cupti_own)
        return;
    const char *nobody = NULL;
    ipo_cupti_settle();
    if (atomic_load(&ipo_cupti_state) == IPO_CUPTI_OFF)
        atomic_compare_exchange_strong(&first_foreign, &nobody, call);
    step_aside(call);
}

/* CUPTI may still have a buffer of ours when another profiler takes over, and put that profiler's records into it.
 * They are copied into a buffer of that profiler. */
static _Atomic(ipo_cupti_requested) their_request;
static _Atomic(ipo_cupti_completed) their_completed;

static void subscribe_for_others(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    ipo_cupti_completed done = atomic_load(&their_completed);
    if (!ipo_cupti_is_ours(buffer)) {
        done(context, stream, buffer, size, valid);
        return;
    }
    uint8_t *theirs = NULL;
    size_t room = 0, records = 0;
    if (valid)
        atomic_load (&their_request)(&theirs, &room, &records);
    if (theirs) {
        memcpy(theirs, buffer, valid < room ? valid : 0);
        done(context, stream, theirs, room, valid < room ? valid : 0);
    }
    ipo_cupti_release_buffer(buffer);
}

/* Two wrappers for each call: for callers by name, and for callers that found the function by dlsym (looked_up). */
static struct {
#define ASK(name, parameters, ...) int(*name) parameters;
    IPO_CUPTI_REGISTER(ASK)
    IPO_CUPTI_FOREIGN(ASK)
#undef ASK
} looked_up;
#define NO_CUPTI 15 /* CUPTI_ERROR_NOT_INITIALIZED */

#define BODY(function, found, name, parameters, ...)                                                                   \
    static int function parameters                                                                                     \
    {                                                                                                                  \
        int(*real) parameters = (int(*) parameters)(uintptr_t)(found);                                                 \
        meet_other(#name);                                                                                             \
        return real ? real(__VA_ARGS__) : NO_CUPTI;                                                                    \
    }
#define ASK(name, parameters, ...)                                                                                     \
    BODY(foreign_##name, find_meant(__builtin_return_address(0), "cupti" #name), name, parameters, __VA_ARGS__)        \
    BODY(found_##name, (uintptr_t)looked_up.name, name, parameters, __VA_ARGS__)
IPO_CUPTI_FOREIGN(ASK)
#undef ASK

static int replace_subscriber(int (*real)(ipo_cupti_requested, ipo_cupti_completed), ipo_cupti_requested ask,
                              ipo_cupti_completed done)
{
    meet_other("ActivityRegisterCallbacks");
    if (!real)
        return NO_CUPTI;
    if (ipo_cupti_own || !ipo_cupti_gave_buffers() || !ask || !done)
        return real(ask, done);
    atomic_store(&their_request, ask);
    atomic_store(&their_completed, done);
    return real(ask, subscribe_for_others);
}
static int foreign_ActivityRegisterCallbacks(ipo_cupti_requested ask, ipo_cupti_completed done)
{
    void *real = find_meant(__builtin_return_address(0), "cuptiActivityRegisterCallbacks");
    return replace_subscriber((int (*)(ipo_cupti_requested, ipo_cupti_completed))(uintptr_t)real, ask, done);
}
static int found_ActivityRegisterCallbacks(ipo_cupti_requested ask, ipo_cupti_completed done)
{
    return replace_subscriber(looked_up.ActivityRegisterCallbacks, ask, done);
}

static const struct {
    const char *name;
    ipo_function called, found;
    size_t at;
} wrappers[] = {
#define ASK(name, parameters, ...)                                                                                     \
    {"cupti" #name, (ipo_function)foreign_##name, (ipo_function)found_##name, offsetof(__typeof__(looked_up), name)},
    IPO_CUPTI_REGISTER(ASK) IPO_CUPTI_FOREIGN(ASK)
#undef ASK
};
#define WRAPPERS (sizeof wrappers / sizeof *wrappers)

ipo_function ipo_cupti_wrapper_of(const char *name)
{
    for (size_t i = 0; i < WRAPPERS; i++)
        if (strcmp(name, wrappers[i].name) == 0)
            return wrappers[i].called;
    return NULL;
}

void *ipo_cupti_looked_up(void *handle, const char *name, const void *caller)
{
    (void)caller;
    void *found = dlsym(handle, name);
    for (size_t i = 0; found && i < WRAPPERS; i++)
        if (strcmp(name, wrappers[i].name) == 0) {
            _Atomic(void *) *place = (_Atomic(void *) *)(void *)((char *)&looked_up + wrappers[i].at);
            void *none = NULL;
            if (atomic_compare_exchange_strong(place, &none, found) || none == found) /* else it is a second copy's */
                return (void *)(uintptr_t)wrappers[i].found;
        }
    return found;
}
