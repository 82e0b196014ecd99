/* MPI, as a source of the recorder. */
#include "interpose/base/elf.h"
#include "interpose/core/filter.h"
#include "interpose/core/source.h"
#include "interpose/load/names.h"
#include "interpose/load/objects.h"
#include "interpose/mpi/describe.h"
#include "interpose/mpi/resolve.h"
#include "interpose/mpi/multi_mpi.h"
#include "interpose/sites/sites.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

extern int PMPI_Init(int *, char ***) __attribute__((weak));

static bool is_linked(void)
{
    return PMPI_Init != NULL;
}

/* Objects in front of us that define MPI calls: another tool, or a program with wrappers.  They pass calls on to
 * PMPI, past us, unless their slots for the names lead here. */
#define MAX_TOOLS 8
static const void *tools[MAX_TOOLS];
static unsigned tools_n;

static bool defines_call(const struct link_map *map)
{
    struct ipo_elf elf;
    ipo_elf_of(map, &elf);
    for (int i = 0; i < IPO_CALLS; i++)
        if (ipo_calls[i].exported && ipo_elf_find(&elf, ipo_calls[i].name, 0))
            return true;
    return false;
}

static void find_tools(void)
{
    const struct link_map *map = ipo_elf_first();
    for (; map && !ipo_elf_is_ours(map) && tools_n < MAX_TOOLS; map = map->l_next)
        if (defines_call(map))
            tools[tools_n++] = ipo_object_base(map->l_ld);
}

static bool is_tool(const void *start)
{
    for (unsigned t = 0; t < tools_n; t++)
        if (tools[t] == start)
            return true;
    return false;
}

static void prepare_walk(unsigned first)
{
    static bool tools_known;
    if (!tools_known && *ipo_mpi_object()) {
        tools_known = true;
        find_tools();
    }
    ipo_foreign_list(first);
}

/* Once MPI is known, slots that were read before have wrappers. */
static unsigned count_found(void)
{
    return *ipo_mpi_object() != 0;
}

static enum ipo_claim claim_object(const char *path)
{
    return strcmp(path, ipo_mpi_object()) == 0 ? IPO_MINE : IPO_UNCLAIMED;
}

static bool is_foreign(uintptr_t base, const void *bound)
{
    return ipo_is_foreign(base, (uintptr_t)bound);
}

/* fputs of the MPI library: MPICH prints the reason there, just before its launcher kills all
 * ranks. */
static int print(const char *text, FILE *stream)
{
    const int result = fputs(text, stream), kept = errno;
    IPO_ASK_SOURCES(said, text);
    errno = kept;
    return result;
}

static const struct ipo_source mpi_source;
static ipo_function find_wrapper(const struct ipo_name *name, const struct ipo_object *object, const void *bound)
{
    (void)bound;
    if (object->claimed == &mpi_source)
        return name->table == IPO_NAMES_LIBC && name->row == IPO_LIBC_fputs ? (ipo_function)print : NULL;
    if (name->table != IPO_NAMES_MPI || !*ipo_mpi_object() || object->claimed)
        return NULL;
    bool of_tool = *name->text == 'P';
    if (of_tool && !is_tool(object->start))
        return ipo_own[IPO_Type_free] && strcmp(name->text, "PMPI_Type_free") == 0 ? (ipo_function)ipo_type_free_unseen
                                                                                   : NULL;
    int row = of_tool ? ipo_name_of(name->text + 1).row : name->row;
    return row >= 0 && (of_tool || !ipo_calls[row].exported) && ipo_real[row] ? ipo_wrapper[row] : NULL;
}

/* Asks again at the end: what dlerror returns is about the program's question. */
static void *look_up(void *handle, const char *name, const void *caller)
{
    void *found = dlsym(handle, name);
    int row = found && !ipo_is_ours(found) ? ipo_name_of(name).row : -1;
    if (row < 0 || !ipo_wrapper[row])
        return found;
    bool ours = ipo_mpi_looked_up(handle, found, caller);
    found = dlsym(handle, name);
    return ours ? (void *)(uintptr_t)ipo_wrapper[row] : found;
}

static size_t write_calls(struct trc_call *calls)
{
    for (int i = 0; i < IPO_CALLS; i++)
        calls[i] = (struct trc_call){
            .name = ipo_calls[i].name,
            .opclass = ipo_calls[i].opclass == TRC_OP_PASS ? TRC_OP_OTHER : (enum trc_opclass)ipo_calls[i].opclass};
    return IPO_CALLS;
}

/* Names the sites of a library while it is there.  MPI itself unloads libraries, too, that made no calls. */
static void name_sites(void)
{
    if (ipo_thread_current != &ipo_thread_none && !ipo_thread_current->outer && !ipo_filter_is_there())
        ipo_sites_settle();
}

static const struct ipo_source mpi_source = {.name = "mpi",
                                             .linked = is_linked,
                                             .find = ipo_resolve_all,
                                             .found_n = count_found,
                                             .before_walk = prepare_walk,
                                             .claim = claim_object,
                                             .wrapper_of = find_wrapper,
                                             .foreign = is_foreign,
                                             .names = "MPI_",
                                             .looked_up = look_up,
                                             .calls = write_calls,
                                             .unloading = name_sites,
                                             .unloaded = ipo_threads_forget,
                                             .run = ipo_mpi_name_others,
                                             .thread_left = ipo_completion_left};
IPO_SOURCE(mpi_source);
