#include "interpose/stacks/stacks_impl.h"

void ipo_registers_of(const void *context, struct ipo_cursor *out)
{
    *out = (struct ipo_cursor){.exact = true};
    unsigned count = ipo_context_registers(context, out->reg, &out->pc);
    out->known = ((uint64_t)1 << count) - 1;
}
