/* One piece of work that a thread of its own does, while the caller does something else. */
#ifndef ANA_ASIDE_H
#define ANA_ASIDE_H

#include <stdbool.h>
#include <stdint.h>

struct ana_aside;

/* Begins it: `work` is called once with `user`.  Where there can be no thread it is done at once, and NULL is
 * returned. */
struct ana_aside *ana_aside_begin(void (*work)(void *user), void *user);
/* Waits until it is done, but not after ana_now_ns() is `stop_ns`.  Returns whether it is; NULL is done. */
bool ana_aside_wait(struct ana_aside *aside, int64_t stop_ns);
/* Waits until it is done, and frees it; NULL is none. */
void ana_aside_end(struct ana_aside *aside);

#endif
