#include "interpose/mpi/datatypes.h"
#include "interpose/base/arena.h"
#include "interpose/base/table.h"
#include "interpose/mpi/abi.h"
#include "interpose/mpi/cached.h"
#include "interpose/mpi/living.h"
#include "interpose/core/state.h"

#include <errno.h>
#include <string.h>
#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <xxhash.h>

#define TEXT     512u /* longest signature; longer ones are not told apart */
#define DEPTH    6u   /* datatypes within each other; deeper ones are not known */
#define MEMBERS  64u  /* most members of a struct */
#define INTEGERS 65536u
#define DATA     4096u /* kinds of data in a trace; calls with further ones have no number */

typedef uintptr_t w;

/* The type signature of a datatype as a text: "MPI_INT", "3*MPI_INT", "2*(MPI_INT MPI_DOUBLE)". */
struct signature {
    uint64_t size;
    uint32_t length; /* length of the text; TEXT: it is too long, or not known */
    bool single;     /* one basic type, perhaps with a count */
    uint64_t count;  /* repetitions of the basic type; 1 for all others */
    char text[TEXT];
};

/* A signature that some call moved, for the definitions of what moves. */
struct kept {
    uint64_t size;
    uint32_t length;
    char text[];
};
static struct ipo_table kept; /* signatures by hash of the text: struct kept * */
static struct ipo_table data; /* numbers by hash of both signatures and the operation */
static atomic_uint next_data = 1;

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static void put(struct signature *sig, const char *text, size_t n)
{
    if (sig->length + n >= TEXT) {
        sig->length = TEXT;
        return;
    }
    memcpy(sig->text + sig->length, text, n);
    sig->length += (uint32_t)n;
}

static void put_count(struct signature *sig, uint64_t n)
{
    char digits[24], *p = digits + sizeof digits;
    *--p = '*';
    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    put(sig, p, (size_t)(digits + sizeof digits - p));
}

/* Appends `times` of a signature. */
static void put_times(struct signature *out, const struct signature *one, uint64_t times)
{
    const char *text = one->text;
    uint32_t length = one->length;
    if (times == 0 || length == 0)
        return;
    out->single = one->single && out->length == 0;
    if (length >= TEXT) {
        out->length = TEXT;
        return;
    }
    if (one->single && one->count > 1) { /* the count of `one` goes into the new one */
        const char *star = memchr(text, '*', length);
        length -= (uint32_t)(star + 1 - text);
        text = star + 1;
    }
    if (out->length > 0)
        put(out, " ", 1);
    out->count = one->single ? one->count * times : 1;
    uint64_t shown = one->single ? out->count : times;
    if (shown > 1)
        put_count(out, shown);
    bool group = !one->single && shown > 1;
    put(out, "(", group);
    put(out, text, length);
    put(out, ")", group);
}

/* ---- asking MPI ------------------------------------------------------------------------------------------------- */

static int64_t ask_size(uintptr_t datatype)
{
    int64_t size = -1;
    int small = -1;
    if (ipo_own[IPO_Type_size_x])
        return ((int (*)(w, int64_t *))ipo_own[IPO_Type_size_x])(datatype, &size) ? -1 : size;
    return ((int (*)(w, int *))ipo_own[IPO_Type_size])(datatype, &small) ? -1 : small;
}

/* Numbers of integers, addresses, large counts and datatypes that a datatype was made from: none for a predefined one.
 * Type_create_f90_real and its kin take integers alone. */
struct envelope {
    int64_t integers, addresses, counts, types;
};

/* MPI_Type_get_envelope refuses datatypes that were made with large counts. */
static bool ask_envelope(uintptr_t datatype, struct envelope *out)
{
    int few[3] = {0}, combiner;
    int (*ask)(w, int *, int *, int *, int *) = (int (*)(w, int *, int *, int *, int *))ipo_own[IPO_Type_get_envelope];
    int (*ask_c)(w, int64_t *, int64_t *, int64_t *, int64_t *, int *) =
        (int (*)(w, int64_t *, int64_t *, int64_t *, int64_t *, int *))ipo_own[IPO_Type_get_envelope_c];
    if (ask_c)
        return !ask_c(datatype, &out->integers, &out->addresses, &out->counts, &out->types, &combiner);
    const bool known = ask && !ask(datatype, &few[0], &few[1], &few[2], &combiner);
    *out = (struct envelope){few[0], few[1], 0, few[2]};
    return known;
}

/* Arguments that a datatype was made from, with the room that its envelope asks for. */
struct contents {
    intptr_t *addresses;
    int64_t *counts;
    uintptr_t *types;
    int *integers;
};

