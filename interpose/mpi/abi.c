#include "interpose/mpi/abi.h"
#include "interpose/mpi/calls.h"
#include "interpose/base/safe_read.h"
#include "interpose/mpi/resolve.h"

#include <link.h>

struct ipo_abi ipo_abi;

/* MPICH's built-in requests, one for each kind (mpir_request.h: MPIR_REQUEST_COMPLETE and the next). */
#define SHARED      0x6c000001
#define SHARED_LAST 0x6c000008

static const struct ipo_abi openmpi = {
    .id = TRC_ABI_OPENMPI,
    .handle_bytes = 8,
    .status_bytes = 24,
    .source_at = 0,
    .tag_at = 4,
    .count_at = -1,
    .any_source = -1,
    .any_tag = -1,
    .proc_null = -2,
    .root = -4,
    .undefined = -32766,
    .truncate_class = 15,
    .refused_classes = 0x3ffe,
    .lock_shared = 2,
    .cart = 1,
    .graph = 2,
    .in_place = 1,
    .status_ignore = 0,
    .statuses_ignore = 0,
};
static const struct ipo_abi mpich = {
    .id = TRC_ABI_MPICH,
    .handle_bytes = 4,
    .status_bytes = 20,
    .source_at = 8,
    .tag_at = 12,
    .count_at = -1,
    .any_source = -2,
    .any_tag = -1,
    .proc_null = -1,
    .root = -3,
    .undefined = -32766,
    .truncate_class = 14,
    .refused_classes = 0x1ffe,
    .lock_shared = 235,
    .cart = 2,
    .graph = 1,
    .in_place = (uintptr_t)-1,
    .status_ignore = 1,
    .statuses_ignore = 1,
    .comm_world = 0x44000000,
    .comm_self = 0x44000001,
    .comm_null = 0x04000000,
    .request_null = 0x2c000000,
    .datatype_null = 0x0c000000,
    .group_empty = 0x48000000,
    .byte_type = 0x4c00010d,
    .ops = {0, 0x58000001, 0x58000002, 0x58000003, 0x58000004, 0x58000005, 0x58000006, 0x58000007, 0x58000008,
            0x58000009, 0x5800000a, 0x5800000b, 0x5800000c, 0x5800000d, 0x5800000e},
    .shared = SHARED,
    .shared_span = 0xff,
    .types = 0x4c000000,
    .types_span = 0x1000000,
};
static const struct ipo_abi standard = {
    .id = TRC_ABI_STANDARD,
    .handle_bytes = 8,
    .status_bytes = 32,
    .source_at = 0,
    .tag_at = 4,
    .count_at = -1,
    .any_source = -1,
    .any_tag = -2,
    .proc_null = -3,
    .root = -4,
    .undefined = -32766,
    .truncate_class = 15,
    .refused_classes = 0x3ffe,
    .lock_shared = 302,
    .cart = 211,
    .graph = 212,
    .in_place = 1,
    .status_ignore = 0,
    .statuses_ignore = 0,
    .comm_world = 0x101,
    .comm_self = 0x102,
    .comm_null = 0x100,
    .request_null = 0x180,
    .datatype_null = 0x200,
    .group_empty = 0x109,
    .byte_type = 0x247,
    .types = 0x200,
    .types_span = 0x100,
    .ops = {0, 0x23, 0x22, 0x21, 0x24, 0x30, 0x28, 0x31, 0x29, 0x32, 0x2a, 0x38, 0x39, 0x3c, 0x3d},
};

/* Shared handles that are addresses: Open MPI's by their names, MPICH's in its standard library by their numbers. */
static void find_shared(void)
{
    ipo_abi.shared = ipo_resolve_data("ompi_request_empty");
    ipo_abi.shared_span = ipo_abi.shared != 0;
    ipo_abi.shared_too[0] = ipo_resolve_data("ompi_request_empty_send");
    if (ipo_abi.shared || !ipo_resolve_data("MPIR_Err_create_code")) /* other libraries must not see such numbers */
        return;
    uintptr_t (*from_number)(int) = (uintptr_t(*)(int))ipo_resolve_name("PMPI_Request_fromint");
    uintptr_t first = from_number ? from_number(SHARED) : 0, last = first ? from_number(SHARED_LAST) : 0;
    if (first && last - first < 0x10000) {
        ipo_abi.shared = first;
        ipo_abi.shared_span = last - first + 1;
    }
}

/* Finds the variables of the program, which is visited first, and of the library: Open MPI has its predefined datatypes
 * there, and all others on the heap. */
static int find_variables(struct dl_phdr_info *info, size_t size, void *visited)
{
    (void)size;
    const bool is_program = !(*(unsigned *)visited)++;
    bool is_library = false;
    const ElfW(Phdr) *data = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD)
            continue;
        is_library |= (uintptr_t)ipo_own[IPO_Type_size] - begin < segment->p_memsz;
        data = segment->p_flags & PF_W ? segment : data;
    }
    if (data && is_program) {
        ipo_abi.copies = info->dlpi_addr + data->p_vaddr;
        ipo_abi.copies_span = data->p_memsz & ~(sizeof(uintptr_t) - 1);
    }
    if (data && is_library) {
        ipo_abi.types = info->dlpi_addr + data->p_vaddr;
        ipo_abi.types_span = data->p_memsz;
    }
    return is_library;
}

/* Open MPI's operations: its variables have the names in small letters. */
static void find_operations(void)
{
    static const char *const names[] = {NULL,
#define REDUCTION(name) #name,
                                        TRC_REDUCTIONS(REDUCTION)
#undef REDUCTION
    };
    for (unsigned i = 1; i < TRC_REDUCTION_OWN; i++) {
        char variable[32] = "ompi_mpi_op_";
        for (unsigned k = 0; names[i][k]; k++)
            variable[12 + k] = (char)(names[i][k] == '_' ? '_' : names[i][k] + 'a' - 'A');
        ipo_abi.ops[i] = ipo_resolve_data(variable);
    }
}

