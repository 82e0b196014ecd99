#include "trace/sums/accesses.h"
#include "trace/format/histogram.h"
#include "trace/sums/event.h"
#include "trace/util/spans.h"
#include "trace/util/times.h"
#include "trace/util/hash.h"

#define AFTER_NS 100000000 /* time after the end of an open until its file is defined, at most */

void ana_accesses_init(struct ana_accesses *accesses)
{
    *accesses = (struct ana_accesses){0};
    ana_map_init(&accesses->of, sizeof(struct ana_access_sum));
}

void ana_accesses_free(struct ana_accesses *accesses)
{
    ana_map_free(&accesses->of);
}

/* The file that a call has opened: the recorder defines it right after the call. */
static const struct trc_object *opened_by(const struct ana_members *members, const struct ana_event *e)
{
    const struct trc_object *opened = NULL;
    int64_t until_ns = ana_plus(e->end_ns, AFTER_NS);
    const struct trc_comm *comm;
    uint64_t created;
    for (size_t i = 0; (comm = trc_comm_at(members->process[e->index].rank.file, i, &created)); i++) {
        if (!comm->object || !comm->object->is_file || (e->use->comm && comm->def.parent != e->use->comm->def.identity))
            continue;
        int64_t created_ns = ana_clock_job_time(members->clock, e->index, created);
        if (created_ns < e->end_ns || created_ns >= until_ns)
            continue;
        until_ns = created_ns;
        opened = comm->object;
    }
    return opened;
}

/* The file that an event is about; NULL: not known. */
static const struct trc_object *object_of(const struct ana_members *members, const struct ana_event *e, bool *opens)
{
    *opens = false;
    if (e->use->comm && e->use->comm->object && e->use->comm->object->is_file)
        return e->use->comm->object;
    const struct trc_object *object = e->use->call->opclass == TRC_OP_FILE_OPEN ? opened_by(members, e) : NULL;
    *opens = object != NULL;
    return object;
}

static struct ana_access_sum *sum_of(struct ana_accesses *accesses, const struct trc_object *object, size_t index)
{
    uint64_t key = object && object->name ? ana_hash_text(object->name) : 0;
    struct ana_access_sum *sum = ana_map_find(&accesses->of, key, index, 0);
    if (!sum && accesses->of.count >= ANA_ACCESS_SUMS)
        key = 0;
    if (!sum)
        sum = ana_map_add(&accesses->of, key, index, 0);
    if (!sum) {
        accesses->out_of_memory = true;
        return NULL;
    }
    sum->name = key ? object->name : NULL;
    sum->index = index;
    return sum;
}

void ana_accesses_event(const struct ana_members *members, struct ana_accesses *accesses, const struct ana_event *e,
                        int64_t begin_ns, int64_t end_ns)
{
    const struct ana_use *use = e->use;
    int64_t inside_ns =
        ana_span_overlap((struct ana_span){e->begin_ns, e->end_ns}, (struct ana_span){begin_ns, end_ns});
    bool ends = e->end_ns >= begin_ns && e->end_ns < end_ns;
    bool opens, begins = e->sig->flags & TRC_SIG_START;
    const struct trc_object *object = object_of(members, e, &opens);
    struct ana_access_sum *sum = ends || inside_ns ? sum_of(accesses, object, e->index) : NULL;
    if (!sum)
        return;
    struct ana_access_way *way = use->sent ? &sum->write : use->received ? &sum->read : NULL;
    sum->opens += ends && opens;
    if (way && ends) {
        uint64_t bytes = use->sent ? use->sent : use->received;
        uint64_t times = ana_event_times(e);
        way->calls += times;
        way->bytes += bytes * times;
        way->size[trc_size_class(bytes)] += times;
        way->begun += begins || use->is_sub ? times : 0;
    }
    if (!use->is_sub) {
        int64_t *ns = way && !begins ? &way->ns : &sum->other_ns;
        *ns = ana_plus(*ns, inside_ns);
    }
}