static bool ask_contents(uintptr_t datatype, const struct envelope *e, const struct contents *out)
{
    int (*ask)(w, int, int, int, int *, intptr_t *, void *) =
        (int (*)(w, int, int, int, int *, intptr_t *, void *))ipo_own[IPO_Type_get_contents];
    int (*ask_c)(w, int64_t, int64_t, int64_t, int64_t, int *, intptr_t *, int64_t *, void *) = (int (*)(
        w, int64_t, int64_t, int64_t, int64_t, int *, intptr_t *, int64_t *, void *))ipo_own[IPO_Type_get_contents_c];
    if (ipo_own[IPO_Type_get_envelope_c])
        return ask_c && !ask_c(datatype, e->integers, e->addresses, e->counts, e->types, out->integers, out->addresses,
                               out->counts, out->types);
    return ask && !ask(datatype, (int)e->integers, (int)e->addresses, (int)e->types, out->integers, out->addresses,
                       out->types);
}

static void ask_name(uintptr_t datatype, struct signature *out)
{
    char name[1024] = ""; /* MPI_MAX_OBJECT_NAME is 64 to 128 */
    int length = 0;
    int (*ask)(w, char *, int *) = (int (*)(w, char *, int *))ipo_own[IPO_Type_get_name];
    bool known = ask && !ask(datatype, name, &length) && length > 0 && length < 100 && !strpbrk(name, " *()");
    out->single = true;
    out->count = 1;
    put(out, name, known ? strlen(name) : TEXT);
}

static void describe(uintptr_t datatype, struct signature *out, unsigned depth);

/* Puts the members of a datatype together: one datatype, as often as fits, or a struct's with their counts. */
static void describe_members(const struct contents *of, const struct envelope *e, struct signature *out, unsigned depth)
{
    const unsigned n = (unsigned)e->types;
    for (unsigned i = 0; i < n; i++) {
        uintptr_t member = ipo_handle_load((uintptr_t)of->types, i);
        struct signature *one = member && member != ipo_abi.datatype_null ? ipo_arena_get(sizeof *one) : NULL;
        struct envelope inner = {0};
        if (!one) {
            out->length = TEXT;
            return;
        }
        describe(member, one, depth + 1);
        const uint64_t listed = n > 1 ? e->counts ? (uint64_t)of->counts[i + 1] : (uint64_t)of->integers[i + 1] : 0;
        put_times(out, one, n > 1 ? listed : one->size ? out->size / one->size : 0);
        ipo_arena_release(one, sizeof *one);
        /* MPI gave a handle of its own for each member that is made of others. */
        if (ask_envelope(member, &inner) && inner.types)
            ((int (*)(void *))ipo_own[IPO_Type_free])((char *)of->types + i * ipo_abi.handle_bytes);
    }
    out->single &= n == 1;
}

/* Describes a datatype from the arguments that it was made from. */
static void describe_derived(uintptr_t datatype, const struct envelope *e, struct signature *out, unsigned depth)
{
    const bool fits = e->types > 0 && e->types <= MEMBERS && e->integers < INTEGERS && e->addresses < INTEGERS &&
                      e->counts < INTEGERS && depth < DEPTH;
    const size_t words = fits ? (size_t)(e->addresses + e->counts + e->types) + 3 : 0;
    const size_t bytes = words * sizeof(int64_t) + (fits ? (size_t)e->integers + 2 : 0) * sizeof(int);
    int64_t *memory = fits ? ipo_arena_get(bytes) : NULL;
    if (!memory) {
        out->length = TEXT;
        return;
    }
    struct contents of = {.addresses = (intptr_t *)memory, .counts = memory + e->addresses + 1};
    of.types = (uintptr_t *)(of.counts + e->counts + 1);
    of.integers = (int *)(memory + words);
    if (ask_contents(datatype, e, &of))
        describe_members(&of, e, out, depth);
    else
        out->length = TEXT;
    ipo_arena_release(memory, bytes);
}

/* Fills *out, which is zero. */
static void describe(uintptr_t datatype, struct signature *out, unsigned depth)
{
    struct envelope e;
    int64_t size = ask_size(datatype);
    out->size = size > 0 ? (uint64_t)size : 0;
    if (size < 0 || !ask_envelope(datatype, &e))
        out->length = TEXT;
    else if (!e.types)
        ask_name(datatype, out);
    else
        describe_derived(datatype, &e, out, depth);
}

/* ---- datatypes of a thread -------------------------------------------------------------------------------------- */

/* Stores a signature's text.  Returns its hash; 0: it is not known. */
static uint64_t store_signature(const struct signature *sig)
{
    if (sig->length == 0 || sig->length >= TEXT)
        return 0;
    uint64_t hash = XXH64(sig->text, sig->length, sig->size);
    hash += hash == 0 || hash == UINT64_MAX ? 2 : 0;
    if (ipo_table_get(&kept, hash))
        return hash;
    struct kept *fresh = ipo_arena_get(sizeof *fresh + sig->length);
    if (!fresh)
        return 0;
    fresh->size = sig->size;
    fresh->length = sig->length;
    memcpy(fresh->text, sig->text, sig->length);
    return ipo_table_put(&kept, hash, fresh) ? hash : 0;
}

