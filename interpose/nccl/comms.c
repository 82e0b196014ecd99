/* NCCL's communicators.  All ranks pass the same unique id, so its hash is an identity without communication.  The
 * identity of one made out of another comes from the parent's, the number of such calls on it, and their arguments. */
#include "interpose/mpi/cached.h"
#include "interpose/nccl/profiler.h"
#include "interpose/base/table.h"

#include <sys/mman.h>
#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <xxhash.h>

#define ID_BYTES 128u

static struct ipo_table comms;    /* handle -> ipo_comm */
static struct ipo_table reported; /* identity, with the rank and without -> ipo_comm */

/* An Init call in a group: the program's variable has the handle when the group has ended. */
struct promise {
    const struct ipo_nccl_copy *copy;
    uintptr_t variable;
    struct ipo_comm *comm; /* NULL: NCCL must be asked for rank and size */
    uint64_t identity, parent;
    uint32_t call;
};
#define PROMISES 64u
static __thread struct promise *promised; /* mapped while there are any: threads have little room of their own */
static __thread uint32_t promises;

/* ---- identities */

static uint64_t hash_old(const signed char *bytes)
{
    uint64_t hash = 5381;
    for (unsigned i = 0; i < ID_BYTES; i++)
        hash = hash * 33 ^ (uint64_t)(int64_t)bytes[i];
    return hash;
}

/* Mixes both accumulators and adds up to 8 bytes at a time to state[0]. */
static void feed_hash(uint64_t state[2], const void *bytes, size_t size)
{
    state[0] ^= size;
    for (const char *at = bytes; size > 0;) {
        size_t n = size < 8 ? size : 8;
        uint64_t piece = 0;
        memcpy(&piece, at, n);
        state[0] += state[1];
        state[1] ^= state[0];
        state[0] = (state[0] ^ state[0] >> 31) * 0x9de62bbc8cef3ce3u;
        state[1] = (state[1] ^ state[1] >> 32) * 0x485cd6311b599e79u;
        state[0] += piece;
        at += n;
        size -= n;
    }
}
static uint64_t finish_hash(const uint64_t state[2])
{
    uint64_t hash = (state[0] ^ state[0] >> 31) * 0xbac3bd562846de6bu + state[1];
    return (hash ^ hash >> 32) * 0x995a187a14e7b445u;
}

static uint64_t hash_new(const char *bytes)
{
    uint64_t state[2] = {1, 1};
    feed_hash(state, bytes, ID_BYTES);
    return finish_hash(state);
}
static uint64_t combine_hashes(uint64_t a, uint64_t b)
{
    uint64_t state[2] = {1, 1};
    feed_hash(state, &a, sizeof a);
    feed_hash(state, &b, sizeof b);
    return finish_hash(state);
}

uint64_t ipo_nccl_hash(const void *id, int version)
{
    return version < 22600 ? hash_old(id) : hash_new(id);
}

/* An identity that no other rank has: the communicator's name on other ranks is not known. */
static uint64_t make_lonely_identity(uintptr_t handle)
{
    static atomic_uint number;
    const struct trc_head *head = ipo_process.writer.head;
    uint64_t key[4] = {head->world_identity, (uint64_t)head->rank, handle, atomic_fetch_add(&number, 1)};
    return XXH64(key, sizeof key, 7);
}

/* The identity of a communicator that is made by a call on all members.  Split from 2.26 on: NCCL's own.  Else NCCL
 * may give two the same name, so we make one; excluded ranks may be listed in any order. */
static uint64_t make_child_identity(const struct ipo_nccl_copy *copy, enum ipo_nccl_id id, const uintptr_t *args,
                                    struct ipo_comm *parent)
{
    int32_t color = (int32_t)ipo_nccl_arg(&ipo_nccl_calls[id], args, NCCL_ROLE_COLOR);
    if (id == IPO_NCCL_CommSplit) {
        uint64_t state[2] = {1, 1};
        int32_t number = (int32_t)++parent->children;
        feed_hash(state, &parent->identity, sizeof parent->identity);
        feed_hash(state, &number, sizeof number);
        feed_hash(state, &color, sizeof color);
        if (copy->version >= 22600)
            return finish_hash(state);
    }
    uint64_t key[5] = {parent->identity, parent->children, (uint32_t)color, (uint64_t)id, parent->sequence};
    for (int i = 0; id == IPO_NCCL_CommShrink && args[1] && i < (int)args[2]; i++)
        key[2] += XXH64(&((const int *)args[1])[i], sizeof(int), 8);
    return XXH64(key, sizeof key, 9);
}

/* ---- the table */

static void remember_comm(uintptr_t handle, struct ipo_comm *comm)
{
    ipo_table_put(&comms, handle, comm);
    ipo_cache_forget(); /* the handle may have meant another communicator */
}

struct config {
    size_t size;
    uint32_t magic, version;
    int32_t blocking;
    uint8_t of_no_interest[28];
    const char *name;
};
_Static_assert(offsetof(struct config, blocking) == 16 && offsetof(struct config, name) == 48, "ncclConfig_t");

