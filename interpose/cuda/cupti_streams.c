/* Sorts CUPTI's records into streams of the trace.  Records come in buffers, and CUPTI keeps a buffer with an
 * unfinished kernel back.  So records are sorted by stream and time before they are written; a record that is
 * earlier than those already written gets a chunk of its own. */
#include "interpose/cuda/cupti.h"
#include "interpose/cuda/cupti_records.h"
#include "interpose/core/state.h"
#include "interpose/base/text.h"

#include <stdlib.h>
#include <sys/mman.h>
#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <xxhash.h>

#define STREAMS   48u   /* each takes half a megabyte of the file at least */
#define KERNELS   8192u /* names, open addressing */
#define NAME_MAX_ 1024u /* names of templates may have kilobytes */

static struct {
    _Atomic uint64_t key; /* context, stream, + 1; 0 free.  Numbers are indices + 1 */
    struct trc_stream *stream;
    bool hopeless; /* no page could be had */
} streams[STREAMS];

static struct {
    uint64_t hash; /* hash of the name; 0 free */
    uint32_t id;
} kernels[KERNELS];
static uint32_t kernels_n;

struct item {
    uint64_t begin, end; /* ticks */
    uint64_t bytes;
    uint32_t number, device, call, kernel;
};
static struct item *items;
static size_t items_n, items_room;

static uint64_t unfinished, untimed, without_stream;

static void *map_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

uint32_t ipo_device_stream(uint32_t context, uint32_t stream)
{
    uint64_t key = ((uint64_t)context << 32 | stream) + 1;
    for (uint32_t i = 0; i < STREAMS; i++) {
        uint64_t there = atomic_load(&streams[i].key);
        if (there == key || (!there && atomic_compare_exchange_strong(&streams[i].key, &there, key)) || there == key)
            return i + 1;
    }
    return 0;
}

/* ---- taking ------------------------------------------------------------------------------------------------------ */

static uint32_t find_kernel(const char *name)
{
    size_t length = strnlen(name, NAME_MAX_);
    uint64_t hash = XXH3_64bits(name, length) | 1;
    for (uint32_t i = 0, at = (uint32_t)(hash >> 32) % KERNELS; i < 64; i++, at = (at + 1) % KERNELS) {
        if (kernels[at].hash == hash)
            return kernels[at].id;
        if (kernels[at].hash)
            continue;
        uint32_t id = kernels_n + 1;
        if (!trc_writer_define(&ipo_process.writer, TRC_DEF_KERNEL, id, 0, 0, NULL, 0, name, length))
            return 0;
        kernels_n = id;
        kernels[at].hash = hash;
        kernels[at].id = id;
        return id;
    }
    return 0; /* too many names: a kernel without one */
}

static struct item *make_room(void)
{
    if (items_n == items_room) {
        size_t more = items_room ? items_room * 2 : 4096;
        void *grown = map_memory(more * sizeof *items);
        if (!grown)
            return NULL;
        if (items) {
            memcpy(grown, items, items_n * sizeof *items);
            munmap(items, items_room * sizeof *items);
        }
        items = grown;
        items_room = more;
    }
    return &items[items_n++];
}

static void add_item(struct item item, uint64_t start, uint64_t end, const struct ipo_device_times *times)
{
    bool known = start && end && item.number;
    untimed += !start;
    unfinished += start && !end;
    without_stream += start && end && !item.number;
    struct item *place = known ? make_room() : NULL;
    if (!place) {
        __atomic_fetch_add(&ipo_process.writer.head->lost_records, start && end, __ATOMIC_RELAXED);
        return;
    }
    item.begin = times->ticks(start);
    item.end = times->ticks(end);
    *place = item;
}

