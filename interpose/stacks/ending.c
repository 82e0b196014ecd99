#include "interpose/stacks/stacks_impl.h"
#include "interpose/stacks/fatal.h"
#include "interpose/stacks/handler.h"
#include "interpose/base/procfs.h"
#include "interpose/base/safe_read.h"
#include "interpose/base/text.h"
#include "interpose/core/state.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

static atomic_flag noted = ATOMIC_FLAG_INIT;
static void (*real_quick_exit)(int); /* newer than the glibc that must do */
static const void *abort_message;    /* glibc's pointer to its last words; NULL: it has none */

/* Returns the end of a process that MPI_Finalize has left; NULL: of another. */
static struct trc_end *late_end(void)
{
    struct trc_head *head = ipo_process.pid == (uint32_t)syscall(SYS_getpid) ? ipo_process.writer.head : NULL;
    return head && head->state == TRC_STATE_FINALIZED ? &head->end : NULL;
}

static struct trc_end *this_end(void)
{
    /* Not of a forked child, also after vfork; not after MPI_Finalize. */
    bool ours = *ipo_armed && ipo_process.pid == (uint32_t)syscall(SYS_getpid);
    struct trc_head *head = ours ? ipo_process.writer.head : NULL;
    return head && (head->state == TRC_STATE_RUNNING || head->state == TRC_STATE_ABORTED) ? &head->end : NULL;
}

static void write_note(struct trc_end *end, enum trc_end_by by)
{
    end->ticks = ipo_ticks();
    __atomic_store_n(&end->by, (uint32_t)by, __ATOMIC_RELEASE);
}

/* Returns the number of processes of this host that the kernel has killed for memory; 0 where it does not say. */
static uint64_t read_memory_kills(void)
{
    static char text[16384];
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    uint64_t kills = 0;
    if (atomic_flag_test_and_set(&busy))
        return 0;
    const char *at = ipo_read_file("/proc/vmstat", text, sizeof text) ? strstr(text, "\noom_kill ") : NULL;
    for (at = at ? at + 10 : ""; *at >= '0' && *at <= '9'; at++)
        kills = kills * 10 + (uint64_t)(*at - '0');
    atomic_flag_clear(&busy);
    return kills;
}

/* libc keeps what assert and its own checks have said before abort: a size, then the text. */
static void copy_abort_message(char *out, size_t size)
{
    uint64_t at = abort_message ? ipo_safe_read_word((uint64_t)(uintptr_t)abort_message) : 0;
    size_t n = at ? ipo_safe_read_some(at + sizeof(unsigned), out, size - 1) : 0;
    out[n] = 0;
    out[strcspn(out, "\n")] = 0;
}

static void copy_sender(struct trc_end *end, uint32_t pid)
{
    char path[40] = "/proc/", digits[12];
    size_t n = sizeof digits;
    end->sender = pid;
    digits[--n] = 0;
    for (uint32_t rest = pid; rest; rest /= 10)
        digits[--n] = (char)('0' + rest % 10);
    ipo_copy(path + 6, sizeof path - 6, digits + n);
    size_t used = strlen(path);
    ipo_copy(path + used, sizeof path - used, "/comm");
    ipo_read_file(path, end->sender_name, sizeof end->sender_name);
}

bool ipo_ending_signal(int number, const siginfo_t *info)
{
    struct trc_end *end = this_end();
    end = end ? end : late_end();
    if (!end || atomic_flag_test_and_set(&noted))
        return false;
    end->signal = number;
    /* The sender may be this process; of a SIGPIPE the kernel says that, too. */
    bool sent = info && info->si_code <= 0 && info->si_pid > 0;
    if (sent && (number != SIGPIPE || (uint32_t)info->si_pid != ipo_process.pid))
        copy_sender(end, (uint32_t)info->si_pid);
    if (number == SIGABRT)
        copy_abort_message(end->message, sizeof end->message);
    end->memory_kills = read_memory_kills();
    write_note(end, TRC_END_SIGNAL);
    return true;
}

void ipo_ending_watch(uint64_t signals)
{
    __atomic_store_n(&ipo_process.writer.head->end.watched, signals, __ATOMIC_RELAXED);
}

/* ---- exit and the like ------------------------------------------------------------------------------------------- */

/* Returns the signal in whose handler, the program's own, this thread is: it blocks just the signals that the kernel
 * blocks for that handler.  0: none, or not known. */
static int handled_signal(void)
{
    static const int ending[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
                                 SIGSEGV, SIGBUS, SIGFPE, SIGILL,  SIGABRT, SIGALRM};
    enum { N = sizeof ending / sizeof *ending };
    struct sigaction action[N];
    sigset_t blocked;
    if (sigprocmask(SIG_BLOCK, NULL, &blocked))
        return 0;
    for (int i = 0; i < N; i++)
        if (sigaction(ending[i], NULL, &action[i]))
            return 0;
    for (int i = 0; i < N; i++) {
        bool fits = !ipo_action_is(&action[i], SIG_DFL) && !ipo_action_is(&action[i], SIG_IGN);
        for (int k = 0; k < N && fits; k++)
            fits = sigismember(&blocked, ending[k]) == (k == i || sigismember(&action[i].sa_mask, ending[k]) == 1);
        if (fits)
            return ending[i];
    }
    return 0;
}