static bool has_member(const char *config, size_t bytes, uint32_t since)
{
    struct config head;
    if (!config)
        return false;
    memcpy(&head, config, offsetof(struct config, blocking));
    return head.magic == 0xcafebeef && head.size >= bytes && head.size < 4096 && head.version >= since;
}

bool ipo_nccl_config_blocks(const char *config)
{
    int32_t blocking = 1;
    size_t at = offsetof(struct config, blocking);
    if (has_member(config, at + sizeof blocking, 21400))
        memcpy(&blocking, config + at, sizeof blocking);
    return blocking != 0;
}

const char *ipo_nccl_config_name(const char *config)
{
    const char *name = NULL;
    if (has_member(config, sizeof(struct config), 22700))
        memcpy(&name, config + offsetof(struct config, name), sizeof name);
    return name;
}

/* Names it as NCCL's messages do, unless the program has (config.commName, from 2.27 on). */
static void name_it(const struct ipo_comm *comm, const char *config)
{
    char text[] = "nccl 00000000";
    for (unsigned i = 0; i < 8; i++)
        text[5 + i] = "0123456789abcdef"[comm->identity >> (60 - 4 * i) & 15];
    const char *name = ipo_nccl_config_name(config);
    name = name ? name : text;
    trc_writer_define(&ipo_process.writer, TRC_DEF_NAME, comm->id, 0, 0, NULL, 0, name, strnlen(name, 128));
}

/* rank -1: any */
static uint64_t make_key(uint64_t identity, int rank)
{
    return identity ^ (uint64_t)(rank + 1) * 0x9e3779b97f4a7c15u;
}

static struct ipo_comm *define_comm(uint64_t identity, uint64_t parent, int rank, int size, uint32_t call,
                                    const char *config)
{
    const struct trc_head *head = ipo_process.writer.head;
    /* Size and rank equal the world's: its ranks are taken for the world's ranks. */
    bool all = size == head->world_size && rank == head->rank && head->rank >= 0;
    struct ipo_comm *comm = ipo_comm_foreign(identity, parent, rank, size, all, call);
    if (comm) {
        name_it(comm, config);
        ipo_table_put(&reported, make_key(identity, rank), comm);
        if (!ipo_table_get(&reported, identity))
            ipo_table_put(&reported, identity, comm);
    }
    return comm;
}

struct ipo_comm *ipo_nccl_comm_reported(uint64_t hash, int rank)
{
    return ipo_table_get(&reported, make_key(hash, rank));
}

struct ipo_comm *ipo_nccl_comm_define(uint64_t hash, int rank, int size, const char *name, uint32_t call)
{
    struct ipo_comm *comm = ipo_nccl_comm_reported(hash, rank);
    if (comm)
        return comm;
    comm = define_comm(hash, 0, rank, size, call, NULL);
    if (comm && name && *name)
        trc_writer_define(&ipo_process.writer, TRC_DEF_NAME, comm->id, 0, 0, NULL, 0, name, strnlen(name, 128));
    return comm;
}

void ipo_nccl_comm_forget(struct ipo_comm *comm)
{
    ipo_table_remove(&reported, make_key(comm->identity, comm->rank));
    if (ipo_table_get(&reported, comm->identity) == comm)
        ipo_table_remove(&reported, comm->identity);
    trc_writer_define(&ipo_process.writer, TRC_DEF_FREE, comm->id, 0, 0, NULL, 0, NULL, 0);
    ipo_comm_foreign_forget(comm);
}

static struct ipo_comm *ask_comm(const struct ipo_nccl_copy *copy, uintptr_t handle, uint64_t identity, uint64_t parent,
                                 uint32_t call)
{
    int rank = -1, size = 0;
    ipo_function count = copy->real[IPO_NCCL_CommCount], user = copy->real[IPO_NCCL_CommUserRank];
    if (!count || !user || ((int (*)(uintptr_t, int *))count)(handle, &size) ||
        ((int (*)(uintptr_t, int *))user)(handle, &rank))
        return NULL;
    return define_comm(identity, parent, rank, size, call, NULL);
}

struct ipo_comm *ipo_nccl_comm(const struct ipo_nccl_copy *copy, uintptr_t handle)
{
    struct ipo_comm *comm = handle ? ipo_table_get(&comms, handle) : NULL;
    if (__builtin_expect(comm != NULL || !handle, 1))
        return comm;
    comm = ask_comm(copy, handle, make_lonely_identity(handle), 0, IPO_NO_CALL);
    if (comm)
        remember_comm(handle, comm);
    return comm;
}

struct ipo_comm *ipo_nccl_comm_find(uintptr_t handle)
{
    return handle ? ipo_table_get(&comms, handle) : NULL;
}

void ipo_nccl_comm_freed(uintptr_t handle)
{
    struct ipo_comm *comm = ipo_table_get(&comms, handle);
    if (!comm)
        return;
    ipo_table_remove(&comms, handle);
    ipo_cache_forget();
    ipo_nccl_comm_forget(comm);
}

