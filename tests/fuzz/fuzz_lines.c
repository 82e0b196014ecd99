/* Any bytes as the file at a program's path: asking for a source line in it ends and touches nothing outside.  An input
 * is a build id and an offset in hexadecimal digits, each on a line, then the file.  With libFuzzer (`make fuzz-run`),
 * or as a program that takes files: the corpus, in `make check`. */
#include "tests/fuzz/fuzz.h"
#include "tui/sources/lines.c" /* stands for the thread, which is not started */

#include <sys/mman.h>

static char *line_at(const uint8_t **at, const uint8_t *end, char *out, size_t size)
{
    size_t n = 0;
    for (; *at < end && **at != '\n'; ++*at)
        if (n + 1 < size && **at)
            out[n++] = (char)**at;
    *at += *at < end;
    out[n] = 0;
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char id[80], offset[32], place[96];
    const uint8_t *at = data, *end = data + size;
    int fd = memfd_create("fuzz_lines", MFD_CLOEXEC);
    if (fd < 0)
        exit(1);
    fuzz_begin();
    line_at(&at, end, id, sizeof id);
    line_at(&at, end, offset, sizeof offset);
    if (write(fd, at, (size_t)(end - at)) != end - at)
        exit(1);
    snprintf(place, sizeof place, "/proc/self/fd/%d+0x%s", fd, offset);
    struct known k = {.place = place, .id = id};
    job_began_ns = INT64_MAX;
    find_names(&k);
    free(k.function);
    free(k.line);
    free(k.inlined);
    free(open_path); /* the next file has the same name */
    open_path = NULL;
    close(fd);
    return 0;
}
