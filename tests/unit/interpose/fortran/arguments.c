/* Every call of the table from Fortran, in each binding: the real function gets the words that the program passed, and
 * the record path gets what the C function would have been called with, before and after. */
#include "interpose/fortran/fortran.h"
#include "interpose/mpi/abi.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/recorder/ranks.h"
#include "tests/support/recorder/recorder.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 13, WORDS = 16, LISTED = 5, ROUNDS = 6 };

/* Open MPI's constants of Fortran, each an address (linked so that the recorder finds them). */
int mpi_fortran_in_place_, mpi_fortran_status_ignore_, mpi_fortran_statuses_ignore_;

static uint64_t state = 41;

/* ---- a call */

/* Contents of the program's variables. */
static struct {
    int value[MOST];    /* scalars and handles, before */
    int after[MOST];    /* values that the call leaves there */
    int64_t wide[MOST]; /* counts that are MPI_Count */
    int list[MOST][LISTED], list_after[MOST][LISTED];
    uintptr_t descriptor[MOST][4]; /* descriptor of a buffer, in mpi_f08 with TS 29113 */
    char data[MOST][64];
    char text[32];
    int ierr;
    bool ignores; /* constants where there are some */
} program;

static const struct ipo_call *call;
static enum ipo_binding binding;
static unsigned fortran_n; /* arguments of the call in Fortran, without ierr */
static uintptr_t words[WORDS], passed[WORDS];
static int error; /* error that the call gives */
static unsigned reals, befores, afters;

/* Conversion of handles: another space for each kind. */
#define CONVERTER(name, space)                                                                                         \
    static w name##_f2c(int handle)                                                                                    \
    {                                                                                                                  \
        return ((w)(space) << 40) + (uint32_t)handle;                                                                  \
    }
CONVERTER(comm, 1)
CONVERTER(type, 2)
CONVERTER(request, 3)
CONVERTER(win, 4)
CONVERTER(file, 5)
CONVERTER(message, 6)

static uintptr_t converted(char role, int handle)
{
    bool file = strchr("aAj", role);
    if (ipo_abi.handle_bytes == 4 && !file)
        return (uint32_t)handle;
    return file                   ? file_f2c(handle)
           : strchr("cCk", role)  ? comm_f2c(handle)
           : strchr("dDYP", role) ? type_f2c(handle)
           : strchr("vVW", role)  ? win_f2c(handle)
           : strchr("uU", role)   ? message_f2c(handle)
                                  : request_f2c(handle);
}

/* Whether C sees the program's own variable: handles of MPICH are the same integers in both languages. */
static bool is_own_variable(char role)
{
    return ipo_abi.handle_bytes == 4 && !strchr("Aj", role);
}

static bool is_wide(void)
{
    return call->large || ipo_has(call, 'K');
}

/* ---- arguments, as Fortran passes them */

static uintptr_t fortran_word(unsigned at)
{
    char role = call->roles[at];
    if (strchr("bB", role)) {
        uintptr_t address = program.ignores ? (uintptr_t)&mpi_fortran_in_place_ : (uintptr_t)program.data[at];
        program.descriptor[at][0] = address;
        return binding == IPO_F08TS ? (uintptr_t)program.descriptor[at] : address;
    }
    if (strchr("nN", role) && is_wide())
        return (uintptr_t)&program.wide[at];
    if (strchr("yI", role))
        return (uintptr_t)program.list[at];
    if (strchr("FG", role))
        return (uintptr_t)program.text;
    if (strchr("SZ", role) && program.ignores)
        return role == 'S' ? (uintptr_t)&mpi_fortran_status_ignore_ : (uintptr_t)&mpi_fortran_statuses_ignore_;
    if (strchr("SZmMeExXJHh.O", role))
        return (uintptr_t)program.data[at];
    return (uintptr_t)&program.value[at];
}

static void draw_program(void)
{
    for (unsigned at = 0; at < MOST; at++) {
        program.value[at] = (int)draw(&state, 2000) - 1000;
        program.after[at] = (int)draw(&state, 1000);
        program.wide[at] = ((int64_t)draw(&state, 1000) << 32) + draw(&state, 1000);
        for (unsigned i = 0; i < LISTED; i++) {
            program.list[at][i] = (int)draw(&state, 1000);
            program.list_after[at][i] = (int)draw(&state, 1000);
        }
        if (at < call->arity && call->roles[at] == 'l')
            program.value[at] = LISTED;
        if (at < call->arity && call->roles[at] == 'o')
            program.after[at] = (int)draw(&state, LISTED + 1);
        if (at < call->arity && call->roles[at] == 'i')
            program.after[at] = draw(&state, 4) ? (int)draw(&state, LISTED) + 1 : ipo_abi.undefined;
    }
    memcpy(program.text, "  a name of some   \0", 20);
    program.ignores = draw(&state, 2);
}

