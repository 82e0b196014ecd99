#include "interpose/mpi/comms.h"
#include "interpose/mpi/abi.h"
#include "interpose/base/arena.h"
#include "interpose/mpi/calls.h"
#include "interpose/mpi/families.h"
#include "interpose/mpi/members.h"
#include "interpose/mpi/cached.h"
#include "interpose/core/state.h"
#include "interpose/base/table.h"

#include <errno.h>
#include <string.h>
#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <xxhash.h>

static struct ipo_table comms;   /* handle -> ipo_comm */
static struct ipo_table objects; /* window or file handle -> ipo_comm */
static atomic_uint next_id = 1, next_object = 1;
static int32_t world_size;

typedef uintptr_t w;
#define REAL(name, ...) (((int (*)(__VA_ARGS__))ipo_own[IPO_##name]))

/* ---- identities */

static uint64_t hash_members(const struct ipo_members *members, int32_t n)
{
    return members ? XXH64(members->world, (size_t)members->n * sizeof *members->world, 1) : XXH64(&n, sizeof n, 1);
}

/* An identity that no other rank has: what other ranks call this communicator is not known. */
static uint64_t make_lonely_identity(const struct ipo_comm *comm)
{
    const struct trc_head *head = ipo_process.writer.head;
    uint64_t key[3] = {head->world_identity, (uint64_t)head->pid << 32 | (uint32_t)head->rank, comm->id};
    return XXH64(key, sizeof key, 6);
}

/* The two sides of an intercommunicator must compute the same hash, so the smaller group hash goes first. */
static void identify_comm(struct ipo_comm *comm, struct ipo_comm *parent, uint32_t call)
{
    const char *made_by = call < IPO_CALLS ? ipo_calls[call].name : "";
    uint64_t a = hash_members(comm->local, comm->size);
    uint64_t b = comm->remote_size ? hash_members(comm->remote, comm->remote_size) : 0;
    uint64_t key[4] = {parent ? parent->identity : 0, XXH64(made_by, strlen(made_by), 2), a < b ? a : b, a < b ? b : a};
    uint64_t last[2] = {XXH64(key, sizeof key, 3), 0};
    comm->parent = key[0];
    comm->made_by = call;
    comm->path = ipo_thread_current ? ipo_thread_current->making : 0;
    if (!ipo_family_next(last[0], parent ? &parent->families : NULL, &last[1])) {
        comm->identity = make_lonely_identity(comm);
        ipo_comm_doubt(comm, 0);
        return;
    }
    comm->identity = XXH64(last, sizeof last, 4);
    if (!comm->identity)
        comm->identity = 1;
}

/* ---- definitions */

static uint32_t find_flags(const struct ipo_comm *comm)
{
    bool inter = comm->remote_size > 0,
         foreign = (comm->local && comm->local->foreign) || (comm->remote && comm->remote->foreign);
    return comm->flags | (inter ? TRC_COMM_INTER : 0) | (foreign ? TRC_COMM_FOREIGN : 0) |
           (!inter && !comm->local && !comm->unknown && !comm->flags ? TRC_COMM_ALL : 0);
}

static char *put_members(char *at, const struct ipo_members *members)
{
    size_t bytes = members ? (size_t)members->n * sizeof *members->world : 0;
    return bytes ? (char *)memcpy(at, members->world, bytes) + bytes : at;
}

void ipo_comm_define(struct ipo_comm *comm)
{
    size_t most = (size_t)(comm->local ? comm->local->n : 0) + (size_t)(comm->remote ? comm->remote->n : 0);
    size_t bytes = sizeof(struct trc_def_comm) + most * sizeof(int32_t);
    struct trc_def_comm *def = ipo_arena_get(bytes);
    comm->defined = true;
    if (!def)
        return;
    *def = (struct trc_def_comm){.identity = comm->identity,
                                 .parent = comm->parent,
                                 .rank = comm->rank,
                                 .size = comm->size,
                                 .remote_size = comm->remote_size,
                                 .flags = find_flags(comm),
                                 .members = (uint32_t)most,
                                 .created_by = comm->made_by};
    put_members(put_members((char *)(def + 1), comm->local), comm->remote);
    trc_writer_define(&ipo_process.writer, TRC_DEF_COMM, comm->id, comm->path, comm->asked, def, bytes, NULL, 0);
    ipo_arena_release(def, bytes);
    if (comm->in_doubt)
        trc_writer_define(&ipo_process.writer, TRC_DEF_DOUBT, comm->id, 0, comm->doubt_from, NULL, 0, NULL, 0);
}

