#include "hold.h"
#include "interpose/stacks/stacks_impl.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_NS  200000000
#define RELEASE_NS 500000000

enum { IDLE, ASKED, ARRIVED, RELEASED };
static struct {
    atomic_int state;
    atomic_uint tid; /* the thread that is stopped */
    struct ipo_cursor at;
} hold;
static int number;           /* signal number; 0: none installed */
static atomic_int under_way; /* sent and not arrived */
static struct sigaction before;

static void wait_for_change(atomic_int *word, int value, long ns)
{
    struct timespec end, now, left;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += ns;
    while (end.tv_nsec >= 1000000000) {
        end.tv_nsec -= 1000000000;
        end.tv_sec++;
    }
    while (atomic_load(word) == value) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        left = (struct timespec){end.tv_sec - now.tv_sec, end.tv_nsec - now.tv_nsec};
        if (left.tv_nsec < 0) {
            left.tv_nsec += 1000000000;
            left.tv_sec--;
        }
        if (left.tv_sec < 0)
            return;
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &left, NULL, 0);
    }
}

static void wake_waiter(atomic_int *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 16, NULL, NULL, 0);
}

/* Runs in the thread that is stopped: system calls only. */
static void stop_thread(int sent, siginfo_t *info, void *context)
{
    (void)sent;
    (void)info;
    int kept = errno, asked = ASKED;
    if (atomic_load(&hold.tid) == (unsigned)syscall(SYS_gettid) && atomic_load(&hold.state) == ASKED) {
        ipo_registers_of(context, &hold.at);
        if (atomic_compare_exchange_strong(&hold.state, &asked, ARRIVED)) {
            wake_waiter(&hold.state);
            wait_for_change(&hold.state, ARRIVED, RELEASE_NS);
        }
    }
    atomic_fetch_sub(&under_way, 1);
    errno = kept;
}

bool hold_begin(void)
{
    if (number)
        return true;
    for (int candidate = 64; candidate > 34 && !number; candidate--) {
        struct sigaction mine = {.sa_sigaction = stop_thread, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
        sigfillset(&mine.sa_mask);
        if (sigaction(candidate, NULL, &before) || (before.sa_flags & SA_SIGINFO) || before.sa_handler != SIG_DFL)
            continue;
        if (!sigaction(candidate, &mine, NULL))
            number = candidate;
    }
    return number != 0;
}

bool hold_thread(const struct ipo_task *task, struct ipo_cursor *out)
{
    if (!number || task->blocked >> (number - 1) & 1)
        return false;
    atomic_store(&hold.tid, task->tid);
    atomic_store(&hold.state, ASKED);
    atomic_fetch_add(&under_way, 1);
    if (syscall(SYS_tgkill, getpid(), task->tid, number)) {
        atomic_fetch_sub(&under_way, 1);
        atomic_store(&hold.state, IDLE);
        return false;
    }
    wait_for_change(&hold.state, ASKED, ANSWER_NS);
    int asked = ASKED;
    if (atomic_compare_exchange_strong(&hold.state, &asked, IDLE))
        return false; /* the signal may still arrive: then its handler returns at once */
    *out = hold.at;
    return true;
}

void hold_release(void)
{
    atomic_store(&hold.state, RELEASED);
    wake_waiter(&hold.state);
}

void hold_end(void)
{
    /* A signal that arrives after its disposition is the default one again would end the process. */
    for (int tries = 0; atomic_load(&under_way) && tries < 20; tries++) {
        struct timespec pause = {.tv_nsec = 1000000};
        syscall(SYS_nanosleep, &pause, NULL);
    }
    struct sigaction now;
    if (!number || atomic_load(&under_way) || sigaction(number, NULL, &now))
        return;
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == stop_thread)
        sigaction(number, &before, NULL);
    number = 0;
}
