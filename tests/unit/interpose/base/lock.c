/* The lock of program threads: waits for a holder without a processor, and gives up one that never releases it. */
#include "interpose/base/lock.h"
#include "tests/support/check.h"

#include <pthread.h>

static atomic_flag lock = ATOMIC_FLAG_INIT;

static void *hold(void *holding)
{
    CHECK(ipo_lock(&lock), "free");
    atomic_store((atomic_bool *)holding, true);
    trc_sys_sleep(100000000);
    ipo_unlock(&lock);
    return NULL;
}

int main(void)
{
    atomic_bool holding = false;
    pthread_t holder;
    CHECK(pthread_create(&holder, NULL, hold, &holding) == 0, "thread");
    while (!atomic_load(&holding))
        sched_yield();
    CHECK(ipo_lock(&lock), "its holder sleeps");
    pthread_join(holder, NULL);
    CHECK(!ipo_lock(&lock), "its holder is this thread");
    ipo_unlock(&lock);
    CHECK(ipo_lock(&lock), "released");
    return check_result();
}
