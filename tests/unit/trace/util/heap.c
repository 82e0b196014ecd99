/* Large pages of the heap, as it grows. */
#include "tests/support/check.h"
#include "trace/util/pages.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LARGE_PAGE ((size_t)2 << 20)

/* Returns whether the memory at an address asks for large pages. */
static bool is_advised(uintptr_t at)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    bool inside = false, advised = false;
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            inside = begin <= at && at < end;
        else if (inside && strncmp(line, "VmFlags:", 8) == 0)
            advised = strstr(line, " hg");
    }
    if (maps)
        fclose(maps);
    return advised;
}

int main(void)
{
    bool available = access("/sys/kernel/mm/transparent_hugepage", F_OK) == 0; /* kernel has large pages */
    ana_pages_of_heap();
    for (int i = 0; i < 3; i++) {
        uintptr_t old = (uintptr_t)sbrk((intptr_t)(4 * LARGE_PAGE));
        CHECK(!is_advised(old + 2 * LARGE_PAGE));
        ana_pages_of_heap();
        CHECK(is_advised(old + 2 * LARGE_PAGE) == available);
        CHECK(is_advised((uintptr_t)sbrk(0) - 1) == available);
    }
    return check_result();
}
