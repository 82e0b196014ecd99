/* The rows of NCCL as data, and the copies of NCCL that the process has. */
#include "interpose/nccl/nccl.h"
#include "interpose/load/names.h"

/* Position of a role, or of the place behind the last argument where there is none.  Computed by the compiler. */
#define IS(roles, i, a, b) ((roles "         ")[i] == (a) || (roles "         ")[i] == (b))
#define AT2(roles, a, b)                                                                                               \
    (IS(roles, 0, a, b)   ? 0                                                                                          \
     : IS(roles, 1, a, b) ? 1                                                                                          \
     : IS(roles, 2, a, b) ? 2                                                                                          \
     : IS(roles, 3, a, b) ? 3                                                                                          \
     : IS(roles, 4, a, b) ? 4                                                                                          \
     : IS(roles, 5, a, b) ? 5                                                                                          \
     : IS(roles, 6, a, b) ? 6                                                                                          \
     : IS(roles, 7, a, b) ? 7                                                                                          \
     : IS(roles, 8, a, b) ? 8                                                                                          \
                          : sizeof(roles) - 1)
#define AT(roles, a) AT2(roles, a, a)

const struct ipo_nccl_call ipo_nccl_calls[IPO_NCCL_CALLS] = {
#define EXPORT true
#define PATCH  false
#define NCCL(arity_, name_, how_, opclass_, moves_, roles_)                                                            \
    {.name = "nccl" #name_,                                                                                            \
     .roles = roles_,                                                                                                  \
     .opclass = TRC_OP_##opclass_,                                                                                     \
     .moves = IPO_MOVES_##moves_,                                                                                      \
     .arity = arity_,                                                                                                  \
     .at = {AT(roles_, NCCL_ROLE_COUNT), AT(roles_, NCCL_ROLE_TYPE), AT(roles_, NCCL_ROLE_OPERATION),                  \
            AT(roles_, NCCL_ROLE_ROOT), AT2(roles_, NCCL_ROLE_DESTINATION, NCCL_ROLE_SOURCE),                          \
            AT(roles_, NCCL_ROLE_COMM), AT(roles_, NCCL_ROLE_STREAM)},                                                 \
     .exported = how_},
#define NCCL_ID    NCCL
#define NCCL_ASYNC NCCL
#include "interpose/nccl/nccl_calls.def"
#undef NCCL
#undef NCCL_ID
#undef NCCL_ASYNC
};

#define NCCL(arity, name, how, opclass, moves, roles)                                                                  \
    _Static_assert(sizeof(roles) - 1 == (arity), "nccl" #name ": one role an argument");
#define NCCL_ID    NCCL
#define NCCL_ASYNC NCCL
#include "interpose/nccl/nccl_calls.def"
#undef NCCL
#undef NCCL_ID
#undef NCCL_ASYNC

/* ncclDataType_t: int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 float8e4m3 float8e5m2. */
static const uint8_t type_bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

uintptr_t ipo_nccl_arg(const struct ipo_nccl_call *call, const uintptr_t *args, enum ipo_nccl_role role)
{
    for (unsigned i = 0; i < call->arity; i++)
        if (call->roles[i] == (char)role)
            return args[i];
    return 0;
}

uint64_t ipo_nccl_bytes(uint32_t type, uint64_t count)
{
    return type < sizeof type_bytes ? count * type_bytes[type] : TRC_BYTES_UNKNOWN;
}

int ipo_nccl_row(const char *text)
{
    struct ipo_name name = ipo_name_of(text);
    return name.table == IPO_NAMES_NCCL ? name.row : -1;
}

/* ---- copies */

struct ipo_nccl_copy ipo_nccl_copies[IPO_NCCL_COPIES];
static atomic_uint copies;

unsigned ipo_nccl_copies_n(void)
{
    return atomic_load(&copies);
}

void ipo_nccl_copies_add(void)
{
    atomic_fetch_add(&copies, 1);
}

struct ipo_nccl_copy *ipo_nccl_copy_at(const void *base)
{
    for (unsigned i = 0; base && i < atomic_load(&copies); i++)
        if (ipo_nccl_copies[i].base == base)
            return &ipo_nccl_copies[i];
    return NULL;
}
