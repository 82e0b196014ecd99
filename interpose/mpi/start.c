/* The calls of MPI that start and end the recording. */
#include "interpose/mpi/start.h"
#include "interpose/core/process.h"
#include "interpose/core/source.h"
#include "interpose/identity/identity.h"
#include "interpose/load/loads.h"
#include "interpose/load/slots.h"
#include "interpose/mpi/abi.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/describe.h"
#include "interpose/mpi/pcontrol.h"
#include "interpose/mpi/resolve.h"
#include "interpose/mpi/spawned.h"
#include "interpose/sites/path.h"
#include "interpose/sites/python.h"
#include "interpose/sites/sites.h"

#include <stdatomic.h>

static atomic_int inits; /* Init calls that succeeded, less the finalized ones */

bool ipo_mpi_start(const void *caller)
{
    static atomic_flag started = ATOMIC_FLAG_INIT;
    /* Another thread's Init runs, or this is a child of the traced process: nothing is started. */
    if (atomic_flag_test_and_set(&started) || !ipo_process_wanted())
        return false;
    ipo_process.concurrent = ipo_process.serialized = true; /* assumed until the thread level is known */
    ipo_calls_prepare(ipo_classes);
    if (!ipo_resolve_all(caller) || !ipo_arm_page() || !ipo_requests_start()) {
        ipo_log("not recording: ", "no MPI library found");
        return false;
    }
    ipo_abi_detect();
    if (!ipo_process_begin(0, 0))
        return false;
    struct trc_head *head = ipo_process.writer.head;
    head->abi = ipo_abi.id;
    IPO_ASK_SOURCES(find, NULL);
    head->patched_slots += ipo_patch_slots();
    ipo_paths_start((unsigned)ipo_process.options.depth);
    ipo_python_find();
    const uint32_t how = ipo_process_arming(*ipo_python_version());
    ipo_arm(IPO_FOR_MPI, how);
    IPO_ASK_SOURCES(arm, how);
    ipo_process_live();
    return true;
}

/* Checks the layout of a status by a receive from MPI_PROC_NULL, whose result is known. */
static void check_status_layout(struct trc_head *head)
{
    union {
        char bytes[64];
        uint64_t align;
    } status;
    for (size_t i = 0; i < sizeof status.bytes; i++)
        status.bytes[i] = 0x55;
    typedef uintptr_t w;
    int failed = ((int (*)(void *, int, w, int, int, w, void *))ipo_own[IPO_Recv])(
        NULL, 0, ipo_abi.byte_type, ipo_abi.proc_null, 0, ipo_abi.comm_world, status.bytes);
    if (failed || ipo_status_source(status.bytes) != ipo_abi.proc_null) {
        head->flags |= TRC_HEAD_STATUS_UNKNOWN;
        ipo_status_known = false;
    } else {
        ipo_abi_learn_count();
    }
}

/* Learns rank, size and thread level when MPI_COMM_WORLD exists.  After a session other threads may call MPI, whatever
 * level was requested. */
static void learn_world(struct trc_head *head, bool after_session)
{
    typedef uintptr_t w;
    int level = -1;
    ((int (*)(w, int *))ipo_own[IPO_Comm_rank])(ipo_abi.comm_world, &head->rank);
    ((int (*)(w, int *))ipo_own[IPO_Comm_size])(ipo_abi.comm_world, &head->world_size);
    if (ipo_own[IPO_Query_thread] && !((int (*)(int *))ipo_own[IPO_Query_thread])(&level))
        head->thread_level = level > 3 ? level / 1024 - (level >= 4096 ? 1 : 0) : level;
    const bool known = !after_session && head->thread_level >= 0;
    ipo_process.concurrent = !known || head->thread_level > 2;
    ipo_process.serialized = !known || head->thread_level > 1;
    check_status_layout(head);
    ipo_process.usual = !ipo_process.concurrent && ipo_status_known && ipo_abi.count_at >= 0;
    ipo_abi_find_shared();
    ipo_request_reserve(ipo_abi.request_null);
    for (unsigned i = 0; i < 2; i++)
        ipo_request_reserve(ipo_abi.shared_too[i]);
    char parent[8] = {0};
    if (!((int (*)(void *))ipo_own[IPO_Comm_get_parent])(parent) &&
        ipo_handle_load((uintptr_t)parent, 0) != ipo_abi.comm_null) {
        head->flags |= TRC_HEAD_SPAWNED;
        head->world_identity = ipo_spawned_identity(head->world_identity);
    }
    ipo_comms_start(head->world_identity, true);
}

void ipo_mpi_ready(void)
{
    static atomic_int ready, world;
    atomic_fetch_add(&inits, 1);
    struct trc_head *head = ipo_process.writer.head;
    bool again = atomic_exchange(&ready, 1);
    if (again)
        ipo_process_resume();
    int flag = 0;
    ((int (*)(int *))ipo_own[IPO_Initialized])(&flag);
    if (flag && ipo_abi.comm_world && !atomic_exchange(&world, 1))
        learn_world(head, again);
    else if (!again)
        ipo_comms_start(0, false); /* sessions only: communicators are learned as they are made */
    if (again)
        return;
    char version[8192 + 64] = "";
    int length = 0;
    if (ipo_own[IPO_Get_library_version] &&
        !((int (*)(char *, int *))ipo_own[IPO_Get_library_version])(version, &length))
        ipo_first_words(head->mpi, sizeof head->mpi, version);
    ipo_abi_version(version);
    ipo_process_run();
    ipo_patch_slots(); /* objects that MPI itself has loaded */
    ipo_loads_live();
    ipo_pcontrol_start();
}

void ipo_mpi_finalized(bool session)
{
    if (atomic_fetch_sub(&inits, 1) > 1)
        return; /* MPI_COMM_WORLD or another session is still there */
    if (session)
        ipo_process_pause();
    else
        ipo_process_end();
}

void ipo_mpi_aborting(int code)
{
    ipo_process_abort(code);
    IPO_ASK_SOURCES(aborting);
    ipo_sites_resolve();
}
