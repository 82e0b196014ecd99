/* libnvidia-ml of the double: one GPU that is half busy, whose counters go on with the clock: NVLink sends 2 GiB a
 * second and receives 1 (fields 138 and 139, KiB), PCIe 300 and 200 MB/s.  GPU_DOUBLE_NVML=no_link: a card without
 * NVLink; =refuse: a driver that does not answer; =many: 20 GPUs, the second broken; =stuck: a driver that never comes
 * back. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NVML(name, ...)                                                                                                \
    int nvml##name(__VA_ARGS__);                                                                                       \
    int nvml##name(__VA_ARGS__)
enum { OK = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, DRIVER_NOT_LOADED = 9 };
enum { DATA_TX = 138, DATA_RX, RAW_TX, RAW_RX, UNSIGNED_LONG_LONG = 3 };
struct field { /* nvmlFieldValue_t */
    unsigned id, scope;
    long long timestamp_us, latency_us;
    unsigned type;
    int result;
    unsigned long long value;
};

static int is(const char *what)
{
    const char *value = getenv("GPU_DOUBLE_NVML");
    return value && strcmp(value, what) == 0;
}
static unsigned long long now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000 + (unsigned long long)t.tv_nsec / 1000;
}

NVML(Init_v2, void)
{
    return is("refuse") ? DRIVER_NOT_LOADED : OK;
}
NVML(Shutdown, void)
{
    return OK;
}
NVML(DeviceGetCount_v2, unsigned *count)
{
    while (is("stuck"))
        pause();
    *count = is("many") ? 20 : 1;
    return OK;
}
NVML(DeviceGetHandleByIndex_v2, unsigned index, void **device)
{
    static int one;
    *device = &one;
    return index == 0 || (is("many") && index != 1 && index < 20) ? OK : INVALID_ARGUMENT;
}
NVML(DeviceGetName, void *device, char *name, unsigned size)
{
    (void)device;
    snprintf(name, size, "Double of a GPU");
    return OK;
}
NVML(DeviceGetUtilizationRates, void *device, unsigned rates[2])
{
    (void)device;
    rates[0] = 50;
    rates[1] = 12;
    return OK;
}
NVML(DeviceGetMemoryInfo, void *device, unsigned long long info[3]) /* total, free, used */
{
    (void)device;
    info[0] = 8ull << 30;
    info[1] = 6ull << 30;
    info[2] = 2ull << 30;
    return OK;
}
NVML(DeviceGetPcieThroughput, void *device, unsigned counter, unsigned *kb)
{
    (void)device;
    *kb = counter == 0 ? 300000 : 200000; /* 0: sent, 1: received, KB/s */
    return counter < 2 ? OK : INVALID_ARGUMENT;
}
NVML(DeviceGetFieldValues, void *device, int count, struct field *fields)
{
    (void)device;
    for (int i = 0; i < count; i++) {
        struct field *f = &fields[i];
        unsigned long long kib = now_us() * 1048576 / 1000000; /* 1 GiB/s */
        f->timestamp_us = (long long)now_us();
        f->type = UNSIGNED_LONG_LONG;
        f->result = is("no_link") || f->id < DATA_TX || f->id > RAW_RX ? NOT_SUPPORTED : OK;
        f->value = f->id == DATA_TX || f->id == RAW_TX ? 2 * kib : kib;
    }
    return OK;
}
