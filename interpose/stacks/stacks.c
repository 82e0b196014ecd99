/* A snapshot of all threads: their stacks, with names. */
#include "interpose/stacks/stacks.h"
#include "interpose/stacks/stacks_impl.h"
#include "interpose/load/modules.h"
#include "interpose/base/safe_read.h"
#include "interpose/base/text.h"
#include "interpose/core/state.h"
#include "interpose/base/children.h"
#include "interpose/base/procfs.h"
#include "interpose/sites/python.h"
#include "interpose/load/symbols.h"
#include "interpose/mpi/thread.h"
#include "interpose/core/own.h"
#include "trace/writer/now.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS     TRC_MAX_THREADS
#define FRAMES      64u
#define NAMES       4096u
#define TRIES       64u
#define SAMPLES     40u        /* registers of a thread that runs are asked for so often */
#define NAMING_NS   3000000000 /* names of one snapshot: afterwards only addresses are written */
#define SAMPLING_NS 500000000  /* registers of all threads that run, in one snapshot: the heart beats behind it */

static struct trc_stack_place place[TRC_STACK_REASONS];
static uint32_t snapshots;

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* The text of one thread.  A line that does not fit is left out whole. */
static char text[TRC_STACK_TEXT];
static size_t used;

static void add_line(const char *first, const char *const *fields)
{
    size_t before = used;
    for (;; first = *fields++) {
        for (const char *c = first; *c && used < sizeof text; c++)
            text[used++] = *c == '\n' || *c == '\t' ? '?' : *c;
        if (used >= sizeof text) {
            used = before;
            return;
        }
        text[used++] = *fields ? '\t' : '\n';
        if (!*fields)
            return;
    }
}

/* Names that were found, by address; modules rarely change. */
static struct {
    uint64_t address;
    char function[248]; /* a C++ name that is cut cannot be demangled */
} names[NAMES];
static uint64_t naming_ends, sampling_ends;

static const char *find_function(uint64_t address, const struct ipo_module *module)
{
    unsigned at = (unsigned)(address * 0x9e3779b97f4a7c15u >> 52) % NAMES;
    if (names[at].address == address)
        return names[at].function;
    if (trc_now_ns() > naming_ends)
        return "?";
    char name[400];
    /* A return address may be behind the last instruction of its function. */
    uint64_t into = ipo_symbol_of(module->path, address - 1 - module->begin, name, sizeof name, NULL);
    struct ipo_text found = {0};
    name[sizeof names[at].function - 24] = 0;
    if (into != UINT64_MAX)
        ipo_text_add_place(&found, name, into + 1);
    ipo_copy(names[at].function, sizeof names[at].function, found.used ? found.text : "?");
    names[at].address = address;
    return names[at].function;
}

static void put_native(uint64_t address)
{
    const struct ipo_module *module = ipo_module_of(address);
    uint64_t ours = (uint64_t)(uintptr_t)&ipo_stacks_write;
    if (module && module->code_begin <= ours && ours < module->code_end)
        return; /* our wrappers between program and MPI are not shown */
    struct ipo_text where = {0};
    ipo_text_add_place(&where, module ? module->path : "", module ? address - module->begin : address);
    add_line("native", (const char *const[]){module ? find_function(address, module) : "?", where.text + !module, 0});
}

/* ---- one thread -------------------------------------------------------------------------------------------------- */

struct walk {
    uint64_t address[FRAMES];
    unsigned count, handler; /* number of frames; number of the handler's among them */
    uint16_t flags;
    int32_t signal; /* signal whose handler the thread is in; 0: none, or one from outside */
};

static bool is_error(int32_t signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGABRT;
}

static bool has_info(int32_t signal)
{
    struct sigaction action;
    return !sigaction(signal, NULL, &action) && action.sa_flags & SA_SIGINFO;
}

/* Returns the number of the signal whose handler returns with this stack pointer; 0: another process sent it, or it is
 * not known.  The kernel stores information for those handlers only that want it. */
