#include "tui/sources/outside_python.h"
#include "trace/util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { THREADS = 512 };

bool tui_outside_is_interpreter(const char *file)
{
    file += strncmp(file, "lib", 3) == 0 ? 3 : 0;
    return strncmp(file, "python3.", 8) == 0;
}

static bool read_other(const struct trc_python *of, uint64_t address, void *out, size_t size)
{
    const struct tui_outside_python *python = of->user;
    struct iovec here = {out, size}, there = {(void *)(uintptr_t)address, size};
    return process_vm_readv(python->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* ---- the interpreter --------------------------------------------------------------------------------------------- */

/* The interpreter's file that was read last, and its two symbols: all ranks have the same. */
static struct {
    char path[512];
    uint64_t runtime, code_type; /* offsets; 0: none */
} known;

static void read_symbols(Dwfl_Module *module, Dwarf_Addr start)
{
    known.runtime = known.code_type = 0;
    for (int i = 0, n = dwfl_module_getsymtab(module); i < n && !(known.runtime && known.code_type); i++) {
        GElf_Sym symbol;
        GElf_Addr address = 0;
        const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);
        if (!name || symbol.st_shndx == SHN_UNDEF)
            continue;
        if (strcmp(name, "_PyRuntime") == 0)
            known.runtime = address - start;
        if (strcmp(name, "PyCode_Type") == 0)
            known.code_type = address - start;
    }
}

static int find_interpreter(Dwfl_Module *module, void **unused, const char *name, Dwarf_Addr start, void *python)
{
    (void)unused;
    struct tui_outside_python *out = python;
    const char *file = trc_base_name(name);
    if (!tui_outside_is_interpreter(file))
        return DWARF_CB_OK;
    if (strcmp(known.path, name) != 0) {
        snprintf(known.path, sizeof known.path, "%s", name);
        read_symbols(module, start);
    }
    if (!known.runtime || !known.code_type)
        return DWARF_CB_OK; /* the program, whose interpreter is a library */
    out->of.runtime = start + known.runtime;
    out->of.code_type = start + known.code_type;
    if (trc_python_know(&out->of, (unsigned)atoi(strchr(file, '.') + 1)))
        return DWARF_CB_ABORT;
    out->of.runtime = 0;
    return DWARF_CB_OK;
}

void tui_outside_python_find(Dwfl *dwfl, int pid, int tid, struct tui_outside_python *out)
{
    *out = (struct tui_outside_python){.pid = pid, .tid = tid, .of = {.read = read_other, .user = out}};
    dwfl_getmodules(dwfl, find_interpreter, out, 0);
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static uint64_t find_state(const struct tui_outside_python *python)
{
    static struct trc_python_thread thread[THREADS];
    const uint32_t tid = (uint32_t)python->tid;
    const size_t n = trc_python_threads(&python->of, &tid, 1, thread, THREADS);
    for (size_t i = 0; i < n; i++)
        if (thread[i].tid == tid)
            return thread[i].state;
    return 0;
}

void tui_outside_python_read(struct tui_outside_python *python)
{
    const struct trc_python *of = &python->of;
    python->count = 0;
    if (of->runtime && !python->state)
        python->state = find_state(python);
    uint64_t frame = python->state ? trc_python_top(of, python->state) : 0;
    for (int tries = 0; frame && tries < 2 * TUI_OUTSIDE_FRAMES && python->count < TUI_OUTSIDE_FRAMES; tries++) {
        struct tui_outside_code *out = &python->frame[python->count];
        python->count += trc_python_code(of, frame, &out->code, &out->at);
        frame = trc_python_back(of, frame);
    }
}

bool tui_outside_python_name(const struct tui_outside_python *python, const struct tui_outside_code *frame,
                             struct tui_outside_frame *out)
{
    struct trc_python_place place;
    if (!trc_python_describe(&python->of, frame->code, frame->at, &place))
        return false;
    *out = (struct tui_outside_frame){.address = frame->code ^ frame->at << 1, .is_python = true};
    snprintf(out->function, sizeof out->function, "%.100s", place.function);
    snprintf(out->where, sizeof out->where, "%.100s:%d", trc_base_name(place.file), place.line);
    trc_clean_text(out->function);
    trc_clean_text(out->where);
    return true;
}
