/* Call paths of Python programs: the lines of Python that led to an MPI call, in place of the interpreter's addresses.
 *
 * On the record path: the interpreter gives this thread's state (thread-local storage, no GIL), and three to five
 * words of each of the thread's own frames are read.  Code object and place in it make a site's number; its name is
 * found once, when it is new. */
#include "interpose/sites/python_site.h"
#include "interpose/base/text.h"
#include "interpose/core/state.h"
#include "interpose/sites/python_frame.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define SITES 4096u

#define FORWARDS 1u                   /* bit of an entry: the line lies in a package between programs and MPI or Gloo */
static _Atomic uint64_t known[SITES]; /* open addressing; 0 free */

/* Whether a file is in a package whose users decide by their own lines when it sends. */
static bool forwards(const char *file)
{
    static const char *const packages[] = {"/torch/", "/horovod/", "/mpi4py/", "/h5py/", "/tensorflow/", "/keras/"};
    const char *rest = strstr(file, "-packages/");
    for (size_t i = 0; rest && i < sizeof packages / sizeof *packages; i++)
        if (strncmp(rest + strlen("-packages"), packages[i], strlen(packages[i])) == 0)
            return true;
    return false;
}

static uint64_t load_word(uint64_t address)
{
    uint64_t word;
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word); /* reads this thread's memory: it is not freed now */
    return word;
}

/* The frame that a thread state runs; 0: none. */
static uint64_t find_top(void)
{
    const struct trc_python_layout *l = &ipo_python.of.layout;
    uint64_t state = (uint64_t)(uintptr_t)ipo_python.this_thread();
    uint64_t frame = state ? load_word(state + l->thread_frame) : 0;
    return frame && (l->minor == 11 || l->minor == 12) ? load_word(frame + l->cframe) : frame;
}

/* Reads the innermost frame of a Python function from *frame on; *frame becomes its caller.  False: there is none. */
static bool read_frame(uint64_t *frame, uint64_t *code, uint64_t *at)
{
    const struct trc_python_layout *l = &ipo_python.of.layout;
    for (int tries = 0; *frame && tries < 8; tries++) {
        uint64_t here = *frame;
        *frame = load_word(here + l->frame_back);
        if (l->frame_owner && *(const uint8_t *)(uintptr_t)(here + l->frame_owner) >= 3)
            continue; /* the C stack's own */
        *code = load_word(here + l->frame_code) & ~(uint64_t)(l->minor >= 14 ? 3 : 0);
        *at = load_word(here + l->frame_at);
        if (l->minor < 11)
            *at = (uint64_t)(int64_t)(int32_t)*at;
        return *code != 0;
    }
    return false;
}

/* Defines a new line: `site`, with FORWARDS where it is so; 0: its name is not readable. */
static __attribute__((noinline, cold)) uint64_t name_site(uint64_t site, uint64_t code, uint64_t at)
{
    struct trc_python_place place;
    struct ipo_text text = {0};
    if (!trc_python_describe(&ipo_python.of, code, at, &place))
        return 0;
    const uint32_t bit = forwards(place.file) ? FORWARDS : 0;
    ipo_text_add(&text, place.function);
    text.used++;
    ipo_text_add(&text, place.file);
    ipo_text_add(&text, ":");
    ipo_text_add_number(&text, place.line > 0 ? (uint64_t)place.line : 0);
    bool defined = trc_writer_define(&ipo_process.writer, TRC_DEF_SITE, 0, bit ? TRC_SITE_FORWARDS : 0, site, NULL, 0,
                                     text.text, text.used);
    return defined ? site | bit : 0;
}

/* The number of a place in a code object, which is named when it is new, and FORWARDS; 0: there is no room. */
static uint64_t number_of(uint64_t code, uint64_t at)
{
    uint64_t mixed = (code ^ at * 0x9e3779b97f4a7c15u) * 0xc2b2ae3d27d4eb4fu;
    uint64_t site = (IPO_PYTHON_SITE | mixed >> 16) & ~(uint64_t)FORWARDS;
    uint32_t slot = (uint32_t)(mixed >> 40) % SITES;
    for (uint32_t tries = 0; tries < 32; tries++, slot = (slot + 1) % SITES) {
        uint64_t there = atomic_load_explicit(&known[slot], memory_order_relaxed);
        if ((there & ~(uint64_t)FORWARDS) == site)
            return there;
        if (there)
            continue;
        if (!atomic_compare_exchange_strong(&known[slot], &there, site)) {
            if ((there & ~(uint64_t)FORWARDS) == site)
                return there;
            continue;
        }
        int kept = errno;
        uint64_t named = name_site(site, code, at);
        errno = kept;
        if (named & FORWARDS)
            atomic_store_explicit(&known[slot], named, memory_order_relaxed);
        return named;
    }
    return 0; /* more lines than there is room for */
}

const struct ipo_path *ipo_python_path(uint64_t *site)
{
    uint64_t sites[TRC_PATH_MOST], code, at, frame = ipo_python.this_thread ? find_top() : 0;
    const unsigned depth = ipo_paths_depth();
    unsigned count = 0;
    while (count < depth && read_frame(&frame, &code, &at)) {
        uint64_t number = number_of(code, at);
        if (!number)
            break;
        if (!count || !(number & FORWARDS)) /* the innermost line, then the program's */
            sites[count++] = number & ~(uint64_t)FORWARDS;
    }
    if (!count)
        return NULL;
    *site = sites[0];
    return ipo_path_of_sites(sites, count, !frame ? TRC_PATH_WHOLE : count == depth ? TRC_PATH_LIMITED : TRC_PATH_LOST);
}
