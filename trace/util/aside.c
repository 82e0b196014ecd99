#include "trace/util/aside.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct ana_aside {
    void (*work)(void *user);
    void *user;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done;
};

static void *do_aside(void *arg)
{
    struct ana_aside *aside = arg;
    aside->work(aside->user);
    pthread_mutex_lock(&aside->lock);
    aside->done = true;
    pthread_cond_signal(&aside->ended);
    pthread_mutex_unlock(&aside->lock);
    return NULL;
}

static void free_aside(struct ana_aside *aside)
{
    pthread_cond_destroy(&aside->ended);
    pthread_mutex_destroy(&aside->lock);
    free(aside);
}

/* Starts the thread, which leaves all signals to the others. */
static bool start(struct ana_aside *aside)
{
    pthread_condattr_t by_clock;
    sigset_t all, before;
    pthread_mutex_init(&aside->lock, NULL);
    pthread_condattr_init(&by_clock);
    pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    pthread_cond_init(&aside->ended, &by_clock);
    pthread_condattr_destroy(&by_clock);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&aside->thread, NULL, do_aside, aside) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

struct ana_aside *ana_aside_begin(void (*work)(void *user), void *user)
{
    struct ana_aside *aside = malloc(sizeof *aside);
    if (aside) {
        *aside = (struct ana_aside){.work = work, .user = user};
        if (start(aside))
            return aside;
        free_aside(aside);
    }
    work(user);
    return NULL;
}

bool ana_aside_wait(struct ana_aside *aside, int64_t stop_ns)
{
    if (!aside)
        return true;
    struct timespec stop = {stop_ns / 1000000000, stop_ns % 1000000000};
    pthread_mutex_lock(&aside->lock);
    while (!aside->done && pthread_cond_timedwait(&aside->ended, &aside->lock, &stop) != ETIMEDOUT)
        ;
    bool done = aside->done;
    pthread_mutex_unlock(&aside->lock);
    return done;
}

void ana_aside_end(struct ana_aside *aside)
{
    if (!aside)
        return;
    pthread_join(aside->thread, NULL);
    free_aside(aside);
}
