#include "tests/support/recorder/fake_inside.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum fake_family fake_family;

static atomic_uint calls[IPO_CALLS];
static atomic_int failing[IPO_CALLS];

int fake_enter(enum ipo_call_id id)
{
    atomic_fetch_add_explicit(&calls[id], 1, memory_order_relaxed);
    return atomic_load_explicit(&failing[id], memory_order_relaxed);
}

unsigned fake_mpi_calls(enum ipo_call_id id)
{
    return atomic_load(&calls[id]);
}

void fake_mpi_fail(enum ipo_call_id id, int error)
{
    atomic_store(&failing[id], error);
}

void fake_mpi_store(void *variable, uintptr_t handle)
{
    memcpy(variable, &handle, ipo_abi.handle_bytes);
}

/* ---- tables of objects: a row is free while its first word is 0 */

struct fake_kind fake_comms = {.base = 0x44000000}, fake_groups = {.base = 0x48000000},
                 fake_types = {.base = 0x4c000100}, fake_requests = {.base = 0x6d000000};

struct fake_object *fake_object(struct fake_kind *kind, uintptr_t handle)
{
    uintptr_t at =
        fake_family == FAKE_MPICH ? (uint32_t)handle - kind->base : (handle - (uintptr_t)kind->row) / sizeof *kind->row;
    bool whole = fake_family == FAKE_MPICH || (uintptr_t)&kind->row[at] == handle;
    if (at >= FAKE_ROWS || !whole || !atomic_load_explicit(&kind->row[at].used, memory_order_acquire)) {
        printf("the fake MPI was given a handle that it never gave: %#lx\n", (unsigned long)handle);
        abort();
    }
    return &kind->row[at];
}

uintptr_t fake_handle(const struct fake_kind *kind, const struct fake_object *object)
{
    return fake_family == FAKE_MPICH ? kind->base + (uintptr_t)(object - kind->row) : (uintptr_t)object;
}

static __thread unsigned first_row;
void fake_mpi_thread(unsigned number)
{
    first_row = number * (FAKE_ROWS / 8);
}

struct fake_object *fake_take(struct fake_kind *kind)
{
    for (unsigned at = first_row; at < FAKE_ROWS; at++) {
        bool free = false;
        if (atomic_compare_exchange_strong_explicit(&kind->row[at].used, &free, true, memory_order_acq_rel,
                                                    memory_order_relaxed))
            return &kind->row[at];
    }
    printf("the fake MPI has no room for more objects\n");
    abort();
}

void fake_give(struct fake_object *object)
{
    atomic_store_explicit(&object->used, false, memory_order_release);
}

/* ---- functions without a family of their own */

static int nothing(void)
{
    return 0;
}

static int error_class(int error, int *class)
{
    *class = error % 100; /* an error of the tests is its class, and some hundreds */
    return 0;
}

static int type_size(w type, int64_t *size)
{
    ENTER(Type_size_x);
    *size = fake_object(&fake_types, type)->size;
    return 0;
}

static int type_envelope(w type, int *integers, int *addresses, int *types, int *combiner)
{
    ENTER(Type_get_envelope);
    bool made = !fake_object(&fake_types, type)->predefined;
    *integers = *types = made;
    *addresses = *combiner = 0;
    return 0;
}

static int type_free(void *variable)
{
    ENTER(Type_free);
    fake_type_free(ipo_handle_load((uintptr_t)variable, 0));
    fake_mpi_store(variable, ipo_abi.datatype_null);
    return 0;
}

static uintptr_t new_type(int size, bool predefined)
{
    struct fake_object *type = fake_take(&fake_types);
    type->size = size;
    type->predefined = predefined;
    return fake_handle(&fake_types, type);
}

uintptr_t fake_type_new(int size)
{
    return new_type(size, false);
}

void fake_type_free(uintptr_t type)
{
    fake_give(fake_object(&fake_types, type));
}

uintptr_t fake_type_predefined(int size)
{
    for (unsigned at = 0; at < FAKE_PREDEFINED; at++)
        if (fake_types.row[at].size == size)
            return fake_handle(&fake_types, &fake_types.row[at]);
    return ipo_abi.datatype_null;
}

/* ---- the family */

static void describe_openmpi(void)
{
    static struct fake_object null[3];
    ipo_abi = (struct ipo_abi){.id = TRC_ABI_OPENMPI,
                               .handle_bytes = 8,
                               .status_bytes = 24,
                               .source_at = 0,
                               .tag_at = 4,
                               .count_at = 16,
                               .any_source = -1,
                               .any_tag = -1,
                               .proc_null = -2,
                               .root = -4,
                               .undefined = -32766,
                               .truncate_class = 15,
                               .refused_classes = 0x3ffe,
                               .lock_shared = 2,
                               .in_place = 1,
                               .comm_world = (uintptr_t)&fake_comms.row[0],
                               .comm_self = (uintptr_t)&fake_comms.row[1],
                               .comm_null = (uintptr_t)&null[0],
                               .request_null = (uintptr_t)&null[1],
                               .datatype_null = (uintptr_t)&null[2],
                               .shared = (uintptr_t)&fake_requests.row[FAKE_ROWS - 1],
                               .shared_span = 1,
                               .types = (uintptr_t)fake_types.row,
                               .types_span = FAKE_PREDEFINED * sizeof *fake_types.row,
                               .ops = {[TRC_REDUCTION_BAND] = 0x1001, [TRC_REDUCTION_BOR] = 0x1002}};
}

static void describe_mpich(void)
{
    ipo_abi_detect(); /* no symbol of Open MPI exists in a test */
    ipo_abi.count_at = 0;
    ipo_abi.types_span = 0x100 + FAKE_PREDEFINED;
}

void fake_mpi_start(enum fake_family family, int rank, int size)
{
    fake_family = family;
    struct fake_kind *kinds[] = {&fake_comms, &fake_groups, &fake_types, &fake_requests};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        memset(kinds[i]->row, 0, sizeof kinds[i]->row);
    if (family == FAKE_OPENMPI)
        describe_openmpi();
    else
        describe_mpich();
    for (int i = 0; i < IPO_CALLS; i++) {
        ipo_real[i] = (ipo_function)nothing;
        atomic_store(&calls[i], 0);
        atomic_store(&failing[i], 0);
    }
    ipo_real[IPO_Error_class] = (ipo_function)error_class;
    ipo_real[IPO_Type_size_x] = (ipo_function)type_size;
    ipo_real[IPO_Type_get_envelope] = (ipo_function)type_envelope;
    ipo_real[IPO_Type_free] = (ipo_function)type_free;
    fake_comms_start(rank, size);
    fake_requests_start();
    static const int sizes[FAKE_PREDEFINED] = {1, 4, 8};
    for (unsigned i = 0; i < FAKE_PREDEFINED; i++)
        new_type(sizes[i], true);
    ipo_abi.byte_type = fake_type_predefined(1);
    memcpy(ipo_own, ipo_real, sizeof ipo_own);
}
