/* The modes of the terminal are restored wherever Ctrl-C meets the program, and are not changed from the background. */
#include "tests/support/check.h"
#include "tui/term/out.h"
#include "tui/term/term.h"

#include <dlfcn.h>
#include <pty.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

enum { MOST = 50 };
static int calls, interrupted; /* changes of the modes so far; the one that SIGINT follows, 0: none */

int tcsetattr(int fd, int when, const struct termios *modes)
{
    int (*real)(int, int, const struct termios *) =
        (int (*)(int, int, const struct termios *))(uintptr_t)dlsym(RTLD_NEXT, "tcsetattr");
    int result = real(fd, when, modes);
    if (++calls == interrupted)
        raise(SIGINT);
    return result;
}

/* Shows a screen once and ends: 0, or 3 where the screens cannot be shown, 4 where nobody set a mode. */
static int show_once(void)
{
    struct tui_term term;
    struct tui_grid grid = {0};
    char error[200];
    if (!tui_term_curses(&term, TUI_COLOUR_AUTO, true, error, sizeof error))
        return 3;
    tui_grid_resize(&grid, 80, 24);
    tui_grid_clear(&grid);
    term.ops->show(term.data, &grid, false);
    term.ops->close(term.data);
    tui_grid_free(&grid);
    return calls ? 0 : 4;
}

/* Leads a session on the terminal whose program begins in the background, and brings it to the foreground once it was
 * stopped there.  Returns the program's exit status; 5: it was not stopped, 6: the modes had changed. */
static int begin_behind(const struct termios *before)
{
    struct termios meanwhile;
    int status;
    pid_t program = fork();
    if (program == 0) {
        setpgid(0, 0);
        tcsetpgrp(STDIN_FILENO, getppid()); /* the session's leader */
        signal(SIGTTOU, SIG_DFL);
        _exit(show_once());
    }
    setpgid(program, program);
    if (waitpid(program, &status, WUNTRACED) != program || !WIFSTOPPED(status))
        return 5;
    tcgetattr(STDIN_FILENO, &meanwhile);
    if (memcmp(before, &meanwhile, sizeof meanwhile) != 0)
        return kill(program, SIGKILL), 6;
    tcsetpgrp(STDIN_FILENO, program);
    kill(program, SIGCONT);
    waitpid(program, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 7;
}

/* Runs a program in a fresh terminal.  True: the modes are restored afterwards. */
static bool run_once(int interrupt_at, bool behind, int *status)
{
    struct termios before, after;
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    int master, slave;
    if (openpty(&master, &slave, NULL, NULL, &size) != 0)
        exit(77);
    tcgetattr(slave, &before);
    pid_t child = fork();
    if (child == 0) {
        close(master);
        if (login_tty(slave) != 0)
            _exit(8);
        signal(SIGTTOU, SIG_IGN); /* ignored by a session's leader, such as a shell */
        signal(SIGINT, SIG_DFL);  /* a shell ignores it for its background jobs */
        interrupted = interrupt_at;
        _exit(behind ? begin_behind(&before) : show_once());
    }
    waitpid(child, status, 0); /* all output fits into the terminal's buffer */
    tcgetattr(slave, &after);
    close(slave);
    close(master);
    return memcmp(&before, &after, sizeof after) == 0;
}

int main(void)
{
    int status = 0, moments = 0;
    setenv("TERM", "vt100", 1);
    CHECK(run_once(0, false, &status) && status == 0, "status %#x", (unsigned)status);
    for (int at = 1; at < MOST; at++) {
        CHECK(run_once(at, false, &status), "Ctrl-C after change %d of the modes", at);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            break; /* it ended before that change */
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1, "change %d: status %#x", at, (unsigned)status);
        moments++;
    }
    CHECK(moments > 0 && moments < MOST - 1, "%d moments", moments);
    CHECK(run_once(0, true, &status) && status == 0, "from the background: status %#x", (unsigned)status);
    return check_result();
}