/* Stores the code of a process that ends after MPI_Finalize: a launcher ends the others for it. */
static void note_late_exit(enum trc_end_by by, int code)
{
    struct trc_end *end = late_end();
    if (!end || !(code & 0xff) || atomic_flag_test_and_set(&noted))
        return;
    end->code = code & 0xff;
    write_note(end, by);
}

/* Takes the stack above a wrapper; `frame`: address of the wrapper's frame. */
static void record_exit(const char *why, const uint64_t *frame)
{
    const struct ipo_crash here = {.tid = (uint32_t)syscall(SYS_gettid),
                                   .at = ipo_cursor_above((uint64_t)(uintptr_t)frame, frame)};
    ipo_fatal_record(TRC_STACK_EXIT, why, &here);
}

static void note_exit(enum trc_end_by by, int code, const uint64_t *frame)
{
    int kept = errno;
    struct trc_end *end = this_end();
    bool finished = end && ipo_process.writer.head->flags & TRC_HEAD_NO_SESSION;
    if (finished && (by == TRC_END_EXIT_NOW || by == TRC_END_QUICK)) /* no destructor runs, which would store it */
        ipo_process.writer.head->state = TRC_STATE_FINALIZED;
    if (end && !finished && !atomic_flag_test_and_set(&noted)) {
        end->code = code;
        end->signal = handled_signal();
        write_note(end, by);
        record_exit("left without MPI_Finalize", frame);
    }
    if (!end)
        note_late_exit(by, code);
    errno = kept;
}
#define NOTE_EXIT(by, code) note_exit(by, code, IPO_FRAME_HERE)

void ipo_ending_aborted(void)
{
    int kept = errno;
    const uint64_t *frame = IPO_FRAME_HERE;
    struct trc_end *end = this_end();
    const int signal = end ? handled_signal() : 0;
    if (signal && !atomic_flag_test_and_set(&noted)) {
        end->signal = signal;
        record_exit("MPI_Abort in a signal's handler", frame);
    }
    errno = kept;
}

void ipo_ending_printed(const char *text)
{
    const uint64_t *frame = IPO_FRAME_HERE;
    struct trc_end *end = strstr(text, "Fatal error in ") ? this_end() : NULL;
    if (!end || atomic_flag_test_and_set(&noted))
        return;
    const char *last = text; /* MPICH's line about the innermost function has the reason */
    for (const char *line = text; line; line = strchr(line, '\n'))
        last = *(line += *line == '\n') ? line : last;
    const char *reason = strstr(last, ": ");
    ipo_copy(end->message, sizeof end->message, reason ? reason + 2 : last);
    end->message[strcspn(end->message, "\n")] = 0;
    write_note(end, TRC_END_EXIT);
    record_exit("ended by the MPI library", frame);
}

static void leave(int code)
{
    NOTE_EXIT(TRC_END_EXIT, code);
    exit(code);
}

static void leave_now(int code)
{
    NOTE_EXIT(TRC_END_EXIT_NOW, code);
    _exit(code);
}

static void find_quick_exit(void)
{
    real_quick_exit = (void (*)(int))(uintptr_t)dlsym(RTLD_DEFAULT, "quick_exit");
}

static void leave_quickly(int code)
{
    NOTE_EXIT(TRC_END_QUICK, code);
    if (!real_quick_exit)
        find_quick_exit();
    real_quick_exit(code);
}

/* Called by exit(), before the destructors: nobody has noted it, so main has returned, or its caller was not seen. */
static void exit_runs(int code, void *unused)
{
    (void)unused;
    NOTE_EXIT(TRC_END_RETURN, code);
}

void (*ipo_ending_wrapper_of(enum ipo_libc row))(void)
{
    typedef void (*function)(void);
    return row == IPO_LIBC_exit                             ? (function)leave
           : row == IPO_LIBC__exit || row == IPO_LIBC__Exit ? (function)leave_now
           : row == IPO_LIBC_quick_exit                     ? (function)leave_quickly
                                                            : NULL;
}

void ipo_ending_start(void)
{
    /* Looked up by name: other libcs lack these, and would refuse to load libtrace.so. */
    int (*tell_exit)(void (*)(int, void *), void *) =
        (int (*)(void (*)(int, void *), void *))(uintptr_t)dlsym(RTLD_DEFAULT, "on_exit");
    if (tell_exit)
        tell_exit(exit_runs, NULL);
    find_quick_exit();
    abort_message = dlsym(RTLD_DEFAULT, "__abort_msg");
    ipo_process.writer.head->end.memory_before = read_memory_kills();
}
