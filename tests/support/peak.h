/* Peak memory of the analysis of a trace that was built for it. */
#ifndef TESTS_PEAK_H
#define TESTS_PEAK_H

#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Opens the folder, and ends the process: with success if all was read, somebody waited, and `messages` messages were
 * found. */
static inline _Noreturn void peak_analyse(uint64_t messages)
{
    mallopt(M_ARENA_MAX, 1); /* hpctop sets it, too: unused memory of many arenas differs between runs */
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    uint64_t matched = 0;
    for (size_t i = 0; i < s.pair_count; i++)
        matched += s.pairs[i].messages;
    _exit(s.analysed == 1 && s.wait_count > 0 && matched == messages ? 0 : 1);
}

/* Peak memory in bytes of a process that analyses what `build` makes for `n`, with a number of messages. */
static inline size_t peak_of(const char *name, void (*build)(int64_t n), int64_t n, uint64_t messages)
{
    folder_make(name);
    fflush(stdout);
    pid_t child = fork(); /* the builder's memory is its own */
    if (child == 0) {
        build(n);
        _exit(0);
    }
    int status = 1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "building: %d", status);
    child = fork();
    if (child == 0)
        peak_analyse(messages);
    struct rusage used = {0};
    CHECK(child > 0 && wait4(child, &status, 0, &used) == child && status == 0, "the analysis: %d", status);
    folder_remove();
    return (size_t)used.ru_maxrss * 1024;
}

#endif