void ipo_comm_doubt(struct ipo_comm *comm, uint64_t from)
{
    if (comm->in_doubt && comm->doubt_from <= from)
        return;
    comm->in_doubt = true;
    comm->doubt_from = from;
    if (comm->defined)
        trc_writer_define(&ipo_process.writer, TRC_DEF_DOUBT, comm->id, 0, from, NULL, 0, NULL, 0);
}

/* ---- places */

static struct ipo_comm *make_comm(void)
{
    struct ipo_comm *comm = ipo_arena_get(sizeof *comm);
    if (comm)
        comm->id = atomic_fetch_add(&next_id, 1);
    return comm;
}

static void release_comm(struct ipo_comm *comm)
{
    comm->id = 0;
    ipo_families_forget(&comm->families);
    ipo_members_drop(comm->local);
    ipo_members_drop(comm->remote);
    ipo_comm_topology_free(comm);
    ipo_arena_release(comm->messages, (size_t)comm->messages_n * 2 * sizeof *comm->messages);
    ipo_arena_release(comm, sizeof *comm);
}

/* Freed communicators, the oldest first: requests and calls of other threads may still have a pointer to them. */
#define PARKED 4096u
static _Atomic(struct ipo_comm *) parked[PARKED];

static void park_comm(struct ipo_comm *comm)
{
    static atomic_uint next;
    if (atomic_exchange(&comm->gone, true))
        return;
    comm = atomic_exchange(&parked[atomic_fetch_add(&next, 1) % PARKED], comm);
    if (comm)
        release_comm(comm);
}

/* ---- communicators */

/* Finds the world ranks behind rank arguments. */
static void find_peers(struct ipo_comm *comm)
{
    const struct ipo_members *peers = comm->remote_size > 0 ? comm->remote : comm->local;
    comm->peers = peers ? peers->world : NULL;
    comm->peers_n = peers ? peers->n : 0;
}

/* Shares the parent's list where it is equal. */
static struct ipo_members *share_members(struct ipo_members *members, const struct ipo_comm *parent)
{
    struct ipo_members *theirs = parent && ipo_members_same(members, parent->local)    ? parent->local
                                 : parent && ipo_members_same(members, parent->remote) ? parent->remote
                                                                                       : NULL;
    if (!theirs)
        return members;
    ipo_members_drop(members);
    return ipo_members_share(theirs);
}

static struct ipo_comm *learn_comm(uintptr_t handle, struct ipo_comm *parent, uint32_t call)
{
    int inter = 0, rank = -1, size = 0, remote_size = 0;
    if (REAL(Comm_test_inter, w, int *)(handle, &inter) || REAL(Comm_rank, w, int *)(handle, &rank) ||
        REAL(Comm_size, w, int *)(handle, &size) || (inter && REAL(Comm_remote_size, w, int *)(handle, &remote_size)))
        return NULL;
    struct ipo_comm *comm = make_comm();
    if (!comm)
        return NULL;
    comm->rank = rank;
    comm->size = size;
    comm->remote_size = remote_size;
    comm->local = share_members(ipo_members_of(handle, false), parent);
    if (inter)
        comm->remote = share_members(ipo_members_of(handle, true), parent);
    if (!inter && ipo_members_are_world(comm->local)) {
        ipo_members_drop(comm->local);
        comm->local = NULL;
    } else {
        comm->unknown = !(inter ? comm->remote : comm->local);
    }
    find_peers(comm);
    identify_comm(comm, parent, call);
    return comm;
}

