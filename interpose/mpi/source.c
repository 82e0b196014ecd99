/* MPI, as a source of the recorder. */
#include "interpose/base/oldglibc.h"
#include "interpose/core/source.h"
#include "interpose/load/objects.h"
#include "interpose/mpi/describe.h"
#include "interpose/mpi/names.h"
#include "interpose/mpi/resolve.h"
#include "interpose/mpi/multi_mpi.h"

#include <dlfcn.h>
#include <string.h>

extern int PMPI_Init(int *, char ***) __attribute__((weak));

static bool is_linked(void)
{
    return PMPI_Init != NULL;
}

/* Objects in front of us that define MPI calls: another tool, or a program with wrappers.  They pass calls on to
 * PMPI, past us, unless their slots of these names lead here. */
#define MAX_TOOLS 8
static const void *tools[MAX_TOOLS];
static unsigned tools_n;

static void find_tools(void)
{
    const void *mpi = ipo_object_base((const void *)(uintptr_t)ipo_resolve_name("PMPI_Init"));
    for (int i = 0; i < IPO_CALLS && tools_n < MAX_TOOLS; i++) {
        const void *front = ipo_calls[i].exported ? dlsym(RTLD_DEFAULT, ipo_calls[i].name) : NULL;
        if (!front || front == (const void *)(uintptr_t)ipo_wrapper[i])
            continue;
        const void *base = ipo_object_base(front);
        bool known = !base || base == mpi;
        for (unsigned t = 0; t < tools_n; t++)
            known |= tools[t] == base;
        if (!known)
            tools[tools_n++] = base;
    }
}

static bool is_tool(const void *start)
{
    for (unsigned t = 0; t < tools_n; t++)
        if (tools[t] == start)
            return true;
    return false;
}

static void prepare_walk(void)
{
    if (!tools_n && *ipo_mpi_object())
        find_tools();
    ipo_foreign_list();
}

static enum ipo_claim claim_object(const char *path)
{
    return strcmp(path, ipo_mpi_object()) == 0 ? IPO_LEFT_ALONE : IPO_UNCLAIMED;
}

static bool is_foreign(uintptr_t base, const void *bound)
{
    return ipo_is_foreign(base, (uintptr_t)bound);
}

static ipo_function find_wrapper(const char *name, const struct ipo_object *object, const void *bound)
{
    bool of_tool = strncmp(name, "PMPI_", 5) == 0;
    (void)bound;
    if ((!of_tool && strncmp(name, "MPI_", 4) != 0) || !*ipo_mpi_object() || object->claimed)
        return NULL;
    if (of_tool && !is_tool(object->start))
        return ipo_own[IPO_Type_free] && strcmp(name, "PMPI_Type_free") == 0 ? (ipo_function)ipo_type_free_unseen
                                                                             : NULL;
    int row = ipo_call_named(name + of_tool);
    return row >= 0 && (of_tool || !ipo_calls[row].exported) && ipo_real[row] ? ipo_wrapper[row] : NULL;
}

static size_t write_schema(struct trc_schema_call *calls)
{
    for (int i = 0; i < IPO_CALLS; i++)
        calls[i] = (struct trc_schema_call){
            .name = ipo_calls[i].name,
            .roles = ipo_calls[i].roles,
            .opclass = ipo_calls[i].opclass == TRC_OP_PASS ? TRC_OP_OTHER : (enum trc_opclass)ipo_calls[i].opclass};
    return IPO_CALLS;
}

static const struct ipo_source mpi_source = {.name = "mpi",
                                             .linked = is_linked,
                                             .find = ipo_resolve_all,
                                             .before_walk = prepare_walk,
                                             .claim = claim_object,
                                             .wrapper_of = find_wrapper,
                                             .foreign = is_foreign,
                                             .schema = write_schema,
                                             .run = ipo_mpi_name_others,
                                             .thread_left = ipo_completion_left};
IPO_SOURCE(mpi_source);
