/* CUPTI, as a source of the recorder. */
#include "interpose/core/source.h"
#include "interpose/cuda/cupti.h"
#include "interpose/load/names.h"

#include <string.h>

static unsigned count_found(void)
{
    return *ipo_cupti_object() != 0;
}

static enum ipo_claim claim_object(const char *path)
{
    return strcmp(path, ipo_cupti_object()) == 0 ? IPO_LEFT_ALONE : IPO_UNCLAIMED;
}

static ipo_function find_wrapper(const struct ipo_name *name, const struct ipo_object *object, const void *bound)
{
    (void)object, (void)bound;
    return name->table == IPO_NAMES_CUPTI ? ipo_cupti_wrapper_of(name->text) : NULL;
}

static size_t write_calls(struct trc_call *calls)
{
#define DEVICE(id, name_, opclass_)                                                                                    \
    calls[IPO_DEVICE_NUMBER(IPO_DEVICE_##id)] = (struct trc_call){.name = name_, .opclass = TRC_OP_##opclass_};
    IPO_DEVICE_LIST(DEVICE)
#undef DEVICE
    return IPO_DEVICE_NUMBER(IPO_DEVICE_CALLS);
}

static const struct ipo_source cuda_source = {.name = "cuda",
                                              .found_n = count_found,
                                              .claim = claim_object,
                                              .wrapper_of = find_wrapper,
                                              .names = "cupti",
                                              .looked_up = ipo_cupti_looked_up,
                                              .library = "libcuda.so",
                                              .on_library = ipo_cupti_expect,
                                              .serve = ipo_cupti_await,
                                              .calls = write_calls,
                                              .stop = ipo_cupti_stop,
                                              .over = ipo_cupti_over};
IPO_SOURCE(cuda_source);