static __attribute__((noinline, cold)) const struct ipo_type *ask_type(struct ipo_type *slot, uintptr_t datatype)
{
    struct envelope e;
    int kept_errno = errno;
    int64_t size = ask_size(datatype);
    bool known = size >= 0 && ask_envelope(datatype, &e);
    struct signature *sig = known ? ipo_arena_get(sizeof *sig) : NULL;
    /* A predefined type cannot be freed, so that its handle means it for ever. */
    uint64_t stamp = known && !(e.integers | e.addresses | e.counts | e.types) ? 0 : ipo_cache_stamp();
    if (sig)
        describe(datatype, sig, 0);
    *slot = (struct ipo_type){.handle = size >= 0 ? datatype : 0,
                              .size = (uint64_t)size,
                              .signature = sig ? store_signature(sig) : 0,
                              .stamp = stamp};
    ipo_arena_release(sig, sizeof *sig);
    errno = kept_errno;
    return size >= 0 ? slot : NULL;
}

const struct ipo_type *ipo_type_of(struct ipo_thread *thread, uintptr_t datatype)
{
    datatype = ipo_handle(datatype);
    if (!datatype || datatype == ipo_abi.datatype_null)
        return NULL; /* a wrong handle would raise the program's error twice */
    struct ipo_type *slot = &thread->type[(datatype ^ datatype >> 9) % IPO_TYPES];
    if (__builtin_expect(slot->handle == datatype && (!slot->stamp || slot->stamp == ipo_cache_stamp()), 1))
        return slot;
    if (thread->sizes != IPO_SIZES_ASKED && !ipo_is_predefined(datatype) && !ipo_living_is(IPO_MAKES_TYPE, datatype)) {
        thread->sizes = IPO_SIZES_MISSED;
        return NULL;
    }
    return ask_type(slot, datatype);
}

uint64_t ipo_type_size(struct ipo_thread *thread, uintptr_t datatype)
{
    const struct ipo_type *type = ipo_type_of(thread, datatype);
    return type ? type->size : TRC_BYTES_UNKNOWN;
}

/* ---- data that a call moves -------------------------------------------------------------------------------------- */

static enum trc_reduction find_operation(uintptr_t handle)
{
    handle = ipo_handle(handle);
    for (unsigned i = 1; i < TRC_REDUCTION_OWN; i++)
        if (handle && ipo_abi.ops[i] == handle)
            return (enum trc_reduction)i;
    return handle ? TRC_REDUCTION_OWN : TRC_REDUCTION_NONE;
}

/* Defines what moves, with the texts of both signatures. */
static uint32_t define_data(const uint64_t *moves, enum trc_reduction operation)
{
    char text[2 * TEXT];
    size_t length = 0;
    struct trc_def_data def = {.operation = operation};
    if (atomic_load(&next_data) > DATA)
        return 0;
    for (unsigned i = 0; i < 2; i++) {
        const struct kept *sig = moves[i] ? ipo_table_get(&kept, moves[i]) : NULL;
        def.size[i] = sig ? sig->size : 0;
        if (sig)
            memcpy(text + length, sig->text, sig->length);
        length += sig ? sig->length : 0;
        text[length++] = 0;
    }
    uint32_t number = atomic_fetch_add(&next_data, 1);
    trc_writer_define(&ipo_process.writer, TRC_DEF_DATA, number, 0, 0, &def, sizeof def, text, length);
    return number;
}

uint32_t ipo_data_number(const struct ipo_frame *frame, const uintptr_t *args)
{
    const uint64_t *moves = frame->thread->moves;
    enum trc_reduction operation = TRC_REDUCTION_NONE;
    if (ipo_has(frame->call, ROLE_OPERATION))
        operation = find_operation(ipo_arg(frame->call, args, ROLE_OPERATION));
    if (!(moves[0] | moves[1] | (uint64_t)operation))
        return 0;
    uint64_t key = (moves[0] * 0x9e3779b97f4a7c15u ^ moves[1]) * 0xbf58476d1ce4e5b9u + operation + 1;
    key += key == 0 || key == UINT64_MAX ? 2 : 0;
    uint32_t number = (uint32_t)(uintptr_t)ipo_table_get(&data, key);
    if (number)
        return number;
    number = define_data(moves, operation);
    if (number)
        ipo_table_put(&data, key, (void *)(uintptr_t)number);
    return number;
}