static void prepare(enum ipo_call_id id)
{
    static const struct {
        int id;
        unsigned n;
    } fewer[] = {{IPO_Init, 0}, {IPO_Init_thread, 2}, {IPO_Info_create_env, 1}, {IPO_Pcontrol, 1}};
    fortran_n = call->arity;
    for (unsigned i = 0; i < sizeof fewer / sizeof *fewer; i++)
        if (fewer[i].id == (int)id)
            fortran_n = fewer[i].n;
    draw_program();
    memset(words, 0, sizeof words);
    for (unsigned at = 0; at < fortran_n; at++)
        words[at] = fortran_word(at);
    if (id != IPO_Pcontrol)
        words[fortran_n] = draw(&state, 4) ? (uintptr_t)&program.ierr : 0; /* optional in mpi_f08 */
    if (ipo_has(call, 'F') || ipo_has(call, 'G'))
        words[call->arity + 1] = 19; /* the hidden length */
    memcpy(passed, words, sizeof passed);
}

/* ---- the real function */

/* An ignored status is replaced by one of the record path's own, which then goes to the real call. */
static char own_status[LISTED * 32];
static bool is_replaced(unsigned at)
{
    return at < call->arity && strchr("SZ", call->roles[at]) && program.ignores;
}

static void real(w a0, w a1, w a2, w a3, w a4, w a5, w a6, w a7, w a8, w a9, w a10, w a11, w a12, w a13, w a14, w a15)
{
    const w all[WORDS] = {a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15};
    bool has_ierr = call != &ipo_calls[IPO_Pcontrol];
    reals++;
    for (unsigned at = 0; at < call->arity + IPO_FORTRAN_MORE; at++)
        CHECK(all[at] == (is_replaced(at) ? (w)own_status : passed[at]) || (at == fortran_n && !passed[at]),
              "%s: word %u is %#lx, the program passed %#lx", call->name, at, all[at], passed[at]);
    for (unsigned at = 0; at < fortran_n; at++) {
        char role = call->roles[at];
        if (strchr("CkVWAjPuUqQio", role))
            program.value[at] = program.after[at];
        if (strchr("yI", role))
            memcpy(program.list[at], program.list_after[at], sizeof *program.list);
    }
    if (has_ierr)
        *(int *)all[fortran_n] = error;
}

/* ---- arguments of the record path */

static uintptr_t scalar(unsigned at, int value)
{
    char role = call->roles[at];
    if (strchr("nN", role) && is_wide())
        return (uintptr_t)program.wide[at];
    return strchr("dDYcvaw", role) ? converted(role, value) : (uintptr_t)(intptr_t)value;
}

static void check_list(const uintptr_t *args, unsigned at, const int *program_list)
{
    for (unsigned i = 0; i < LISTED; i++)
        CHECK(ipo_handle_load(args[at], i) == converted('q', program_list[i]), "%s: element %u of argument %u",
              call->name, i, at);
}

static void before(struct ipo_frame *frame, uintptr_t *args)
{
    befores++;
    CHECK(frame->call == call && frame->thread->fortran, "%s: it is told that the call is of Fortran", call->name);
    for (unsigned at = 0; at < fortran_n; at++) {
        char role = call->roles[at];
        if (strchr("bB", role)) {
            uintptr_t want = program.ignores ? ipo_abi.in_place : (uintptr_t)program.data[at];
            CHECK(args[at] == want, "%s: buffer %u", call->name, at);
        } else if (strchr("nNpstTrRKLlfdDYcvaw", role)) {
            CHECK(args[at] == scalar(at, program.value[at]), "%s: argument %u (%c) is %#lx", call->name, at, role,
                  args[at]);
        } else if (strchr("CVAuq", role) && !is_own_variable(role)) {
            CHECK(args[at] && !*(const uintptr_t *)args[at], "%s: argument %u is not there yet", call->name, at);
        } else if (strchr("kWjPUQ", role)) {
            CHECK(strchr("j", role) ? *(const uintptr_t *)args[at] == converted(role, program.value[at])
                                    : ipo_handle_load(args[at], 0) == converted(role, program.value[at]),
                  "%s: handle %u (%c)", call->name, at, role);
        } else if (role == 'y') {
            check_list(args, at, program.list[at]);
        } else if (strchr("SZ", role)) {
            CHECK(args[at] ==
                      (program.ignores ? role == 'S' ? ipo_abi.status_ignore : ipo_abi.statuses_ignore : words[at]),
                  "%s: status", call->name);
            if (program.ignores)
                args[at] = (uintptr_t)own_status;
        } else if (strchr("FG", role)) {
            CHECK(!strcmp((const char *)args[at], "a name of some"), "%s: text '%s'", call->name,
                  (const char *)args[at]);
        } else if (strchr("gomMeE", role)) {
            CHECK(args[at] == words[at], "%s: argument %u (%c)", call->name, at, role);
        }
    }
}

