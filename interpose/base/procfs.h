/* What the kernel says of this process and its threads: system calls, no lock, no allocation. */
#ifndef IPO_PROCFS_H
#define IPO_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

struct ipo_task {
    uint32_t tid;
    char name[16];
    char state;   /* R S D T t Z, '?' unknown */
    int32_t call; /* system call it is in; -1 none or unknown */
    bool running; /* was on a processor, or about to be: no place to be read */
    bool placed;  /* sp and pc are known: where the kernel will return to */
    uint64_t sp, pc;
    uint64_t argument[6];
    uint64_t blocked; /* signals that it blocks */
};

/* Ids of all threads of the process, at most `max`; returns how many were written, *all how many there are. */
unsigned ipo_tasks(uint32_t *tid, unsigned max, unsigned *all);
/* Looks at one; false: it has ended. */
bool ipo_task_read(uint32_t tid, struct ipo_task *task);
/* Its state alone; 0: it has ended. */
char ipo_task_state(uint32_t tid);
/* What it waits for, in words: "read() on /data/shard-17", "futex()", "running"; "" unknown. */
void ipo_task_on(const struct ipo_task *task, char *out, size_t size);

/* Directory `path`: calls `found` with each name; false when it cannot be read.  (opendir would allocate.) */
bool ipo_directory(const char *path, void (*found)(void *context, const char *name), void *context);

/* Reads a small file's start into `out`; terminated, without the newlines at its end.  Returns the bytes, 0 if it
 * cannot be read. */
size_t ipo_read_file(const char *path, char *out, size_t size);

#endif
