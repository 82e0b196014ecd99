#include "trace/util/pages.h"
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_PAGE ((uintptr_t)2 << 20)

void *ana_pages_make(size_t size, bool large)
{
    size += !size;
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    madvise(pages, size, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return pages;
}

void ana_pages_drop(void *pages, size_t size)
{
    if (pages)
        munmap(pages, size + !size);
}

void ana_pages_of_heap(void)
{
    static uintptr_t advised;
    const uintptr_t end = (uintptr_t)sbrk(0);
    if (advised && end > advised)
        madvise((void *)advised, end - advised, MADV_HUGEPAGE);
    advised = end - end % LARGE_PAGE;
}
