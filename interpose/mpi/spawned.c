/* A process manager has a space of keys for each group that it starts, and tells the group's processes its name as
 * one of the first things in MPI_Init: "kvs_PID_GROUP_RANDOM_HOST", with the PID of mpiexec.  No function of MPI
 * returns it, the library's own are not exported, and its socket must not be used by others.  But the library keeps
 * the name in its variables, where it is read here.  A spawned process has its parents' name there, too.  Groups are
 * numbered as they are started, so its own name has the higher number. */
#include "interpose/identity/job_id.h"
#include "interpose/mpi/multi_mpi.h"
#include "interpose/mpi/spawned.h"
#include "interpose/load/loader.h"

#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char prefix[] = "kvs_";

struct search {
    bool found;
    uint64_t group, name; /* the latest group's, and its name's hash */
};

/* Reads the three numbers of a name, which identify it; the library may have appended more. */
static void parse_name(struct search *search, const char *at, const char *end)
{
    uint64_t number[3] = {0};
    const char *from = at;
    at += sizeof prefix - 1;
    for (int i = 0; i < 3; i++) {
        const char *digits = at;
        while (at < end && *at >= '0' && *at <= '9')
            number[i] = number[i] * 10 + (uint64_t)(*at++ - '0');
        if (at == digits || at == end || *at++ != '_')
            return;
    }
    if (search->found && number[1] <= search->group)
        return;
    search->found = true;
    search->group = number[1];
    search->name = XXH64(from, (size_t)(at - from), 0);
}

/* Searches the writable segments of the library. */
static int search_segments(struct dl_phdr_info *info, size_t size, void *of)
{
    (void)size;
    const struct ipo_range *library = &ipo_active_mpi->range;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_W) || begin - library->base >= library->size)
            continue;
        const char *at = (const char *)begin, *end = at + header->p_memsz;
        while ((at = memmem(at, (size_t)(end - at), prefix, sizeof prefix - 1)) != NULL)
            parse_name(of, at++, end);
    }
    return 0;
}

uint64_t ipo_spawned_identity(uint64_t shared)
{
    struct search search = {0};
    if (!ipo_active_mpi || !ipo_job_shares_world())
        return shared;
    ipo_loader_walk(search_segments, &search);
    return search.found ? XXH64(&search.name, sizeof search.name, shared) : shared;
}
