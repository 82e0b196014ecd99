/* Bytes that a process of this host reads and writes, as /proc counts them. */
#include "trace/members/process.h"
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEARCH_EVERY 16 /* calls until our thread is looked for anew: it may begin late, and /proc of many is slow */

/* Reads the bytes of an io file of /proc: of a thread, or of a process with its threads that ended. */
static uint64_t io_of(const char *proc)
{
    char path[96], line[128];
    uint64_t sum = 0, one;
    snprintf(path, sizeof path, "%s/io", proc);
    FILE *f = fopen(path, "r");
    if (!f)
        return UINT64_MAX; /* not for us to know */
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "rchar: %" SCNu64, &one) == 1 || sscanf(line, "wchar: %" SCNu64, &one) == 1 ||
            sscanf(line, "read_bytes: %" SCNu64, &one) == 1 || sscanf(line, "write_bytes: %" SCNu64, &one) == 1)
            sum += one;
    fclose(f);
    return sum;
}

static void thread_path(char path[64], uint32_t pid, uint32_t thread)
{
    snprintf(path, 64, "/proc/%" PRIu32 "/task/%" PRIu32, pid, thread);
}

static bool is_ours(uint32_t pid, uint32_t thread)
{
    char task[64], path[96], name[32] = "";
    thread_path(task, pid, thread);
    snprintf(path, sizeof path, "%s/comm", task);
    FILE *f = fopen(path, "r");
    if (f && !fgets(name, sizeof name, f))
        name[0] = 0;
    if (f)
        fclose(f);
    return strcmp(name, "hpctop\n") == 0;
}

/* The id of the recorder's thread in a process; 0: it has none. */
static uint32_t find_ours(uint32_t pid)
{
    char tasks[64];
    uint32_t found = 0;
    snprintf(tasks, sizeof tasks, "/proc/%" PRIu32 "/task", pid);
    DIR *dir = opendir(tasks);
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        uint32_t thread = (uint32_t)strtoul(entry->d_name, NULL, 10);
        found = thread && is_ours(pid, thread) ? thread : 0;
    }
    if (dir)
        closedir(dir);
    return found;
}

uint64_t ana_process_io(struct ana_process *p)
{
    struct ana_io *io = &p->io;
    uint32_t pid = p->rank.pid, before = io->thread;
    if (!p->alive || !p->by_pid || p->rank.inside)
        return UINT64_MAX;
    bool gone = io->thread && !is_ours(pid, io->thread);
    if (gone || (!io->thread && io->searches++ % SEARCH_EVERY == 0))
        io->thread = find_ours(pid);
    char path[64];
    uint64_t ours = 0, all;
    if (io->thread) {
        thread_path(path, pid, io->thread);
        ours = io_of(path);
    }
    snprintf(path, sizeof path, "/proc/%" PRIu32, pid);
    all = io_of(path);
    if (all == UINT64_MAX || ours == UINT64_MAX)
        return UINT64_MAX;
    if (!io->known)
        io->first = all;
    if (io->known && io->thread == before && ours > io->ours)
        io->less += ours - io->ours;
    /* A thread that ends at this moment is counted neither alive nor as ended, so it may be less than before. */
    uint64_t most = io->first + io->less + io->moved;
    io->moved += all > most ? all - most : 0;
    io->ours = ours;
    io->known = true;
    return io->moved;
}
