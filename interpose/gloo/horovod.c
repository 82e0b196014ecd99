/* Horovod over Gloo.  Its Gloo is hidden, but its classes are exported, with their tables of virtual functions: the
 * controller, whose rounds equal the collectives over MPI (mpi/negotiation.h), and operations on tensors of each type.
 * Lists of requests and responses are objects of C++: Horovod's own function encodes them.
 * Source: Horovod 0.28.1, gloo_controller.cc, gloo_operations.cc, controller.h, message.cc. */
#include "interpose/base/elf.h"
#include "interpose/base/safe_read.h"
#include "interpose/base/text.h"
#include "interpose/gloo/gloo.h"
#include "interpose/load/objects.h"
#include "interpose/mpi/negotiation.h"

#include <errno.h>

typedef uintptr_t w;

enum function {
#define VIRTUAL(name, ...) FUNCTION_##name,
#include "interpose/gloo/virtual_calls.def"
#undef VIRTUAL
    FUNCTIONS
};
static const char *const symbols[FUNCTIONS][2] = {
#define VIRTUAL(name, symbol, other, ...) [FUNCTION_##name] = {symbol, other},
#include "interpose/gloo/virtual_calls.def"
#undef VIRTUAL
};
#define VIRTUAL(name, symbol, other, parameters)                                                                       \
    typedef void name##_type parameters;                                                                               \
    static name##_type record_##name;
#include "interpose/gloo/virtual_calls.def"
#undef VIRTUAL
static const ipo_function ours[FUNCTIONS] = {
#define VIRTUAL(name, ...) [FUNCTION_##name] = (ipo_function)record_##name,
#include "interpose/gloo/virtual_calls.def"
#undef VIRTUAL
};

static const struct class
{
    const char *name;
    uint64_t element; /* bytes */
} classes[] = {{"14GlooController", 0},
               {"14GlooAlgorithmsIhE", 1},
               {"14GlooAlgorithmsIaE", 1},
               {"14GlooAlgorithmsItE", 2},
               {"14GlooAlgorithmsIsE", 2},
               {"14GlooAlgorithmsIiE", 4},
               {"14GlooAlgorithmsIlE", 8},
               {"14GlooAlgorithmsIfE", 4},
               {"14GlooAlgorithmsIdE", 8},
               {"14GlooAlgorithmsIbE", 1},
               {"14GlooAlgorithmsIN4gloo7float16EE", 2}};
#define CLASSES (sizeof classes / sizeof *classes)

/* A string of either kind of libstdc++: its text comes first; the older kind has the size in front of that. */
struct string {
    w text, size, rest[2];
};
typedef void string_type(struct string *);
typedef void serialize_type(w list, struct string *);

static struct table {
    w functions; /* address of the first: objects of the class begin with it */
    uint64_t element;
    ipo_function real[FUNCTIONS];
    serialize_type *requests, *responses; /* NULL: lists cannot be read */
    bool is_old;                          /* older kind of strings */
    string_type *begin, *end;             /* constructor and destructor of a string; set when the controller begins */
} tables[4 * CLASSES];
static atomic_uint tables_n;

static __thread struct ipo_comm *current; /* the group whose controller this thread has called last */

/* ---- tables */

static struct table *find_table(w functions)
{
    for (unsigned i = 0; i < atomic_load_explicit(&tables_n, memory_order_acquire); i++)
        if (tables[i].functions == functions)
            return &tables[i];
    return NULL;
}

/* The table of an object whose slot has led to us. */
static struct table *table_of(w self)
{
    return find_table(*(const w *)self);
}

static const ElfW(Sym) * find_symbol(const struct ipo_elf *elf, const char *begin, const char *class, const char *end)
{
    struct ipo_text name = {0};
    ipo_text_add(&name, begin);
    ipo_text_add(&name, class);
    ipo_text_add(&name, end);
    return ipo_elf_find(elf, name.text, 0);
}

static serialize_type *find_serialize(const struct ipo_elf *elf, const char *class, bool is_old)
{
    const char *old = "17SerializeToStringERKS1_RSs",
               *now = "17SerializeToStringERKS1_RNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
    const ElfW(Sym) *found = find_symbol(elf, "_ZN7horovod6common", class, is_old ? old : now);
    return found ? (serialize_type *)(elf->base + found->st_value) : NULL;
}

