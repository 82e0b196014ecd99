#include "trace/util/pages.h"
#include <sys/mman.h>

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
