/* The rows as data. */
#include "interpose/calls.h"

#include <string.h>

#define CORE true
#define OPT  false
struct ipo_call ipo_calls[IPO_CALLS] = {
#define CALL(arity_, name_, core_, result_, opclass_, roles_)                                                          \
    {.name = "MPI_" #name_, .roles = roles_, .opclass = TRC_OP_##opclass_, .arity = arity_, .exported = core_},
#include "interpose/mpi_calls.def"
#undef CALL
};

#define CALL(arity, name, core, result, opclass, roles)                                                                \
    _Static_assert(sizeof(roles) - 1 == (arity), "MPI_" #name ": one role an argument");
#include "interpose/mpi_calls.def"
#undef CALL

ipo_function ipo_real[IPO_CALLS];

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

void ipo_calls_prepare(void)
{
    for (int i = 0; i < IPO_CALLS; i++) {
        struct ipo_call *call = &ipo_calls[i];
        memset(call->position, IPO_ABSENT, sizeof call->position);
        for (unsigned at = call->arity; at-- > 0;) /* backwards: the first of equals stays */
            if (call->roles[at] >= 'A' && call->roles[at] <= 'z')
                call->position[call->roles[at] - 'A'] = (uint8_t)at;
        call->large = ends_with(call->name, "_c");
        call->persistent = call->opclass >= TRC_OP_SEND && call->opclass <= TRC_OP_NEIGHBOR &&
                           (ends_with(call->name, "_init") || ends_with(call->name, "_init_c"));
    }
}
