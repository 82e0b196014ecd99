/* Groups of Gloo.  The name of a group is a hash of the prefixes of its store, equal on all its ranks in PyTorch; a
 * context outside PyTorch has the number of its creation, if all ranks are in it. */
#include "interpose/gloo/gloo.h"
#include "interpose/base/table.h"
#include "interpose/mpi/alone.h"
#include "interpose/mpi/cached.h"

#include <errno.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <xxhash.h>

static struct ipo_table stores; /* address of a store -> hash of its prefixes */
static struct ipo_table groups; /* address of a group or a context -> ipo_comm */
static struct ipo_table made;   /* identity -> number of groups so far that would have it */

static __thread struct ipo_comm *making; /* the group that PyTorch makes in this thread */

void ipo_gloo_prefix(uintptr_t store, const char *prefix, uintptr_t inner)
{
    uint64_t before = (uintptr_t)ipo_table_get(&stores, inner);
    uint64_t hash = XXH64(prefix, strnlen(prefix, 4096), before);
    ipo_table_put(&stores, store, (void *)(uintptr_t)(hash | 1));
}

struct ipo_comm *ipo_gloo_comm(uintptr_t address)
{
    return address ? ipo_table_get(&groups, address) : NULL;
}

void ipo_gloo_context_is(uintptr_t address, struct ipo_comm *comm)
{
    ipo_table_put(&groups, address, comm);
}

static void forget(uintptr_t address, struct ipo_comm *now)
{
    struct ipo_comm *before = ipo_gloo_comm(address);
    ipo_table_put(&groups, address, now);
    if (before && before != now && before->magic == address) {
        trc_writer_define(&ipo_process.writer, TRC_DEF_FREE, before->id, 0, 0, NULL, 0, NULL, 0);
        ipo_comm_foreign_forget(before);
    }
}

/* Defines the group at `address`; `name`: the hash of its prefixes, 0 where it has none. */
static struct ipo_comm *define(uintptr_t address, uint64_t name, int rank, int size)
{
    const struct trc_head *head = ipo_process.writer.head;
    bool all = size == head->world_size && rank == head->rank;
    bool lonely = !name && !all; /* nobody knows which group of another rank is the same */
    uint64_t key[4] = {head->world_identity, name, (uint64_t)size, lonely ? address * 64 + (uint64_t)head->rank : 0};
    uint64_t identity = XXH64(key, sizeof key, 11), number = (uintptr_t)ipo_table_get(&made, identity | 1);
    ipo_table_put(&made, identity | 1, (void *)(uintptr_t)(number + 1));
    const uint32_t by = IPO_GLOO_NUMBER(IPO_GLOO_connectFullMesh);
    struct ipo_comm *comm = ipo_comm_foreign(identity + number, 0, rank, size, all, by);
    if (!comm)
        return NULL;
    comm->magic = address;
    char text[] = "gloo 00000000";
    for (unsigned i = 0; i < 8; i++)
        text[5 + i] = "0123456789abcdef"[comm->identity >> (60 - 4 * i) & 15];
    trc_writer_define(&ipo_process.writer, TRC_DEF_NAME, comm->id, 0, 0, NULL, 0, text, sizeof text - 1);
    return comm;
}

struct ipo_comm *ipo_gloo_group(uintptr_t address, uint64_t name, int rank, int size)
{
    int kept = errno;
    bool sane = rank >= 0 && rank < size;
    struct ipo_comm *comm = NULL;
    /* The ranks of a job have the same (job_id.c). */
    bool met = (getenv("MASTER_ADDR") && getenv("MASTER_PORT")) || getenv("HOROVOD_GLOO_RENDEZVOUS_PORT");
    if (sane && (*ipo_gloo_armed || ipo_start_alone(rank, size, met, "from the first group of Gloo")))
        comm = define(address, name, rank, size);
    forget(address, comm);
    errno = kept;
    return comm;
}

void ipo_gloo_group_begin(uintptr_t group, uintptr_t store, int rank, int size)
{
    making = ipo_gloo_group(group, (uintptr_t)ipo_table_get(&stores, store), rank, size);
}

void ipo_gloo_group_end(void)
{
    making = NULL;
}

void ipo_gloo_context(uintptr_t context, int rank, int size)
{
    struct ipo_comm *comm = making ? making : ipo_gloo_group(context, 0, rank, size);
    forget(context, comm);
    forget(context + sizeof(void *), comm); /* address in options; since PyTorch 2.15 */
}
