#include "interpose/sites/python.h"
#include "interpose/load/modules.h"
#include "interpose/base/safe_read.h"
#include "interpose/sites/python_frame.h"
#include "interpose/base/text.h"

#include <dlfcn.h>
#include <string.h>

#define PYTHREADS 512u
#define FRAMES    100u

struct ipo_python ipo_python;

/* Threads of the snapshot under way. */
static struct trc_python_thread thread[PYTHREADS];
static size_t threads;

static bool read_own(const struct trc_python *python, uint64_t address, void *out, size_t size)
{
    (void)python;
    return ipo_safe_read(address, out, size);
}

void ipo_python_find(void)
{
    if (ipo_python.of.runtime)
        return;
    const char *(*version)(void) = (const char *(*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "Py_GetVersion");
    struct trc_python found = {
        .read = read_own,
        .runtime = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "_PyRuntime"),
        .code_type = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "PyCode_Type"),
    };
    if (!version || !found.runtime)
        return;
    const char *text = version();
    unsigned minor = 0;
    if (!text || strncmp(text, "3.", 2) != 0)
        return;
    for (const char *at = text + 2; *at >= '0' && *at <= '9'; at++)
        minor = minor * 10 + (unsigned)(*at - '0');
    size_t n = strcspn(text, " ");
    n = n < sizeof ipo_python.version - 1 ? n : sizeof ipo_python.version - 1;
    memcpy(ipo_python.version, text, n);
    if (!trc_python_know(&found, minor))
        return;
    ipo_python.this_thread = (void *(*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    ipo_python.of = found;
}

const char *ipo_python_version(void)
{
    return ipo_python.version;
}

void ipo_python_begin(const uint32_t *tid, unsigned count)
{
    threads = 0;
    for (unsigned i = 0; !ipo_python.of.runtime && ipo_module(i); i++)
        if (strstr(ipo_module(i)->path, "libpython")) { /* embedded later than MPI_Init */
            ipo_python_find();
            break;
        }
    if (ipo_python.of.runtime)
        threads = trc_python_threads(&ipo_python.of, tid, count, thread, PYTHREADS);
}

void ipo_python_stack(uint32_t tid, bool *gil, ipo_line put_line)
{
    static struct trc_python_place here;
    const struct trc_python *p = &ipo_python.of;
    for (size_t i = 0; i < threads; i++) {
        if (thread[i].tid != tid)
            continue;
        *gil |= thread[i].has_gil;
        uint64_t frame = trc_python_top(p, thread[i].state), code, at;
        for (unsigned n = 0; frame && n < FRAMES; n++, frame = trc_python_back(p, frame)) {
            if (!trc_python_code(p, frame, &code, &at) || !trc_python_describe(p, code, at, &here))
                continue;
            struct ipo_text line = {0};
            ipo_text_add_number(&line, here.line > 0 ? (uint64_t)here.line : 0);
            put_line("python", (const char *const[]){here.function, here.file, line.text, 0});
        }
    }
}
