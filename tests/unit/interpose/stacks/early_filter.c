/* A seccomp filter that is noted before the recording: no system call reads memory, which may end the program. */
#include "interpose/base/safe_read.h"
#include "interpose/core/filter.h"
#include "tests/support/check.h"

#include <string.h>

int main(void)
{
    static const char there[] = "there";
    char got[sizeof there] = "";
    CHECK(ipo_safe_read((uint64_t)(uintptr_t)there, got, sizeof got) && strcmp(got, there) == 0, "memory is not read");
    ipo_filter_prepare(false);
    CHECK(ipo_filter_is_there(), "the filter is not noted");
    CHECK(!ipo_safe_read((uint64_t)(uintptr_t)there, got, sizeof got), "memory is still read");
    return check_result();
}
