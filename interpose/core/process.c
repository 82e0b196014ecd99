/* The recording from its file to its end: where the trace goes, what its head says, when recording starts and stops. */
#include "interpose/core/process.h"
#include "interpose/base/bind.h"
#include "interpose/base/text.h"
#include "interpose/core/facts.h"
#include "interpose/core/filter.h"
#include "interpose/core/heartbeat.h"
#include "interpose/core/source.h"
#include "interpose/identity/identity.h"
#include "trace/format/version.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((used, section(TRC_VERSION_SECTION))) static const char version_mark[] = HPCTOP_VERSION;

static uint64_t read_ticks(void)
{
    return ipo_ticks();
}

/* The calls of all sources: each is defined in the file when it is made first. */
static void collect_calls(struct trc_writer *writer)
{
    static struct trc_call calls[IPO_ALL_CALLS];
    for (IPO_EACH_SOURCE(source)) {
        size_t end = (*source)->calls ? (*source)->calls(calls) : 0;
        writer->call_count = end > writer->call_count ? end : writer->call_count;
    }
    writer->calls = calls;
}
_Static_assert(IPO_ALL_CALLS <= TRC_WRITER_CALLS, "each call can be defined");

/* Makes the folder, which is the user's alone, and those above it, which nobody else may write to.  0 or an errno. */
static int make_folder(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int failed = mkdir(path, 0755) && errno != EEXIST;
        *slash = '/';
        if (failed)
            return errno;
    }
    return mkdir(path, 0700) && errno != EEXIST ? errno : 0;
}

/* Returns the reason why a folder may not be used; NULL: it may.  Others could have planted links in a folder that they
 * can write to.  Root may use the folder of the user who started a container. */
static const char *find_refusal(const char *path)
{
    struct stat is;
    uid_t user = geteuid();
    if (syscall(SYS_newfstatat, AT_FDCWD, path, &is, 0)) /* glibc's stat is newer than what we may need */
        return NULL;
    if (is.st_mode & (S_IWOTH | S_IWGRP))
        return " (others may write to this folder)";
    return is.st_uid != user && user != 0 ? " (this folder belongs to another user)" : NULL;
}

int ipo_process_folder(char *path, const char **refused)
{
    int error = path[0] ? make_folder(path) : ENAMETOOLONG;
    *refused = error ? NULL : find_refusal(path);
    return *refused ? EPERM : error;
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
    const char *refused;
    int error = ipo_process_folder(ipo_process.folder, &refused);
    if (refused) {
        ipo_text_add(&path, refused);
    } else if (!error) {
        bool reserves, local = ipo_is_local(ipo_process.folder, &reserves);
        ipo_process.write_back = !local || !reserves;
        if (!local)
            head->flags |= TRC_HEAD_WRITE_BACK;
        atomic_store(&ipo_process.writer.apart, local ? TRC_SHARED : TRC_APART_PAGES);
        ipo_process.writer.writes = ipo_filter_is_there();
        collect_calls(&ipo_process.writer);
        error = trc_writer_open(&ipo_process.writer, path.text, ipo_process.options.limit, head, read_ticks);
    }
    if (error && !refused) {
        ipo_text_add(&path, ": ");
        ipo_text_add(&path, ipo_errno_name(error));
    }
    ipo_log(error ? "not recording, cannot make " : "recording to ", path.text);
    return error;
}

bool ipo_process_wanted(void)
{
    ipo_bind();
    ipo_options_read(&ipo_process.options);
    if (ipo_process.options.disable || ipo_is_privileged()) {
        ipo_log("not recording: ", ipo_process.options.disable ? "HPCTOP_DISABLE=1" : "privileges differ");
        return false;
    }
    return true;
}

bool ipo_process_begin(int nccl_size, uint64_t nccl_hash)
{
    static atomic_int begun;
    int fresh = 0;
    if (!atomic_compare_exchange_strong(&begun, &fresh, 1))
        return fresh == 2 && ipo_process.pid == (uint32_t)getpid();
    ipo_clock_is_tsc = ipo_tsc_is_good();
    static struct trc_head head;
    head.state = TRC_STATE_STARTING;
    head.clock_source = ipo_clock_is_tsc ? TRC_CLOCK_TSC : TRC_CLOCK_MONOTONIC;
    head.thread_level = -1;
    ipo_identity(&head, ipo_process.folder, sizeof ipo_process.folder, ipo_process.options.dir,
                 ipo_process.options.image, nccl_size, nccl_hash);
    if (open_file(&head))
        return false;
    ipo_process.pid = (uint32_t)getpid();
    IPO_ASK_SOURCES(begun);
    atomic_store(&begun, 2);
    ipo_process.writer.head->patched_slots = ipo_process.patched;
    return true;
}

