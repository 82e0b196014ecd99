/* From the first Init to the end: where the trace goes, what its head says, when recording starts and stops. */
#include "interpose/base/oldglibc.h"
#include "interpose/core/process.h"
#include "interpose/mpi/describe.h"
#include "interpose/mpi/abi.h"
#include "interpose/mpi/comms.h"
#include "interpose/cuda/cupti.h"
#include "interpose/core/facts.h"
#include "interpose/stacks/fatal.h"
#include "interpose/stacks/guard.h"
#include "interpose/core/heartbeat.h"
#include "interpose/identity/identity.h"
#include "interpose/mpi/memo.h"
#include "interpose/nccl/nccl.h"
#include "interpose/nccl/windows.h"
#include "interpose/mpi/record.h"
#include "interpose/mpi/requests.h"
#include "interpose/load/loads.h"
#include "interpose/mpi/resolve.h"
#include "interpose/sites/sites.h"
#include "interpose/mpi/spawned.h"
#include "interpose/stacks/stacks.h"
#include "interpose/base/text.h"
#include "trace/format/schema.h"
#include "trace/format/version.h"
#include "interpose/base/bind.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((used, section(TRC_VERSION_SECTION))) static const char version_mark[] = HPCTOP_VERSION;

static atomic_int started; /* 0 no, 1 at it or traced, 2 not to be traced */
static atomic_int inits;   /* Init calls that succeeded, less the finalized ones */
static size_t patched_at_load;

static uint64_t ticks_for_writer(void)
{
    return ipo_ticks();
}

static char schema[96 * 1024];

