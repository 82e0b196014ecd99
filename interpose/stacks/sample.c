/* Registers of a thread that runs, as the kernel samples them: the thread gets no signal. */
#include "interpose/stacks/stacks_impl.h"
#include "trace/writer/system.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PERIOD_NS 300000  /* processor time of the thread between samples */
#define WAIT_NS   5000000 /* time between two looks at the ring */

bool ipo_sampler_open(struct ipo_sampler *sampler, uint32_t tid)
{
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    attributes.sample_period = PERIOD_NS;
    attributes.sample_type = PERF_SAMPLE_REGS_USER;
    attributes.sample_regs_user = IPO_SAMPLED;
    attributes.exclude_kernel = attributes.exclude_hv = 1;
    *sampler = (struct ipo_sampler){.page = (size_t)sysconf(_SC_PAGESIZE)};
    sampler->fd = (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (sampler->fd < 0)
        return false;
    void *ring = mmap(NULL, 2 * sampler->page, PROT_READ | PROT_WRITE, MAP_SHARED, sampler->fd, 0);
    if (ring == MAP_FAILED) {
        trc_sys_close(sampler->fd);
        return false;
    }
    sampler->head = ring;
    return true;
}

void ipo_sampler_close(struct ipo_sampler *sampler)
{
    munmap(sampler->head, 2 * sampler->page);
    trc_sys_close(sampler->fd);
}

/* Copies from the ring of samples, which is the second page. */
static void copy(const struct ipo_sampler *sampler, uint64_t from, void *to, size_t size)
{
    const char *ring = (const char *)sampler->head + sampler->page;
    for (size_t i = 0; i < size; i++)
        ((char *)to)[i] = ring[(from + i) % sampler->page];
}

bool ipo_sampler_next(struct ipo_sampler *sampler, struct ipo_cursor *out)
{
    struct {
        struct perf_event_header header;
        uint64_t abi, reg[IPO_SAMPLED_REGS];
    } sample;
    struct perf_event_mmap_page *head = sampler->head;
    bool found = false;
    trc_sys_sleep(WAIT_NS);
    const uint64_t end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE);
    for (uint64_t at = head->data_tail; at < end; at += sample.header.size) {
        copy(sampler, at, &sample, sizeof sample);
        if (sample.header.size < sizeof sample.header)
            break;
        if (sample.header.type != PERF_RECORD_SAMPLE || sample.abi != PERF_SAMPLE_REGS_ABI_64)
            continue;
        *out = (struct ipo_cursor){.exact = true};
        const unsigned count = ipo_sampled_registers(sample.reg, out->reg, &out->pc);
        out->known = ((uint64_t)1 << count) - 1;
        found = true;
    }
    __atomic_store_n(&head->data_tail, end, __ATOMIC_RELEASE);
    return found;
}
