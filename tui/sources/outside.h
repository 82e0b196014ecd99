/* Stacks of a process that was not recorded, native and Python, read from outside: /proc, process_vm_readv, the tables
 * for exceptions of its files and the structures of CPython.  A thread in a system call is not touched; one that runs
 * is stopped while its registers and the end of its stack are copied.  One thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TUI_OUTSIDE_FRAMES = 64 };
enum { TUI_OUTSIDE_ANY = -1, TUI_OUTSIDE_NOBODY = -2 }; /* partner or tag: any; partner: MPI_PROC_NULL */

struct tui_outside_frame {
    uint64_t address;    /* address of the call under way, or of the next instruction */
    char function[120];  /* "main"; "" unknown */
    char where[120];     /* "app.c:17", else "libm.so.6" */
    bool is_system;      /* function of the C library or the compiler's runtime; below Python: one without lines */
    bool is_interpreter; /* function of CPython */
    bool is_python;      /* function of the Python program */
};

/* Arguments of an MPI call, as far as they are known. */
struct tui_outside_arguments {
    char partner_role; /* 's' source, 'p' destination, 'r' root, 'Q' partner of a request; 0: partner is not known */
    int partner;       /* rank in the communicator */
    bool has_tag;
    int tag;
    int ranks; /* ranks of the communicator; 0: not known */
    bool is_world;
};

/* A thread at one moment; frame[0] is the innermost.  Python functions are in place of the interpreter's. */
struct tui_outside_stack {
    size_t count;
    bool runs; /* else it waits in a system call */
    struct tui_outside_arguments call;
    struct tui_outside_frame frame[TUI_OUTSIDE_FRAMES];
};

struct tui_outside;

/* Opens a thread of a process; the main one has the process's number.  Close it with tui_outside_close.
 * NULL: out of memory, or it cannot be seen. */
struct tui_outside *tui_outside_open(int pid, int tid);
/* Frees it; NULL is none. */
void tui_outside_close(struct tui_outside *process);

/* Receives the stack of the i-th thread, which lives no longer than the call. */
typedef void tui_outside_stack_do(void *user, size_t i, const struct tui_outside_stack *stack);
/* Reads `n` threads of as many processes (NULL: skipped) at about one time, and passes each stack to `take`.  A thread
 * that runs is stopped for it: where more run than there are processors, as soon as its turn comes, within
 * `patience_ns`.  What this user may not read, or has ended, is left out. */
void tui_outside_read(struct tui_outside *const *process, size_t n, int64_t patience_ns, tui_outside_stack_do *take,
                      void *user);

/* Returns the outermost frame of a communication call; out->count: there is none. */
size_t tui_outside_call(const struct tui_outside_stack *stack);
/* Writes a call as programs in C name it, from the function of its outermost frame: "MPI_Send" of mpi_send_, PMPI_Send
 * and ompi_mpi_send. */
void tui_outside_call_name(const char *function, char *out, size_t size);
/* Writes arguments as " from 1 tag 8 on MPI_COMM_WORLD of 4 ranks"; nothing where none is known. */
void tui_outside_arguments_words(const struct tui_outside_arguments *call, char *out, size_t size);
/* Returns the program's own frame: the caller of the communication call, else the innermost one that is not the C
 * library's or the compiler's; NULL: there is none. */
const struct tui_outside_frame *tui_outside_place(const struct tui_outside_stack *stack);

/* Writes how this user could read processes after all, by the kernel's settings: after EPERM. */
void tui_outside_why_not(char *out, size_t size);

/* Returns the processor time of a process in seconds; 0: it is not there. */
double tui_outside_cpu_s(int pid);
