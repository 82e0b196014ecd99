#include "interpose/base/oldglibc.h"
#include "interpose/stacks/registers.h"

#include <string.h>
#include <ucontext.h>

void ipo_registers_of(const void *context, struct ipo_cursor *out)
{
    const ucontext_t *uc = context;
    memset(out, 0, sizeof *out);
    out->exact = true;
#if defined(__x86_64__)
    static const uint8_t order[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (unsigned i = 0; i < 16; i++)
        ipo_cursor_set(out, i, (uint64_t)uc->uc_mcontext.gregs[order[i]]);
    out->pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
#else
    for (unsigned i = 0; i < 31; i++)
        ipo_cursor_set(out, i, uc->uc_mcontext.regs[i]);
    ipo_cursor_set(out, IPO_REG_SP, uc->uc_mcontext.sp);
    out->pc = uc->uc_mcontext.pc;
#endif
}
