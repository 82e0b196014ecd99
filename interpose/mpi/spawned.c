/* A process manager has a space of keys for each group that it starts, and tells the group's processes its name as one
 * of the first things in MPI_Init: "kvs_PID_GROUP_RANDOM_HOST", PID that of mpiexec.  No function of MPI gives it, the
 * library's own are not exported, and to ask once more on the library's socket would be to speak in its name.  But the
 * library keeps it among its variables, so that is where it is read.  A spawned process has its parents' name there
 * too, which it was told in order to reach them; groups are numbered as they are started, so that its own is the later
 * one. */
#include "interpose/base/oldglibc.h"
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

/* The three numbers of a name: all that tells it from others, and without what the library may have put behind it. */
static void take_name(struct search *search, const char *at, const char *end)
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

/* In what the library can write to. */
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
            take_name(of, at++, end);
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