static void add_table(const struct ipo_elf *elf, const struct class *class,
                      void (*lead)(void *with, uintptr_t *slot, ipo_function to), void *with)
{
    const ElfW(Sym) *symbol = find_symbol(elf, "_ZTVN7horovod6common", class->name, "E");
    unsigned n = atomic_load(&tables_n);
    if (!symbol || n == sizeof tables / sizeof *tables)
        return;
    w *slot = (w *)(elf->base + symbol->st_value), *slots[FUNCTIONS] = {NULL};
    struct table *table = &tables[n];
    if (find_table((w)&slot[2])) /* behind the offset to the top, and the type */
        return;
    *table = (struct table){.functions = (w)&slot[2], .element = class->element};
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        const ElfW(Sym) *function = find_symbol(elf, "_ZN7horovod6common", class->name, symbols[f][0]);
        const ElfW(Sym) *other =
            symbols[f][1] ? find_symbol(elf, "_ZN7horovod6common", class->name, symbols[f][1]) : NULL;
        table->is_old |= f == FUNCTION_receive_ready && other;
        function = function ? function : other;
        for (size_t i = 2; function && i < symbol->st_size / sizeof *slot; i++)
            if (slot[i] == elf->base + function->st_value) {
                table->real[f] = (ipo_function)slot[i];
                slots[f] = &slot[i];
            }
    }
    table->requests = find_serialize(elf, "11RequestList", table->is_old);
    table->responses = find_serialize(elf, "12ResponseList", table->is_old);
    atomic_store_explicit(&tables_n, n + 1, memory_order_release);
    for (unsigned f = 0; f < FUNCTIONS; f++)
        if (slots[f])
            lead(with, slots[f], ours[f]);
}

void ipo_gloo_tables(const struct ipo_elf *elf, void (*lead)(void *with, uintptr_t *slot, ipo_function to), void *with)
{
    const bool is_horovod = ipo_elf_find(elf, "horovod_init", 0); /* most objects are not, and are searched once */
    for (size_t i = 0; i < CLASSES && is_horovod; i++)
        add_table(elf, &classes[i], lead, with);
}

/* ---- groups */

/* Members of a controller behind its table and the 16 bytes of a weak pointer. */
struct controller {
    int initialized, rank, local_rank, cross_rank, size, local_size, cross_size;
    uint8_t coordinator, homogeneous;
    w ranks; /* ranks of the job, in the order of the group */
};

static void define_group(w self)
{
    struct controller it;
    if (!ipo_safe_read(self + 24, &it, sizeof it) || it.rank < 0 || it.rank >= it.size || it.local_size < 1 ||
        it.local_size > it.size || it.coordinator != (it.rank == 0) || it.homogeneous > 1)
        return;
    uint64_t name = 0xcbf29ce484222325;
    for (int i = 0, rank = 0; i < it.size; i++) {
        if (!ipo_safe_read(it.ranks + (w)i * sizeof rank, &rank, sizeof rank))
            return;
        name = (name ^ (uint32_t)rank) * 0x100000001b3;
    }
    ipo_gloo_group(self, name | 1, it.rank, it.size);
}

static void find_strings(struct table *table)
{
    int kept = errno;
    void *scope = table->requests ? ipo_object_open((const void *)table->requests) : NULL;
    const char *begin = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1Ev",
               *end = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEED1Ev";
    table->begin = (string_type *)(w)ipo_symbol_in(scope, table->is_old ? "_ZNSsC1Ev" : begin);
    table->end = (string_type *)(w)ipo_symbol_in(scope, table->is_old ? "_ZNSsD1Ev" : end);
    errno = kept;
}

/* ---- functions */

#define REAL(name) ((name##_type *)table_of(self)->real[FUNCTION_##name])