static size_t write_schema(void)
{
    static struct trc_schema_call calls[IPO_NCCL_NUMBER(IPO_NCCL_CALLS)] = {
#define DEVICE(id, name_, opclass_)                                                                                    \
    [IPO_DEVICE_NUMBER(IPO_DEVICE_##id)] = {.name = name_, .opclass = TRC_OP_##opclass_},
        IPO_DEVICE_LIST(DEVICE)
#undef DEVICE
    };
    for (int i = 0; i < IPO_CALLS; i++)
        calls[i] = (struct trc_schema_call){
            .name = ipo_calls[i].name,
            .roles = ipo_calls[i].roles,
            .opclass = ipo_calls[i].opclass == TRC_OP_PASS ? TRC_OP_OTHER : (enum trc_opclass)ipo_calls[i].opclass};
    for (int i = 0; i < IPO_NCCL_CALLS; i++) {
        const struct ipo_nccl_call *call = &ipo_nccl_calls[i];
        enum trc_opclass opclass = call->opclass < TRC_OPCLASSES ? (enum trc_opclass)call->opclass : TRC_OP_NCCL_COMM;
        calls[IPO_NCCL_NUMBER(i)] =
            (struct trc_schema_call){.name = call->name, .roles = call->roles, .opclass = opclass};
    }
    return trc_schema_write(schema, sizeof schema, calls, IPO_NCCL_NUMBER(IPO_NCCL_CALLS));
}

/* The folder and those above it; 0 or an errno.  Others never get to write to one that is made here. */
static int make_folder(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int failed = mkdir(path, 0777) && errno != EEXIST;
        *slash = '/';
        if (failed)
            return errno;
    }
    return mkdir(path, 0775) && errno != EEXIST ? errno : 0;
}

/* Why a folder may not be used: another user's, or anyone's, could hold what they planted.  Root may well work in the
 * folder of the user who started a container. */
static const char *refusal(const char *path)
{
    struct stat is;
    uid_t user = geteuid();
    if (syscall(SYS_newfstatat, AT_FDCWD, path, &is, 0)) /* glibc's stat is newer than what we may need */
        return NULL;
    if (is.st_mode & S_IWOTH)
        return " (others may write to this folder)";
    return is.st_uid != user && user != 0 ? " (this folder belongs to another user)" : NULL;
}

static int open_file(struct trc_head *head)
{
    struct ipo_text path = {0};
    ipo_text_add(&path, ipo_process.folder);
    ipo_text_add(&path, "/");
    ipo_text_add(&path, head->host);
    ipo_text_add(&path, ".");
    ipo_text_add_number(&path, head->pid);
    ipo_text_add(&path, ".");
    ipo_text_add_number(&path, head->pid_start);
    /* Containers may count pids from 1 each, and start in the same hundredth of a second. */
    uint64_t pids = head->namespaces[TRC_NAMESPACE_pid];
    if (pids && pids != TRC_FIRST_PID_NAMESPACE) {
        ipo_text_add(&path, ".");
        ipo_text_add_number(&path, pids);
    }
    ipo_text_add(&path, ".hpctop");
    int error = ipo_process.folder[0] ? make_folder(ipo_process.folder) : ENAMETOOLONG;
    const char *refused = error ? NULL : refusal(ipo_process.folder);
    if (refused) {
        ipo_text_add(&path, refused);
        error = EPERM;
    } else if (!error) {
        bool reserves, local = ipo_is_local(ipo_process.folder, &reserves);
        ipo_process.write_back = !local || !reserves;
        if (!local)
            head->flags |= TRC_HEAD_WRITE_BACK;
        error = trc_writer_open(&ipo_process.writer, path.text, ipo_process.options.limit, head, schema, write_schema(),
                                ticks_for_writer);
    }
    if (error && !refused) {
        ipo_text_add(&path, ": ");
        ipo_text_add(&path, ipo_errno_name(error));
    }
    ipo_say(error ? "not recording, cannot make " : "recording to ", path.text);
    return error;
}

/* In a process that is linked with MPI, calls that are not exported (MPI_Session_init among them), and those of a tool
 * in front of us, are led here before main.  In all other processes nothing happens; not even dlsym, since one that
 * fails allocates, and the program's own malloc may not be ready for it. */
extern int PMPI_Init(int *, char ***) __attribute__((weak));
extern int pncclGetUniqueId(void *) __attribute__((weak));
__attribute__((constructor)) static void load(void)
{
    if ((!PMPI_Init && !pncclGetUniqueId) || ipo_is_privileged())
        return;
    ipo_bind();
    ipo_options_read(&ipo_process.options);
    if (ipo_process.options.disable)
        return;
    bool mpi = PMPI_Init && ipo_resolve_all(NULL), nccl = pncclGetUniqueId && ipo_nccl_resolve(NULL);
    if (mpi || nccl)
        patched_at_load = ipo_patch_slots();
}

/* Makes the file, unless this process has it already: by MPI or by NCCL, whichever comes first. */
static bool begin(int nccl_size, uint64_t nccl_hash)
{
    static atomic_int begun;
    int fresh = 0;
    if (!atomic_compare_exchange_strong(&begun, &fresh, 1))
        return fresh == 2 && ipo_process.pid == (uint32_t)getpid();
    ipo_clock_is_tsc = ipo_tsc_is_good();
    static struct trc_head head;
    head.state = TRC_STATE_STARTING;
    head.clock_source = ipo_clock_is_tsc ? TRC_CLOCK_TSC : TRC_CLOCK_MONOTONIC;
    head.abi = ipo_abi.id;
    head.thread_level = -1;
    ipo_identity(&head, ipo_process.folder, sizeof ipo_process.folder, ipo_process.options.dir,
                 ipo_process.options.image, nccl_size, nccl_hash);
    if (open_file(&head))
        return false;
    ipo_process.pid = (uint32_t)getpid();
    ipo_guard_start();
    atomic_store(&begun, 2);
    ipo_process.writer.head->patched_slots = patched_at_load;
    return true;
}

/* From here on there are signs of life, and stacks: also of a process that never comes out of MPI_Init. */
static void live(void)
{
    static atomic_int lives;
    if (atomic_exchange(&lives, 1))
        return;
    ipo_stacks_start();
    ipo_heartbeat_start();
}

static bool is_wanted(void)
{
    ipo_bind();
    ipo_options_read(&ipo_process.options);
    if (ipo_process.options.disable || ipo_is_privileged()) {
        ipo_say("not recording: ", ipo_process.options.disable ? "HPCTOP_DISABLE=1" : "privileges differ");
        return false;
    }
    return true;
}

static uint32_t arming(void)
{
    return ipo_process.options.python ? IPO_ARMED_PYTHON : IPO_ARMED;
}

static void arm_nccl(void)
{
    ipo_arm(IPO_FOR_NCCL, ipo_nccl_window_allowed(IPO_WINDOW_SYMBOLS) ? arming() : 0);
    ipo_arm(IPO_FOR_TOLD, arming());
}

bool ipo_process_start(const void *caller)
{
    int fresh = 0;
    if (!atomic_compare_exchange_strong(&started, &fresh, 1)) {
        /* Another thread's Init, or a child of the traced process: either way not ours to start. */
        return false;
    }
    if (!is_wanted())
        return false;
    ipo_process.concurrent = true; /* until the thread level is known */
    ipo_calls_prepare(ipo_classes);
    if (!ipo_resolve_all(caller) || !ipo_arm_page() || !ipo_requests_start()) {
        ipo_say("not recording: ", "no MPI library found");
        return false;
    }
    ipo_abi_detect();
    if (!begin(0, 0))
        return false;
    struct trc_head *head = ipo_process.writer.head;
    head->abi = ipo_abi.id;
    ipo_nccl_resolve(NULL);
    head->patched_slots += ipo_patch_slots();
    ipo_arm(IPO_FOR_MPI, arming());
    arm_nccl();
    live();
    return true;
}

/* A receive from nobody tells whether the status lies where the table says. */
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

/* What recording one call costs here: the usual path, on a stream that goes nowhere. */
static uint64_t measure_cost(void)
{
    enum { ROUNDS = 512 };
    struct trc_stream *stream =
        mmap(NULL, sizeof *stream, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *memory =
        mmap(NULL, 2 * TRC_CHUNK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if ((void *)stream == MAP_FAILED || memory == MAP_FAILED)
        return 0;
    stream->page = (struct trc_thread_chunk *)(void *)memory;
    stream->chunk = (struct trc_chunk *)(void *)(memory + TRC_CHUNK_SIZE);
    stream->at = (unsigned char *)(stream->chunk + 1);
    stream->stop = (unsigned char *)stream->chunk + TRC_CHUNK_SIZE - TRC_STREAM_ROOM;
    stream->epoch = 1;
    stream->writer = &ipo_process.writer;
    uint64_t best = UINT64_MAX;
    for (int batch = 0; batch < 4; batch++) {
        uint64_t begin = ipo_ticks();
        for (int i = 0; i < ROUNDS; i++) {
            struct trc_sig sig = {.call = 1, .peer = i % 4, .sent = 8};
            uint32_t index = trc_stream_intern(stream, &sig);
            uint64_t at = ipo_ticks();
            stream->page->thread.inside = index + 1;
            uint64_t end = ipo_ticks();
            trc_stream_event(stream, index, at, end, 0);
            trc_stream_count(stream, index, end - at);
            stream->page->thread.inside = 0;
        }
        uint64_t ticks = ipo_ticks() - begin;
        if (ticks < best)
            best = ticks;
    }
    munmap(stream, sizeof *stream);
    munmap(memory, 2 * TRC_CHUNK_SIZE);
    return best * 1024 / ROUNDS;
}

/* From here on the process is traced. */
static void run(void)
{
    static atomic_int runs;
    struct trc_head *head = ipo_process.writer.head;
    if (atomic_exchange(&runs, 1))
        return;
    head->call_cost_q10 = measure_cost();
    head->init_ticks = ipo_ticks();
    head->state = TRC_STATE_RUNNING;
    ipo_facts_start();
    ipo_guard_start(); /* the MPI library may have put a handler of its own in front */
    ipo_fatal_start();
    ipo_heartbeat_now(); /* the second anchor, some time after the first: now ticks can be turned into time */
}

/* MPI_COMM_WORLD is there.  A session before it may have brought threads that know nothing of the level asked for. */
static void learn_world(struct trc_head *head, bool after_session)
{
    typedef uintptr_t w;
    int level = -1;
    ((int (*)(w, int *))ipo_own[IPO_Comm_rank])(ipo_abi.comm_world, &head->rank);
    ((int (*)(w, int *))ipo_own[IPO_Comm_size])(ipo_abi.comm_world, &head->world_size);
    if (ipo_own[IPO_Query_thread] && !((int (*)(int *))ipo_own[IPO_Query_thread])(&level))
        head->thread_level = level > 3 ? level / 1024 - (level >= 4096 ? 1 : 0) : level;
    ipo_process.concurrent = after_session || head->thread_level < 0 || head->thread_level > 2;
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

void ipo_process_ready(void)
{
    static atomic_int ready, world;
    atomic_fetch_add(&inits, 1);
    struct trc_head *head = ipo_process.writer.head;
    bool again = atomic_exchange(&ready, 1);
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
    run();
    ipo_patch_slots(); /* what MPI itself has loaded */
    ipo_loads_live();
}

#define PATIENCE 20000
static void start_nccl(int rank, int size)
{
    struct trc_head *head = ipo_process.writer.head;
    bool launcher = head->rank >= 0 && head->world_size > head->rank;
    if (!launcher) {
        head->rank = rank;
        head->world_size = size;
    }
    live();
    run();
    ipo_loads_live();
    ipo_fact("rank", launcher ? "from the environment" : "from the first NCCL communicator");
    arm_nccl();
}

bool ipo_process_start_nccl(int rank, int size, uint64_t hash)
{
    static atomic_int started_here; /* 2: it is over */
    int fresh = 0;
    if (!atomic_compare_exchange_strong(&started_here, &fresh, 1)) {
        /* A thread for each GPU: their first communicators come at once. */
        for (int tries = 0; tries < PATIENCE && atomic_load(&started_here) == 1; tries++)
            sched_yield();
        return *ipo_told_armed != 0;
    }
    bool good = is_wanted() && ipo_arm_page() && begin(size, hash);
    if (good)
        start_nccl(rank, size);
    atomic_store(&started_here, 2);
    return good;
}

void ipo_process_ending(void)
{
    ipo_process.writer.head->end_ticks = ipo_ticks();
}

void ipo_process_finalized(void)
{
    if (atomic_fetch_sub(&inits, 1) > 1)
        return; /* a session has ended, not the last */
    struct trc_head *head = ipo_process.writer.head;
    ipo_cupti_stop();
    ipo_sites_resolve();
    ipo_fatal_stop();
    ipo_heartbeat_stop();
    if (!atomic_load(&ipo_process.writer.stopped))
        head->state = TRC_STATE_FINALIZED;
    trc_writer_trim(&ipo_process.writer);
}

/* A hint, where exit() runs it: the program left by itself.  Nothing relies on it. */
__attribute__((destructor)) static void unload(void)
{
    struct trc_head *head = *ipo_armed || *ipo_told_armed ? ipo_process.writer.head : NULL;
    if (atomic_load(&ipo_process.writer.stopped) && ipo_process.pid == (uint32_t)getpid())
        ipo_heartbeat_file(); /* it may not have come to it yet */
    if (!head || head->state != TRC_STATE_RUNNING)
        return;
    if (!*ipo_armed) { /* NCCL has no Finalize: this is it */
        atomic_store(&inits, 1);
        ipo_process_ending();
        ipo_process_finalized();
        return;
    }
    head->end_ticks = ipo_ticks();
    head->flags |= TRC_HEAD_EXITED;
}

void ipo_process_aborting(int code)
{
    struct trc_head *head = ipo_process.writer.head;
    head->end_ticks = ipo_ticks();
    head->abort_code = code;
    head->state = TRC_STATE_ABORTED;
    ipo_sites_resolve();
}
