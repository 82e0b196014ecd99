/* NCCL, as a source of the recorder. */
#include "interpose/core/source.h"
#include "interpose/nccl/state.h"
#include "interpose/nccl/hooks.h"
#include "interpose/load/names.h"

extern int pncclGetUniqueId(void *) __attribute__((weak));

static bool is_linked(void)
{
    return pncclGetUniqueId != NULL;
}

static bool find_nccl(const void *caller)
{
    return ipo_nccl_resolve(caller) != NULL;
}

static unsigned count_found(void)
{
    return ipo_nccl_copies_n() + 100u * ipo_nccl_may_be_hidden();
}

/* A copy of NCCL is left alone but for its getenv. */
static enum ipo_claim claim_object(const char *path)
{
    for (unsigned i = 0; i < ipo_nccl_copies_n(); i++)
        if (strcmp(path, ipo_nccl_copies[i].object) == 0)
            return IPO_MINE;
    return IPO_UNCLAIMED;
}

static ipo_function find_wrapper(const struct ipo_name *name, const struct ipo_object *object, const void *bound)
{
    if (name->table == IPO_NAMES_LIBC && name->row == IPO_LIBC_getenv)
        return (ipo_function)ipo_nccl_getenv; /* any may have NVTX in it, which asks by that name */
    if (object->claimed || name->table != IPO_NAMES_NCCL || name->row < 0)
        return NULL;
    return ipo_nccl_wrapper_of(name->row, object->start, bound);
}

static size_t write_calls(struct trc_call *calls)
{
    _Static_assert(IPO_NCCL_NUMBER(IPO_NCCL_CALLS) <= IPO_ALL_CALLS, "room for the last rows");
    for (int i = 0; i < IPO_NCCL_CALLS; i++) {
        const struct ipo_nccl_call *call = &ipo_nccl_calls[i];
        enum trc_opclass opclass = call->opclass < TRC_OPCLASSES ? (enum trc_opclass)call->opclass : TRC_OP_NCCL_COMM;
        calls[IPO_NCCL_NUMBER(i)] = (struct trc_call){.name = call->name, .opclass = opclass};
    }
    return IPO_NCCL_NUMBER(IPO_NCCL_CALLS);
}

static void arm_calls(uint32_t how)
{
    ipo_arm(IPO_FOR_NCCL, ipo_nccl_hook_allowed(IPO_HOOK_SYMBOLS) ? how : 0);
    ipo_arm(IPO_FOR_PROFILER, how);
}

static const struct ipo_source nccl_source = {.name = "nccl",
                                              .linked = is_linked,
                                              .find = find_nccl,
                                              .found_n = count_found,
                                              .claim = claim_object,
                                              .wrapper_of = find_wrapper,
                                              .names = "nccl",
                                              .looked_up = ipo_nccl_looked_up,
                                              .sign = "cuGetProcAddress", /* used by the CUDA runtime */
                                              .sign_seen = ipo_cuda_coming,
                                              .calls = write_calls,
                                              .arm = arm_calls,
                                              .thread_left = ipo_nccl_thread_left};
IPO_SOURCE(nccl_source);
