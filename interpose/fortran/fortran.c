/* A call from Fortran.  The real call gets the program's arguments unchanged; the record is its C twin's. */
#include "interpose/fortran/fortran.h"
#include "interpose/mpi/handles.h"
#include "interpose/mpi/abi.h"
#include "interpose/mpi/describe.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

typedef uintptr_t w;

#define MOST        13u /* arguments of a row that Fortran has */
#define NO_IERR     0xffu
#define MOST_TEXT   512u
#define MOST_BLANKS 65536u /* characters that are read of a CHARACTER argument */

/* ---- the real call, with as many words as the wrapper was declared with */

#define X3  x[0], x[1], x[2]
#define X4  X3, x[3]
#define X5  X4, x[4]
#define X6  X5, x[5]
#define X7  X6, x[6]
#define X8  X7, x[7]
#define X9  X8, x[8]
#define X10 X9, x[9]
#define X11 X10, x[10]
#define X12 X11, x[11]
#define X13 X12, x[12]
#define X14 X13, x[13]
#define X15 X14, x[14]
#define X16 X15, x[15]
#define T3  w, w, w
#define T4  T3, w
#define T5  T4, w
#define T6  T5, w
#define T7  T6, w
#define T8  T7, w
#define T9  T8, w
#define T10 T9, w
#define T11 T10, w
#define T12 T11, w
#define T13 T12, w
#define T14 T13, w
#define T15 T14, w
#define T16 T15, w

