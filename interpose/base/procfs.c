#include "interpose/base/procfs.h"
#include "interpose/base/safe_read.h"
#include "interpose/base/text.h"
#include "trace/writer/system.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t read_start(const char *path, char *out, size_t size, bool once)
{
    int fd = trc_sys_open(path);
    size_t used = 0;
    for (ssize_t n = 1; fd >= 0 && n > 0 && used + 1 < size && !(once && used); used += n > 0 ? (size_t)n : 0)
        n = trc_sys_read(fd, out + used, size - 1 - used); /* one read gives only a part of a table */
    if (fd >= 0)
        trc_sys_close(fd);
    while (used > 0 && out[used - 1] == '\n')
        used--;
    out[used] = 0;
    return used;
}

size_t ipo_read_file(const char *path, char *out, size_t size)
{
    return read_start(path, out, size, false);
}

size_t ipo_read_process(uint32_t pid, uint32_t tid, const char *what, char *out, size_t size)
{
    struct ipo_text path = {.used = 0};
    ipo_text_add(&path, pid ? "/proc/" : "/proc/self");
    if (pid)
        ipo_text_add_number(&path, pid);
    if (tid) {
        ipo_text_add(&path, "/task/");
        ipo_text_add_number(&path, tid);
    }
    ipo_text_add(&path, "/");
    ipo_text_add(&path, what);
    return read_start(path.text, out, size, true);
}

enum { PATH_FIRST = -2, PATH_SECOND = -3 };

/* System calls that threads are found waiting in.  `fd`: the argument that is an open file; PATH_FIRST, PATH_SECOND:
 * the first or second argument is a path; -1: neither. */
static const struct {
    long number;
    const char *name;
    int fd;
} calls[] = {
    {SYS_read, "read", 0},
    {SYS_write, "write", 0},
    {SYS_pread64, "pread", 0},
    {SYS_pwrite64, "pwrite", 0},
    {SYS_readv, "readv", 0},
    {SYS_writev, "writev", 0},
    {SYS_preadv, "preadv", 0},
    {SYS_pwritev, "pwritev", 0},
    {SYS_recvfrom, "recv", 0},
    {SYS_recvmsg, "recvmsg", 0},
    {SYS_sendto, "send", 0},
    {SYS_sendmsg, "sendmsg", 0},
    {SYS_accept, "accept", 0},
    {SYS_accept4, "accept", 0},
    {SYS_connect, "connect", 0},
    {SYS_fsync, "fsync", 0},
    {SYS_fdatasync, "fdatasync", 0},
    {SYS_flock, "flock", 0},
    {SYS_fcntl, "fcntl", 0},
    {SYS_ioctl, "ioctl", 0},
    {SYS_epoll_pwait, "epoll_wait", 0},
    {SYS_getdents64, "getdents", 0},
    {SYS_sendfile, "sendfile", 1},
    {SYS_splice, "splice", 0},
    {SYS_fallocate, "fallocate", 0},
    {SYS_ftruncate, "ftruncate", 0},
    {SYS_openat, "open", PATH_SECOND},
    {SYS_futex, "futex", -1},
    {SYS_nanosleep, "sleep", -1},
    {SYS_clock_nanosleep, "sleep", -1},
    {SYS_ppoll, "poll", -1},
    {SYS_pselect6, "select", -1},
    {SYS_wait4, "wait", -1},
    {SYS_waitid, "wait", -1},
    {SYS_rt_sigtimedwait, "sigwait", -1},
    {SYS_rt_sigsuspend, "sigsuspend", -1},
    {SYS_sched_yield, "sched_yield", -1},
    {SYS_msync, "msync", -1},
    {SYS_munmap, "munmap", -1},
    {SYS_semtimedop, "semop", -1},
    {SYS_msgrcv, "msgrcv", -1},
    {SYS_unlinkat, "unlink", PATH_SECOND},
    {SYS_newfstatat, "stat", PATH_SECOND},
#ifdef SYS_open /* newer processors lack these */
    {SYS_open, "open", PATH_FIRST},
    {SYS_poll, "poll", -1},
    {SYS_select, "select", -1},
    {SYS_pause, "pause", -1},
    {SYS_epoll_wait, "epoll_wait", 0},
    {SYS_stat, "stat", PATH_FIRST},
    {SYS_lstat, "stat", PATH_FIRST},
    {SYS_unlink, "unlink", PATH_FIRST},
    {SYS_rename, "rename", PATH_FIRST},
    {SYS_mkdir, "mkdir", PATH_FIRST},
#endif
};

