/* Work of the threads whose stacks are taken: frames of many kinds.  A shared library, so that its calls go through
 * the PLT; built once with and once without frame pointers. */
#include "shadow.h"

#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_instrument_function, noinline)) /* left out by the hooks: a leaf stays a leaf */

static _Thread_local volatile uint64_t sum;

/* ---- leaves, and calls through the PLT --------------------------------------------------------------------------- */

UNSEEN uint64_t leaf_mix(uint64_t a)
{
    return (a ^ a >> 7) * 0x9e3779b97f4a7c15u;
}
UNSEEN uint64_t leaf_with_stack(uint64_t a)
{
    volatile uint64_t kept[8] = {a, a + 1}; /* data in the red zone */
    return kept[a & 1] + kept[2];
}
UNSEEN uint64_t leaf_at_end(uint64_t a)
{
    return leaf_mix(a + 1); /* a jump */
}
static void many_leaves(unsigned seed)
{
    for (unsigned i = 0; i < 2000; i++)
        sum += leaf_mix(i) + leaf_with_stack(seed) + leaf_at_end(i);
}

/* ---- recursion, many arguments, frames whose size or alignment is found at run time --------------------------------
 */

unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

uint64_t nine_arguments(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h,
                        uint64_t n)
{
    return n == 0 ? a + h : nine_arguments(b, c, d, e, f, g, h, a, n - 1) + leaf_mix(n);
}

uint64_t sized_at_run_time(unsigned size, unsigned depth)
{
    volatile char room[size];
    room[size / 2] = (char)depth;
    return depth == 0 ? fibonacci(8) : sized_at_run_time(size * 3 % 500 + 1, depth - 1) + (uint64_t)room[size / 2];
}

uint64_t aligned_frame(unsigned size, unsigned depth)
{
    _Alignas(64) volatile char line[128];
    volatile char room[size];
    line[64] = (char)size;
    room[0] = line[64];
    return depth == 0 ? fibonacci(8) : aligned_frame(size + 1, depth - 1) + (uint64_t)room[0];
}

/* ---- frames of libc and libm in between ----------------------------------------------------------------------------
 */

static int compare(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}
static void sort(unsigned seed)
{
    unsigned values[200];
    for (unsigned i = 0; i < 200; i++)
        values[i] = (unsigned)leaf_mix(seed + i);
    qsort(values, 200, sizeof *values, compare);
    sum += bsearch(&values[7], values, 200, sizeof *values, compare) != NULL;
}

static void print(unsigned seed)
{
    char text[64];
    for (unsigned i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "%.15g %u", sqrt(seed + i), i);
        sum += (uint64_t)(strtod(text, NULL) + sin(i));
    }
}

static void allocate(unsigned seed)
{
    void *got[40];
    for (unsigned i = 0; i < 40; i++)
        got[i] = calloc(1, (seed + i * 97) % 5000 + 1);
    for (unsigned i = 0; i < 40; i++)
        free(got[i]);
}

static void copy(unsigned seed)
{
    static _Thread_local char from[32768], to[32768];
    for (unsigned i = 0; i < 20; i++) {
        memset(from, (int)(seed + i), sizeof from);
        memcpy(to, from, sizeof to);
    }
    sum += (uint64_t)to[seed % sizeof to];
}

static void ask_time(unsigned seed)
{
    struct timespec now;
    for (unsigned i = 0; i < 300 + seed % 10; i++)
        clock_gettime(CLOCK_MONOTONIC, &now); /* code of the vDSO */
    sum += (uint64_t)now.tv_nsec;
}

/* ---- signals and exceptions ----------------------------------------------------------------------------------------
 */

static void on_signal(int number)
{
    (void)number;
    sum += fibonacci(14);
}
static void signals(unsigned seed)
{
    raise(seed & 1 ? SIGUSR1 : SIGUSR2);
}
static void throws(unsigned seed)
{
    sum += (uint64_t)throw_through((int)(seed % 12));
}

void work_begin(void)
{
    static _Thread_local char stack[65536];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = on_signal};
    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, NULL);
}

void work_once(unsigned seed)
{
    void (*const parts[])(unsigned) = {many_leaves, sort, print, allocate, copy, ask_time, signals, throws};
    enum { PARTS = sizeof parts / sizeof *parts };
    unsigned which = seed % (PARTS + 4), more = seed / 16;
    if (which < PARTS)
        parts[which](more);
    else if (which == PARTS)
        sum += fibonacci(12 + more % 6);
    else if (which == PARTS + 1)
        sum += nine_arguments(1, 2, 3, 4, 5, 6, 7, 8, 20 + more % 10);
    else if (which == PARTS + 2)
        sum += sized_at_run_time(more % 300 + 1, more % 20);
    else
        sum += aligned_frame(more % 300 + 1, more % 20);
}

/* ---- waiting -------------------------------------------------------------------------------------------------------
 */

static void wait_here(unsigned how)
{
    struct timespec pause = {.tv_nsec = 3000000}, end;
    static _Thread_local pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static _Thread_local pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    static _Thread_local sem_t none;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += 3000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    if (how == 0) {
        nanosleep(&pause, NULL);
    } else if (how == 1) {
        poll(NULL, 0, 3);
    } else if (how == 2) {
        sem_timedwait(&none, &end);
    } else {
        pthread_mutex_lock(&mutex);
        pthread_cond_timedwait(&never, &mutex, &end);
        pthread_mutex_unlock(&mutex);
    }
}

static uint64_t wait_below(unsigned how, unsigned frames, unsigned depth)
{
    if (depth == 0)
        wait_here(how);
    else if (frames == 0 || (frames == 2 && depth % 2))
        return wait_below(how, frames, depth - 1) + leaf_mix(depth);
    else {
        volatile char room[depth * 16];
        room[depth] = 1;
        return wait_below(how, frames, depth - 1) + (uint64_t)room[depth];
    }
    return sum;
}

void work_wait(unsigned seed)
{
    sum += wait_below(seed % 4, seed / 4 % 3, seed / 16 % 12);
}