static uint32_t find_copy_call(uint8_t kind)
{
    switch (kind) {
    case IPO_CUPTI_HTOD:
        return IPO_DEVICE_HTOD;
    case IPO_CUPTI_DTOH:
        return IPO_DEVICE_DTOH;
    case IPO_CUPTI_DTOD:
        return IPO_DEVICE_DTOD;
    case IPO_CUPTI_PTOP:
        return IPO_DEVICE_PTOP;
    default:
        return IPO_DEVICE_OTHER;
    }
}

void ipo_device_record(const void *record, const struct ipo_device_times *times)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    if (kind == IPO_CUPTI_CONCURRENT_KERNEL || kind == IPO_CUPTI_KERNEL) {
        struct ipo_cupti_kernel k;
        memcpy(&k, record, sizeof k);
        struct item item = {.number = ipo_device_stream(k.context, k.stream),
                            .device = k.device,
                            .call = IPO_DEVICE_KERNEL,
                            .kernel = k.name && k.end ? find_kernel(k.name) : 0};
        add_item(item, k.start, k.end, times);
    } else if (kind == IPO_CUPTI_MEMCPY || kind == IPO_CUPTI_MEMCPY2) {
        struct ipo_cupti_copy c;
        memcpy(&c, record, sizeof c);
        struct item item = {.number = ipo_device_stream(c.context, c.stream),
                            .device = c.device,
                            .bytes = c.bytes,
                            .call = kind == IPO_CUPTI_MEMCPY2 ? IPO_DEVICE_PTOP : find_copy_call(c.copy_kind)};
        add_item(item, c.start, c.end, times);
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static struct trc_stream *find_stream(const struct item *item)
{
    uint32_t slot = item->number - 1;
    if (streams[slot].stream || streams[slot].hopeless)
        return streams[slot].stream;
    uint64_t key = atomic_load(&streams[slot].key) - 1;
    struct trc_device_stream of = {
        .number = item->number, .device = item->device, .context = (uint32_t)(key >> 32), .stream = (uint32_t)key};
    struct trc_stream *stream = map_memory(sizeof *stream);
    if (stream && trc_stream_open_device(stream, &ipo_process.writer, &of, "gpu")) {
        stream->base = item->begin; /* it began before its page was made */
        streams[slot].stream = stream;
    } else {
        streams[slot].hopeless = true;
        __atomic_fetch_add(&ipo_process.writer.head->threads_not_kept, 1, __ATOMIC_RELAXED);
    }
    return streams[slot].stream;
}

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

void ipo_device_write(void)
{
    if (items_n == 0)
        return;
    qsort(items, items_n, sizeof *items, compare_items);
    for (size_t i = 0; i < items_n; i++) {
        const struct item *item = &items[i];
        struct trc_stream *stream = find_stream(item);
        if (!stream) {
            __atomic_fetch_add(&ipo_process.writer.head->lost_records, 1, __ATOMIC_RELAXED);
            continue;
        }
        struct trc_sig sig = {.call = IPO_DEVICE_NUMBER(item->call),
                              .object = item->kernel,
                              .peer = TRC_PEER_NONE,
                              .tag = TRC_TAG_NONE,
                              .source = TRC_PEER_NONE,
                              .rtag = TRC_TAG_NONE,
                              .sent = item->bytes};
        uint32_t index = trc_stream_intern(stream, &sig);
        trc_stream_step_back(stream, item->begin);
        trc_stream_event(stream, index, item->begin, item->end, 0);
        trc_stream_count(stream, index, item->end > item->begin ? item->end - item->begin : 0);
    }
    items_n = 0;
}

const char *ipo_device_missing(void)
{
    static struct ipo_text text;
    text.used = text.text[0] = 0;
    const struct {
        uint64_t n;
        const char *what;
    } missing[] = {{unfinished, " had not ended when recording did"},
                   {untimed, " without times"},
                   {without_stream, " on more streams than are kept"}};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (missing[i].n) {
            ipo_text_add(&text, text.used ? ", " : "");
            ipo_text_add_number(&text, missing[i].n);
            ipo_text_add(&text, missing[i].what);
        }
    return text.text;
}
