/* The program's own account of its stack: -finstrument-functions calls a hook at both ends of each function of
 * work.c and throw.cpp, and the hook keeps the return addresses. */
#ifndef SHADOW_H
#define SHADOW_H

#ifdef __cplusplus
extern "C" {
#endif

enum { SHADOW_DEPTH = 256 };

struct shadow {
    volatile unsigned depth, entered;  /* entered: how many functions ever */
    void *volatile site[SHADOW_DEPTH]; /* return addresses, outermost first; 0: being written */
};

/* Account of the calling thread. */
struct shadow *shadow_mine(void);

/* One piece of work, chosen by `seed`; many calls of different kinds.  It keeps the processor busy. */
void work_once(unsigned seed);
/* Waits a few milliseconds below some frames, in one of several system calls. */
void work_wait(unsigned seed);
/* Makes the thread ready for the work that takes signals on a stack of their own. */
void work_begin(void);

/* Throws an exception through `depth` functions with destructors, and catches it. */
int throw_through(int depth);

#ifdef __cplusplus
}
#endif
#endif