static int32_t own_signal(uint64_t sp)
{
    const struct trc_end *end = &ipo_process.writer.head->end;
    const bool fatal = end->by == TRC_END_SIGNAL; /* the handler may be gone */
    siginfo_t info = {0};
    if (ipo_safe_read(sp + IPO_STACK_TO_SIGINFO, &info, sizeof info) && info.si_signo > 0 && info.si_signo < NSIG &&
        (info.si_signo == end->signal || (!fatal && !end->signal)) && (fatal || has_info(info.si_signo))) {
        bool sent = info.si_code <= 0 && info.si_code != SI_TIMER;
        return sent && (uint32_t)info.si_pid != ipo_process.pid ? 0 : info.si_signo;
    }
    return !fatal && (is_error(end->signal) || end->signal == SIGALRM) ? end->signal : 0;
}

static void walk_frames(struct ipo_cursor *at, struct walk *out)
{
    bool ended = false;
    uint64_t sp = 0;
    do {
        if (out->count && at->exact) {
            out->flags |= TRC_STACK_IN_HANDLER;
            out->signal = own_signal(sp);
            out->handler = out->count;
        }
        sp = at->reg[IPO_REG_SP];
        out->address[out->count++] = at->exact ? at->pc + 1 : at->pc; /* named by address - 1, like a return address */
    } while (out->count < FRAMES && ipo_unwind_step(at, &ended));
    if (!ended)
        out->flags |= TRC_STACK_SHORT;
    if (at->guessed)
        out->flags |= TRC_STACK_GUESSED;
}

/* The caller of the MPI function that the thread is inside: its wrapper's frame is known. */
static bool find_caller(uint32_t tid, struct ipo_cursor *out)
{
    const struct ipo_thread *thread = ipo_thread_of(tid);
    uint64_t outer = thread ? ipo_safe_read_word((uint64_t)(uintptr_t)&thread->outer) : 0, word[IPO_FRAME_WORDS],
             mark = outer ? ipo_safe_read_word(outer) : 0; /* first word: the address of the stack frame */
    if (!mark || !ipo_safe_read(mark, word, sizeof word) || word[IPO_FRAME_RETURN] != thread->outer_site)
        return false;
    *out = ipo_cursor_above(mark, word);
    return true;
}

/* The frames of a running thread from where it is now, inside a call up to its `caller`; 0: outside calls.  False: they
 * are not known. */
static bool walk_running(uint32_t tid, uint64_t caller, struct walk *out)
{
    struct ipo_sampler sampler;
    struct ipo_cursor at;
    bool found = false;
    if (trc_now_ns() >= sampling_ends || !ipo_sampler_open(&sampler, tid))
        return false;
    for (unsigned tries = 0; tries < SAMPLES && !found && trc_now_ns() < sampling_ends; tries++) {
        *out = (struct walk){0};
        if (ipo_sampler_next(&sampler, &at))
            walk_frames(&at, out);
        found = !caller && out->count && !(out->flags & TRC_STACK_SHORT);
        for (unsigned i = 1; caller && i < out->count; i++)
            found |= out->address[i] == caller;
    }
    ipo_sampler_close(&sampler);
    if (!found)
        *out = (struct walk){0};
    return found;
}

/* The frames of a running thread or, where the kernel samples none, those above the call that it is inside.  It gets no
 * signal, which would end a system call that it enters meanwhile. */
static void walk_from_call(const struct ipo_task *task, struct walk *out)
{
    bool runs = task->running || task->state == 'R';
    struct ipo_cursor at, again;
    bool found = false;
    for (unsigned tries = 0; tries < (runs ? TRIES : 1) && !(found = find_caller(task->tid, &at)); tries++)
        syscall(SYS_sched_yield); /* one that polls enters its next call soon */
    const bool sampled = runs && walk_running(task->tid, found ? at.pc : 0, out);
    out->flags |= runs ? TRC_STACK_RUNNING : 0;
    if (sampled)
        return;
    if (found) {
        again = at;
        walk_frames(&at, out);
        out->flags |= TRC_STACK_IN_CALL;
        found = find_caller(task->tid, &at) && at.pc == again.pc && at.reg[IPO_REG_FP] == again.reg[IPO_REG_FP];
    }
    if (!found)
        out->flags |= TRC_STACK_SHORT;
}

