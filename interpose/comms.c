#include "interpose/comms.h"
#include "interpose/abi.h"
#include "interpose/calls.h"
#include "interpose/memo.h"
#include "interpose/process.h"
#include "interpose/table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <xxhash.h>

static struct ipo_table comms;    /* handle -> ipo_comm */
static struct ipo_table objects;  /* window or file handle -> ipo_comm */
static struct ipo_table families; /* hash of parent, call, members -> how many so far */
static atomic_uint next_id = 1, next_object = 1;
static uintptr_t world_group;
static int32_t world_size;

/* MPI's communicators live as long as the process: requests may outlive a freed one.  A region of address space, handed
 * out from the front; only what is used becomes memory. */
#define ARENA_BYTES ((size_t)1 << 30)
static char *arena;
static _Atomic size_t arena_used;

static void *arena_get(size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    size_t at = atomic_fetch_add(&arena_used, bytes);
    return arena && at + bytes <= ARENA_BYTES ? arena + at : NULL;
}

typedef uintptr_t w;
#define REAL(name, ...) (((int (*)(__VA_ARGS__))ipo_own[IPO_##name]))

/* World ranks of the members of one side of a communicator. */
struct members {
    int32_t *world; /* mapped; ended by drop_members */
    int32_t n;
};

static void drop_members(struct members *members)
{
    if (members->world)
        munmap(members->world, 2 * (size_t)members->n * sizeof *members->world);
}

