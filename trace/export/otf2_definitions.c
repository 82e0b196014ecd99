/* Definitions behind the numbers in OTF2's events: names, ranks, threads, communicators. */
#include "trace/export/otf2_impl.h"
#include "trace/util/hash.h"
#include "trace/util/text.h"
#include "trace/util/sort.h"
#include "trace/util/rows.h"

/* ---- names of calls ---------------------------------------------------------------------------------------------- */

static enum otf2_role role_of(enum trc_opclass opclass)
{
    static const enum otf2_role shapes[] = {
        [TRC_SHAPE_NONE] = OTF2_ROLE_OTHER_COLLECTIVE,   [TRC_SHAPE_ALL] = OTF2_ROLE_ALL_TO_ALL,
        [TRC_SHAPE_FROM_ROOT] = OTF2_ROLE_ONE_TO_ALL,    [TRC_SHAPE_TO_ROOT] = OTF2_ROLE_ALL_TO_ONE,
        [TRC_SHAPE_PREFIX] = OTF2_ROLE_OTHER_COLLECTIVE, [TRC_SHAPE_NEIGHBORS] = OTF2_ROLE_OTHER_COLLECTIVE};
    TRC_ASSERT_ROWS(shapes, TRC_SHAPE_NEIGHBORS);
    switch (trc_opclass_category(opclass)) {
    case TRC_CAT_COLLECTIVE:
        return opclass == TRC_OP_BARRIER ? OTF2_ROLE_BARRIER : shapes[trc_opclass_shape(opclass)];
    case TRC_CAT_P2P:
    case TRC_CAT_WAIT:
        return OTF2_ROLE_MESSAGE;
    case TRC_CAT_RMA:
        return OTF2_ROLE_RMA;
    case TRC_CAT_IO:
        return OTF2_ROLE_FILE;
    case TRC_CAT_COPY:
        return OTF2_ROLE_TRANSFER;
    default:
        return OTF2_ROLE_FUNCTION;
    }
}

static enum otf2_paradigm paradigm_of(const struct ana_event *e)
{
    if (trc_is_region(e->kind))
        return OTF2_PARADIGM_USER;
    return trc_opclass_is_device(e->use->call->opclass) || trc_opclass_category(e->use->call->opclass) == TRC_CAT_NCCL
               ? OTF2_PARADIGM_CUDA
               : OTF2_PARADIGM_MPI;
}