/* A duplicate has the parent's ranks in the parent's order: MPI is not asked. */
static struct ipo_comm *copy_comm(struct ipo_comm *parent, uint32_t call)
{
    struct ipo_comm *comm = make_comm();
    if (!comm)
        return NULL;
    comm->rank = parent->rank;
    comm->size = parent->size;
    comm->remote_size = parent->remote_size;
    comm->local = ipo_members_share(parent->local);
    comm->remote = ipo_members_share(parent->remote);
    comm->unknown = parent->unknown;
    find_peers(comm);
    identify_comm(comm, parent, call);
    return comm;
}

/* Communicators beyond this number are defined when they are used: a program may make and free them in a loop. */
#define DEFINED_AT_ONCE 4096u

static struct ipo_comm *add_comm(struct ipo_table *table, uintptr_t handle, struct ipo_comm *comm)
{
    if (comm && (comm->id <= DEFINED_AT_ONCE || comm->asked) && !comm->defined)
        ipo_comm_define(comm);
    if (comm)
        ipo_table_put(table, handle, comm);
    ipo_cache_forget();
    return comm;
}

struct ipo_comm *ipo_comm_made(uintptr_t handle, struct ipo_comm *parent, uint32_t call, uint64_t asked)
{
    handle = ipo_handle(handle);
    if (!handle || handle == ipo_abi.comm_null)
        return NULL;
    uint64_t begin = ipo_ticks();
    int kept = errno;
    struct ipo_comm *comm = learn_comm(handle, parent, call);
    if (comm)
        comm->asked = asked;
    add_comm(&comms, handle, comm);
    __atomic_fetch_add(&ipo_process.writer.head->slow_ticks, ipo_ticks() - begin, __ATOMIC_RELAXED);
    errno = kept;
    return comm;
}

void ipo_comm_copied(uintptr_t handle, struct ipo_comm *parent, uint32_t call)
{
    handle = ipo_handle(handle);
    if (parent && handle && handle != ipo_abi.comm_null)
        add_comm(&comms, handle, copy_comm(parent, call));
}

struct ipo_comm *ipo_comm(uintptr_t handle)
{
    return ipo_table_get(&comms, ipo_handle(handle));
}

struct ipo_comm *ipo_comm_accepted(uintptr_t handle)
{
    struct ipo_comm *comm = ipo_comm(handle);
    return comm ? comm : ipo_comm_made(handle, NULL, IPO_NO_CALL, 0);
}

static struct ipo_comm *find_numbered(struct ipo_table *table, uint32_t id)
{
    for (uint32_t at = 0; at < IPO_TABLE_SIZE; at++) {
        struct ipo_comm *comm = atomic_load(&table->key[at]) ? atomic_load(&table->value[at]) : NULL;
        if (comm && comm->id == id)
            return comm;
    }
    return NULL;
}

struct ipo_comm *ipo_comm_numbered(uint32_t id)
{
    struct ipo_comm *comm = find_numbered(&comms, id);
    return comm ? comm : find_numbered(&objects, id);
}

void ipo_comm_freed(uintptr_t handle, struct ipo_comm *comm)
{
    if (!comm || ipo_table_get(&comms, ipo_handle(handle)) != comm)
        return;
    ipo_table_remove(&comms, ipo_handle(handle));
    ipo_cache_forget();
    if (comm->id <= DEFINED_AT_ONCE)
        trc_writer_define(&ipo_process.writer, TRC_DEF_FREE, comm->id, 0, 0, NULL, 0, NULL, 0);
    park_comm(comm);
}

void ipo_comm_named(uintptr_t handle, const char *name)
{
    struct ipo_comm *comm = ipo_comm_accepted(handle);
    if (comm && name)
        trc_writer_define(&ipo_process.writer, TRC_DEF_NAME, ipo_comm_id(comm), 0, 0, NULL, 0, name,
                          strnlen(name, 128));
}

struct ipo_comm *ipo_object_made(uintptr_t handle, struct ipo_comm *parent, uint32_t call, const char *file_name)
{
    struct ipo_comm *comm = parent ? copy_comm(parent, call) : NULL;
    if (!comm)
        return NULL;
    comm->object = atomic_fetch_add(&next_object, 1);
    ipo_comm_define(comm);
    trc_writer_define(&ipo_process.writer, file_name ? TRC_DEF_FILE : TRC_DEF_WIN, comm->object, comm->id, 0, NULL, 0,
                      file_name, file_name ? strnlen(file_name, 1024) : 0);
    return add_comm(&objects, handle, comm);
}

