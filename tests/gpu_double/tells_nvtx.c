/* The ranges of tells.h. */
#include "tests/gpu_double/tells.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- NVTX: a table of functions that an injection fills */

struct payload {
    uint64_t schema;
    size_t size;
    const void *bytes;
};
struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, payloads;
    union {
        uint64_t number;
        const struct payload *data;
    } payload;
    int32_t message_type;
    union {
        const char *text;
        void *registered;
    } message;
};
static struct {
    int (*push)(void *domain, const struct attributes *with);
    int (*pop)(void *domain);
    void *(*string)(void *domain, const char *text);
    void *(*create)(const char *name);
} nvtx;
static intptr_t extension_slots[20];
static void *domain;

static int table_of(int module, void ***out, unsigned *size)
{
    static void *table[16];
    if (module != 5)
        return 0;
    table[4] = &nvtx.push;
    table[5] = &nvtx.pop;
    table[10] = &nvtx.string;
    table[12] = &nvtx.create;
    *out = table;
    *size = 16;
    return 1;
}
static const void *export_table(uint32_t which)
{
    static const struct {
        size_t size;
        int (*table_of)(int module, void ***out, unsigned *size);
    } callbacks = {sizeof callbacks, table_of};
    return which == 1 ? &callbacks : NULL;
}

static void find_injection(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*begin)(const void *(*)(uint32_t)) =
        library ? (int (*)(const void *(*)(uint32_t)))dlsym(library, "InitializeInjectionNvtx2") : NULL;
    if (!begin || !begin(export_table)) {
        memset(&nvtx, 0, sizeof nvtx);
        return;
    }
    struct {
        size_t id, slots;
        intptr_t *slot;
    } segment = {0, tells_version() < 22500 ? 2 : 20, extension_slots};
    struct {
        uint16_t version, size, module, compatible;
        size_t segments;
        void *segment;
        void *more[2];
    } extension = {3, 40, 2, 0x0104, 1, &segment, {NULL, NULL}};
    int (*extend)(void *) = (int (*)(void *))dlsym(library, "InitializeInjectionNvtxExtension");
    if (!extend || !extend(&extension))
        memset(extension_slots, 0, sizeof extension_slots);
    domain = nvtx.create ? nvtx.create("NCCL") : NULL;
}

static void push(const char *function, const void *bytes, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_injection);
    struct payload payload = {1 << 24, size, bytes};
    struct attributes with = {.version = 3, .size = sizeof with, .message_type = 3};
    if (!nvtx.push || !nvtx.string)
        return;
    with.message.registered = nvtx.string(domain, function);
    if (size) {
        with.payload_type = (int32_t)0xDFBD0009;
        with.payloads = 1;
        with.payload.data = &payload;
    }
    nvtx.push(domain, &with);
}

void tells_push(const char *function)
{
    push(function, NULL, 0);
}

void tells_push_data(const char *function, uint64_t comm, uint64_t bytes, int number)
{
    struct {
        uint64_t comm, bytes;
        int number;
    } all = {comm, bytes, number};
    int version = tells_version();
    size_t size = number >= 0 ? 16 : 8;
    if (version < 21600)
        push(function, NULL, 0);
    else if (version < 22500)
        push(function, &all.bytes, size);
    else
        push(function, &all, size + 8);
}

struct made {
    uint64_t comm, parent;
    int n, rank, device, color, key;
};
void tells_push_comm(const char *function, uint64_t comm, int n, int rank)
{
    struct {
        uint64_t comm;
        int n, rank, device;
    } now = {comm, n, rank, 0};
    struct {
        int rank, n, device;
    } before = {rank, n, 0};
    if (tells_version() < 21600)
        push(function, NULL, 0);
    else if (tells_version() < 22500)
        push(function, &before, sizeof before);
    else
        push(function, &now, sizeof now);
}

void tells_pop(void)
{
    if (nvtx.pop)
        nvtx.pop(domain);
}

void tells_pop_made(const char *function, uint64_t comm, uint64_t parent, int n, int rank)
{
    struct {
        uint64_t comm;
        int n, rank, device;
    } root = {comm, n, rank, 0};
    struct made child = {comm, parent, n, rank, 0, 0, 0};
    bool is_child = strcmp(function, "ncclCommSplit") == 0 || strcmp(function, "ncclCommGrow") == 0;
    struct payload payload = {1 << 24, is_child ? sizeof child : sizeof root,
                              is_child ? (const void *)&child : (const void *)&root};
    int (*pop_with)(void *, const struct payload *, size_t) =
        (int (*)(void *, const struct payload *, size_t))extension_slots[4];
    if (tells_version() < 22500)
        tells_pop();
    else if (pop_with) /* releases without the extension say nothing of the end */
        pop_with(domain, &payload, 1);
}