uint32_t ana_otf2_region(struct ana_exporting *x, const struct ana_event *e)
{
    struct otf2 *otf2 = x->own;
    if (e->use && e->use->number)
        return e->use->number - 1;
    const char *name = ana_export_name(x, e);
    struct otf2_region *region = ana_map_add(&otf2->regions, ana_hash_text(name), paradigm_of(e), 0);
    if (!region) {
        ana_export_fail(x, "out of memory");
        return OTF2_NONE;
    }
    if (!region->name)
        *region = (struct otf2_region){(uint32_t)otf2->regions.count - 1, name,
                                       trc_is_region(e->kind) ? OTF2_ROLE_CODE : role_of(e->use->call->opclass),
                                       paradigm_of(e)};
    if (e->use)
        e->use->number = region->number + 1;
    return region->number;
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

/* Fills in the members of an event's communicator. */
static void find_members(struct ana_exporting *x, const struct ana_event *e, struct otf2_comm *out)
{
    struct ana_range group[2] = {ana_members(x->job, e->index, e->use->comm, false), {0, 0}};
    bool both = e->use->comm->def.flags & TRC_COMM_INTER;
    if (both)
        group[1] = ana_members(x->job, e->index, e->use->comm, true);
    size_t all = group[0].to - group[0].from + (group[1].to - group[1].from);
    out->member = calloc(all + 1, sizeof *out->member);
    for (int g = 0; out->member && g < 1 + both; g++)
        for (size_t m = group[g].from; m < group[g].to; m++)
            out->member[out->members++] = ana_member(x->job, e->index, e->use->comm, m);
    if (!out->member)
        ana_export_fail(x, "out of memory");
    else if (both) /* both sides see it in one order */
        ana_sort(out->member, out->members, sizeof *out->member, ana_by_index);
}

uint32_t ana_otf2_comm(struct ana_exporting *x, const struct ana_event *e)
{
    struct otf2 *otf2 = x->own;
    if (!e->use->comm)
        return OTF2_NONE;
    if (e->use->from)
        return e->use->from - 1;
    const struct ana_export_comm *named =
        ana_export_comm(x, ana_comm_identity(x->job, e->index, e->use->comm), e->use->comm);
    struct otf2_comm *comm = named ? ana_map_add(&otf2->comms, named->number, 0, 0) : NULL;
    if (!comm) {
        ana_export_fail(x, "out of memory");
        return OTF2_NONE;
    }
    if (!comm->member) {
        snprintf(comm->name, sizeof comm->name, "%s", named->name);
        find_members(x, e, comm);
    }
    uint32_t number = (uint32_t)(comm - (struct otf2_comm *)otf2->comms.values);
    if (e->use)
        e->use->from = number + 1;
    return number;
}

uint32_t ana_otf2_member(struct ana_exporting *x, uint32_t number, size_t index)
{
    struct otf2 *otf2 = x->own;
    const struct otf2_comm *comm = number < otf2->comms.count ? ana_map_value(&otf2->comms, number) : NULL;
    if (comm && index < comm->members && comm->member[index] == index) /* the world, for one */
        return (uint32_t)index;
    for (size_t m = 0; comm && m < comm->members; m++)
        if (comm->member[m] == index)
            return (uint32_t)m;
    return OTF2_NONE;
}

/* ---- definitions ------------------------------------------------------------------------------------------------- */

struct definitions {
    struct ana_exporting *x;
    const struct otf2_library *lib;
    void *writer;
    uint32_t strings, groups, nodes, locations; /* so far */
    bool failed;
};

/* Writes a definition. */
#define DEFINE(name, ...) (d->failed |= d->lib->GlobalDefWriter_Write##name(d->writer, __VA_ARGS__) != 0)

/* Writes a text and returns its number. */
static uint32_t put_text(struct definitions *d, const char *text)
{
    char clean[1024];
    snprintf(clean, sizeof clean, "%s", text);
    trc_clean_text(clean);
    DEFINE(String, d->strings, clean);
    return d->strings++;
}

/* Writes the hosts below the machine; node[i]: the host of rank i. */
static void put_hosts(struct definitions *d, uint32_t *node)
{
    struct ana_exporting *x = d->x;
    const struct ana_job_info info = ana_job_info(x->job);
    uint32_t class = put_text(d, "node");
    DEFINE(SystemTreeNode, d->nodes++, put_text(d, "all nodes"), put_text(d, "machine"), OTF2_NONE);
    uint32_t first = d->nodes;
    for (size_t h = 0; h < info.hosts; h++)
        DEFINE(SystemTreeNode, d->nodes++, put_text(d, info.host[h]), class, 0);
    for (size_t i = 0; i < ana_job_ranks(x->job); i++)
        node[i] = first + ana_job_rank(x->job, i)->host_index;
}

static uint64_t events_of(struct definitions *d, size_t thread)
{
    struct otf2 *otf2 = d->x->own;
    uint64_t n = 0;
    if (otf2->lane[thread].writer)
        d->lib->EvtWriter_GetNumberOfEvents(otf2->lane[thread].writer, &n);
    return n;
}

/* Writes a rank, its threads, and its GPUs' streams as a group of their own. */
static void put_rank(struct definitions *d, size_t index, uint32_t node)
{
    struct ana_exporting *x = d->x;
    char text[256];
    uint32_t own = d->locations++, gpu = OTF2_NONE;
    ana_export_rank_words(x, index, text, sizeof text);
    DEFINE(LocationGroup, own, put_text(d, text), OTF2_PROCESS, node, OTF2_NONE);
    for (size_t t = 0; t < ana_export_threads(x, index); t++) {
        size_t thread = x->first[index] + t;
        bool is_stream = x->thread[thread].is_stream;
        if (is_stream && gpu == OTF2_NONE) {
            gpu = d->locations++;
            snprintf(text, sizeof text, "GPUs of rank %s", ana_rank_label(x->job, index).text);
            DEFINE(LocationGroup, gpu, put_text(d, text), OTF2_ACCELERATOR, node, own);
        }
        ana_export_thread_words(x, index, t, text, sizeof text);
        DEFINE(Location, thread, put_text(d, text), is_stream ? OTF2_STREAM : OTF2_THREAD, events_of(d, thread),
               is_stream ? gpu : own);
    }
}

static void put_ranks(struct definitions *d)
{
    struct ana_exporting *x = d->x;
    size_t count = ana_job_ranks(x->job);
    uint32_t *node = calloc(count + 1, sizeof *node);
    uint64_t *first = calloc(count + 1, sizeof *first);
    if (!node || !first)
        ana_export_fail(x, "out of memory");
    if (node && first) {
        put_hosts(d, node);
        for (size_t i = 0; i < count; i++) {
            first[i] = x->first[i]; /* a rank's messages belong to its first thread, for viewers */
            put_rank(d, i, node[i]);
        }
        DEFINE(Group, d->groups++, put_text(d, "all ranks"), OTF2_GROUP_LOCATIONS, OTF2_PARADIGM_MPI, 0,
               (uint32_t)count, first);
    }
    free(node);
    free(first);
}

static void put_comms(struct definitions *d)
{
    struct otf2 *otf2 = d->x->own;
    for (size_t c = 0; c < otf2->comms.count; c++) {
        const struct otf2_comm *comm = ana_map_value(&otf2->comms, c);
        uint64_t *member = calloc(comm->members + 1, sizeof *member);
        for (size_t m = 0; member && m < comm->members; m++)
            member[m] = comm->member[m] == SIZE_MAX ? OTF2_NOBODY : comm->member[m];
        uint32_t name = put_text(d, comm->name);
        d->failed |= !member;
        if (member)
            DEFINE(Group, d->groups, name, OTF2_GROUP_COMM, OTF2_PARADIGM_MPI, 0, (uint32_t)comm->members, member);
        DEFINE(Comm, (uint32_t)c, name, d->groups++, OTF2_NONE, 0);
        free(member);
    }
}

static void put_regions(struct definitions *d)
{
    struct otf2 *otf2 = d->x->own;
    uint32_t none = put_text(d, "");
    for (size_t r = 0; r < otf2->regions.count; r++) {
        const struct otf2_region *region = ana_map_value(&otf2->regions, r);
        uint32_t name = put_text(d, region->name);
        DEFINE(Region, region->number, name, name, none, (uint8_t)region->role, (uint8_t)region->paradigm, 0, none, 0,
               0);
    }
}

static void put_paths(struct definitions *d)
{
    for (size_t i = 0; i < d->x->sites.count; i++) {
        const struct ana_export_site *site = ana_map_value(&d->x->sites, i);
        if (site->path)
            DEFINE(String, OTF2_PATHS + site->number, site->path);
    }
}

void ana_otf2_definitions(struct ana_exporting *x)
{
    static const char *const attributes[OTF2_ATTRIBUTES][2] = {
        [OTF2_ATTRIBUTE_CALLS] = {"calls", "polls that this region stands for"},
        [OTF2_ATTRIBUTE_SENT] = {"bytes sent", "by a call that is no message and no collective"},
        [OTF2_ATTRIBUTE_RECEIVED] = {"bytes received", "likewise"},
        [OTF2_ATTRIBUTE_PATH] = {"call path", "callers, the innermost first"}};
    struct otf2 *otf2 = x->own;
    struct definitions all = {.x = x, .lib = &otf2->lib, .writer = otf2->lib.Archive_GetGlobalDefWriter(otf2->archive)};
    struct definitions *d = &all;
    if (!d->writer) {
        ana_export_fail(x, "the OTF2 library gives no writer of definitions");
        return;
    }
    DEFINE(ClockProperties, 1000000000, 0, otf2->last + 1, (uint64_t)ana_job_info(x->job).start_realtime_ns);
    for (uint32_t a = 0; a < OTF2_ATTRIBUTES; a++) {
        uint32_t name = put_text(d, attributes[a][0]), help = put_text(d, attributes[a][1]);
        DEFINE(Attribute, a, name, help, a == OTF2_ATTRIBUTE_PATH ? OTF2_STRING : OTF2_UINT64);
    }
    put_ranks(d);
    put_comms(d);
    put_regions(d);
    put_paths(d);
    if (d->failed)
        ana_export_fail(x, "the OTF2 library refuses a definition");
}
