#include "tui/sources/lines.h"

#include "trace/util/cxx_name.h"
#include "trace/util/now.h"
#include "trace/util/sort.h"
#include "trace/util/text.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A place that was asked for.  It is kept whether or not its line was found, since screens ask at each redraw. */
struct known {
    struct known *next; /* queue of places to look up */
    bool done;
    char *line, *inlined; /* "/src/app.c:17"; name of the inlined function there, NULL: it is in none */
    char *function;       /* name in the symbols of the debug information; NULL: not known */
    const char *place;    /* "module+0xoffset" */
    const char *id;       /* build id of the module, from the trace; "": unknown */
    char text[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER, answered = PTHREAD_COND_INITIALIZER;
static void *known_root;
static struct known *first, **last = &first;
static bool started, came;
static double patience; /* seconds left to wait */
static int64_t job_began_ns;

ANA_COMPARE(compare_places, struct known, strcmp(x->place, y->place), strcmp(x->id, y->id))

/* ---- functions of the thread ------------------------------------------------------------------------------------ */

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

/* The last file that was opened: most places are in one file. */
static Dwfl *open_dwfl;
static Dwfl_Module *open_module;
static char *open_path;
static int64_t open_changed_ns;

static Dwfl_Module *open_file(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &info) || !S_ISREG(info.st_mode)) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    open_changed_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    Dwfl_Module *module = dwfl_report_offline(open_dwfl, "", path, fd);
    if (!module)
        close(fd);
    dwfl_report_end(open_dwfl, NULL, NULL);
    return module;
}

static Dwfl_Module *find_module(const char *path)
{
    if (open_path && strcmp(open_path, path) == 0)
        return open_module;
    if (open_dwfl)
        dwfl_end(open_dwfl);
    free(open_path);
    open_path = strdup(path);
    open_dwfl = dwfl_begin(&callbacks);
    open_module = open_dwfl && open_path && path[0] == '/' ? open_file(path) : NULL;
    return open_module;
}

/* Whether the file is the one that ran. */
static bool is_file_that_ran(Dwfl_Module *module, const char *id)
{
    const unsigned char *bytes;
    GElf_Addr address;
    int n = dwfl_module_build_id(module, &bytes, &address);
    if (!*id) /* unknown: a file that was changed since is another one */
        return open_changed_ns / 1000000000 <= job_began_ns / 1000000000;
    for (int i = 0; i < n; i++, id += 2) {
        char hex[3];
        snprintf(hex, sizeof hex, "%02x", bytes[i]);
        if (strncmp(id, hex, 2) != 0)
            return false;
    }
    return n > 0 && !*id;
}

static bool is_header_of_system(const char *file)
{
    return strncmp(file, "/usr/include/", 13) == 0 || strncmp(file, "/usr/lib/", 9) == 0 ||
           strstr(file, "/include/c++/");
}

/* The name of the innermost inlined function at an address, malloc'ed; NULL: it is in none.  From code of a header of
 * the system, such as the C++ library's, it climbs to the program's call of it, and changes *file and *line. */
static char *find_inlined(Dwfl_Module *module, Dwarf_Addr address, const char **file, int *line)
{
    Dwarf_Addr bias;
    Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias), *innermost = NULL, *scopes = NULL;
    Dwarf_Files *files = NULL;
    int n = unit && dwarf_getscopes(unit, address - bias, &innermost) > 0 ? dwarf_getscopes_die(innermost, &scopes) : 0;
    const char *name = NULL;
    for (int i = 0; i < n && !name && dwarf_tag(&scopes[i]) != DW_TAG_subprogram; i++) {
        Dwarf_Attribute of;
        Dwarf_Word index, number;
        if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
            continue;
        if (!is_header_of_system(*file)) {
            name = dwarf_diename(&scopes[i]);
        } else if (dwarf_getsrcfiles(unit, &files, NULL) == 0 &&
                   dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &of), &index) == 0 &&
                   dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &of), &number) == 0 &&
                   dwarf_filesrc(files, index, NULL, NULL)) {
            *file = dwarf_filesrc(files, index, NULL, NULL);
            *line = (int)number;
        }
    }
    char *copy = name ? strdup(name) : NULL;
    free(innermost);
    free(scopes);
    return copy;
}

/* The name of the function that holds an address, malloc'ed; NULL: not known. */
static char *find_symbol(Dwfl_Module *module, Dwarf_Addr address)
{
    GElf_Sym symbol;
    GElf_Off offset;
    const char *name = dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
    char *copy = NULL;
    if (name && offset < symbol.st_size && asprintf(&copy, "%s+%#" PRIx64, name, (uint64_t)offset + 1) >= 0)
        trc_cxx_name(copy);
    return copy;
}