static void walk_thread(const struct ipo_task *task, const struct ipo_crash *crash, struct walk *out)
{
    struct ipo_cursor at = {0};
    if (crash && crash->tid == task->tid) {
        at = crash->at;
        out->flags |= (uint16_t)(TRC_STACK_CRASHED | (crash->overflow ? TRC_STACK_OVERFLOW : 0));
        walk_frames(&at, out);
        if (is_error(out->signal) &&
            (!crash->signal || crash->signal == out->signal)) { /* the place of the error itself */
            out->count -= out->handler;
            memmove(out->address, out->address + out->handler, out->count * sizeof *out->address);
        }
        return;
    }
    if (task->placed && !task->running) {
        at.pc = task->pc;
        at.exact = true;
        ipo_cursor_set(&at, IPO_REG_SP, task->sp);
        walk_frames(&at, out);
        /* One that was woken meanwhile has left other frames there. */
        struct ipo_task again;
        if (ipo_task_read(task->tid, &again) && (again.sp != task->sp || again.pc != task->pc))
            out->flags |= TRC_STACK_SHORT;
        return;
    }
    walk_from_call(task, out);
}

/* Whether a thread may wait for a child process, for its end or its output. */
static bool may_wait_for_child(const char *on)
{
    static const char *const waits[] = {"wait()", "poll()", "select()", "read() on pipe:"};
    for (unsigned i = 0; i < sizeof waits / sizeof *waits; i++)
        if (strncmp(on, waits[i], strlen(waits[i])) == 0)
            return true;
    return false;
}

static void add_thread(struct trc_def_stack def, uint32_t snapshot, uint32_t tid, const struct ipo_crash *crash)
{
    static const char asleep[] = "sleep of a child process";
    static char on[700];
    static struct walk walked;
    struct ipo_task task;
    if (!ipo_task_read(tid, &task))
        return;
    /* A thread that was leaving or entering a system call is read again: where it settles says more. */
    for (int tries = 0; tries < 3 && !task.placed && task.state == 'S' && ipo_task_read(tid, &task); tries++)
        ;
    ipo_task_on(&task, on, sizeof on);
    if (may_wait_for_child(on) && ipo_children_sleep((uint32_t)getpid()))
        memcpy(on, asleep, sizeof asleep);
    memset(&walked, 0, sizeof walked);
    used = 0;
    walk_thread(&task, crash, &walked);
    add_line("name", (const char *const[]){task.name, 0});
    if (crash && crash->tid == tid) {
        on[0] = 0; /* the crashed thread waits for us in its handler */
        task.state = 'R';
        task.call = -1;
    }
    if (on[0])
        add_line("on", (const char *const[]){on, 0});
    bool gil = false;
    ipo_python_stack(tid, &gil, add_line);
    for (unsigned i = 0; i < walked.count; i++)
        put_native(walked.address[i]);
    def.signal = def.signal ? def.signal : walked.signal;
    def.state = task.state;
    def.call = task.call;
    def.flags = (uint16_t)(walked.flags | (tid == (uint32_t)getpid() ? TRC_STACK_MAIN : 0) | (gil ? TRC_STACK_GIL : 0));
    trc_writer_stack(&ipo_process.writer, &place[def.reason], snapshot, tid, 0, &def, text, used);
}

/* ---- a snapshot -------------------------------------------------------------------------------------------------- */

void ipo_stacks_write(enum trc_stack_reason reason, const char *why, uint64_t request_ns, const struct ipo_crash *crash)
{
    static uint32_t tid[THREADS];
    unsigned all, count = ipo_tasks(tid, THREADS, &all);
    uint32_t snapshot = ++snapshots;
    struct trc_def_stack def = {.reason = (uint8_t)reason, .state = '?', .call = -1};
    def.signal = crash ? crash->signal : 0;
    ipo_modules_read();
    ipo_python_begin(tid, count);
    naming_ends = trc_now_ns() + NAMING_NS;
    sampling_ends = trc_now_ns() + SAMPLING_NS;
    if (crash)
        add_thread(def, snapshot, crash->tid, crash);
    for (unsigned i = 0; i < count && reason != TRC_STACK_EXIT; i++)
        if (!ipo_is_own(tid[i]) && (!crash || tid[i] != crash->tid))
            add_thread(def, snapshot, tid[i], crash);
    used = 0;
    add_line("why", (const char *const[]){why, 0});
    def.flags = TRC_STACK_CLOSING;
    def.count = all;
    trc_writer_stack(&ipo_process.writer, &place[reason], snapshot, 0, request_ns, &def, text, used);
}
