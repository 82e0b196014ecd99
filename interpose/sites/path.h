/* Call paths: the return addresses that lead to a call, the innermost first, without unwinding where a path is met
 * again.  A path is interned once in the file (TRC_DEF_PATH).  Any thread, record path: no lock, no allocation; a
 * system call only where a frame lies on a page of the stack that was never read before. */
#pragma once

#include "interpose/base/ours.h"
#include "interpose/sites/sites.h"
#include "trace/format/format.h"

#include <stdbool.h>
#include <stdint.h>

/* Ways to compare the sites above the first with a stack. */
enum ipo_path_kind {
    IPO_PATH_ALONE,    /* no sites above the first */
    IPO_PATH_BY_STACK, /* up to four sites at constant distances from the stack pointer */
    IPO_PATH_BY_FRAME, /* a chain of frame pointers */
    IPO_PATH_MIXED     /* walks the stack once more */
};

#define IPO_PATH_USUAL 4u /* sites of a path that is compared without a loop */

struct ipo_path {
    uint32_t id; /* TRC_DEF_PATH */
    uint8_t count, end, kind;
    uint64_t lives;             /* a byte a site: the bits of its number above the address (sites.h) */
    int32_t at[IPO_PATH_USUAL]; /* BY_STACK: of site[i], from the stack pointer; the last one repeated */
    uint64_t site[TRC_PATH_MOST];
};

/* Number of the innermost site of a path. */
static inline uint64_t ipo_path_site(const struct ipo_path *path, uint64_t site)
{
    return site | path->lives << TRC_SITE_SHIFT;
}

/* The path with id 0: only the site is known. */
extern IPO_OURS const struct ipo_path ipo_path_none;

/* The path of a call from `site` (a return address), by the registers of the calling code after the call: its stack
 * pointer and its frame pointer.  ipo_path_none: there is no room. */
const struct ipo_path *ipo_path_of(uint64_t site, uintptr_t stack, uintptr_t frame);

/* Returns the path of these sites.  ipo_path_none: there is no room. */
const struct ipo_path *ipo_path_of_sites(const uint64_t *site, unsigned count, enum trc_path_end end);

/* Does the work of ipo_path_is for a path that is not BY_STACK. */
bool ipo_path_is_slow(const struct ipo_path *path, uint64_t site, uintptr_t stack, const uintptr_t *frame);

/* Whether a call from `site`, the first site of the path, has this path; `frame`: address of the frame pointer.  A word
 * is read only after the one below has been compared, so it lies in a frame that exists. */
static inline __attribute__((always_inline)) bool ipo_path_is(const struct ipo_path *path, uint64_t site,
                                                              uintptr_t stack, const uintptr_t *frame)
{
    if (__builtin_expect(path->kind != IPO_PATH_BY_STACK, 0))
        return ipo_path_is_slow(path, site, stack, frame);
    const char *words = (const char *)stack;
    return *(const uint64_t *)(const void *)(words + path->at[1]) == path->site[1] &&
           *(const uint64_t *)(const void *)(words + path->at[2]) == path->site[2] &&
           *(const uint64_t *)(const void *)(words + path->at[3]) == path->site[3];
}

/* Returns the most sites that a path has. */
unsigned ipo_paths_depth(void);
/* Sets how many sites a path has at most (HPCTOP_DEPTH).  Once, before the first record. */
void ipo_paths_start(unsigned depth);