/* Finds what the debug information says of a place. */
static void find_names(struct known *k)
{
    char *path = strdup(k->place), *plus = path ? strrchr(path, '+') : NULL;
    uint64_t offset = plus ? strtoull(plus + 1, NULL, 16) : 0;
    if (plus)
        *plus = 0;
    Dwfl_Module *module = plus ? find_module(path) : NULL;
    Dwarf_Addr start = 0;
    free(path);
    if (!module || !is_file_that_ran(module, k->id) ||
        !dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL))
        return;
    /* A return address is behind the call; one byte before it is inside the call. */
    Dwarf_Addr address = start + offset - 1;
    Dwfl_Line *line = dwfl_module_getsrc(module, address);
    int number = 0;
    const char *file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
    k->function = find_symbol(module, address);
    k->inlined = file ? find_inlined(module, address, &file, &number) : NULL;
    const char *folder = file && *file != '/' ? dwfl_line_comp_dir(line) : NULL;
    if (file && asprintf(&k->line, "%s%s%s:%d", folder ? folder : "", folder ? "/" : "", file, number) < 0)
        k->line = NULL;
}

static void *answer_requests(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!first)
            pthread_cond_wait(&asked, &lock);
        struct known *k = first;
        first = k->next;
        if (!first)
            last = &first;
        pthread_mutex_unlock(&lock);
        find_names(k); /* nobody else reads these before it is done */
        pthread_mutex_lock(&lock);
        k->done = true;
        came |= k->line || k->function;
        pthread_cond_broadcast(&answered);
    }
    return unused;
}

/* ---- asking ----------------------------------------------------------------------------------------------------- */

static bool start_thread(void)
{
    pthread_t thread;
    if (!started && pthread_create(&thread, NULL, answer_requests, NULL) == 0) {
        pthread_detach(thread);
        started = true;
    }
    return started;
}

static void wait_for_line(const struct known *k)
{
    double began = (double)ana_wall_ns() / 1e9, end = began + patience;
    struct timespec until = {(time_t)end, (long)((end - (double)(time_t)end) * 1e9)};
    while (!k->done && patience > 0)
        if (pthread_cond_timedwait(&answered, &lock, &until) != 0)
            break;
    double took = (double)ana_wall_ns() / 1e9 - began;
    patience = took > 0 && took < patience ? patience - took : took > 0 ? 0 : patience;
}

static struct known *add_place(const struct known *key)
{
    size_t n = strlen(key->place) + 1, id = strlen(key->id) + 1;
    struct known *fresh = calloc(1, sizeof *fresh + n + id);
    if (!fresh)
        return NULL;
    fresh->place = memcpy(fresh->text, key->place, n);
    fresh->id = memcpy(fresh->text + n, key->id, id);
    const char *plus = strrchr(fresh->place, '+'), *colon = strrchr(fresh->place, ':');
    if (!plus && colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")]) /* a place in Python has its line */
        fresh->line = strdup(fresh->place);
    fresh->done = !plus || !start_thread();
    if (!fresh->done) {
        *last = fresh;
        last = &fresh->next;
        pthread_cond_signal(&asked);
    }
    tsearch(fresh, &known_root, compare_places);
    return fresh;
}

/* The build id of the module, from the trace. */
static const char *find_build_id(const struct trc_file *file, const char *place)
{
    char key[1100];
    const char *plus = strrchr(place, '+'), *id = NULL;
    int n = plus ? snprintf(key, sizeof key, "build-id %.*s", (int)(plus - place), place) : 0;
    if (n > 0 && (size_t)n < sizeof key)
        id = trc_fact(file, key);
    return id ? id : "";
}

/* Result known for a place by now, after a wait for it; NULL: nothing yet. */
static const struct known *look_up(const struct trc_file *file, const char *place)
{
    struct known key = {.place = place, .id = find_build_id(file, place)};
    pthread_mutex_lock(&lock);
    struct known *const *found = tfind(&key, &known_root, compare_places);
    const struct known *k = found ? *found : add_place(&key);
    if (k && !k->done && patience > 0)
        wait_for_line(k);
    k = k && k->done ? k : NULL; /* does not change any more */
    pthread_mutex_unlock(&lock);
    return k;
}

const char *tui_line_of(const struct trc_file *file, uint64_t site)
{
    const char *function, *place;
    trc_site(file, site, &function, &place);
    const struct known *k = place ? look_up(file, place) : NULL;
    return k ? k->line : NULL;
}

static const char *find_line(void *context, const struct trc_file *file, const char *place)
{
    (void)context;
    const struct known *k = look_up(file, place);
    return k ? trc_base_name(k->line) : NULL;
}

static const char *find_function(void *context, const struct trc_file *file, const char *place, bool named)
{
    (void)context;
    const struct known *k = look_up(file, place);
    return k && (k->inlined || named) ? k->inlined : k ? k->function : NULL;
}

void tui_lines_use(struct ana_job *job, double patience_s)
{
    if (!getenv("HPCTOP_DEBUGINFOD"))
        unsetenv("DEBUGINFOD_URLS"); /* libdw would ask these servers, for as long as it takes */
    pthread_mutex_lock(&lock);
    patience = patience_s;
    job_began_ns = ana_job_info(job).start_realtime_ns;
    pthread_mutex_unlock(&lock);
    ana_job_set_line_finder(job, find_line, NULL);
    ana_job_set_name_finder(job, find_function);
}

bool tui_lines_changed(void)
{
    pthread_mutex_lock(&lock);
    bool some = came;
    came = false;
    pthread_mutex_unlock(&lock);
    return some;
}

bool tui_lines_busy(void)
{
    pthread_mutex_lock(&lock);
    bool some = started;
    pthread_mutex_unlock(&lock);
    return some;
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
