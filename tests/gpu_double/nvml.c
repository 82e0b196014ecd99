/* libnvidia-ml of the double: one GPU, of whose memory the same part is always in use. */
#define NVML(name, ...)                                                                                                \
    int nvml##name(__VA_ARGS__);                                                                                       \
    int nvml##name(__VA_ARGS__)

NVML(Init_v2, void)
{
    return 0;
}
NVML(DeviceGetHandleByIndex_v2, unsigned index, void **device)
{
    static int one;
    *device = &one;
    return index ? 2 : 0; /* NVML_ERROR_INVALID_ARGUMENT */
}
NVML(DeviceGetMemoryInfo, void *device, unsigned long long info[3]) /* total, free, used */
{
    (void)device;
    info[0] = 8ull << 30;
    info[1] = 6ull << 30;
    info[2] = 2ull << 30;
    return 0;
}
