/* The rows as data. */
#include "interpose/mpi/sig_cache.h"

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

/* Arguments that decide a signature; and those that keep a row from being remembered. */
static const char deciding[] = "nNdDpstTrRcv", not_memorable[] = "mMeExXyQwUWjkPKCVAFG";

/* Does its signature follow from scalar arguments? */
static bool is_memorable(const struct ipo_call *call)
{
    return trc_opclass_is(call->opclass, TRC_FACT_SCALAR) && !call->persistent && !strpbrk(call->roles, not_memorable);
}

/* Position of the first of the wanted roles that the row has, 0 if none. */
static uint8_t first_role(const struct ipo_call *call, const char *wanted)
{
    const char *found = NULL;
    for (; *wanted && !found; wanted++)
        found = strchr(call->roles, *wanted);
    return found ? (uint8_t)(found - call->roles) : 0;
}

static void prepare_cache(struct ipo_call *call)
{
    call->cache_key[0] = first_role(call, "psrc");
    call->cache_key[1] = first_role(call, "tTnN");
    for (unsigned at = 0; at < call->arity; at++) {
        if ((call->roles[at] == 'b' || call->roles[at] == 'B') && call->buffers < sizeof call->buffer)
            call->buffer[call->buffers++] = (uint8_t)at;
        if (!is_memorable(call) || !strchr(deciding, call->roles[at]))
            continue;
        if (at >= IPO_CACHE_WORDS) {
            call->cache_words = 0;
            return;
        }
        call->cache_word[call->cache_words++] = (uint8_t)at;
    }
    call->remembered = call->cache_words > 0 || call->opclass == TRC_OP_WAIT || call->opclass == TRC_OP_TEST;
}

void ipo_calls_prepare(const struct ipo_class *classes)
{
    for (int i = 0; i < IPO_CALLS; i++) {
        struct ipo_call *call = &ipo_calls[i];
        memset(call->position, IPO_ABSENT, sizeof call->position);
        for (unsigned at = call->arity; at-- > 0;) /* backwards: the first of equals stays */
            if (call->roles[at] >= 'A' && call->roles[at] <= 'z')
                call->position[call->roles[at] - 'A'] = (uint8_t)at;
        call->large = ends_with(call->name, "_c");
        call->persistent =
            call->opclass != TRC_OP_INIT && (ends_with(call->name, "_init") || ends_with(call->name, "_init_c"));
        prepare_cache(call);
        call->prepare = classes[call->opclass].prepare;
        call->describe = classes[call->opclass].describe;
        call->finish = classes[call->opclass].finish;
        /* Most local calls have nothing to remember afterwards. */
        bool local = trc_opclass_is(call->opclass, TRC_FACT_LOCAL);
        if (local && !ipo_has(call, 'k') && !ipo_has(call, 'q') && !ipo_has(call, 'Q') && !ipo_has(call, 'G') &&
            !ipo_has(call, 'P'))
            call->finish = NULL;
        if (call->opclass == TRC_OP_OTHER && !ipo_has(call, 'q') && !ipo_has(call, 'P'))
            call->prepare = call->describe = NULL;
    }
}
