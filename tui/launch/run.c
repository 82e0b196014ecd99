#include "tui/launch/run.h"
#include "tui/launch/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals that are forwarded. */
static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

/* Starts the command; returns an errno if that fails. */
static int exec_plan(const struct tui_plan *plan)
{
    for (size_t i = 0; i < plan->settings; i++) {
        char *value = tui_setting_value(&plan->setting[i], false);
        if (!value || setenv(plan->setting[i].name, value, 1))
            return ENOMEM;
        free(value);
    }
    execvp(plan->words.word[0], plan->words.word);
    return errno;
}

/* Waits until a child has ended, forwards signals to it, and notes when the processes ended that record to the folder
 * (may be NULL). */
static void wait_for(pid_t child, const sigset_t *signals, const char *folder, int *status)
{
    const int pending = signalfd(-1, signals, SFD_CLOEXEC);
    struct tui_witness *witness = folder ? tui_witness_new(folder, pending) : NULL;
    siginfo_t info;
    while (waitpid(child, status, WNOHANG) != child) {
        if (witness)
            tui_witness_wait(witness);
        if (sigwaitinfo(signals, &info) < 0 || info.si_signo == SIGCHLD || info.si_code > 0)
            continue; /* si_code > 0: from the terminal, which sends it to the child, too */
        kill(child, info.si_signo);
        if (info.si_signo == SIGTSTP)
            raise(SIGSTOP);
    }
    tui_witness_free(witness);
    if (pending >= 0)
        close(pending);
}

int tui_run(const struct tui_plan *plan, const char *folder, int *status)
{
    sigset_t signals, before;
    struct sigaction usual = {.sa_handler = SIG_DFL}, inherited;
    int report[2], error = 0;
    if (pipe2(report, O_CLOEXEC))
        return errno;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        sigaddset(&signals, forwarded[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    sigaction(SIGCHLD, &usual, &inherited);
    pid_t self = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self)
            _exit(1);
        sigaction(SIGCHLD, &inherited, NULL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        error = exec_plan(plan);
        _exit(write(report[1], &error, sizeof error) == sizeof error ? 1 : 2);
    }
    error = child < 0 ? errno : 0;
    close(report[1]);
    if (child > 0 && read(report[0], &error, sizeof error) < 0) /* ends when the command is started */
        error = errno;
    close(report[0]);
    if (child > 0)
        wait_for(child, &signals, folder, status);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return error;
}

int tui_run_exit(int status)
{
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none); /* the command has dumped its own */
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}