/* Defines a grown communicator.  Its identity comes from a number at the start of the id; members of the old
 * communicator have no id and compute it. */
static struct ipo_comm *define_grown(const struct ipo_nccl_copy *copy, const uintptr_t *args, const void *unique)
{
    const struct ipo_nccl_call *call = &ipo_nccl_calls[IPO_NCCL_CommGrow];
    uintptr_t handle = ipo_nccl_arg(call, args, NCCL_ROLE_COMM);
    struct ipo_comm *parent = handle ? ipo_nccl_comm(copy, handle) : NULL;
    uint64_t magic = 0;
    int size = (int)ipo_nccl_arg(call, args, NCCL_ROLE_SIZE);
    if (parent)
        magic = combine_hashes(parent->magic, ++parent->children);
    else if (unique)
        memcpy(&magic, unique, sizeof magic);
    else
        return NULL; /* NCCL will refuse it */
    struct ipo_comm *comm =
        define_comm(combine_hashes(magic, (uint64_t)size), parent ? parent->identity : 0,
                    parent ? parent->rank : (int)ipo_nccl_arg(call, args, NCCL_ROLE_RANK), size,
                    IPO_NCCL_NUMBER(IPO_NCCL_CommGrow), (const char *)ipo_nccl_arg(call, args, NCCL_ROLE_CONFIG));
    if (comm)
        comm->magic = magic;
    return comm;
}

struct ipo_comm *ipo_nccl_comm_coming(const struct ipo_nccl_copy *copy, enum ipo_nccl_id id, const uintptr_t *args)
{
    const struct ipo_nccl_call *call = &ipo_nccl_calls[id];
    const void *unique = (const void *)ipo_nccl_arg(call, args, NCCL_ROLE_UNIQUE_ID);
    if (id == IPO_NCCL_CommGrow)
        return define_grown(copy, args, unique);
    if (!unique)
        return NULL;
    struct ipo_comm *comm =
        define_comm(ipo_nccl_hash(unique, copy->version), 0, (int)ipo_nccl_arg(call, args, NCCL_ROLE_RANK),
                    (int)ipo_nccl_arg(call, args, NCCL_ROLE_SIZE), IPO_NCCL_NUMBER(id),
                    (const char *)ipo_nccl_arg(call, args, NCCL_ROLE_CONFIG));
    if (comm)
        memcpy(&comm->magic, unique, sizeof comm->magic);
    return comm;
}

static void fulfil_promise(const struct promise *p)
{
    uintptr_t handle = *(const uintptr_t *)p->variable;
    struct ipo_comm *comm = p->comm;
    if (handle && !comm)
        comm = ask_comm(p->copy, handle, p->identity, p->parent, p->call);
    if (comm && !p->comm)
        comm->magic = comm->identity;
    if (handle && comm)
        remember_comm(handle, comm);
}

static void add_promise(struct promise p)
{
    if (!promised) {
        void *memory =
            mmap(NULL, PROMISES * sizeof p, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        promised = memory == MAP_FAILED ? NULL : memory;
    }
    if (promised && promises < PROMISES)
        promised[promises++] = p;
}

void ipo_nccl_comms_of_group(bool failed)
{
    for (uint32_t i = 0; i < promises; i++)
        if (!failed || promised[i].comm) /* after a failure the variable may not hold a handle */
            fulfil_promise(&promised[i]);
    promises = 0;
    if (promised)
        munmap(promised, PROMISES * sizeof *promised);
    promised = NULL;
}

static void add_all_devices(enum ipo_nccl_id id, const uintptr_t *args)
{
    const uintptr_t *handle = (const uintptr_t *)args[0];
    uint64_t identity = make_lonely_identity(args[0]);
    for (int i = 0; i < (int)args[1]; i++) {
        struct ipo_comm *comm = define_comm(identity, 0, i, (int)args[1], IPO_NCCL_NUMBER(id), NULL);
        if (comm && handle[i])
            remember_comm(handle[i], comm);
    }
}

void ipo_nccl_comm_made(const struct ipo_nccl_copy *copy, enum ipo_nccl_id id, const uintptr_t *args,
                        struct ipo_comm *coming)
{
    const struct ipo_nccl_call *call = &ipo_nccl_calls[id];
    if (id == IPO_NCCL_CommInitAll) {
        add_all_devices(id, args);
        return;
    }
    struct promise p = {.copy = copy,
                        .variable = ipo_nccl_arg(call, args, NCCL_ROLE_COMM_OUT),
                        .comm = coming,
                        .call = IPO_NCCL_NUMBER(id)};
    struct ipo_comm *parent = coming ? NULL : ipo_nccl_comm(copy, ipo_nccl_arg(call, args, NCCL_ROLE_COMM));
    if (!p.variable || (!coming && !parent))
        return;
    if (parent) {
        p.identity = make_child_identity(copy, id, args, parent);
        p.parent = parent->identity;
    }
    if (ipo_thread_self()->nccl_depth == 0)
        fulfil_promise(&p);
    else
        add_promise(p);
}