static void after(struct ipo_frame *frame, const uintptr_t *args)
{
    afters++;
    CHECK(frame->result == error && frame->failed == (error != 0), "%s: result %d", call->name, frame->result);
    for (unsigned at = 0; at < fortran_n; at++) {
        char role = call->roles[at];
        bool file = strchr("A", role);
        if (strchr("CVAuqQ", role) && (!error || role == 'Q')) {
            uintptr_t now = file ? *(const uintptr_t *)args[at] : ipo_handle_load(args[at], 0);
            CHECK(now == converted(role, program.after[at]), "%s: handle %u (%c) afterwards", call->name, at, role);
        } else if (strchr("CVAuq", role) && !is_own_variable(role)) {
            CHECK(!*(const uintptr_t *)args[at], "%s: a call that failed gives no handle", call->name);
        }
        if (role == 'y' && error)
            check_list(args, at, program.list_after[at]);
        if (role == 'i')
            CHECK(*(const int *)args[at] ==
                      (program.after[at] == ipo_abi.undefined ? ipo_abi.undefined : program.after[at] - 1),
                  "%s: index %d counts from zero in C", call->name, program.after[at]);
        if (role != 'I')
            continue;
        const int n = program.after[ipo_position(call, 'o')];
        for (int i = 0; i < n; i++)
            CHECK(((const int *)args[at])[i] == program.list_after[at][i] - 1, "%s: index %d of %d", call->name, i, n);
    }
}

static void start(int family)
{
    recorder_start(&(struct recorder_setup){.family = (enum fake_family)family, .rank = 0, .size = 2});
    const struct {
        enum ipo_call_id id;
        w (*function)(int);
    } converters[] = {{IPO_Comm_f2c, comm_f2c}, {IPO_Type_f2c, type_f2c}, {IPO_Request_f2c, request_f2c},
                      {IPO_Win_f2c, win_f2c},   {IPO_File_f2c, file_f2c}, {IPO_Message_f2c, message_f2c}};
    for (unsigned i = 0; i < sizeof converters / sizeof *converters; i++)
        ipo_own[converters[i].id] = (ipo_function)converters[i].function;
}

static int all_calls(int family)
{
    unsigned rows = 0;
    start(family);
    for (int id = 0; id < IPO_CALLS; id++) {
        struct ipo_call *row = &ipo_calls[id];
        if (row->opclass == TRC_OP_PASS)
            continue;
        call = row;
        row->prepare = before;
        row->describe = NULL;
        row->finish = after;
        row->remembered = false;
        rows++;
        for (unsigned round = 0; round < ROUNDS; round++) {
            binding = (enum ipo_binding)(round % IPO_BINDINGS);
            ipo_fortran_real[binding][id] = (ipo_function)real;
            prepare((enum ipo_call_id)id);
            error = id != IPO_Pcontrol && program.ierr == 0 && round >= IPO_BINDINGS ? 17 : 0;
            ipo_fortran_call((enum ipo_call_id)id, binding, words, __builtin_frame_address(0), (void *)0x600000,
                             __builtin_frame_address(0));
            if (words[fortran_n] == (uintptr_t)&program.ierr)
                CHECK(program.ierr == error, "%s: the program is told %d", row->name, program.ierr);
            program.ierr = 0;
        }
    }
    CHECK(rows > 400 && befores == rows * ROUNDS && reals == befores && afters == befores,
          "%u rows: %u real calls, %u recorded, %u finished", rows, reals, befores, afters);
    recorder_remove();
    return check_result();
}

/* mpi_f08 of MPICH 4.0 counts indices from zero: told by the request that went away. */
static void real_waitany(int *n, int *requests, int *index, void *status, int *ierr)
{
    (void)n, (void)status;
    requests[2] = (int)ipo_abi.request_null;
    *index = *ierr == 1 ? 2 : 3;
    *ierr = 0;
}

static int index_now;
static void after_waitany(struct ipo_frame *frame, const uintptr_t *args)
{
    (void)frame;
    index_now = *(const int *)args[2];
}

static void keep_requests(struct ipo_frame *frame, uintptr_t *args)
{
    ipo_thread_scratch(frame->thread, LISTED);
    for (unsigned i = 0; i < LISTED; i++)
        frame->thread->requests[i] = ipo_handle_load(args[1], i);
}

static int counts_from_zero(int unused)
{
    (void)unused;
    start(FAKE_MPICH);
    struct ipo_call *row = &ipo_calls[IPO_Waitany];
    row->prepare = keep_requests;
    row->describe = NULL;
    row->finish = after_waitany;
    row->remembered = false;
    for (int from = 0; from < 2; from++) {
        int n = LISTED, requests[] = {11, 12, 13, 14, 15}, index = -1, ierr = !from;
        uintptr_t now[WORDS] = {(w)&n, (w)requests, (w)&index, (w)&mpi_fortran_status_ignore_, (w)&ierr};
        ipo_fortran_real[IPO_F08][IPO_Waitany] = (ipo_function)real_waitany;
        ipo_fortran_call(IPO_Waitany, IPO_F08, now, __builtin_frame_address(0), (void *)0x600000,
                         __builtin_frame_address(0));
        CHECK(index_now == 2, "where indices count from %d, request 2 is %d", from, index_now);
    }
    recorder_remove();
    return check_result();
}

int main(void)
{
    CHECK(ranks_run(FAKE_FAMILIES, all_calls) == 0, "all calls");
    CHECK(ranks_run(1, counts_from_zero) == 0, "indices");
    return check_result();
}
