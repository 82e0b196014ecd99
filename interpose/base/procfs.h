/* Answers of the kernel about this process and its threads.  All functions make system calls, take no lock and allocate
 * nothing: any thread, but not on the record path.  errno is not kept. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

/* A thread of this process at one moment. */
struct ipo_task {
    uint32_t tid;
    char name[16];
    char state;   /* R S D T t Z, '?' unknown */
    int32_t call; /* number of the system call it is in; -1: none, or not known */
    bool running; /* it runs, so the kernel does not say where */
    bool placed;  /* sp and pc are known: the kernel will return there */
    uint64_t sp, pc;
    uint64_t argument[6]; /* arguments of the system call */
    uint64_t blocked;     /* signals that it blocks, a bit each, SIGHUP the lowest */
};

/* Writes the ids of at most `max` threads of this process to `tid`.  Returns how many were written; *all: how many
 * there are. */
unsigned ipo_tasks(uint32_t *tid, unsigned max, unsigned *all);
/* Fills `task` with what the kernel says of one thread.  False: it has ended. */
bool ipo_task_read(uint32_t tid, struct ipo_task *task);
/* The state letter of one thread; 0: it has ended. */
char ipo_task_state(uint32_t tid);
/* Writes what a thread waits for to `out`, terminated and cut at `size`: "read() on /data/shard-17", "open() of
 * /data/x", "flock() on /data/x, held by process 123", "futex()", "futex(), a lock held by thread 124", "running"; ""
 * where it is not known. */
void ipo_task_on(const struct ipo_task *task, char *out, size_t size);

/* Calls `found` with each name in the directory `path` that does not begin with a dot.  The name is valid during that
 * call only.  False: the directory cannot be read.  (opendir would allocate.) */
bool ipo_directory(const char *path, void (*found)(void *context, const char *name), void *context);

/* Reads the start of a file into the `size` bytes of `out`: terminated, without newlines at the end.  Returns the bytes
 * without the terminator; 0 if the file cannot be read. */
size_t ipo_read_file(const char *path, char *out, size_t size);
/* Reads /proc/PID/WHAT so, or /proc/PID/task/TID/WHAT of a thread, by one read: all there is of a record, as in
 * "stat", but not of a table.  `pid` 0: this process; `tid` 0: no single thread. */
size_t ipo_read_process(uint32_t pid, uint32_t tid, const char *what, char *out, size_t size);
