/* Whether a child process sleeps, or a child of one, by what the kernel says. */
#include "interpose/base/children.h"
#include "tests/support/check.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct timespec hour = {3600, 0}, moment = {0, 10000000};

/* Waits until it is found, for 10 s at most. */
static bool found_asleep(void)
{
    bool asleep = false;
    for (int i = 0; i < 1000 && !(asleep = ipo_children_sleep((uint32_t)getpid())); i++)
        nanosleep(&moment, NULL);
    return asleep;
}

static void check_child(const char *what, bool sleeps, bool below)
{
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        if (below && fork())
            pause();
        if (sleeps)
            nanosleep(&hour, NULL);
        pause();
    }
    setpgid(child, child);
    nanosleep(&moment, NULL);
    CHECK((sleeps ? found_asleep() : ipo_children_sleep((uint32_t)getpid())) == sleeps, "%s", what);
    kill(-child, SIGKILL);
    waitpid(child, NULL, 0);
}

int main(void)
{
    CHECK(!ipo_children_sleep((uint32_t)getpid()), "no child");
    check_child("a child that waits for a signal", false, false);
    if (access("/proc/thread-self/children", R_OK) == 0) { /* CONFIG_PROC_CHILDREN */
        check_child("a child that sleeps", true, false);
        check_child("a child of a child that sleeps", true, true);
    }
    return check_result();
}
