/* handed HOW [FLAG ..]: a signal whose handler was there before MPI_Init, in a library (-DLIBRARY) that stands in for
 * the MPI library's.  HOW is segv, abort, kill or queue; a FLAG is plain (without SA_SIGINFO), reset, nodefer, onstack,
 * mask, again (the handler faults), or after, restore, signal: the program's own handler, put there after MPI_Init,
 * which calls or restores the former handler. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

extern void stand_in(int number, int flags, int again, char *stack, size_t size);

static const char *object_of(const void *address)
{
    Dl_info info = {0};
    const char *slash = dladdr(address, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    return info.dli_sname && !strcmp(info.dli_sname, "crash_here") ? "crash_here" : slash ? slash + 1 : "?";
}

#ifdef LIBRARY
static int fails, turn, with_info;
static char *begin, *end;

static void handler(int number, siginfo_t *info, void *context)
{
    char line[512], here;
    sigset_t blocked;
    struct sigaction now;
#if defined(__x86_64__)
    void *at = (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#else
    void *at = (void *)((ucontext_t *)context)->uc_mcontext.pc;
#endif
    const siginfo_t nothing = {0};
    const siginfo_t *told = with_info ? info : &nothing; /* the kernel fills it in only for SA_SIGINFO */
    const char *from = told->si_code > 0          ? (told->si_addr == (void *)8 ? "at 8" : "elsewhere")
                       : told->si_pid == getpid() ? "me"
                                                  : "?";
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    sigaction(number, NULL, &now);
    int n = snprintf(line, sizeof line,
                     "%d code %d %s, in %s, called by %s, on stack %d, blocked %d %d, default %d, flags %x\n", number,
                     told->si_code, from, object_of(at), object_of(__builtin_return_address(0)),
                     &here >= begin && &here < end, sigismember(&blocked, number), sigismember(&blocked, SIGUSR1),
                     now.sa_handler == SIG_DFL, (unsigned)now.sa_flags & 0x7fffffff);
    if (write(STDOUT_FILENO, line, (size_t)n) < 0 || ++turn == 3)
        _exit(9);
    if (fails)
        *(volatile int *)8 = 1;
}

void stand_in(int number, int flags, int again, char *stack, size_t size)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = flags & ~0x10000000};
    fails = again;
    with_info = flags & SA_SIGINFO;
    begin = stack;
    end = stack + size;
    if (flags & 0x10000000)
        sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(number, &action, NULL);
}
#else
static struct sigaction old;
static char room[65536];

static void own_handler(int number)
{
    char line[100];
    int n = snprintf(line, sizeof line, "old one is the default: %d\n", old.sa_handler == SIG_DFL);
    if (write(STDOUT_FILENO, line, (size_t)n) < 0)
        _exit(8);
    if (old.sa_handler == SIG_DFL)
        _exit(7);
    old.sa_handler(number);
    _exit(6);
}
static void restoring_handler(int number)
{
    sigaction(number, &old, NULL);
    raise(number);
}

__attribute__((noinline)) void crash_here(const char *how)
{
    if (!strcmp(how, "segv"))
        *(volatile int *)8 = 1;
    else if (!strcmp(how, "abort"))
        abort();
    else if (!strcmp(how, "kill"))
        kill(getpid(), SIGSEGV);
    else
        sigqueue(getpid(), SIGSEGV, (union sigval){.sival_int = 5});
}

int main(int argc, char **argv)
{
    int number = !strcmp(argv[1], "abort") ? SIGABRT : SIGSEGV, flags = SA_SIGINFO, again = 0;
    const char *after = "";
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "plain"))
            flags &= ~SA_SIGINFO;
        else if (!strcmp(argv[i], "again"))
            again = 1;
        else if (argv[i][0] == 'a' || !strcmp(argv[i], "restore") || !strcmp(argv[i], "signal"))
            after = argv[i];
        else
            flags |= !strcmp(argv[i], "reset")     ? (int)SA_RESETHAND
                     : !strcmp(argv[i], "nodefer") ? SA_NODEFER
                     : !strcmp(argv[i], "onstack") ? SA_ONSTACK
                                                   : 0x10000000;
    }
    sigaltstack(&stack, NULL);
    if (!after[0])
        stand_in(number, flags, again, room, sizeof room);
    MPI_Init(&argc, &argv);
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = !strcmp(after, "restore") ? restoring_handler : own_handler};
    if (!strcmp(after, "signal"))
        old.sa_handler = signal(number, own_handler);
    else if (after[0])
        sigaction(number, &action, &old);
    crash_here(argv[1]);
    MPI_Finalize();
    return 0;
}
#endif