#define WORDS(n)                                                                                                       \
    case n:                                                                                                            \
        ((void (*)(T##n))real)(X##n);                                                                                  \
        break

static void call_real(ipo_function real, const uintptr_t *x, unsigned words)
{
    switch (words) {
        WORDS(3);
        WORDS(4);
        WORDS(5);
        WORDS(6);
        WORDS(7);
        WORDS(8);
        WORDS(9);
        WORDS(10);
        WORDS(11);
        WORDS(12);
        WORDS(13);
        WORDS(14);
        WORDS(15);
        WORDS(16);
    default:
        break; /* no row is longer: a static assertion below */
    }
}
#define CALL(arity, name, core, result, opclass, roles)                                                                \
    _Static_assert((arity) <= MOST, "MPI_" #name ": more arguments than forward() has cases");
#include "interpose/mpi/mpi_calls.def"
#undef CALL

/* Fortran has fewer arguments than C where there are argc and argv, and MPI_PCONTROL(LEVEL) has not even ierr, except
 * in some mpi_f08. */
static unsigned count_arguments(enum ipo_call_id id)
{
    switch (id) {
    case IPO_Init:
        return 0;
    case IPO_Init_thread:
        return 2;
    case IPO_Info_create_env:
    case IPO_Pcontrol:
        return 1;
    default:
        return ipo_calls[id].arity;
    }
}
static unsigned find_ierr(enum ipo_call_id id)
{
    return id == IPO_Pcontrol ? NO_IERR : count_arguments(id);
}

/* ---- arguments */

/* The C call with the same meaning as a Fortran call. */
struct twin {
    uintptr_t args[MOST + 1];
    uintptr_t cell[MOST + 1]; /* C variables for arguments that Fortran has in another form */
    uint32_t later;           /* arguments to convert after the call, a bit each */
    uintptr_t variable;       /* the program's request, or its first one */
    char text[MOST_TEXT];
};

static inline uintptr_t load_integer(uintptr_t word)
{
    return word ? (uintptr_t)(intptr_t) * (const int *)word : 0;
}

static inline uintptr_t load_handle(enum ipo_kind kind, uintptr_t word)
{
    return word ? ipo_handle_of(kind, *(const int *)word) : 0;
}

/* Room in the thread's scratch memory; false if it cannot be had. */
static bool make_room(struct ipo_thread *thread, uint32_t n)
{
    if (__builtin_expect(n <= thread->fortran_room, 1))
        return true;
    int kept = errno;
    uint32_t room = 256;
    while (room < n && room < (1u << 28))
        room *= 2;
    const size_t each = sizeof *thread->fortran_handles + sizeof *thread->fortran_indices;
    void *memory = mmap(NULL, room * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) { /* the old piece stays: a call around this one may still use it */
        thread->fortran_handles = memory;
        thread->fortran_indices = (int *)(thread->fortran_handles + room);
        thread->fortran_room = room;
    }
    errno = kept;
    return memory != MAP_FAILED;
}

static void load_requests(const int *from, uintptr_t *to, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = ipo_handle_of(IPO_KIND_REQUEST, from[i]);
}

static uint32_t count_requests(const struct ipo_call *call, const uintptr_t *words)
{
    unsigned at = ipo_position(call, ROLE_LENGTH);
    int n = at == IPO_ABSENT ? 0 : (int)load_integer(words[at]);
    return n > 0 ? (uint32_t)n : 0;
}

/* CHARACTER(n) to a C string: blanks at either end do not count.  Read forward and no further than needed: a caller
 * that passes no hidden length, as C code may, leaves any number there. */
static uintptr_t convert_string(struct twin *twin, uintptr_t word, uintptr_t length)
{
    size_t n = (uint32_t)length < MOST_BLANKS ? (uint32_t)length : MOST_BLANKS;
    const char *from = (const char *)word;
    for (; n > 0 && *from == ' '; n--)
        from++;
    n = strnlen(from, n < MOST_TEXT - 1 ? n : MOST_TEXT - 1);
    while (n > 0 && from[n - 1] == ' ')
        n--;
    memcpy(twin->text, from, n);
    twin->text[n] = 0;
    return (uintptr_t)twin->text;
}

/* A handle that the call gives, takes or changes. */
static uintptr_t convert_handle(struct twin *twin, unsigned at, enum ipo_kind kind, uintptr_t word, bool gives)
{
    if (ipo_is_integer(kind))
        return word;
    twin->later |= 1u << at;
    twin->cell[at] = gives ? 0 : load_handle(kind, word);
    return (uintptr_t)&twin->cell[at];
}

/* Arguments that are one handle. */
enum use { NO_HANDLE, READS, CHANGES, GIVES };
static const struct {
    uint8_t kind, use; /* enum ipo_kind, enum use */
} handle_of[128] = {
    /* by role */
    [ROLE_SEND_TYPE] = {IPO_KIND_TYPE, READS},
    [ROLE_RECEIVE_TYPE] = {IPO_KIND_TYPE, READS},
    [ROLE_TARGET_TYPE] = {IPO_KIND_TYPE, READS},
    [ROLE_TYPE_INOUT] = {IPO_KIND_TYPE, CHANGES},
    [ROLE_OPERATION] = {IPO_KIND_OP, READS},
    [ROLE_GROUP] = {IPO_KIND_GROUP, READS},
    [ROLE_COMM] = {IPO_KIND_COMM, READS},
    [ROLE_COMM_INOUT] = {IPO_KIND_COMM, CHANGES},
    [ROLE_COMM_OUT] = {IPO_KIND_COMM, GIVES},
    [ROLE_WINDOW] = {IPO_KIND_WIN, READS},
    [ROLE_WINDOW_INOUT] = {IPO_KIND_WIN, CHANGES},
    [ROLE_WINDOW_OUT] = {IPO_KIND_WIN, GIVES},
    [ROLE_FILE] = {IPO_KIND_FILE, READS},
    [ROLE_FILE_INOUT] = {IPO_KIND_FILE, CHANGES},
    [ROLE_FILE_OUT] = {IPO_KIND_FILE, GIVES},
    [ROLE_REQUEST] = {IPO_KIND_REQUEST, READS},
    [ROLE_REQUEST_INOUT] = {IPO_KIND_REQUEST, CHANGES},
    [ROLE_REQUEST_OUT] = {IPO_KIND_REQUEST, GIVES},
    [ROLE_MESSAGE_INOUT] = {IPO_KIND_MESSAGE, CHANGES},
    [ROLE_MESSAGE_OUT] = {IPO_KIND_MESSAGE, GIVES},
};

static uintptr_t convert_one_handle(struct twin *twin, char role, uintptr_t word, unsigned at)
{
    const enum ipo_kind kind = (enum ipo_kind)handle_of[role & 127].kind;
    const enum use use = (enum use)handle_of[role & 127].use;
    if (use == READS)
        return load_handle(kind, word);
    if (kind == IPO_KIND_REQUEST)
        twin->variable = word;
    return convert_handle(twin, at, kind, word, use == GIVES);
}

/* An array of requests; indices into one. */
static uintptr_t convert_requests(struct twin *twin, const struct ipo_call *call, struct ipo_thread *thread,
                                  const uintptr_t *words, unsigned at)
{
    twin->variable = words[at];
    if (ipo_is_integer(IPO_KIND_REQUEST))
        return words[at];
    const uint32_t n = count_requests(call, words);
    if (!words[at] || !make_room(thread, n ? n : 1))
        return 0;
    load_requests((const int *)words[at], thread->fortran_handles, n);
    twin->later |= 1u << at;
    return (uintptr_t)thread->fortran_handles;
}
static uintptr_t convert_indices(struct twin *twin, const struct ipo_call *call, struct ipo_thread *thread,
                                 const uintptr_t *words, unsigned at)
{
    const uint32_t n = count_requests(call, words);
    if (!make_room(thread, n ? n : 1))
        return 0;
    twin->later |= 1u << at;
    return (uintptr_t)thread->fortran_indices;
}

/* A buffer's address: a descriptor begins with it, in TS 29113 and in gfortran's own form. */
static uintptr_t convert_buffer(enum ipo_binding binding, uintptr_t word)
{
    const uintptr_t address = binding == IPO_F08TS && word ? *(const uintptr_t *)word : word;
    return ipo_is_sentinel(IPO_IN_PLACE, address) ? ipo_abi.in_place : address;
}

static uintptr_t convert_argument(struct twin *twin, const struct ipo_call *call, struct ipo_thread *thread,
                                  enum ipo_binding binding, const uintptr_t *words, unsigned at)
{
    const uintptr_t word = words[at];
    const char role = call->roles[at];
    if (handle_of[role & 127].use != NO_HANDLE)
        return convert_one_handle(twin, role, word, at);
    switch (role) {
    case ROLE_SEND_BUFFER:
    case ROLE_RECEIVE_BUFFER:
        return convert_buffer(binding, word);
    case ROLE_SEND_COUNT:
    case ROLE_RECEIVE_COUNT:
        if (call->large || ipo_has(call, ROLE_PARTITIONS))
            return word ? (uintptr_t) * (const int64_t *)word : 0;
        return load_integer(word);
    case ROLE_DESTINATION:
    case ROLE_SOURCE:
    case ROLE_SEND_TAG:
    case ROLE_RECEIVE_TAG:
    case ROLE_ROOT:
    case ROLE_TARGET:
    case ROLE_PARTITIONS:
    case ROLE_LEVEL:
    case ROLE_LENGTH:
    case ROLE_LOCK_KIND:
        return load_integer(word);
    case ROLE_HANDLE: /* the second communicator of MPI_Intercomm_create */
        return ipo_has(call, ROLE_DESTINATION) ? load_handle(IPO_KIND_COMM, word) : 0;
    case ROLE_REQUESTS_INOUT:
        return convert_requests(twin, call, thread, words, at);
    case ROLE_INDEX_OUT: /* counted from one in Fortran */
        twin->later |= 1u << at;
        return (uintptr_t)&twin->cell[at];
    case ROLE_INDICES_OUT:
        return convert_indices(twin, call, thread, words, at);
    case ROLE_STATUS_OUT:
        return ipo_is_sentinel(IPO_STATUS_IGNORE, word) ? ipo_abi.status_ignore : word;
    case ROLE_STATUSES_OUT:
        return ipo_is_sentinel(IPO_STATUSES_IGNORE, word) ? ipo_abi.statuses_ignore : word;
    case ROLE_FILE_NAME:
    case ROLE_NAME: /* the only text of its call */
        return word ? convert_string(twin, word, words[call->arity + 1]) : 0;
    case ROLE_FLAG_OUT: /* LOGICAL: whatever .true. is, .false. is zero */
    case ROLE_COMPLETED_OUT:
    case ROLE_SEND_COUNTS:
    case ROLE_RECEIVE_COUNTS:
    case ROLE_SEND_TYPES:
    case ROLE_RECEIVE_TYPES:
        return word;
    default:
        return 0; /* the record does not need it */
    }
}

/* Base of indices: one; in mpi_f08 of MPICH 4.0, zero.  The request that became null shows it: the thread's
 * snapshot (mpi/completion.c) still has its handle. */
static int find_first_index(const struct ipo_call *call, const struct ipo_thread *thread, const uintptr_t *words,
                            int index)
{
    if (!ipo_has(call, ROLE_REQUESTS_INOUT))
        return 1;
    const int n = (int)count_requests(call, words), *now = (const int *)words[ipo_position(call, ROLE_REQUESTS_INOUT)];
    if (!ipo_is_integer(IPO_KIND_REQUEST) || index < 0 || index >= n || !now || thread->scratch < (uint32_t)n)
        return 1;
    const uintptr_t null = ipo_abi.request_null;
    bool at = thread->requests[index] != null && (uint32_t)now[index] == null;
    bool before = index > 0 && thread->requests[index - 1] != null && (uint32_t)now[index - 1] == null;
    return at && !before ? 0 : 1;
}

static void convert_results(struct twin *twin, const struct ipo_call *call, const struct ipo_thread *thread,
                            const uintptr_t *words, bool failed)
{
    static const char role[] = {
        ROLE_COMM_OUT, ROLE_WINDOW_OUT, ROLE_FILE_OUT, ROLE_MESSAGE_OUT, ROLE_REQUEST_OUT, ROLE_REQUEST_INOUT, 0};
    static const uint8_t kinds[] = {IPO_KIND_COMM,    IPO_KIND_WIN,     IPO_KIND_FILE,
                                    IPO_KIND_MESSAGE, IPO_KIND_REQUEST, IPO_KIND_REQUEST};
    _Static_assert(sizeof kinds == sizeof role - 1, "a kind for each role");
    for (uint32_t left = twin->later; left; left &= left - 1) {
        unsigned at = (unsigned)__builtin_ctz(left);
        const char *known = strchr(role, call->roles[at]);
        uintptr_t word = words[at];
        if (known) {
            if (word && (!failed || *known == ROLE_REQUEST_INOUT))
                twin->cell[at] = ipo_handle_of((enum ipo_kind)kinds[known - role], *(const int *)word);
        } else if (call->roles[at] == ROLE_REQUESTS_INOUT) {
            /* They are read again where some have not completed, and by Startall. */
            if (failed || call->opclass == TRC_OP_START)
                load_requests((const int *)word, (uintptr_t *)twin->args[at], count_requests(call, words));
        } else if (call->roles[at] == ROLE_INDEX_OUT) {
            int index = (int)load_integer(word);
            if (index != ipo_abi.undefined)
                index -= find_first_index(call, thread, words, index);
            memcpy(&twin->cell[at], &index, sizeof index);
        } else if (call->roles[at] == ROLE_INDICES_OUT) {
            int n = (int)load_integer(words[ipo_position(call, ROLE_COMPLETED_OUT)]),
                most = (int)count_requests(call, words);
            int first = word && n > 0 ? find_first_index(call, thread, words, *(const int *)word) : 1;
            for (int i = 0; word && i < n && i < most; i++)
                ((int *)twin->args[at])[i] = ((const int *)word)[i] - first;
        }
    }
}

/* ---- the call */

/* Passes the recorder's status to the real call in place of an ignored one: a status has the same layout in both
 * languages. */
static void pass_status(const struct ipo_call *call, const uintptr_t *given, const uintptr_t *args, uintptr_t *words)
{
    unsigned at = ipo_position(call, ipo_has(call, ROLE_STATUS_OUT) ? ROLE_STATUS_OUT : ROLE_STATUSES_OUT);
    if (at != IPO_ABSENT && args[at] != *given)
        words[at] = args[at];
}

void ipo_fortran_call(enum ipo_call_id id, enum ipo_binding binding, uintptr_t *words, const void *address,
                      const void *site, const void *stack)
{
    static bool sentinels_known;
    const struct ipo_call *call = &ipo_calls[id];
    const ipo_function real = ipo_fortran_real[binding][id];
    const unsigned words_n = call->arity + IPO_FORTRAN_MORE, given_n = count_arguments(id);
    const bool armed = *ipo_armed;
    struct ipo_thread *thread = armed ? ipo_thread_self() : NULL;
    if (!thread && (armed || call->opclass != TRC_OP_INIT)) {
        call_real(real, words, words_n);
        return;
    }
    if (__builtin_expect(!sentinels_known && armed, 0)) {
        ipo_sentinels_find();
        sentinels_known = true;
    }
    struct ipo_frame frame;
    struct twin twin;
    twin.later = 0;
    twin.variable = 0;
    for (unsigned at = 0; at < call->arity; at++)
        twin.args[at] = armed && at < given_n ? convert_argument(&twin, call, thread, binding, words, at) : 0;
    unsigned status_at =
        armed ? ipo_position(call, ipo_has(call, ROLE_STATUS_OUT) ? ROLE_STATUS_OUT : ROLE_STATUSES_OUT) : IPO_ABSENT;
    const uintptr_t status = status_at != IPO_ABSENT ? twin.args[status_at] : 0;
    frame.address = address;
    frame.site = (uint64_t)(uintptr_t)site;
    frame.stack = (uintptr_t)stack;
    frame.caller = *(const uintptr_t *)address;
    if (thread)
        thread->fortran = true;
    bool entered = ipo_enter(&frame, id, twin.args);
    if (thread)
        thread->fortran = false;
    if (!entered) {
        call_real(real, words, words_n);
        return;
    }
    thread = frame.thread;
    if (status_at != IPO_ABSENT)
        pass_status(call, &status, twin.args, words);
    int own = 0, *ierr = NULL;
    if (find_ierr(id) != NO_IERR) { /* optional in mpi_f08 */
        if (!words[find_ierr(id)])
            words[find_ierr(id)] = (uintptr_t)&own;
        ierr = (int *)words[find_ierr(id)];
    }
    thread->twin = call;
    thread->twin_below = address;
    call_real(real, words, words_n);
    thread->twin = NULL;
    int result = ierr ? *ierr : 0;
    convert_results(&twin, call, thread, words, result != 0);
    thread->fortran = true;
    thread->variable = twin.variable;
    ipo_leave(&frame, twin.args, result);
    thread->fortran = false;
}
