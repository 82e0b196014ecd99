/* Regions of your own in hpctop: in its timeline, tables and files.  C and C++.
 *
 *     #include <hpctop.h>
 *
 *     HPCTOP_BEGIN("solve");
 *     ...
 *     HPCTOP_END("solve");
 *
 *     { HPCTOP_REGION("assemble"); ... }      until the block is left, in C++ also by an exception
 *
 *     hpctop_begin(name); hpctop_end(name);   for names that are made at run time: each call looks the name up
 *
 * Without libtrace.so all of it is one branch that is predicted; nothing has to be linked.  Regions are of the thread
 * that enters them, and may be nested.  An end of another name than the innermost ends that one and those inside it,
 * which hpctop says.  Needs gcc, clang or a compiler that takes their attributes. */
#ifndef HPCTOP_H
#define HPCTOP_H

#include <dlfcn.h>
#pragma weak dlsym /* static programs, and those that are not linked with it, go without */
#pragma weak dlerror

#ifdef __cplusplus
extern "C" {
#endif
/* What libtrace.so shows of itself. */
struct hpctop_recorder_ {
    unsigned version;
    unsigned (*number)(const char *name);
    void (*begin)(unsigned number);
    void (*end)(unsigned number);
};
#ifdef __cplusplus
}
#endif

#define HPCTOP_QUIET_ __attribute__((unused))
static const struct hpctop_recorder_ *hpctop_recorder_ HPCTOP_QUIET_;

/* Before main, or while the library is loaded that this is part of. */
__attribute__((constructor)) HPCTOP_QUIET_ static void hpctop_find_recorder_(void)
{
    if (!dlsym)
        return;
    hpctop_recorder_ = (const struct hpctop_recorder_ *)dlsym((void *)0, "hpctop_regions");
    if (!hpctop_recorder_ && dlerror)
        (void)dlerror(); /* the program must not find an error that is not its own */
}

#define HPCTOP_RECORDED_ __builtin_expect(hpctop_recorder_ != (const struct hpctop_recorder_ *)0, 0)

/* The number of a name, which `*number` keeps; any thread. */
HPCTOP_QUIET_ static inline unsigned hpctop_number_(unsigned *number, const char *name)
{
    unsigned kept = __atomic_load_n(number, __ATOMIC_RELAXED);
    if (__builtin_expect(!kept, 0))
        __atomic_store_n(number, kept = hpctop_recorder_->number(name), __ATOMIC_RELAXED);
    return kept;
}

/* Enters a region of the calling thread. */
HPCTOP_QUIET_ static inline void hpctop_begin(const char *name)
{
    if (HPCTOP_RECORDED_)
        hpctop_recorder_->begin(hpctop_recorder_->number(name));
}

/* Leaves the region with this name; NULL: the innermost one. */
HPCTOP_QUIET_ static inline void hpctop_end(const char *name)
{
    if (HPCTOP_RECORDED_)
        hpctop_recorder_->end(name ? hpctop_recorder_->number(name) : 0);
}

/* The same with a name that never changes at this place: it is looked up once. */
#define HPCTOP_MARK_(what, name)                                                                                       \
    do {                                                                                                               \
        static unsigned hpctop_place_;                                                                                 \
        if (HPCTOP_RECORDED_)                                                                                          \
            hpctop_recorder_->what(hpctop_number_(&hpctop_place_, name));                                              \
    } while (0)
#define HPCTOP_BEGIN(name) HPCTOP_MARK_(begin, name)
#define HPCTOP_END(name)   HPCTOP_MARK_(end, name)

HPCTOP_QUIET_ static inline unsigned hpctop_enter_(unsigned *place, const char *name)
{
    if (!HPCTOP_RECORDED_)
        return 0;
    unsigned number = hpctop_number_(place, name);
    hpctop_recorder_->begin(number);
    return number;
}
HPCTOP_QUIET_ static inline void hpctop_leave_(const unsigned *number)
{
    if (HPCTOP_RECORDED_)
        hpctop_recorder_->end(*number);
}

/* From here to the end of the enclosing block, however it is left (but for longjmp). */
#define HPCTOP_REGION(name)        HPCTOP_REGION_(name, __LINE__)
#define HPCTOP_REGION_(name, line) HPCTOP_REGION__(name, line)
#ifdef __cplusplus
struct hpctop_scope_ {
    unsigned number;
    hpctop_scope_(unsigned *place, const char *name) : number(hpctop_enter_(place, name)) {}
    ~hpctop_scope_() { hpctop_leave_(&number); }
    hpctop_scope_(const hpctop_scope_ &) = delete;
    hpctop_scope_ &operator=(const hpctop_scope_ &) = delete;
};
#define HPCTOP_REGION__(name, line)                                                                                    \
    static unsigned hpctop_place_##line;                                                                               \
    const hpctop_scope_ hpctop_scope_##line(&hpctop_place_##line, name)
#else
#define HPCTOP_REGION__(name, line)                                                                                    \
    static unsigned hpctop_place_##line;                                                                               \
    __attribute__((cleanup(hpctop_leave_))) HPCTOP_QUIET_ const unsigned hpctop_scope_##line =                         \
        hpctop_enter_(&hpctop_place_##line, name)
#endif

#endif