struct ipo_comm *ipo_object(uintptr_t handle)
{
    return ipo_table_get(&objects, handle);
}

void ipo_object_freed(uintptr_t handle, struct ipo_comm *object)
{
    if (!object || ipo_table_get(&objects, handle) != object)
        return;
    ipo_table_remove(&objects, handle);
    ipo_cache_forget();
    park_comm(object);
}

int32_t ipo_world_rank(const struct ipo_comm *comm, int rank)
{
    if (rank >= 0) {
        if (!comm || comm->unknown)
            return TRC_PEER_UNKNOWN;
        if (!comm->peers)
            return rank < (world_size ? world_size : comm->size) ? rank : TRC_PEER_UNKNOWN; /* no size: without MPI */
        if (rank < comm->peers_n && comm->peers[rank] >= 0)
            return comm->peers[rank];
        return rank < comm->peers_n ? TRC_PEER_REMOTE - rank : TRC_PEER_UNKNOWN;
    }
    if (rank == ipo_abi.any_source)
        return TRC_PEER_ANY;
    if (rank == ipo_abi.proc_null)
        return TRC_PEER_NULL;
    if (rank == ipo_abi.root)
        return TRC_PEER_ROOT;
    return TRC_PEER_UNKNOWN;
}

/* ---- communicators of NCCL */

void ipo_comm_foreign_forget(struct ipo_comm *comm)
{
    park_comm(comm);
}

struct ipo_comm *ipo_comm_foreign(uint64_t identity, uint64_t parent, int32_t rank, int32_t size, bool all,
                                  uint32_t call)
{
    struct ipo_comm *comm = make_comm();
    if (!comm)
        return NULL;
    comm->identity = identity;
    comm->parent = parent;
    comm->made_by = call;
    comm->rank = rank;
    comm->size = size;
    comm->unknown = !all;
    ipo_comm_define(comm);
    return comm;
}

uint32_t *ipo_comm_messages(struct ipo_comm *comm)
{
    if (__builtin_expect(comm->messages_n < comm->size, 0)) {
        comm->messages = ipo_arena_get((size_t)comm->size * 2 * sizeof *comm->messages);
        comm->messages_n = comm->messages ? comm->size : 0;
    }
    return comm->messages;
}

/* ---- the first two */

static void define_first(uintptr_t handle, uint32_t flags, uint64_t identity, uint64_t parent, int32_t rank,
                         int32_t size)
{
    struct ipo_comm *comm = handle ? make_comm() : NULL;
    if (!comm)
        return;
    comm->flags = flags;
    comm->identity = identity;
    comm->parent = parent;
    comm->made_by = IPO_NO_CALL;
    comm->size = size;
    comm->rank = flags == TRC_COMM_SELF ? 0 : rank;
    comm->local = flags == TRC_COMM_SELF ? ipo_members_one(rank) : NULL;
    find_peers(comm);
    ipo_comm_define(comm);
    ipo_table_put(&comms, handle, comm);
}

void ipo_comms_start(uint64_t world_identity, bool has_world)
{
    char word[8] = {0};
    int rank = 0;
    if (!has_world || !ipo_abi.comm_world)
        return;
    REAL(Comm_size, w, int *)(ipo_abi.comm_world, &world_size);
    REAL(Comm_rank, w, int *)(ipo_abi.comm_world, &rank);
    if (!REAL(Comm_group, w, void *)(ipo_abi.comm_world, word))
        ipo_members_start(ipo_handle_load((uintptr_t)word, 0), world_size);
    define_first(ipo_abi.comm_world, TRC_COMM_WORLD, world_identity, 0, rank, world_size);
    uint64_t key[2] = {world_identity, (uint64_t)rank};
    define_first(ipo_abi.comm_self, TRC_COMM_SELF, XXH64(key, sizeof key, 5), world_identity, rank, 1);
}
