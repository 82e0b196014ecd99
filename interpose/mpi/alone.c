#include "interpose/mpi/alone.h"
#include "interpose/sites/path.h"
#include "interpose/sites/python.h"
#include "interpose/core/facts.h"
#include "interpose/core/process.h"
#include "interpose/core/source.h"
#include "interpose/load/loads.h"

#include <sched.h>

#define PATIENCE 20000 /* times that a waiting thread yields the processor */

static void start(int rank, int size, const char *by)
{
    struct trc_head *head = ipo_process.writer.head;
    bool launcher = head->rank >= 0 && head->world_size > head->rank;
    if (!launcher) {
        head->rank = rank;
        head->world_size = size;
    }
    ipo_process_live();
    if (!*ipo_armed || head->state != TRC_STATE_STARTING) { /* MPI_Init has not returned: it will */
        ipo_process_run();
        ipo_loads_live();
    }
    ipo_fact("rank", launcher ? "from the environment" : by);
    ipo_paths_start((unsigned)ipo_process.options.depth);
    ipo_python_find();
    IPO_ASK_SOURCES(arm, ipo_process_arming(*ipo_python_version()));
}

bool ipo_start_alone(int rank, int size, uint64_t hash, const char *by)
{
    static atomic_int started; /* 2: it is over */
    int fresh = 0;
    if (!atomic_compare_exchange_strong(&started, &fresh, 1)) {
        /* Threads with a GPU each make their first communicators at the same time. */
        for (int tries = 0; tries < PATIENCE && atomic_load(&started) == 1; tries++)
            sched_yield();
        return *ipo_profiler_armed != 0;
    }
    bool good = ipo_process_wanted() && ipo_arm_page() && ipo_process_begin(size, hash);
    if (good)
        start(rank, size, by);
    atomic_store(&started, 2);
    return good;
}