uint32_t ipo_process_arming(bool python)
{
    bool general = (IPO_HAS_TSC && !ipo_clock_is_tsc) || (python && ipo_process.options.python);
    return general ? IPO_ARMED_CAREFULLY : IPO_ARMED;
}

void ipo_process_live(void)
{
    static atomic_int lives;
    if (atomic_exchange(&lives, 1))
        return;
    IPO_ASK_SOURCES(live);
    ipo_heartbeat_anchor();
}

/* Measures what recording one call costs on the fast path, with a stream that is not part of the file. */
static uint64_t measure_cost(void)
{
    enum { ROUNDS = 512, PAGE = 4 * TRC_BLOCK, EVENTS = 64 * TRC_BLOCK };
    static struct trc_writer nowhere;
    struct trc_stream *stream =
        mmap(NULL, sizeof *stream, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *memory =
        mmap(NULL, PAGE + EVENTS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if ((void *)stream == MAP_FAILED || memory == MAP_FAILED)
        return 0;
    stream->page = (struct trc_page *)(void *)memory;
    stream->piece = &stream->page->chunk;
    stream->entry_at = (unsigned char *)(stream->page + 1);
    stream->entry_stop = (unsigned char *)memory + PAGE;
    stream->chunk = (struct trc_chunk *)(void *)(memory + PAGE);
    stream->at = (unsigned char *)(stream->chunk + 1);
    stream->stop = (unsigned char *)stream->chunk + EVENTS - TRC_STREAM_ROOM;
    stream->epoch = 1;
    stream->writer = &nowhere;
    stream->late = stream->overflow_row.histogram;
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
    munmap(memory, PAGE + EVENTS);
    return best * 1024 / ROUNDS;
}

void ipo_process_run(void)
{
    static atomic_int runs;
    struct trc_head *head = ipo_process.writer.head;
    if (atomic_exchange(&runs, 1))
        return;
    head->call_cost_q10 = measure_cost();
    head->init_ticks = ipo_ticks();
    head->state = TRC_STATE_RUNNING;
    ipo_facts_start();
    IPO_ASK_SOURCES(run);
    if (ipo_filter_is_there())
        ipo_filter_prepare(true);
    ipo_heartbeat_start();
}

void ipo_process_ending(void)
{
    ipo_process.writer.head->end_ticks = ipo_ticks();
}

void ipo_process_end(void)
{
    struct trc_head *head = ipo_process.writer.head;
    IPO_ASK_SOURCES(stop);
    ipo_heartbeat_end(true);
    if (!atomic_load(&ipo_process.writer.stopped))
        head->state = TRC_STATE_FINALIZED;
    if (!atomic_load(&ipo_process.writer.apart)) /* our own thread could not do it in time */
        trc_writer_trim(&ipo_process.writer);
}

void ipo_process_pause(void)
{
    __atomic_or_fetch(&ipo_process.writer.head->flags, TRC_HEAD_NO_SESSION, __ATOMIC_RELAXED);
    ipo_heartbeat_end(false);
}

void ipo_process_resume(void)
{
    struct trc_head *head = ipo_process.writer.head;
    const uint32_t paused = TRC_HEAD_NO_SESSION;
    head->end_ticks = 0;
    if (!(__atomic_fetch_and(&head->flags, ~paused, __ATOMIC_RELAXED) & paused))
        return;
    trc_writer_untrim(&ipo_process.writer);
    ipo_heartbeat_start();
}

void ipo_process_abort(int code)
{
    struct trc_head *head = ipo_process.writer.head;
    head->end_ticks = ipo_ticks();
    head->abort_code = code;
    head->state = TRC_STATE_ABORTED;
}

/* Notes that the program left by exit().  Nothing relies on it. */
__attribute__((destructor)) static void unload(void)
{
    struct trc_head *head = *ipo_armed || *ipo_profiler_armed ? ipo_process.writer.head : NULL;
    if (atomic_load(&ipo_process.writer.stopped) && ipo_process.pid == (uint32_t)getpid())
        ipo_heartbeat_file(); /* the heartbeat may not have done it yet */
    if (!head || head->state != TRC_STATE_RUNNING)
        return;
    bool paused = head->flags & TRC_HEAD_NO_SESSION;
    if (!*ipo_armed || paused) { /* NCCL has no Finalize, and any session may be the last: recording ends here */
        if (!paused)
            ipo_process_ending();
        ipo_process_end();
        return;
    }
    head->end_ticks = ipo_ticks();
    head->flags |= TRC_HEAD_EXITED;
}
