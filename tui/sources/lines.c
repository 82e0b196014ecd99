#include "tui/sources/lines.h"

#include "trace/util/cxx_name.h"

#include <elfutils/libdwfl.h>
#include <search.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What was asked before, found or not: screens ask again at every redraw. */
struct known {
    char *module;
    char *line;
};

static void *known_root;

static int by_module(const void *a, const void *b)
{
    return strcmp(((const struct known *)a)->module, ((const struct known *)b)->module);
}

static int64_t started_ns; /* the job, since 1970 */

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

/* The last file that was opened: sites of one program come together. */
static Dwfl *open_dwfl;
static Dwfl_Module *open_module;
static char *open_path;

static Dwfl_Module *module_at(const char *path)
{
    if (open_path && strcmp(open_path, path) == 0)
        return open_module;
    if (open_dwfl)
        dwfl_end(open_dwfl);
    free(open_path);
    open_path = strdup(path);
    open_module = NULL;
    open_dwfl = dwfl_begin(&callbacks);
    if (!open_dwfl || !open_path)
        return NULL;
    open_module = dwfl_report_offline(open_dwfl, "", path, -1);
    dwfl_report_end(open_dwfl, NULL, NULL);
    return open_module;
}

static char *look_up(const char *path, uint64_t offset)
{
    struct stat info;
    if (path[0] != '/' || stat(path, &info) || info.st_mtim.tv_sec > started_ns / 1000000000)
        return NULL;
    Dwfl_Module *module = module_at(path);
    Dwarf_Addr start = 0;
    if (!module || !dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL))
        return NULL;
    /* A return address lies behind the call: one byte back is inside it. */
    Dwfl_Line *line = dwfl_module_getsrc(module, start + offset - 1);
    int number = 0;
    const char *file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
    if (!file)
        return NULL;
    const char *slash = strrchr(file, '/');
    char *text = NULL;
    return asprintf(&text, "%s:%d", slash ? slash + 1 : file, number) < 0 ? NULL : text;
}

static const char *line_of(void *context, const char *module)
{
    (void)context;
    struct known key = {.module = (char *)module};
    struct known *const *found = tfind(&key, &known_root, by_module);
    if (found)
        return (*found)->line;
    struct known *fresh = calloc(1, sizeof *fresh);
    char *path = strdup(module);
    if (!fresh || !path || !(fresh->module = strdup(module))) {
        free(fresh);
        free(path);
        return NULL;
    }
    char *plus = strrchr(path, '+'), *colon = strrchr(path, ':'), *name = strrchr(path, '/');
    if (!plus && colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")]) /* Python: it says its line itself */
        fresh->line = strdup(name ? name + 1 : path);
    if (plus) {
        *plus = 0;
        fresh->line = look_up(path, strtoull(plus + 1, NULL, 16));
    }
    free(path);
    tsearch(fresh, &known_root, by_module);
    return fresh->line;
}

void tui_lines_use(struct ana_job *job)
{
    started_ns = ana_job_info(job).start_realtime_ns;
    ana_job_set_line_finder(job, line_of, NULL);
}

void tui_names_use(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        trc_demangle *demangle = library ? (trc_demangle *)(uintptr_t)dlsym(library, "__cxa_demangle") : NULL;
        if (demangle) {
            trc_cxx_use(demangle);
            return;
        }
    }
}