bool ipo_directory(const char *path, void (*found)(void *context, const char *name), void *context)
{
    char buffer[4096] __attribute__((aligned(8)));
    int fd = trc_sys_open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    for (long n; (n = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at + 19 < n;) {
            uint16_t length;
            memcpy(&length, buffer + at + 16, sizeof length); /* struct linux_dirent64 */
            const char *name = buffer + at + 19;
            if (name[0] != '.')
                found(context, name);
            at += length;
        }
    trc_sys_close(fd);
    return true;
}

struct tasks {
    uint32_t *tid;
    unsigned max, count, all;
};
static void add_task(void *context, const char *name)
{
    struct tasks *tasks = context;
    uint32_t tid = 0;
    for (; *name >= '0' && *name <= '9'; name++)
        tid = tid * 10 + (uint32_t)(*name - '0');
    tasks->all++;
    if (tasks->count < tasks->max)
        tasks->tid[tasks->count++] = tid;
}

unsigned ipo_tasks(uint32_t *tid, unsigned max, unsigned *all)
{
    struct tasks tasks = {.tid = tid, .max = max};
    ipo_directory("/proc/self/task", add_task, &tasks);
    *all = tasks.all;
    return tasks.count;
}

static uint64_t parse_number(const char **at)
{
    uint64_t value = 0;
    while (**at == ' ')
        ++*at;
    bool negative = **at == '-';
    *at += negative;
    if ((*at)[0] == '0' && (*at)[1] == 'x') {
        for (*at += 2;; ++*at) {
            char c = **at;
            if (c >= '0' && c <= '9')
                value = value * 16 + (uint64_t)(c - '0');
            else if (c >= 'a' && c <= 'f')
                value = value * 16 + (uint64_t)(c - 'a') + 10;
            else
                break;
        }
    } else {
        for (; **at >= '0' && **at <= '9'; ++*at)
            value = value * 10 + (uint64_t)(**at - '0');
    }
    return negative ? ~value + 1 : value;
}

bool ipo_task_read(uint32_t tid, struct ipo_task *task)
{
    char text[4096];
    memset(task, 0, sizeof *task);
    task->tid = tid;
    task->state = '?';
    task->call = -1;
    if (!ipo_read_process(0, tid, "stat", text, sizeof text))
        return false;
    const char *begin = strchr(text, '('), *end = strrchr(text, ')');
    if (begin && end && end > begin) {
        size_t n = (size_t)(end - begin) - 1;
        memcpy(task->name, begin + 1, n < 15 ? n : 15);
        task->state = end[1] == ' ' && end[2] ? end[2] : '?';
    }
    /* "running", or: number, six arguments, stack pointer, program counter. */
    if (ipo_read_process(0, tid, "syscall", text, sizeof text)) {
        const char *at = text;
        task->running = !strncmp(text, "running", 7);
        if (!task->running) {
            int32_t call = (int32_t)parse_number(&at);
            for (int i = 0; i < 6 && call >= 0; i++)
                task->argument[i] = parse_number(&at);
            task->sp = parse_number(&at);
            task->pc = parse_number(&at);
            task->call = call;
            task->placed = task->sp && task->pc;
        }
    }
    if (ipo_read_process(0, tid, "status", text, sizeof text)) {
        const char *at = strstr(text, "\nSigBlk:\t");
        if (at) {
            char hex[24] = "0x";
            memcpy(hex + 2, at + 9, 16);
            at = hex;
            task->blocked = parse_number(&at);
        }
    }
    return true;
}

char ipo_task_state(uint32_t tid)
{
    char text[512];
    const char *end = ipo_read_process(0, tid, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    return end && end[1] == ' ' ? end[2] : 0;
}

/* Appends the file that a system call waits for: " on /data/shard-17", " of /data/missing" where it is a path. */
static void add_file(struct ipo_text *text, const struct ipo_task *task, int which)
{
    struct ipo_text link = {0};
    char path[512];
    if (which >= 0) {
        uint32_t fd = (uint32_t)task->argument[which];
        ipo_text_add(&link, "/proc/self/fd/");
        ipo_text_add_number(&link, fd);
        ssize_t n = readlink(link.text, path, sizeof path - 1);
        path[n > 0 ? n : 0] = 0;
        ipo_text_add(text, n > 0 ? " on " : "");
        ipo_text_add(text, path);
        ipo_text_add(text, fd == STDIN_FILENO ? ", its standard input" : "");
    } else if (which != -1) {
        size_t n = ipo_safe_read_some(task->argument[PATH_FIRST - which], path, sizeof path - 1);
        path[n] = 0;
        ipo_text_add(text, *path ? " of " : "");
        ipo_text_add(text, path);
    }
}

/* The process that holds the file lock that this process waits for; 0: unknown.  Of /proc/locks, "7: FLOCK ADVISORY
 * WRITE 123 08:01:55 0 EOF" is the lock of process 123, and "7: -> FLOCK .." below it one that waits for it. */
static uint64_t lock_holder(void)
{
    char locks[16384];
    uint64_t own = (uint64_t)getpid(), holder = 0;
    const char *line = ipo_read_file("/proc/locks", locks, sizeof locks) ? locks : NULL;
    for (; line; line = strchr(line, '\n')) {
        const char *at = line + strspn(line, "\n 0123456789:");
        bool waits = !strncmp(at, "->", 2);
        at += waits ? 2 : 0;
        for (int word = 0; word < 3; word++) /* kind, strictness, mode */
            at += strspn(at, " ") + strcspn(at + strspn(at, " "), " \n");
        uint64_t pid = parse_number(&at);
        if (waits && pid == own)
            return holder;
        holder = waits ? holder : pid;
        line += *line == '\n';
    }
    return 0;
}

static void add_holder(struct ipo_text *text, const struct ipo_task *task)
{
    const bool record = task->call == SYS_fcntl && (task->argument[1] == F_SETLKW || task->argument[1] == F_OFD_SETLKW);
    if (!record && task->call != SYS_flock)
        return;
    const uint64_t holder = lock_holder(); /* locks of open files (OFDLCK) have no process there */
    ipo_text_add(text, holder ? ", held by process " : ", whose holder /proc/locks does not tell");
    if (holder)
        ipo_text_add_number(text, holder);
}

/* Returns the thread of this process with the mutex that a thread waits for without a limit, by glibc's layout: word of
 * the futex (2: others wait), count, owner.  0: none, or unknown. */
static uint32_t mutex_holder(const struct ipo_task *task)
{
    enum { WAITED_FOR = 2 };
    uint32_t mutex[3];
    const bool waits = task->call == SYS_futex && task->argument[2] == WAITED_FOR && !task->argument[3];
    if (!waits || !ipo_safe_read(task->argument[0], mutex, sizeof mutex) || mutex[0] != WAITED_FOR)
        return 0;
    return mutex[2] && mutex[2] != task->tid && ipo_task_state(mutex[2]) ? mutex[2] : 0;
}

static void add_thread(struct ipo_text *text, const struct ipo_task *task)
{
    const uint32_t holder = mutex_holder(task);
    ipo_text_add(text, holder ? ", a lock held by thread " : "");
    if (holder)
        ipo_text_add_number(text, holder);
}

void ipo_task_on(const struct ipo_task *task, char *out, size_t size)
{
    struct ipo_text text = {0};
    if (task->running || task->state == 'R') {
        ipo_text_add(&text, "running");
    } else if (task->call >= 0) {
        size_t i = 0, known = sizeof calls / sizeof *calls;
        while (i < known && calls[i].number != task->call)
            i++;
        if (i < known) {
            ipo_text_add(&text, calls[i].name);
            ipo_text_add(&text, "()");
        } else {
            ipo_text_add(&text, "system call ");
            ipo_text_add_number(&text, (uint64_t)task->call);
        }
        if (i < known)
            add_file(&text, task, calls[i].fd);
        add_holder(&text, task);
        add_thread(&text, task);
    }
    char where[64];
    if (task->state == 'D' && ipo_read_process(0, task->tid, "wchan", where, sizeof where) > 1) {
        ipo_text_add(&text, " in the kernel's ");
        ipo_text_add(&text, where);
    }
    for (size_t i = 0; i < text.used; i++) /* the text becomes a field of a line */
        if (text.text[i] == '\n' || text.text[i] == '\t')
            text.text[i] = '?';
    size_t n = text.used < size - 1 ? text.used : size - 1;
    memcpy(out, text.text, n);
    out[n] = 0;
}
