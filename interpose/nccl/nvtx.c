/* NCCL by the NVTX ranges that it pushes around each of its calls: for an NCCL that shows no symbols and is older than
 * the profiler plugin, and for all others that ask for an injection.
 *
 * NVTX is a header: every library has a copy of its own, which asks for NVTX_INJECTION64_PATH once and calls the
 * functions exported here.  Domains with the name NCCL are read here; ranges of the program and of its other libraries
 * are regions (interpose/regions), ranges of NVIDIA's libraries cost an empty call.
 * Layouts: nvtxTypes.h, nvToolsExt.h and nvToolsExtPayload.h of NVTX 3; payloads: NCCL's src/include/nvtx*.h. */
#include "interpose/nccl/profiler.h"
#include "interpose/nccl/hooks.h"
#include "interpose/load/objects.h"
#include "interpose/regions/nvtx.h"

#include <dlfcn.h>
#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <xxhash.h>

/* ---- layouts */

enum { PAYLOAD_EXTENSION = (int32_t)0xDFBD0009 };

enum { TABLE_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum { RANGE_START = 2, RANGE_END = 3, RANGE_PUSH = 4, RANGE_POP = 5, REGISTER_STRING = 10, DOMAIN_CREATE = 12 };
struct callbacks {
    size_t size;
    int (*functions_of)(int module, ipo_function ***table, unsigned *size);
};

/* The payload extension; the slot of ranges that are popped with a payload came with NCCL 2.25. */
enum { MODULE_PAYLOAD = 2, POP_WITH_PAYLOAD = 4 };
struct segment {
    size_t id, slots;
    intptr_t *slot;
};
struct extension {
    uint16_t version, size, module, compatible;
    size_t segments;
    struct segment *segment;
};

/* ---- domains, one for each NCCL */

static struct domain {
    _Atomic(const void *) base; /* start of the object */
    atomic_uint comms;          /* communicators that exist, where they have no hash */
    _Atomic(struct ipo_comm *) last;
} domains[8];
enum { DOMAINS = sizeof domains / sizeof *domains };

static bool is_nccl(const struct domain *domain)
{
    return domain >= domains && domain < domains + DOMAINS;
}

/* Domains of NVIDIA's other libraries: their ranges are no regions of the program. */
static struct domain left_out;

/* Returns whether code at an address belongs to NVIDIA's libraries. */
static bool is_of_nvidia(const void *address)
{
    static const char *const names[] = {"libcu", "libnv", "libnccl"};
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)address, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/'), *file = slash ? slash + 1 : info.dli_fname;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(file, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void *create_domain(const char *name)
{
    if (!name || strcmp(name, "NCCL") != 0)
        return is_of_nvidia(__builtin_return_address(0)) ? &left_out : NULL;
    const void *base = ipo_object_base(__builtin_return_address(0));
    for (int i = 0; i < DOMAINS; i++) {
        const void *free = NULL;
        if (atomic_compare_exchange_strong(&domains[i].base, &free, base) || free == base)
            return &domains[i];
    }
    return NULL;
}

static void *register_string(const struct domain *domain, const char *text)
{
    if (domain == &left_out)
        return NULL;
    return is_nccl(domain) ? (void *)(uintptr_t)(1 + ipo_profiler_row(text, false))
                           : (void *)(uintptr_t)ipo_nvtx_string(text);
}

static int find_row(const struct ipo_nvtx_attributes *with)
{
    if (with->message_type == IPO_NVTX_REGISTERED)
        return (int)(uintptr_t)with->message - 1;
    return with->message_type == IPO_NVTX_ASCII ? ipo_profiler_row(with->message, false) : -1;
}

/* ---- payloads: 2.16 to 2.24 without the communicator, from 2.25 behind its hash */

struct said {
    bool comm_known, data_known, made;
    uint64_t comm, parent, bytes;
    int32_t number; /* op, root or peer */
    int32_t rank, size;
    int32_t devices; /* ranks of this process in ncclCommInitAll */
};

static uint64_t read_word(const char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}
static int32_t read_int(const char *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static struct said read_payload(enum ipo_nccl_id id, const struct ipo_nvtx_payload *payload)
{
    const struct ipo_nccl_call *call = &ipo_nccl_calls[id];
    struct said said = {.number = -1, .rank = -1};
    const char *at = payload->bytes;
    size_t size = payload->size;
    if (!at || size > 4096)
        return said;
    if (call->moves != IPO_MOVES_NONE) {
        size_t plain = call->moves == IPO_MOVES_ALLGATHER || call->moves == IPO_MOVES_ALLTOALL ? 8 : 16;
        if (size != plain && size < plain + 8)
            return said;
        said.comm_known = size >= plain + 8;
        said.comm = said.comm_known ? read_word(at) : 0;
        at += said.comm_known ? 8 : 0;
        said.data_known = true;
        said.bytes = read_word(at);
        said.number = plain == 16 ? read_int(at + 8) : -1;
    } else if (call->opclass == TRC_OP_NCCL_INIT) {
        bool with_parent = (id == IPO_NCCL_CommSplit || id == IPO_NCCL_CommGrow) && size >= 28;
        said.made = said.comm_known = size >= 20;
        if (said.made) {
            said.comm = read_word(at);
            said.parent = with_parent ? read_word(at + 8) : 0;
            at += with_parent ? 16 : 8;
            said.size = read_int(at);
            said.rank = read_int(at + 4);
        } else if (id == IPO_NCCL_CommInitAll && size >= 12) {
            said.made = said.comm_known = true;
            said.comm = read_word(at);
            said.size = said.devices = read_int(at + 8);
            said.rank = 0;
        } else if (size >= 12) {
            said.made = true;
            said.rank = read_int(at);
            said.size = read_int(at + 4);
        }
    } else if (size >= 20 || (id == IPO_NCCL_CommFinalize && size >= 8)) {
        said.comm_known = true;
        said.comm = read_word(at);
    } else if (id == IPO_NCCL_Signal && size >= 16) {
        said.comm_known = true;
        said.comm = read_word(at);
        said.number = read_int(at + 8);
    }
    return said;
}

/* ---- ranges */

/* Only the outermost range of a thread is a call of the program: ncclBcast calls ncclBroadcast. */
static __thread unsigned depth;
static __thread const struct domain *outermost;
static __thread struct ipo_profiler_event call;

/* The communicator of a call; without a hash only if there is just one. */
static struct ipo_comm *find_comm(struct domain *domain, const struct said *said)
{
    if (said->comm_known)
        return ipo_nccl_comm_reported(said->comm, -1);
    return atomic_load(&domain->comms) == 1 ? atomic_load(&domain->last) : NULL;
}

static void begin_range(struct domain *domain, int row, const struct ipo_nvtx_attributes *with)
{
    const struct ipo_nccl_call *about = &ipo_nccl_calls[row];
    struct said said = {.number = -1, .rank = -1};
    if (with->payload_type == PAYLOAD_EXTENSION && with->payloads > 0 && with->payload)
        said = read_payload((enum ipo_nccl_id)row, with->payload);
    memset(&call, 0, sizeof call);
    call.id = (enum ipo_nccl_id)row;
    if (about->opclass == TRC_OP_NCCL_INIT && !ipo_profiler_start(said.rank, said.size, 0))
        return;
    ipo_profiler_set(&call, NCCL_ROLE_COUNT, said.data_known ? said.bytes : TRC_BYTES_UNKNOWN);
    ipo_profiler_set_partner(&call, (uintptr_t)said.number);
    ipo_profiler_open(&call, find_comm(domain, &said), atomic_load(&domain->base));
    if (said.made && about->opclass == TRC_OP_NCCL_INIT) { /* before 2.25: without the communicator */
        const struct trc_head *head = ipo_process.writer.head;
        static atomic_uint made;
        uint64_t key[3] = {head->world_identity, atomic_fetch_add(&made, 1), (uint64_t)said.size};
        bool world = said.size == head->world_size; /* equal on all ranks, which make them in the same order */
        uint64_t identity = XXH64(key, sizeof key, world ? 10 : 11 + (uint64_t)head->rank);
        struct ipo_comm *comm =
            said.comm_known ? NULL
                            : ipo_nccl_comm_define(identity, said.rank, said.size, NULL, IPO_NCCL_NUMBER(call.id));
        ipo_profiler_made(&call, comm);
        atomic_store(&domain->last, comm);
        atomic_fetch_add(&domain->comms, 1);
    }
}

static int push_range(struct domain *domain, const struct ipo_nvtx_attributes *with)
{
    if (!is_nccl(domain))
        return domain == &left_out ? 0 : ipo_nvtx_push(with);
    if (depth++ > 0)
        return (int)depth - 1;
    int row = find_row(with);
    outermost = domain;
    call.open = false;
    if (row >= 0 && !ipo_profiler_is_wrapped()) {
        ipo_nccl_hook_live(IPO_HOOK_NVTX, atomic_load(&domain->base));
        begin_range(domain, row, with);
    }
    return 0;
}

static void end_range(struct domain *domain, const struct ipo_nvtx_payload *payload)
{
    struct said said = {.rank = -1};
    if (payload && call.open)
        said = read_payload(call.id, payload);
    if (said.made && said.comm_known && ipo_profiler_start(said.rank, said.size, said.comm)) {
        struct ipo_comm *made = NULL, *parent = said.parent ? ipo_nccl_comm_reported(said.parent, -1) : NULL;
        int last = said.devices ? said.devices - 1 : 0;
        for (int i = last; i >= 0; i--)
            made = ipo_nccl_comm_define(said.comm, said.rank + i, said.size, NULL, IPO_NCCL_NUMBER(call.id));
        ipo_profiler_made(&call, parent ? parent : made); /* a collective of the communicator's ranks */
    }
    struct ipo_comm *comm = call.frame.comm;
    bool ends = call.open && (call.id == IPO_NCCL_CommDestroy || call.id == IPO_NCCL_CommAbort);
    ipo_profiler_close(&call);
    if (ends && comm && *ipo_profiler_armed)
        ipo_nccl_comm_forget(comm);
    if (ends && atomic_load(&domain->comms) > 0)
        atomic_fetch_sub(&domain->comms, 1);
}

static int pop_with_payload(struct domain *domain, const struct ipo_nvtx_payload *payload, size_t n)
{
    if (!is_nccl(domain))
        return domain == &left_out ? 0 : ipo_nvtx_pop();
    if (depth == 0)
        return 0;
    if (--depth == 0 && domain == outermost && call.open)
        end_range(domain, n > 0 ? payload : NULL);
    return (int)depth;
}

static int pop_range(struct domain *domain)
{
    return pop_with_payload(domain, NULL, 0);
}

static uint64_t start_range(const struct domain *domain, const struct ipo_nvtx_attributes *with)
{
    return is_nccl(domain) || domain == &left_out ? 0 : ipo_nvtx_start(with);
}

static void end_started(const struct domain *domain, uint64_t range)
{
    if (!is_nccl(domain) && domain != &left_out)
        ipo_nvtx_end(range);
}

/* ---- exported functions */

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void *(*table_of)(uint32_t));
int InitializeInjectionNvtx2(const void *(*table_of)(uint32_t))
{
    const struct callbacks *callbacks = table_of(TABLE_CALLBACKS);
    ipo_function **table = NULL;
    unsigned size = 0;
    if (!callbacks || callbacks->size < sizeof *callbacks || !callbacks->functions_of(MODULE_CORE2, &table, &size) ||
        !table || size <= DOMAIN_CREATE)
        return 0;
    const struct {
        int at;
        ipo_function function;
    } slots[] = {{RANGE_START, (ipo_function)start_range},         {RANGE_END, (ipo_function)end_started},
                 {RANGE_PUSH, (ipo_function)push_range},           {RANGE_POP, (ipo_function)pop_range},
                 {REGISTER_STRING, (ipo_function)register_string}, {DOMAIN_CREATE, (ipo_function)create_domain}};
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        if (table[slots[i].at])
            *table[slots[i].at] = slots[i].function;
    table = NULL;
    if (callbacks->functions_of(MODULE_CORE, &table, &size) && table)
        ipo_nvtx_hook_default(table, size);
    return 1;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(struct extension *extension);
int InitializeInjectionNvtxExtension(struct extension *extension)
{
    if (extension->module != MODULE_PAYLOAD || extension->segments < 1)
        return 0;
    if (extension->segment->slots > POP_WITH_PAYLOAD)
        extension->segment->slot[POP_WITH_PAYLOAD] = (intptr_t)pop_with_payload;
    return 1;
}
