/* Gloo, as a source of the recorder. */
#include "interpose/base/bind.h"
#include "interpose/core/source.h"
#include "interpose/gloo/gloo.h"
#include "interpose/identity/identity.h"
#include "interpose/load/slots.h"

#include <errno.h>

static size_t write_calls(struct trc_call *calls)
{
    _Static_assert(IPO_GLOO_NUMBER(IPO_GLOO_CALLS) <= IPO_ALL_CALLS, "room for the last rows");
#define GLOO(call, symbol, class, ...)                                                                                 \
    calls[IPO_GLOO_NUMBER(IPO_GLOO_##call)] = (struct trc_call){.name = "gloo::" #call, .opclass = TRC_OP_##class};
#define CLASS(call, class) GLOO(call, , class)
#define MESSAGE            GLOO
#define HOOK(call, ...)    GLOO(call, , COMM_CREATE)
#include "interpose/gloo/gloo_calls.def"
#undef GLOO
#undef HOOK
    return IPO_GLOO_NUMBER(IPO_GLOO_CALLS);
}

static void arm_calls(uint32_t how)
{
    ipo_arm(IPO_FOR_GLOO, how);
}

/* Horovod is loaded, and about to begin its loop. */
static void horovod_begins(void)
{
    int kept = errno;
    ipo_bind();
    ipo_options_read(&ipo_process.options);
    if (!ipo_process.options.disable && !ipo_is_privileged())
        ipo_patch_slots();
    errno = kept;
}

static const struct ipo_source gloo_source = {.name = "gloo",
                                              .tables = ipo_gloo_tables,
                                              .sign = "horovod_init",
                                              .sign_seen = horovod_begins,
                                              .calls = write_calls,
                                              .arm = arm_calls};
IPO_SOURCE(gloo_source);
