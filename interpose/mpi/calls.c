/* The rows as data. */
#include "interpose/mpi/cached.h"
#include "interpose/mpi/quick.h"

#include <string.h>

#define CORE true
#define OPT  false
struct ipo_call ipo_calls[IPO_CALLS] = {
#define CALL(arity_, name_, core_, result_, opclass_, roles_)                                                          \
    {.name = "MPI_" #name_, .roles = roles_, .opclass = TRC_OP_##opclass_, .arity = arity_, .exported = core_},
#include "interpose/mpi/mpi_calls.def"
#undef CALL
};

#define CALL(arity, name, core, result, opclass, roles)                                                                \
    _Static_assert(sizeof(roles) - 1 == (arity), "MPI_" #name ": one role an argument");
#include "interpose/mpi/mpi_calls.def"
#undef CALL

ipo_function ipo_real[IPO_CALLS];
ipo_function ipo_own[IPO_CALLS];

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

/* Whether the signature follows from the call's scalar arguments and sums of counts alone. */
static bool is_cacheable(const struct ipo_call *call)
{
    bool scalar = trc_opclass_is(call->opclass, TRC_FACT_SCALAR) && !call->persistent;
    for (const char *role = call->roles; *role; role++)
        scalar &= !ipo_is_uncacheable(call->opclass, *role);
    return scalar;
}

static void prepare_cache(struct ipo_call *call)
{
    const bool cacheable = is_cacheable(call);
    for (unsigned at = 0; at < call->arity; at++) {
        if (ipo_is_buffer(call->opclass, call->roles[at]) && call->buffers < sizeof call->buffer)
            call->buffer[call->buffers++] = (uint8_t)at;
        if (cacheable && ipo_is_summed(call->opclass, call->roles[at]) && call->sums < sizeof call->sum)
            call->sum[call->sums++] = (uint8_t)at;
        if (!cacheable || !ipo_decides(call->roles[at]))
            continue;
        if (call->cache_words == IPO_CACHE_WORDS) {
            call->cache_words = 0;
            return;
        }
        call->cache_word[call->cache_words++] = (uint8_t)at;
        call->counts += call->roles[at] == ROLE_SEND_COUNT || call->roles[at] == ROLE_RECEIVE_COUNT;
    }
    call->remembered = call->cache_words > 0 || call->opclass == TRC_OP_WAIT || call->opclass == TRC_OP_TEST;
}

/* Whether a call gives a datatype that is the program's own: the predefined ones that some find must not be freed. */
static bool makes_type(const char *name)
{
    return strncmp(name, "MPI_Type_", 9) == 0 && !strstr(name, "_f90_") && !strstr(name, "match") &&
           !strstr(name, "value_index");
}

/* Returns the kind of object that a call makes and that must be freed. */
static enum ipo_makes find_made(const struct ipo_call *call)
{
    if (call->opclass == TRC_OP_COMM_CREATE || call->opclass == TRC_OP_SPAWN)
        return ipo_has(call, ROLE_COMM_OUT) ? IPO_MAKES_COMM : IPO_MAKES_NOTHING;
    if (ipo_has(call, ROLE_WINDOW_OUT) || ipo_has(call, ROLE_FILE_OUT))
        return ipo_has(call, ROLE_WINDOW_OUT) ? IPO_MAKES_WIN : IPO_MAKES_FILE;
    if (!ipo_has(call, ROLE_HANDLE_OUT))
        return IPO_MAKES_NOTHING;
    if (strncmp(call->name, "MPI_Op_create", 13) == 0)
        return IPO_MAKES_OP;
    if (strstr(call->name, "_group") || strstr(call->name, "Group_"))
        return IPO_MAKES_GROUP;
    return makes_type(call->name) ? IPO_MAKES_TYPE : IPO_MAKES_NOTHING;
}

static enum ipo_makes find_freed(const struct ipo_call *call)
{
    return ipo_has(call, ROLE_COMM_INOUT)           ? IPO_MAKES_COMM
           : ipo_has(call, ROLE_WINDOW_INOUT)       ? IPO_MAKES_WIN
           : ipo_has(call, ROLE_FILE_INOUT)         ? IPO_MAKES_FILE
           : ipo_has(call, ROLE_TYPE_INOUT)         ? IPO_MAKES_TYPE
           : !ipo_has(call, ROLE_HANDLE_INOUT)      ? IPO_MAKES_NOTHING
           : strcmp(call->name, "MPI_Op_free") == 0 ? IPO_MAKES_OP
                                                    : IPO_MAKES_GROUP;
}

void ipo_calls_prepare(const struct ipo_class *classes)
{
    for (int i = 0; i < IPO_CALLS; i++) {
        struct ipo_call *call = &ipo_calls[i];
        memset(call->position, IPO_ABSENT, sizeof call->position);
        for (unsigned at = call->arity; at-- > 0;) /* backwards: of equal roles the first one stays */
            if (call->roles[at] >= 'A' && call->roles[at] <= 'z')
                call->position[call->roles[at] - 'A'] = (uint8_t)at;
        call->large = ends_with(call->name, "_c");
        call->persistent =
            call->opclass != TRC_OP_INIT && (ends_with(call->name, "_init") || ends_with(call->name, "_init_c"));
        prepare_cache(call);
        call->makes = (uint8_t)find_made(call);
        call->frees = (uint8_t)find_freed(call);
        call->prepare = classes[call->opclass].prepare;
        call->describe = classes[call->opclass].describe;
        call->finish = classes[call->opclass].finish;
        /* After most local calls there is nothing to learn. */
        bool local = trc_opclass_is(call->opclass, TRC_FACT_LOCAL) && call->opclass != TRC_OP_PCONTROL;
        if (local && !call->makes && !call->frees && !ipo_has(call, ROLE_REQUEST_OUT) &&
            !ipo_has(call, ROLE_REQUEST_INOUT) && !ipo_has(call, ROLE_NAME) && !ipo_has(call, ROLE_COMM_OUT))
            call->finish = NULL;
        if (call->opclass == TRC_OP_OTHER && !ipo_has(call, ROLE_REQUEST_OUT) && !call->frees)
            call->prepare = call->describe = NULL;
    }
}