static struct members group_members(uintptr_t group)
{
    struct members members = {0};
    int n = 0;
    if (!world_group || REAL(Group_size, w, int *)(group, &n) || n <= 0)
        return members;
    void *memory =
        mmap(NULL, 2 * (size_t)n * sizeof(int32_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return members;
    members = (struct members){.world = memory, .n = n};
    int32_t *own = members.world + n;
    for (int i = 0; i < n; i++)
        own[i] = i;
    if (REAL(Group_translate_ranks, w, int, const int *, w, int *)(group, n, own, world_group, members.world)) {
        drop_members(&members);
        return (struct members){0};
    }
    for (int i = 0; i < n; i++)
        if (members.world[i] < 0) /* MPI_UNDEFINED: in another world */
            members.world[i] = -1;
    return members;
}

static struct members comm_members(uintptr_t handle, bool remote)
{
    char group_word[8] = {0};
    int failed = remote ? REAL(Comm_remote_group, w, void *)(handle, group_word)
                        : REAL(Comm_group, w, void *)(handle, group_word);
    if (failed)
        return (struct members){0};
    struct members members = group_members(ipo_handle_load((uintptr_t)group_word, 0));
    REAL(Group_free, void *)(group_word);
    return members;
}

static bool is_whole_world(const struct members *members)
{
    bool whole = members->n == world_size;
    for (int32_t i = 0; whole && i < members->n; i++)
        whole = members->world[i] == i;
    return whole;
}

/* The members for as long as the process lives: its parent's list if that is the same, else a copy. */
static const int32_t *keep_members(const struct members *members, const struct ipo_comm *parent)
{
    size_t bytes = (size_t)members->n * sizeof *members->world;
    if (!members->world)
        return NULL;
    if (parent && parent->peers && parent->peers_n == members->n && memcmp(parent->peers, members->world, bytes) == 0)
        return parent->peers;
    int32_t *copy = arena_get(bytes);
    if (copy)
        memcpy(copy, members->world, bytes);
    return copy;
}

static uint64_t nth_of_family(uint64_t family)
{
    for (uint32_t probe = 0; probe < IPO_TABLE_PROBES; probe++) {
        uint32_t at = ipo_table_slot(family, probe);
        uint64_t there = atomic_load(&families.key[at]);
        if (there == 0 && atomic_compare_exchange_strong(&families.key[at], &there, family))
            there = family;
        if (there == family)
            return (uint64_t)(uintptr_t)atomic_fetch_add((_Atomic uintptr_t *)&families.value[at], 1);
    }
    return 0;
}

static uint64_t hash_members(const int32_t *members, int32_t n, uint64_t seed)
{
    return members ? XXH64(members, (size_t)n * sizeof *members, seed) : XXH64(&n, sizeof n, seed);
}

/* Both groups of an intercommunicator must come to the same hash on either side: the smaller hash goes first. */
static uint64_t identity_of(uint64_t parent, const char *made_by, const int32_t *local, int32_t local_n,
                            const int32_t *remote, int32_t remote_n)
{
    uint64_t a = hash_members(local, local_n, 1), b = remote_n ? hash_members(remote, remote_n, 1) : 0;
    uint64_t key[4] = {parent, XXH64(made_by, strlen(made_by), 2), a < b ? a : b, a < b ? b : a};
    uint64_t family = XXH64(key, sizeof key, 3);
    uint64_t last[2] = {family, nth_of_family(family)};
    uint64_t identity = XXH64(last, sizeof last, 4);
    return identity ? identity : 1;
}

static struct ipo_comm *fresh_comm(void)
{
    struct ipo_comm *comm = arena_get(sizeof *comm);
    if (comm)
        comm->id = atomic_fetch_add(&next_id, 1);
    return comm;
}

static void define(const struct ipo_comm *comm, uint64_t parent, uint32_t flags, uint32_t call, const int32_t *local,
                   const int32_t *remote)
{
    size_t most = (size_t)(local ? comm->size : 0) + (size_t)(remote ? comm->remote_size : 0);
    size_t bytes = sizeof(struct trc_def_comm) + most * sizeof(int32_t);
    char small[512], *out = small;
    if (bytes > sizeof small)
        out = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out == MAP_FAILED)
        return;
    struct trc_def_comm def = {.identity = comm->identity,
                               .parent = parent,
                               .rank = comm->rank,
                               .size = comm->size,
                               .remote_size = comm->remote_size,
                               .flags = flags,
                               .members = (uint32_t)most,
                               .created_by = call};
    memcpy(out, &def, sizeof def);
    char *members = out + sizeof def;
    if (local)
        memcpy(members, local, (size_t)comm->size * sizeof *local);
    if (remote)
        memcpy(members + (local ? (size_t)comm->size * sizeof *local : 0), remote,
               (size_t)comm->remote_size * sizeof *remote);
    trc_writer_define(&ipo_process.writer, TRC_DEF_COMM, comm->id, 0, 0, out, bytes, NULL, 0);
    if (out != small)
        munmap(out, bytes);
}

static bool any_unknown(const int32_t *members, int32_t n)
{
    for (int32_t i = 0; members && i < n; i++)
        if (members[i] < 0)
            return true;
    return false;
}

static struct ipo_comm *learn(uintptr_t handle, const struct ipo_comm *parent, uint32_t call)
{
    int inter = 0, rank = -1, size = 0, remote_size = 0;
    if (REAL(Comm_test_inter, w, int *)(handle, &inter) || REAL(Comm_rank, w, int *)(handle, &rank) ||
        REAL(Comm_size, w, int *)(handle, &size) || (inter && REAL(Comm_remote_size, w, int *)(handle, &remote_size)))
        return NULL;
    struct ipo_comm *comm = fresh_comm();
    if (!comm)
        return NULL;
    struct members local = comm_members(handle, false), remote = {0};
    if (inter)
        remote = comm_members(handle, true);
    bool world = !inter && local.world && is_whole_world(&local);
    comm->rank = rank;
    comm->size = size;
    comm->remote_size = remote_size;
    comm->peers = world ? NULL : keep_members(inter ? &remote : &local, parent);
    comm->peers_n = comm->peers ? (inter ? remote_size : size) : 0;
    comm->unknown = !world && !comm->peers;
    comm->identity = identity_of(parent ? parent->identity : 0, call < IPO_CALLS ? ipo_calls[call].name : "",
                                 local.world, size, remote.world, remote_size);
    uint32_t flags = (inter ? TRC_COMM_INTER : 0) | (world ? TRC_COMM_ALL : 0);
    if (any_unknown(local.world, size) || any_unknown(remote.world, remote_size))
        flags |= TRC_COMM_FOREIGN;
    define(comm, parent ? parent->identity : 0, flags, call, world ? NULL : local.world, remote.world);
    drop_members(&local);
    drop_members(&remote);
    return comm;
}

struct ipo_comm *ipo_comm_made(uintptr_t handle, struct ipo_comm *parent, uint32_t call)
{
    handle = ipo_handle(handle);
    if (!handle || handle == ipo_abi.comm_null)
        return NULL;
    uint64_t begin = ipo_ticks();
    int kept = errno;
    struct ipo_comm *comm = learn(handle, parent, call);
    if (comm)
        ipo_table_put(&comms, handle, comm);
    ipo_memo_forget();
    __atomic_fetch_add(&ipo_process.writer.head->slow_ticks, ipo_ticks() - begin, __ATOMIC_RELAXED);
    errno = kept;
    return comm;
}

void ipo_comm_copied(uintptr_t handle, const struct ipo_comm *parent, uint32_t call)
{
    handle = ipo_handle(handle);
    struct ipo_comm *comm = parent && handle && handle != ipo_abi.comm_null ? fresh_comm() : NULL;
    if (!comm)
        return;
    comm->rank = parent->rank;
    comm->size = parent->size;
    comm->remote_size = parent->remote_size;
    comm->peers = parent->peers;
    comm->peers_n = parent->peers_n;
    comm->unknown = parent->unknown;
    bool inter = parent->remote_size > 0;
    comm->identity =
        identity_of(parent->identity, ipo_calls[call].name, inter ? NULL : comm->peers, comm->size, NULL, 0);
    uint32_t flags = inter ? TRC_COMM_INTER : comm->peers ? 0 : TRC_COMM_WORLD;
    if (any_unknown(comm->peers, comm->peers_n))
        flags |= TRC_COMM_FOREIGN;
    define(comm, parent->identity, flags, call, inter ? NULL : comm->peers, inter ? comm->peers : NULL);
    ipo_table_put(&comms, handle, comm);
    ipo_memo_forget();
}

struct ipo_comm *ipo_comm(uintptr_t handle)
{
    handle = ipo_handle(handle);
    struct ipo_comm *comm = ipo_table_get(&comms, handle);
    if (__builtin_expect(comm != NULL, 1))
        return comm;
    return handle && handle != ipo_abi.comm_null ? ipo_comm_made(handle, NULL, IPO_NO_CALL) : NULL;
}

void ipo_comm_freed(uintptr_t handle, const struct ipo_comm *comm)
{
    if (!comm || ipo_table_get(&comms, ipo_handle(handle)) != comm)
        return;
    ipo_table_remove(&comms, ipo_handle(handle));
    ipo_memo_forget();
    trc_writer_define(&ipo_process.writer, TRC_DEF_FREE, comm->id, 0, 0, NULL, 0, NULL, 0);
}

void ipo_comm_named(uintptr_t handle, const char *name)
{
    const struct ipo_comm *comm = ipo_comm(handle);
    if (comm && name)
        trc_writer_define(&ipo_process.writer, TRC_DEF_NAME, comm->id, 0, 0, NULL, 0, name, strnlen(name, 128));
}

struct ipo_comm *ipo_object_made(uintptr_t handle, struct ipo_comm *parent, uint32_t call, const char *file_name)
{
    struct ipo_comm *comm = parent ? fresh_comm() : NULL;
    if (!comm)
        return NULL;
    comm->rank = parent->rank;
    comm->size = parent->size;
    comm->remote_size = parent->remote_size;
    comm->peers = parent->peers;
    comm->peers_n = parent->peers_n;
    comm->unknown = parent->unknown;
    comm->object = atomic_fetch_add(&next_object, 1);
    comm->identity = identity_of(parent->identity, ipo_calls[call].name, comm->peers,
                                 comm->peers ? comm->peers_n : comm->size, NULL, 0);
    define(comm, parent->identity, comm->peers ? 0 : TRC_COMM_ALL, call, comm->peers, NULL);
    trc_writer_define(&ipo_process.writer, file_name ? TRC_DEF_FILE : TRC_DEF_WIN, comm->object, comm->id, 0, NULL, 0,
                      file_name, file_name ? strnlen(file_name, 1024) : 0);
    ipo_table_put(&objects, handle, comm);
    ipo_memo_forget();
    return comm;
}

struct ipo_comm *ipo_object(uintptr_t handle)
{
    return ipo_table_get(&objects, handle);
}

void ipo_object_freed(uintptr_t handle, const struct ipo_comm *object)
{
    if (!object || ipo_table_get(&objects, handle) != object)
        return;
    ipo_table_remove(&objects, handle);
    ipo_memo_forget();
}

int32_t ipo_world_rank(const struct ipo_comm *comm, int rank)
{
    if (rank >= 0) {
        if (!comm || comm->unknown)
            return TRC_PEER_UNKNOWN;
        if (!comm->peers)
            return rank < world_size ? rank : TRC_PEER_UNKNOWN;
        if (rank < comm->peers_n && comm->peers[rank] >= 0)
            return comm->peers[rank];
        return rank < comm->peers_n ? TRC_PEER_BEYOND - rank : TRC_PEER_UNKNOWN;
    }
    if (rank == ipo_abi.any_source)
        return TRC_PEER_ANY;
    if (rank == ipo_abi.proc_null)
        return TRC_PEER_NULL;
    if (rank == ipo_abi.root)
        return TRC_PEER_ROOT;
    return TRC_PEER_UNKNOWN;
}

/* ---- neighbourhoods */

/* Marks which of n neighbours exist. */
static const uint8_t *real_neighbours(const int *neighbour, uint32_t n, uint32_t *degree)
{
    uint8_t *real = arena_get(n ? n : 1);
    *degree = 0;
    for (uint32_t i = 0; real && i < n; i++) {
        real[i] = neighbour[i] != ipo_abi.proc_null;
        *degree += real[i];
    }
    return real;
}

static void cart_neighbours(struct ipo_comm *comm, uintptr_t handle)
{
    int dims = 0;
    if (REAL(Cartdim_get, w, int *)(handle, &dims) || dims <= 0)
        return;
    int *neighbour = arena_get(2 * (size_t)dims * sizeof *neighbour);
    for (int d = 0; neighbour && d < dims; d++) /* the standard's order: for each dimension -1, then +1 */
        REAL(Cart_shift, w, int, int, int *, int *)(handle, d, 1, &neighbour[2 * d], &neighbour[2 * d + 1]);
    if (!neighbour)
        return;
    comm->in_n = comm->out_n = 2 * (uint32_t)dims;
    comm->in_real = real_neighbours(neighbour, comm->in_n, &comm->in_degree);
    comm->out_real = comm->in_real;
    comm->out_degree = comm->in_degree;
}

static void graph_neighbours(struct ipo_comm *comm, uintptr_t handle)
{
    int in = 0, out = 0, weighted = 0;
    if (ipo_own[IPO_Dist_graph_neighbors_count] &&
        !REAL(Dist_graph_neighbors_count, w, int *, int *, int *)(handle, &in, &out, &weighted)) {
        comm->in_n = comm->in_degree = (uint32_t)in;
        comm->out_n = comm->out_degree = (uint32_t)out;
    }
}

void ipo_comm_topology(struct ipo_comm *comm, uintptr_t handle)
{
    if (atomic_load(&comm->topology_known))
        return;
    int kind = ipo_abi.undefined;
    REAL(Topo_test, w, int *)(handle, &kind);
    if (kind == ipo_abi.cart) {
        cart_neighbours(comm, handle);
    } else if (kind == ipo_abi.graph) {
        int n = 0;
        if (!REAL(Graph_neighbors_count, w, int, int *)(handle, comm->rank, &n))
            comm->in_n = comm->out_n = comm->in_degree = comm->out_degree = (uint32_t)n;
    } else {
        graph_neighbours(comm, handle);
    }
    atomic_store(&comm->topology_known, true);
}

void ipo_comms_open(void)
{
    if (arena)
        return;
    void *memory = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    arena = memory == MAP_FAILED ? NULL : memory;
}

/* Places of those that are gone, oldest first; and those that may be used. */
#define PARKED 4096u
#define UNUSED 64u
static _Atomic(struct ipo_comm *) parked[PARKED], unused[UNUSED];

void ipo_comm_foreign_gone(struct ipo_comm *comm)
{
    static atomic_uint next;
    if (atomic_exchange(&comm->gone, true))
        return;
    comm = atomic_exchange(&parked[atomic_fetch_add(&next, 1) % PARKED], comm);
    for (unsigned i = 0; comm && i < UNUSED; i++)
        comm = atomic_exchange(&unused[i], comm);
}

static struct ipo_comm *used_comm(void)
{
    struct ipo_comm *comm = NULL;
    for (unsigned i = 0; !comm && i < UNUSED; i++)
        comm = atomic_exchange(&unused[i], NULL);
    if (!comm)
        return fresh_comm();
    uint32_t *messages = comm->messages;
    int32_t room = comm->messages_n;
    memset(comm, 0, sizeof *comm);
    comm->messages = messages;
    comm->messages_n = room;
    if (messages)
        memset(messages, 0, (size_t)room * 2 * sizeof *messages);
    comm->id = atomic_fetch_add(&next_id, 1);
    return comm;
}

struct ipo_comm *ipo_comm_foreign(uint64_t identity, uint64_t parent, int32_t rank, int32_t size, bool all,
                                  uint32_t call)
{
    struct ipo_comm *comm = used_comm();
    if (!comm)
        return NULL;
    comm->identity = identity;
    comm->rank = rank;
    comm->size = size;
    comm->unknown = !all;
    define(comm, parent, all ? TRC_COMM_ALL : 0, call, NULL, NULL);
    return comm;
}

uint32_t *ipo_comm_messages(struct ipo_comm *comm)
{
    if (__builtin_expect(comm->messages_n < comm->size, 0)) {
        comm->messages = arena_get((size_t)comm->size * 2 * sizeof *comm->messages);
        comm->messages_n = comm->messages ? comm->size : 0;
    }
    return comm->messages;
}

void ipo_comms_start(uint64_t world_identity, bool has_world)
{
    ipo_comms_open();
    if (!has_world)
        return;
    char word[8] = {0};
    int rank = 0;
    if (ipo_abi.comm_world && !REAL(Comm_group, w, void *)(ipo_abi.comm_world, word))
        world_group = ipo_handle_load((uintptr_t)word, 0);
    struct ipo_comm *world = fresh_comm();
    if (!world || !ipo_abi.comm_world)
        return;
    REAL(Comm_size, w, int *)(ipo_abi.comm_world, &world_size);
    REAL(Comm_rank, w, int *)(ipo_abi.comm_world, &rank);
    world->rank = rank;
    world->size = world_size;
    world->identity = world_identity;
    define(world, 0, TRC_COMM_WORLD, IPO_NO_CALL, NULL, NULL);
    ipo_table_put(&comms, ipo_abi.comm_world, world);

    struct ipo_comm *self = fresh_comm();
    int32_t *me = arena_get(sizeof *me);
    if (!self || !me || !ipo_abi.comm_self)
        return;
    *me = rank;
    self->size = 1;
    self->peers = me;
    self->peers_n = 1;
    uint64_t key[2] = {world_identity, (uint64_t)rank};
    self->identity = XXH64(key, sizeof key, 5);
    define(self, world_identity, TRC_COMM_SELF, IPO_NO_CALL, me, NULL);
    ipo_table_put(&comms, ipo_abi.comm_self, self);
}
