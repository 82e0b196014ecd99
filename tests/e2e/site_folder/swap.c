/* swap K MODE FOLDER LINK COMMAND..: runs the command, stops it at its K-th system call that has the folder's name in
 * one of its first two arguments, and gives that name to the link; MODE once: until the next such call, else to the
 * end.  Between two such calls the name is not looked up, so all K together are all moments.  Prints for each fchdir of
 * hpctop the rights and open files that it has there, and at last the number of such calls.  Exits as the command. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder, *link_to;
static bool swapped;

static void swap(void)
{
    char moved[4096];
    snprintf(moved, sizeof moved, "%s.moved", link_to);
    bool good = swapped ? !rename(folder, link_to) && !rename(moved, folder)
                        : !rename(folder, moved) && !rename(link_to, folder);
    if (!good)
        perror("swap");
    swapped = !swapped;
}

/* Whether the text at an address of the process holds the name. */
static bool holds(pid_t pid, uint64_t address, const char *name)
{
    char path[64], text[4097] = {0};
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    int mem = open(path, O_RDONLY);
    ssize_t n = mem >= 0 && address <= INT64_MAX ? pread(mem, text, sizeof text - 1, (off_t)address) : 0;
    close(mem);
    return n > 0 && strstr(text, name) != NULL;
}

/* Prints lines of /proc/PID/status, and the links in /proc/PID/fd. */
static void print_rights(pid_t pid)
{
    char path[300], line[4096];
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t n = readlink(path, line, sizeof line - 1);
    if (n < 6 || memcmp(line + n - 6, "hpctop", 6) != 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, "Uid", 3) || !strncmp(line, "Gid", 3) || !strncmp(line, "Groups", 6))
            printf("rights %s", line);
    if (status)
        fclose(status);
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *open = opendir(path);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        snprintf(path, sizeof path, "/proc/%d/fd/%s", pid, entry->d_name);
        n = readlink(path, line, sizeof line - 1);
        if (n > 0)
            printf("open %.*s\n", (int)n, line);
    }
    if (open)
        closedir(open);
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 64;
    long k = atol(argv[1]), calls = 0;
    bool once = strcmp(argv[2], "once") == 0;
    folder = argv[3];
    link_to = argv[4];
    const char *name = strrchr(folder, '/') + 1;
    pid_t first = fork();
    if (first == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
            _exit(77);
        raise(SIGSTOP);
        execvp(argv[5], argv + 5);
        _exit(127);
    }
    int status, result = 0;
    if (waitpid(first, &status, 0) != first || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, first, 0,
               PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                   PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) != 0)
        return 77;
    ptrace(PTRACE_SYSCALL, first, 0, 0);
    for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0;) {
        struct __ptrace_syscall_info call = {0};
        if (!WIFSTOPPED(status)) {
            if (pid == first)
                result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int stop = WSTOPSIG(status), deliver = 0;
        if (stop == (SIGTRAP | 0x80))
            ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof call, &call);
        else if (!(status >> 16) && stop != SIGSTOP)
            deliver = stop;
        if (call.op == PTRACE_SYSCALL_INFO_ENTRY) {
            if (call.entry.nr == SYS_fchdir)
                print_rights(pid);
            if (holds(pid, call.entry.args[0], name) || holds(pid, call.entry.args[1], name)) {
                calls++;
                if (calls == k || (once && swapped))
                    swap();
            }
        }
        ptrace(PTRACE_SYSCALL, pid, 0, (void *)(intptr_t)deliver);
    }
    if (swapped)
        swap();
    printf("calls %ld\n", calls);
    return result;
}
