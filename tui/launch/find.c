/* Finds programs and libtrace.so, and asks programs for their version. */
#include "tui/launch/record.h"
#include "trace/util/now.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool can_run(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

bool tui_find_program(const char *word, char *path, size_t size)
{
    if (strchr(word, '/')) {
        snprintf(path, size, "%s", word);
        return can_run(path);
    }
    const char *from = getenv("PATH");
    for (const char *at = from ? from : "/usr/bin:/bin"; *word && at; at = *at ? at + 1 : NULL) {
        size_t n = strcspn(at, ":");
        snprintf(path, size, "%.*s%s%s", (int)n, at, n ? "/" : "./", word);
        if (can_run(path))
            return true;
        at += n;
    }
    return false;
}

int tui_ask(const char *const *command, char *out, size_t size)
{
    return tui_ask_for(20000, command, out, size);
}

int tui_ask_for(int limit_ms, const char *const *command, char *out, size_t size)
{
    extern char **environ;
    int ends[2], status = -1;
    pid_t child;
    posix_spawn_file_actions_t actions;
    out[0] = 0;
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    int failed = posix_spawnp(&child, command[0], &actions, NULL, (char *const *)command, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t used = 0;
    int64_t end_ns = ana_now_ns() + limit_ms * 1000000ll;
    for (ssize_t n = 1; !failed && n > 0;) {
        int64_t left_ms = (end_ns - ana_now_ns()) / 1000000;
        char rest[512];
        struct pollfd from = {.fd = ends[0], .events = POLLIN};
        if (left_ms <= 0 || poll(&from, 1, (int)left_ms) <= 0) {
            kill(child, SIGKILL);
            break;
        }
        n = used + 1 < size ? read(ends[0], out + used, size - 1 - used) : read(ends[0], rest, sizeof rest);
        if (n > 0 && used + 1 < size)
            used += (size_t)n;
    }
    close(ends[0]);
    out[used] = 0;
    if (failed)
        return -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool tui_find_libtrace(char *out, size_t size)
{
    static const char *const places[] = {"libtrace.so", "../lib/libtrace.so", "../lib/hpctop/libtrace.so"};
    const char *wanted = getenv("HPCTOP_LIBTRACE");
    char self[4096], path[8192];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    bool own = !wanted || !*wanted;
    for (size_t i = 0; i < (own ? sizeof places / sizeof *places : 1); i++) {
        snprintf(path, sizeof path, "%s%s%s", own ? self : wanted, own ? "/" : "", own ? places[i] : "");
        char *real = access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
        if (real) {
            snprintf(out, size, "%s", real);
            free(real);
            return true;
        }
    }
    if (own)
        snprintf(out, size, "in %s or its ../lib", self);
    else
        snprintf(out, size, "at %s, where HPCTOP_LIBTRACE says", wanted);
    return false;
}
