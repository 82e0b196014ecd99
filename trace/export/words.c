/* Names used in exports, as far as formats do not differ in them; and descriptions of failures. */
#include "trace/export/export_impl.h"
#include "trace/util/rows.h"
#include <inttypes.h>
#include <stdarg.h>

bool ana_export_fail(struct ana_exporting *x, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!x->error[0])
        vsnprintf(x->error, sizeof x->error, format, args);
    va_end(args);
    return false;
}

const struct ana_export_comm *ana_export_comm(struct ana_exporting *x, uint64_t identity, const struct trc_comm *comm)
{
    struct ana_export_comm *of = ana_map_add(&x->comms, identity, 0, 0);
    if (of && !of->number) {
        of->number = (uint32_t)x->comms.count;
        snprintf(of->name, sizeof of->name, "%s", identity ? ana_comm_name(x->job, identity, comm) : "?");
    }
    return of;
}

const struct ana_export_site *ana_export_site(struct ana_exporting *x, size_t index, uint64_t address)
{
    struct ana_export_site *of = address ? ana_map_add(&x->sites, index, address, 0) : NULL;
    if (!of || of->number)
        return of;
    const char *function, *module;
    const struct trc_file *file = ana_job_rank(x->job, index)->file;
    of->number = (uint32_t)x->sites.count;
    trc_site(file, address, &function, &module);
    const char *line = ana_site_line(x->job, index, module);
    function = ana_site_function(x->job, index, module, function);
    of->text = line ? line : function ? function : module;
    const struct trc_path *path = trc_path_of(file, address);
    if (path) {
        char words[TRC_PATH_MOST * ANA_CALLER];
        ana_path_words(x->job, index, path, words, sizeof words);
        of->path = strdup(words);
    }
    return of;
}

int64_t ana_export_shift(const struct ana_exporting *x)
{
    int64_t shift_ns = 0;
    for (size_t i = 0; i < ana_job_ranks(x->job); i++)
        if (-ana_job_rank(x->job, i)->begin_ns > shift_ns)
            shift_ns = -ana_job_rank(x->job, i)->begin_ns;
    return shift_ns;
}

enum ana_export_what ana_export_what(const struct ana_event *e)
{
    if (trc_is_region(e->kind))
        return ANA_EXPORT_REGION;
    if (e->kind == TRC_RECORD_LOST || !e->use)
        return ANA_EXPORT_LOST;
    if (trc_opclass_is_device(e->use->call->opclass))
        return ANA_EXPORT_DEVICE;
    if (e->sig->flags & TRC_SIG_NESTED)
        return ANA_EXPORT_NESTED;
    if (e->sig->flags & TRC_SIG_SUB)
        return ANA_EXPORT_PART;
    return e->kind == TRC_RECORD_FOLD ? ANA_EXPORT_POLL : ANA_EXPORT_CALL;
}

const char *const ana_export_what_names[] = {
    [ANA_EXPORT_CALL] = "call",    [ANA_EXPORT_POLL] = "poll",     [ANA_EXPORT_NESTED] = "nested",
    [ANA_EXPORT_PART] = "part",    [ANA_EXPORT_DEVICE] = "device", [ANA_EXPORT_LOST] = "lost",
    [ANA_EXPORT_REGION] = "region"};
TRC_ASSERT_ROWS(ana_export_what_names, ANA_EXPORT_REGION);

const char *ana_export_name(struct ana_exporting *x, const struct ana_event *e)
{
    const struct trc_file *file = ana_job_rank(x->job, e->index)->file;
    const char *name = NULL;
    if (trc_is_region(e->kind))
        name = trc_region(file, (uint32_t)e->sequence);
    else if (e->use && e->use->call->opclass == TRC_OP_KERNEL)
        name = trc_kernel(file, e->sig->object);
    return name ? name : e->use ? e->use->call->name : trc_is_region(e->kind) ? "a region" : "records lost";
}

size_t ana_export_partner(const struct ana_exporting *x, const struct ana_event *e)
{
    if (!e->use || trc_opclass_is_device(e->use->call->opclass))
        return SIZE_MAX;
    int32_t peer = e->sig->flags & TRC_SIG_P2P_IN && !(e->sig->flags & TRC_SIG_P2P_OUT) ? e->sig->source : e->sig->peer;
    return peer >= 0 || peer <= TRC_PEER_REMOTE ? ana_partner(x->job, e->index, e->use->comm, peer) : SIZE_MAX;
}

bool ana_export_tag(const struct ana_event *e, int32_t *tag)
{
    uint32_t flags = e->sig ? e->sig->flags : 0;
    if (!(flags & (TRC_SIG_P2P_OUT | TRC_SIG_P2P_IN)))
        return false;
    *tag = flags & TRC_SIG_P2P_OUT ? e->sig->tag : e->sig->rtag;
    return *tag != TRC_TAG_NONE && *tag != TRC_TAG_ANY;
}

void ana_export_rank_words(const struct ana_exporting *x, size_t index, char *out, size_t size)
{
    const struct ana_rank *rank = ana_job_rank(x->job, index);
    snprintf(out, size, "rank %s on %s, pid %" PRIu32, ana_label_of(ana_rank_id(rank)).text, rank->host, rank->pid);
}

void ana_export_thread_words(const struct ana_exporting *x, size_t index, size_t thread, char *out, size_t size)
{
    const struct trc_file *file = ana_job_rank(x->job, index)->file;
    const struct trc_device_stream *stream = trc_device_stream(file, thread);
    const struct trc_thread *page = trc_thread(file, thread);
    if (trc_is_stream(file, thread))
        snprintf(out, size, "GPU %" PRIu32 " stream %" PRIu32, stream->device, stream->stream);
    else
        snprintf(out, size, "thread %zu%s%.15s", thread, page->name[0] ? " " : "", page->name);
}
