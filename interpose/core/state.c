/* State that all of the recorder shares: the process, its clock, and whether wrappers record. */
#include "interpose/core/state.h"
#include "interpose/base/text.h"
#include "trace/writer/now.h"
#include "trace/writer/system.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

struct ipo_process ipo_process;
bool ipo_clock_is_tsc;
static const uint32_t never[2] __attribute__((aligned(8)));
const uint32_t *ipo_armed = never;
const uint32_t *ipo_nccl_armed = never;
const uint32_t *ipo_gloo_armed = never;
const uint32_t *ipo_profiler_armed = never;
static uint32_t *armed_page;

uint64_t ipo_ticks_slow(void)
{
    return trc_now_ns();
}

void ipo_log(const char *text, const char *more)
{
    if (!ipo_process.options.verbose)
        return;
    struct ipo_text line = {0};
    ipo_text_add(&line, "hpctop: ");
    ipo_text_add(&line, text);
    ipo_text_add(&line, more);
    ipo_text_add(&line, "\n");
    if (trc_sys_write(STDERR_FILENO, line.text, line.used) < 0)
        return; /* stderr is closed */
}

/* pthread_atfork of glibc calls this function.  Found by name at run time: other libcs lack it, and would refuse to
 * load libtrace.so. */
bool ipo_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
    int (*at_fork)(void (*)(void), void (*)(void), void (*)(void), void *) =
        (int (*)(void (*)(void), void (*)(void), void (*)(void), void *))(uintptr_t)dlsym(RTLD_DEFAULT,
                                                                                          "__register_atfork");
    return at_fork && !at_fork(before, in_parent, in_child, NULL);
}

/* Words that fork clears in the child: children of the traced process pass everything through. */
enum { CACHE_EPOCH = 1 };
void ipo_process_disarm(void)
{
    if (!armed_page)
        return;
    armed_page[IPO_FOR_MPI] = armed_page[IPO_FOR_NCCL] = 0;
    armed_page[IPO_FOR_PROFILER] = armed_page[IPO_FOR_GLOO] = 0;
}

void ipo_arm_off(bool off)
{
    static const int words[] = {IPO_FOR_MPI, IPO_FOR_NCCL, IPO_FOR_GLOO};
    static uint32_t times;
    const uint32_t bits =
        off ? __atomic_add_fetch(&times, 1, __ATOMIC_RELAXED) * (2 * IPO_ARMED_OFF) + IPO_ARMED_OFF : 0;
    for (unsigned i = 0; armed_page && i < sizeof words / sizeof *words; i++) {
        uint32_t *word = &armed_page[words[i]], is = __atomic_load_n(word, __ATOMIC_RELAXED);
        while (is && !__atomic_compare_exchange_n(word, &is, (is & IPO_ARMED_HOW) | bits, false, __ATOMIC_RELEASE,
                                                  __ATOMIC_RELAXED))
            ;
    }
}

void ipo_cache_forget(void)
{
    if (armed_page)
        __atomic_fetch_add(&armed_page[CACHE_EPOCH], 1, __ATOMIC_RELAXED);
}

bool ipo_arm_page(void)
{
    if (armed_page)
        return true;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (page == MAP_FAILED)
        return false;
    armed_page = page;
    __atomic_store_n(&ipo_armed, armed_page, __ATOMIC_RELEASE); /* wrappers do not record yet: the word is 0 */
    bool wiped = !madvise(page, 4096, 18 /* MADV_WIPEONFORK, Linux 4.14 */);
    return wiped || ipo_at_fork(NULL, NULL, ipo_process_disarm);
}

void ipo_arm(enum ipo_armed_for whom, uint32_t how)
{
    static const uint32_t **const word[] = {[IPO_FOR_MPI] = &ipo_armed,
                                            [IPO_FOR_NCCL] = &ipo_nccl_armed,
                                            [IPO_FOR_PROFILER] = &ipo_profiler_armed,
                                            [IPO_FOR_GLOO] = &ipo_gloo_armed};
    _Static_assert(sizeof word / sizeof *word == IPO_FOR_GLOO + 1, "a row each");
    __atomic_store_n(&armed_page[whom], how, __ATOMIC_RELEASE);
    __atomic_store_n(word[whom], &armed_page[whom], __ATOMIC_RELEASE);
}