void ipo_abi_detect(void)
{
    /* The standard ABI's query comes first: Open MPI's standard library also has ompi_mpi_comm_world; native libraries
     * that know the query answer -1. */
    int major = -1, minor = -1;
    int (*abi_version)(int *, int *) = (int (*)(int *, int *))ipo_resolve_name("PMPI_Abi_get_version");
    if (abi_version && abi_version(&major, &minor) == 0 && major >= 1) {
        ipo_abi = standard;
        find_shared();
        return;
    }
    if (!ipo_resolve_data("ompi_mpi_comm_world")) {
        ipo_abi = mpich;
        return;
    }
    ipo_abi = openmpi;
    ipo_abi.comm_world = ipo_resolve_data("ompi_mpi_comm_world");
    ipo_abi.comm_self = ipo_resolve_data("ompi_mpi_comm_self");
    ipo_abi.comm_null = ipo_resolve_data("ompi_mpi_comm_null");
    ipo_abi.request_null = ipo_resolve_data("ompi_request_null");
    ipo_abi.datatype_null = ipo_resolve_data("ompi_mpi_datatype_null");
    ipo_abi.byte_type = ipo_resolve_data("ompi_mpi_byte");
    ipo_abi.group_empty = ipo_resolve_data("ompi_mpi_group_empty");
    find_operations();
    find_shared();
    unsigned visited = 0;
    dl_iterate_phdr(find_variables, &visited);
}

/* Open MPI over UCX has a shared handle of its own for sends that finished at once: a request within its module's one
 * variable (completed_send_req of ompi_pml_ucx, ompi/mca/pml/ucx/pml_ucx.h).  Its offset differs between versions.
 * So it is found by the first member of each object of Open MPI: its class, after a mark in debugging builds. */
static uintptr_t find_ucx_shared(void)
{
    const uint64_t mark = 0xdeafbeeddeafbeed;
    uint64_t words[0x600 / 8] = {0}; /* it has 0x5d0 to 0x610 bytes in 4.1 to 6.0 */
    uintptr_t module = ipo_resolve_data("ompi_pml_ucx"), class = ipo_resolve_data("ompi_request_t_class");
    if (!module || !class || !ipo_safe_read(module, words, sizeof words))
        return 0;
    for (unsigned i = 1; i < sizeof words / sizeof *words; i++)
        if (words[i] == class) {
            uintptr_t at = module + 8 * (words[i - 1] == mark ? i - 1 : i);
            return at != ipo_abi.request_null && !ipo_is_shared(at) ? at : 0;
        }
    return 0;
}

/* Starts two requests of each kind with nothing to do, which are finished at once.  If both have the same handle, it is
 * shared. */
void ipo_abi_find_shared(void)
{
    typedef uintptr_t w;
    for (int kind = 0; kind < 2; kind++) {
        int (*start)(w, int, w, int, int, w, void *) =
            (int (*)(w, int, w, int, int, w, void *))ipo_own[kind ? IPO_Irecv : IPO_Isend];
        uintptr_t requests[2] = {0}; /* room for two handles of any width */
        for (unsigned i = 0; i < 2; i++)
            if (start(0, 0, ipo_abi.byte_type, ipo_abi.proc_null, 0, ipo_abi.comm_world,
                      (char *)requests + i * ipo_abi.handle_bytes))
                return;
        uintptr_t first = ipo_handle_load((uintptr_t)requests, 0);
        if (first == ipo_handle_load((uintptr_t)requests, 1) && !ipo_is_shared(first) && first != ipo_abi.request_null)
            ipo_abi.shared_too[kind] = first;
        ((int (*)(int, void *, w))ipo_own[IPO_Waitall])(2, requests, ipo_abi.statuses_ignore);
    }
    if (!ipo_abi.shared_too[1])
        ipo_abi.shared_too[1] = find_ucx_shared();
}

/* Returns whether the word at `at` is a status's count of bytes (while the next word is 0): a count that MPI sets is
 * found there, and a count written there is returned by MPI. */
static bool has_count_at(unsigned at, int count)
{
    typedef uintptr_t w;
    int (*set)(void *, w, int) = (int (*)(void *, w, int))ipo_own[IPO_Status_set_elements];
    int (*ask)(void *, w, int *) = (int (*)(void *, w, int *))ipo_own[IPO_Get_count];
    union {
        char bytes[64];
        uint64_t align;
    } status = {.align = 0};
    uint32_t words[2];
    if (set(status.bytes, ipo_abi.byte_type, count))
        return false;
    memcpy(words, status.bytes + at, sizeof words);
    if (words[0] != (uint32_t)count || words[1])
        return false;
    words[0] = (uint32_t)count ^ 0x2a5;
    memcpy(status.bytes + at, words, sizeof words);
    int told = -1;
    return !ask(status.bytes, ipo_abi.byte_type, &told) && (uint32_t)told == words[0];
}

void ipo_abi_learn_count(void)
{
    if (!ipo_own[IPO_Status_set_elements] || !ipo_own[IPO_Get_count])
        return;
    for (unsigned at = 0; at + 8 <= ipo_abi.status_bytes; at += 4)
        if (has_count_at(at, 1) && has_count_at(at, 0x12345678) && has_count_at(at, 0x7fffffff)) {
            ipo_abi.count_at = (int)at;
            return;
        }
}

void ipo_abi_version(const char *version)
{
    ipo_abi.mute_isendrecv = ipo_abi.id == TRC_ABI_MPICH || strstr(version, "MPICH");
}
