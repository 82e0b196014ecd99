/* Any bytes as the memory of a Python interpreter: reading its threads, frames and lines ends and touches nothing
 * outside.  An input is the version, 3.N, in a byte, then the memory from BASE on. */
#include "tests/fuzz/fuzz.h"
#include "trace/python/python.h"

#include <string.h>

#define BASE 0x10000u

enum { THREADS = 8, FRAMES = 32 };

struct memory {
    const uint8_t *data;
    size_t size;
};

static bool read_memory(const struct trc_python *python, uint64_t address, void *out, size_t size)
{
    const struct memory *memory = python->user;
    const uint64_t at = address - BASE;
    if (address < BASE || at > memory->size || size > memory->size - at)
        return false;
    memcpy(out, memory->data + at, size);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    const struct memory memory = {data + 1, size - 1};
    struct trc_python python = {.read = read_memory, .user = &memory, .runtime = BASE, .code_type = BASE + 8};
    struct trc_python_thread thread[THREADS];
    const uint32_t tid[] = {1, 2};
    fuzz_begin();
    if (!trc_python_know(&python, data[0]))
        return 0;
    const size_t n = trc_python_threads(&python, tid, 2, thread, THREADS);
    for (size_t i = 0; i < n; i++) {
        uint64_t frame = trc_python_top(&python, thread[i].state), code, at;
        for (int depth = 0; frame && depth < FRAMES; depth++, frame = trc_python_back(&python, frame)) {
            struct trc_python_place place;
            if (trc_python_code(&python, frame, &code, &at) && trc_python_describe(&python, code, at, &place) &&
                (strlen(place.function) >= sizeof place.function || strlen(place.file) >= sizeof place.file))
                abort();
        }
    }
    return 0;
}
