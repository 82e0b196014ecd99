/* NVML: found at run time, with our own declarations of the parts used here (nvml.h: NVIDIA's "NVML API Reference
 * Guide", nvmlFieldValue_t, and the field identifiers of NVLink's throughput). */
#include "tui/sources/node.h"
#include "trace/util/now.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NVLINK_DATA_SENT = 138, NVLINK_DATA_RECEIVED = 139, PCIE_SENT = 0, PCIE_RECEIVED = 1 };
#define ALL_LINKS 0xffffffffu

struct field_value {
    uint32_t id, scope;
    int64_t timestamp_us, latency_us;
    uint32_t type;
    int32_t result;
    uint64_t value; /* unit of the fields used here: KiB since the driver was loaded */
};
_Static_assert(sizeof(struct field_value) == 40, "as nvmlFieldValue_t");

struct before {
    double at_s;
    uint64_t kib[2];
    bool known[2];
};
struct tui_nvml {
    void *library;
    int (*count)(unsigned *);
    int (*device)(unsigned, void **);
    int (*name)(void *, char *, unsigned);
    int (*utilization)(void *, unsigned[2]);
    int (*pcie)(void *, unsigned, unsigned *);
    int (*fields)(void *, int, struct field_value *);
    struct before before[TUI_NODE_GPUS];
};

struct tui_nvml *tui_nvml_open(void)
{
    struct tui_nvml *nvml = calloc(1, sizeof *nvml);
    if (!nvml)
        return NULL;
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*start)(void) = NULL;
    const struct {
        const char *name;
        void *to; /* a pointer to a function */
    } wanted[] = {{"nvmlInit_v2", &start},
                  {"nvmlDeviceGetCount_v2", &nvml->count},
                  {"nvmlDeviceGetHandleByIndex_v2", &nvml->device},
                  {"nvmlDeviceGetName", &nvml->name},
                  {"nvmlDeviceGetUtilizationRates", &nvml->utilization},
                  {"nvmlDeviceGetPcieThroughput", &nvml->pcie},
                  {"nvmlDeviceGetFieldValues", &nvml->fields}};
    bool all = nvml->library != NULL;
    for (size_t i = 0; all && i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(nvml->library, wanted[i].name);
        memcpy(wanted[i].to, &found, sizeof found);
        all = found != NULL;
    }
    if (all && start() == 0)
        return nvml;
    if (nvml->library)
        dlclose(nvml->library);
    free(nvml);
    return NULL;
}

/* Reads the rates of all links at once.  Some drivers give the sum for each link: adding them up would be wrong. */
static void read_links(struct tui_nvml *nvml, void *device, struct before *before, struct tui_node_gpu *out)
{
    struct field_value field[2] = {{.id = NVLINK_DATA_SENT, .scope = ALL_LINKS},
                                   {.id = NVLINK_DATA_RECEIVED, .scope = ALL_LINKS}};
    double *rate[2] = {&out->nvlink_sent, &out->nvlink_received};
    double now = (double)ana_now_ns() * 1e-9;
    bool answers = nvml->fields(device, 2, field) == 0;
    for (int i = 0; i < 2; i++) {
        bool known = answers && field[i].result == 0;
        if (known && before->known[i] && field[i].value >= before->kib[i] && now > before->at_s)
            *rate[i] = (double)(field[i].value - before->kib[i]) * 1024 / (now - before->at_s);
        before->known[i] = known;
        before->kib[i] = field[i].value;
    }
    before->at_s = now;
}

size_t tui_nvml_ask(struct tui_nvml *nvml, struct tui_node_gpu *out, size_t most)
{
    unsigned all = 0;
    size_t n = 0;
    if (nvml->count(&all))
        return 0;
    for (unsigned i = 0; i < all && i < TUI_NODE_GPUS && n < most; i++) { /* `before` is by number of the GPU */
        struct tui_node_gpu *gpu = &out[n];
        unsigned rates[2], kb;
        void *device;
        *gpu = (struct tui_node_gpu){"", NAN, NAN, NAN, NAN, NAN};
        if (nvml->device(i, &device))
            continue;
        if (nvml->name(device, gpu->name, sizeof gpu->name))
            gpu->name[0] = 0;
        gpu->name[sizeof gpu->name - 1] = 0;
        if (nvml->utilization(device, rates) == 0)
            gpu->busy = rates[0] / 100.0;
        if (nvml->pcie(device, PCIE_SENT, &kb) == 0)
            gpu->pcie_sent = kb * 1000.0;
        if (nvml->pcie(device, PCIE_RECEIVED, &kb) == 0)
            gpu->pcie_received = kb * 1000.0;
        read_links(nvml, device, &nvml->before[i], gpu);
        n++;
    }
    return n;
}
