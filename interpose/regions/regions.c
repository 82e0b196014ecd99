#include "interpose/regions/regions.h"
#include "interpose/base/text.h"
#include "interpose/core/source.h"
#include "interpose/mpi/thread.h"
#include "interpose/core/state.h"
#include "interpose/regions/names.h"
#include "trace/writer/region.h"

#include <stddef.h>

static __thread struct trc_regions regions;

/* The calling thread's state, made at its first region or call; NULL while nothing is recorded. */
static inline struct ipo_thread *recording_thread(void)
{
    return *ipo_armed | *ipo_profiler_armed ? ipo_thread_self() : NULL;
}

void ipo_region_begin(uint32_t number)
{
    struct ipo_thread *thread = recording_thread();
    if (thread && regions.depth < TRC_REGIONS_DEEP) {
        ipo_region_define(number);
        trc_stream_region(&thread->stream, TRC_REGION_BEGIN, number, ipo_ticks());
    }
    trc_regions_enter(&regions, number);
}

void ipo_region_end(uint32_t number)
{
    struct ipo_thread *thread = recording_thread();
    if (thread && !regions.deeper) {
        if (number)
            ipo_region_define(number);
        trc_stream_region(&thread->stream, TRC_REGION_END, number, ipo_ticks());
    }
    trc_regions_leave(&regions, number);
}

/* The thread may have entered regions before it is recorded: its first chunk says so. */
static void add_thread(struct ipo_thread *thread)
{
    for (uint32_t i = 0; i < regions.depth; i++)
        ipo_region_define(regions.id[i]);
    thread->stream.regions = &regions;
}

/* The level that the thread's MPI_Pcontrol set is a region: "Pcontrol 2".  0 and less only leave the one before. */
static void set_level(int level)
{
    static __thread uint32_t number;
    struct ipo_text name = {0};
    if (number)
        ipo_region_end(number);
    number = 0;
    if (level <= 0)
        return;
    ipo_text_add(&name, "Pcontrol ");
    ipo_text_add_number(&name, (uint64_t)level);
    ipo_region_begin(number = ipo_region_number(name.text));
}

static const struct ipo_source regions_source = {.name = "regions", .on_thread = add_thread, .level = set_level};
IPO_SOURCE(regions_source);

/* Table that include/hpctop.h looks for, as programs were compiled with it: members are only added, at the end. */
struct hpctop_regions {
    uint32_t version;
    uint32_t (*number)(const char *name);
    void (*begin)(uint32_t number);
    void (*end)(uint32_t number);
};
extern const struct hpctop_regions hpctop_regions;
__attribute__((visibility("default"))) const struct hpctop_regions hpctop_regions = {
    .version = 1, .number = ipo_region_number, .begin = ipo_region_begin, .end = ipo_region_end};