/* A call of a group; `data` and `leave` are looked at only in a group that is known.  An exception passes. */
#define RECORD(name, id, group_, data_, leave, ...)                                                                    \
    do {                                                                                                               \
        struct ipo_frame frame;                                                                                        \
        IPO_FRAME_MARK(&frame), IPO_FRAME_ORIGIN(&frame);                                                              \
        struct ipo_comm *group = frame.comm = group_;                                                                  \
        bool recorded = false;                                                                                         \
        if (group) {                                                                                                   \
            const struct ipo_gloo_data data = data_;                                                                   \
            recorded = ipo_gloo_enter(&frame, IPO_GLOO_##id, group, 0, &data);                                         \
        }                                                                                                              \
        IPO_GLOO_CALL(recorded, &frame, REAL(name)(self, __VA_ARGS__));                                                \
        if (recorded)                                                                                                  \
            leave;                                                                                                     \
    } while (0)
#define DATA(...)                                                                                                      \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define CONTROLLER(self) (current = ipo_gloo_comm(self))
#define PLAIN            ipo_gloo_leave(&frame, NULL)

static void record_initialize(w self)
{
    REAL(initialize)(self);
    find_strings(table_of(self));
    define_group(self);
}

static void leave_words(struct ipo_frame *frame, enum trc_round_kind kind, w words, int n)
{
    const bool good = frame->sig.flags & TRC_SIG_CONTROL;
    const struct ipo_gloo_round said = {kind, false, words, 8 * (uint64_t)n};
    ipo_gloo_leave(frame, good ? &said : NULL);
}

#define WORDS(is_or)                                                                                                   \
    DATA(8 * (uint64_t)n, 8 * (uint64_t)n, -1, n > 0 && ipo_negotiation_begin(group, is_or, *words, (uint32_t)n))
static void record_cross_and(w self, const w *words, int n)
{
    RECORD(cross_and, allreduce, CONTROLLER(self), WORDS(false), leave_words(&frame, TRC_ROUND_AND, *words, n), words,
           n);
}
static void record_cross_or(w self, const w *words, int n)
{
    RECORD(cross_or, allreduce, CONTROLLER(self), WORDS(true), leave_words(&frame, TRC_ROUND_OR, *words, n), words, n);
}

/* A list counts as sent or received, as long as it is on the wire. */
static void leave_list(struct ipo_frame *frame, w self, enum trc_round_kind kind, bool is_sent, w list)
{
    const struct table *table = table_of(self);
    serialize_type *serialize = kind == TRC_ROUND_REQUEST ? table->requests : table->responses;
    struct string string;
    if (!serialize || !table->begin || !table->end) {
        ipo_gloo_leave(frame, NULL);
        return;
    }
    table->begin(&string);
    serialize(list, &string);
    w size = table->is_old ? ((const w *)string.text)[-3] : string.size;
    const struct ipo_gloo_round said = {kind, is_sent, string.text, size + 1};
    ipo_gloo_leave(frame, &said);
    table->end(&string);
}

#define ROUND            DATA(0, 0, 0, ipo_negotiation_begin(group, false, 0, 0))
#define LIST(kind, sent) leave_list(&frame, self, TRC_ROUND_##kind, sent, list)
static void record_send_ready(w self, w list)
{
    RECORD(send_ready, gatherv, CONTROLLER(self), ROUND, LIST(REQUEST, true), list);
}
static void record_receive_ready(w self, w names, w lists)
{
    RECORD(receive_ready, gatherv, CONTROLLER(self), ROUND, PLAIN, names, lists);
}
static void record_send_final(w self, w list)
{
    RECORD(send_final, broadcast, CONTROLLER(self), ROUND, LIST(RESPONSE, true), list);
}
static void record_receive_final(w self, w list)
{
    RECORD(receive_final, broadcast, CONTROLLER(self), ROUND, LIST(RESPONSE, false), list);
}

#define FROM_ROOT(bytes, control) DATA(group->rank == root ? bytes : 0, group->rank == root ? 0 : bytes, root, control)
static void record_bcast(w self, w buffer, size_t size, int root, int where)
{
    RECORD(bcast, broadcast, CONTROLLER(self), FROM_ROOT(size, true), PLAIN, buffer, size, root, where);
}
static void record_splits(w self, w splits, w received)
{
    RECORD(splits, alltoall, CONTROLLER(self), DATA(4 * (uint64_t)group->size, 4 * (uint64_t)group->size, -1, false),
           PLAIN, splits, received);
}
static void record_barrier(w self, int where)
{
    RECORD(barrier, barrier, CONTROLLER(self), DATA(0, 0, -1, false), PLAIN, where);
}
static void record_two_numbers(w self, w two, w received)
{
    RECORD(two_numbers, allgather, CONTROLLER(self), DATA(8, 8 * (uint64_t)group->size, -1, true), PLAIN, two,
           received);
}

/* ---- operations on tensors, of the group whose controller has just agreed on them */

static uint64_t bytes_of(w self, uint64_t n)
{
    return n * table_of(self)->element;
}

static uint64_t sum_counts(const int *counts, int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += (uint64_t)counts[i];
    return sum;
}

static uint64_t sum_vector(const w *vector)
{
    uint64_t sum = 0;
    for (const uint64_t *at = (const uint64_t *)vector[0]; at < (const uint64_t *)vector[1]; at++)
        sum += *at;
    return sum;
}

static void record_reduce(w self, w buffer, int n, int operation)
{
    RECORD(reduce, allreduce, current, DATA(bytes_of(self, (uint64_t)n), bytes_of(self, (uint64_t)n), -1, false), PLAIN,
           buffer, n, operation);
}

static void record_gather(w self, w buffer, w out, const int *counts, const int *begins)
{
    RECORD(
        gather, allgatherv, current,
        DATA(bytes_of(self, (uint64_t)counts[group->rank]), bytes_of(self, sum_counts(counts, group->size)), -1, false),
        PLAIN, buffer, out, counts, begins);
}

static void record_broadcast(w self, w buffer, int n, int root)
{
    RECORD(broadcast, broadcast, current, FROM_ROOT(bytes_of(self, (uint64_t)n), false), PLAIN, buffer, n, root);
}

static void record_exchange(w self, w buffer, w out, const w *sent, const w *received)
{
    RECORD(exchange, alltoallv, current,
           DATA(bytes_of(self, sum_vector(sent)), bytes_of(self, sum_vector(received)), -1, false), PLAIN, buffer, out,
           sent, received);
}

/* The numbers of elements that each rank receives. */
static void record_reduce_scatter(w self, w buffer, const w *counts)
{
    const int *each = (const int *)counts[0];
    RECORD(reduce_scatter, reduce_scatter, current,
           DATA(bytes_of(self, sum_counts(each, (int)((const int *)counts[1] - each))),
                bytes_of(self, (uint64_t)each[group->rank]), -1, false),
           PLAIN, buffer, counts);
}
