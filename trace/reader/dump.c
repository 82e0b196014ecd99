#include "trace/reader/dump_impl.h"
#include "trace/util/rows.h"

/* ---- words ------------------------------------------------------------------------------------------------------- */

static const char *const state_words[] = {
    [TRC_STATE_STARTING] = "starting", [TRC_STATE_RUNNING] = "running", [TRC_STATE_FINALIZED] = "finalized",
    [TRC_STATE_ABORTED] = "aborted",   [TRC_STATE_STOPPED] = "stopped",
};
TRC_ASSERT_ROWS(state_words, TRC_STATE_STOPPED);
static const char *const clock_words[] = {[TRC_CLOCK_TSC] = "tsc", [TRC_CLOCK_MONOTONIC] = "monotonic"};
TRC_ASSERT_ROWS(clock_words, TRC_CLOCK_MONOTONIC);
static const char *const abi_words[] = {"unknown", "openmpi", "mpich", "standard"};
TRC_ASSERT_ROWS(abi_words, TRC_ABI_STANDARD);
static const char *const level_words[] = {"single", "funneled", "serialized", "multiple"};

/* Names of bits, in the order of the bits. */
static const char *const sig_flag_words[] = {
    "sub", "start", "complete", "coll",    "nested",  "poll",    "cancelled", "failed",     "p2p_out", "p2p_in",
    "rma", "io",    "sync",     "control", "enqueue", "grouped", "shared",    "any_source", "any_tag"};
TRC_ASSERT_BITS(sig_flag_words, TRC_SIG_ANY_TAG);
static const char *const head_flag_words[] = {"spawned", "write_back", "status_unknown", "exited", "no_session"};
TRC_ASSERT_BITS(head_flag_words, TRC_HEAD_NO_SESSION);

static void put_rank(FILE *out, const char *title, int32_t rank)
{
    switch (rank) {
    case TRC_PEER_NONE:
        return;
    case TRC_PEER_ANY:
        fprintf(out, " %s=any", title);
        return;
    case TRC_PEER_NULL:
        fprintf(out, " %s=null", title);
        return;
    case TRC_PEER_ROOT:
        fprintf(out, " %s=root", title);
        return;
    case TRC_PEER_UNKNOWN:
        fprintf(out, " %s=-", title);
        return;
    default:
        if (rank <= TRC_PEER_REMOTE) /* ranks in the other world of the communicator */
            fprintf(out, " %s=beyond:%" PRId32, title, TRC_PEER_REMOTE - rank);
        else
            fprintf(out, " %s=%" PRId32, title, rank);
    }
}

static void put_tag(FILE *out, const char *title, int32_t tag)
{
    if (tag == TRC_TAG_ANY)
        fprintf(out, " %s=any", title);
    else if (tag != TRC_TAG_NONE)
        fprintf(out, " %s=%" PRId32, title, tag);
}

void trc_dump_list(const struct trc_file *file, FILE *out, const char *title, uint32_t id)
{
    const struct trc_ranks *list = id ? trc_ranks(file, id) : NULL;
    if (id)
        fprintf(out, " %s=%s", title, !list ? "?" : list->n ? "" : "-");
    for (uint32_t i = 0; list && i < list->n; i++)
        fprintf(out, "%s%" PRId32, i ? "," : "", list->rank[i]);
}

void trc_dump_bytes(FILE *out, const char *title, uint64_t bytes)
{
    if (bytes == TRC_BYTES_UNKNOWN)
        fprintf(out, " %s=-", title);
    else if (bytes)
        fprintf(out, " %s=%" PRIu64, title, bytes);
}

static void put_site(const struct trc_file *file, FILE *out, const char *title, uint64_t site)
{
    const struct trc_site_def *def = trc_site_named(file, trc_site_address(file, site));
    if (def && (def->function || def->module))
        fprintf(out, "%s%s", title, def->function ? def->function : def->module);
    else
        fprintf(out, "%s%#" PRIx64, title, trc_site_address(file, site));
}

static void put_sig(const struct trc_file *file, FILE *out, const struct trc_sig *sig)
{
    fprintf(out, "%s", trc_call(file, sig->call)->name);
    if (sig->comm) {
        const struct trc_comm *comm = trc_comm(file, sig->comm);
        fprintf(out, " comm=%" PRIu32, sig->comm);
        if (comm && comm->name)
            fprintf(out, "(%s)", comm->name);
    }
    const char *kernel = trc_call(file, sig->call)->opclass == TRC_OP_KERNEL ? trc_kernel(file, sig->object) : NULL;
    if (kernel)
        fprintf(out, " name=%s", kernel);
    else if (sig->object)
        fprintf(out, " %s=%" PRIu32, trc_opclass_moves_data(trc_call(file, sig->call)->opclass) ? "data" : "object",
                sig->object);
    put_rank(out, "peer", sig->peer);
    if (!trc_opclass_is_one_sided(trc_call(file, sig->call)->opclass))
        put_tag(out, "tag", sig->tag);
    else if (sig->tag > 0)
        trc_dump_list(file, out, "group", (uint32_t)sig->tag);
    put_rank(out, "source", sig->source);
    put_tag(out, "rtag", sig->rtag);
    trc_dump_bytes(out, "sent", sig->sent);
    trc_dump_bytes(out, "received", sig->received);
    if (sig->flags) {
        fputs(" flags=", out);
        PUT_FLAGS(out, sig_flag_words, sig->flags);
    }
    if (sig->site)
        put_site(file, out, " site=", sig->site);
    const struct trc_path *path = trc_path_of(file, sig->site);
    for (uint32_t i = 0; path && i < path->n; i++)
        put_site(file, out, i ? "<" : " path=", path->site[i]);
    if (path && path->end != TRC_PATH_WHOLE)
        fputs("<..", out);
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

double trc_dump_since(const struct trc_file *file, uint64_t ticks)
{
    const struct trc_head *head = trc_head(file);
    return (double)(trc_ticks_to_ns(file, ticks) - trc_ticks_to_ns(file, head->start.ticks)) * 1e-9;
}

static double seconds(const struct trc_file *file, uint64_t ticks)
{
    return (double)ticks * trc_ns_per_tick(file) * 1e-9;
}

static void put_time(const struct trc_file *file, FILE *out, const char *title, uint64_t ticks)
{
    if (ticks)
        fprintf(out, "%s: %.9f\n", title, trc_dump_since(file, ticks));
    else
        fprintf(out, "%s: -\n", title);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static void put_namespaces(const struct trc_head *head, FILE *out)
{
    static const char *const namespaces[TRC_NAMESPACES] = {
#define NAMESPACE(name) #name,
        TRC_NAMESPACE_LIST(NAMESPACE)
#undef NAMESPACE
    };
    fputs("namespaces:", out);
    for (size_t i = 0; i < TRC_NAMESPACES; i++)
        if (head->namespaces[i])
            fprintf(out, " %s %" PRIu64, namespaces[i], head->namespaces[i]);
    fputs("\n", out);
}

static void put_clock(const struct trc_file *file, FILE *out)
{
    const struct trc_head *head = trc_head(file);
    fprintf(out, "clock: %s, ", ONE_OF(clock_words, head->clock_source));
    if (file->ns_per_tick > 0)
        fprintf(out, "%.6f ns a tick\n", file->ns_per_tick);
    else
        fputs("- ns a tick: its process ended before its clock was measured; times are in ticks\n", out);
    fprintf(out, "made: %" PRIu64 ".%09" PRIu64 "\n", head->start.realtime_ns / 1000000000u,
            head->start.realtime_ns % 1000000000u);
    put_time(file, out, "init", head->init_ticks);
    put_time(file, out, "end", head->end_ticks);
    put_time(file, out, "latest", head->latest.ticks);
    fprintf(out, "cost of a call: %.9f\n", seconds(file, head->call_cost_q10) / 1024);
    fprintf(out, "slow paths: %.9f\n", seconds(file, head->slow_ticks));
}

/* Writes how the process noted its own end. */
static void put_end(const struct trc_file *file, FILE *out)
{
    static const char *const by[TRC_END_WAYS] = {"-", "signal", "exit", "return", "_exit", "quick_exit"};
    const struct trc_end *end = &trc_head(file)->end;
    if (!end->by)
        return;
    fprintf(out, "ended: %.9f by=%s", trc_dump_since(file, end->ticks), by[end->by]);
    if (end->by != TRC_END_SIGNAL) {
        fprintf(out, " code=%" PRId32 "\n", end->code);
        return;
    }
    fprintf(out, " signal=%" PRId32 " sender=%" PRIu32 " name=%s memory_kills=%" PRIu64 " of %" PRIu64 "\n",
            end->signal, end->sender, end->sender_name[0] ? end->sender_name : "-",
            end->memory_kills - end->memory_before, end->memory_kills);
    if (end->message[0])
        fprintf(out, "message: %s\n", end->message);
}

static void dump_head(const struct trc_file *file, FILE *out)
{
    const struct trc_head *head = trc_head(file);
    const struct {
        const char *title, *text;
    } texts[] = {{"host", head->host},       {"boot", head->boot_id},        {"job", head->job},
                 {"exe", head->exe},         {"command", head->command},     {"mpi", head->mpi},
                 {"runtime", head->runtime}, {"container", head->container}, {"error", head->error}};
    const struct {
        const char *title;
        uint64_t value;
    } numbers[] = {{"pid", head->pid},
                   {"block size", head->block_size},
                   {"blocks used", head->blocks_used},
                   {"block limit", head->block_limit},
                   {"heartbeats", head->heartbeats},
                   {"lost records", head->lost_records},
                   {"recycled chunks", head->recycled_chunks},
                   {"recycled records", head->recycled_records},
                   {"unknown requests", head->unknown_requests},
                   {"inline growths", head->inline_growths},
                   {"patched slots", head->patched_slots},
                   {"threads not kept", head->threads_not_kept},
                   {"times off", head->off_times + (head->off_since != 0)}};

    fprintf(out, "format: %" PRIu32 "\n", head->version);
    fprintf(out, "rank: %" PRId32 " of %" PRId32 "\n", head->rank, head->world_size);
    fprintf(out, "world: %016" PRIx64 "\n", head->world_identity);
    fprintf(out, "state: %s\n", ONE_OF(state_words, head->state));
    if (head->state == TRC_STATE_ABORTED)
        fprintf(out, "abort code: %" PRId32 "\n", head->abort_code);
    put_end(file, out);
    if (head->error_errno)
        fprintf(out, "errno: %" PRId32 "\n", head->error_errno);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text[0])
            fprintf(out, "%s: %s\n", texts[i].title, texts[i].text);
    put_namespaces(head, out);
    fprintf(out, "abi: %s\n", ONE_OF(abi_words, head->abi));
    fprintf(out, "threads: %s\n", head->thread_level < 0 ? "-" : ONE_OF(level_words, (uint32_t)head->thread_level));
    fputs("flags: ", out);
    PUT_FLAGS(out, head_flag_words, head->flags);
    fputs("\n", out);
    put_clock(file, out);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        fprintf(out, "%s: %" PRIu64 "\n", numbers[i].title, numbers[i].value);
    if (head->off_since)
        fprintf(out, "recording is off since %.9f (MPI_Pcontrol)\n", trc_dump_since(file, head->off_since));
}

static void dump_live(const struct trc_file *file, size_t i, FILE *out)
{
    const struct trc_thread *thread = trc_thread(file, i);
    const struct trc_device_stream *of = trc_device_stream(file, i);
    if (of->number)
        fprintf(out, "thread %zu: stream=%" PRIu32 " of device %" PRIu32 ", context %" PRIu32 ", number=%" PRIu32 "\n",
                i, of->stream, of->device, of->context, of->number);
    else
        fprintf(out, "thread %zu: tid=%" PRIu32 " name=%s\n", i, thread->tid, thread->name[0] ? thread->name : "-");
    const struct trc_sig *inside = trc_live_sig(file, i, thread->inside);
    if (inside) {
        fprintf(out, "  inside since %.9f sequence=%" PRIu64 " ", trc_dump_since(file, thread->inside_since),
                thread->inside_sequence);
        put_sig(file, out, inside);
        fputc('\n', out);
    }
    const struct trc_sig *nested = trc_live_nested(file, i);
    if (nested) {
        fputs("  and there in ", out);
        put_sig(file, out, nested);
        fputc('\n', out);
    }
    const struct {
        const char *title;
        uint64_t value;
    } numbers[] = {{"calls", thread->calls},
                   {"sent", thread->sent},
                   {"received", thread->received},
                   {"sent messages", thread->sent_messages},
                   {"received messages", thread->received_messages},
                   {"starts", thread->starts},
                   {"completes", thread->completes},
                   {"row overflow", thread->row_overflow},
                   {"peer overflow", thread->peer_overflow}};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        fprintf(out, "  %s: %" PRIu64 "\n", numbers[k].title, numbers[k].value);
    fprintf(out, trc_is_stream(file, i) ? "  busy: %.9f\n" : "  in mpi: %.9f\n", seconds(file, thread->mpi_ticks));
    size_t n;
    const struct trc_counter *rows = trc_rows(file, i, &n);
    for (size_t k = 0; k < n; k++) {
        const struct trc_counter *row = &rows[k];
        if (!row->call_plus_1)
            continue;
        fprintf(
            out,
            "  row %s size=%u: calls=%" PRIu64 " time=%.9f min=%.9f max=%.9f sent=%" PRIu64 " received=%" PRIu64 "\n",
            trc_call(file, row->call_plus_1 - 1u)->name, row->size_class, row->calls, seconds(file, row->ticks),
            row->calls ? seconds(file, row->min_ticks) : 0., seconds(file, row->max_ticks), row->sent, row->received);
    }
    const struct trc_peer *peers = trc_peers(file, i, &n);
    for (size_t k = 0; k < n; k++)
        if (peers[k].rank_plus_1)
            fprintf(out,
                    "  peer %" PRIu32 ": sent=%" PRIu64 " messages %" PRIu64 " bytes received=%" PRIu64
                    " messages %" PRIu64 " bytes\n",
                    peers[k].rank_plus_1 - 1, peers[k].sent_messages, peers[k].sent_bytes, peers[k].received_messages,
                    peers[k].received_bytes);
}

static void dump_record(const struct trc_file *file, size_t thread, const struct trc_record *record, FILE *out)
{
    double begin = trc_dump_since(file, record->begin);
    double duration = seconds(file, record->end - record->begin);
    fprintf(out, "%zu %14.9f %.9f ", thread, begin, duration);
    if (record->kind == TRC_RECORD_LOST) {
        fprintf(out, "LOST count=%" PRIu64 "\n", record->count);
        return;
    }
    if (record->kind == TRC_RECORD_ROUND) {
        trc_dump_round(record, out);
        return;
    }
    if (trc_is_region(record->kind)) {
        trc_dump_region(file, record, out);
        return;
    }
    put_sig(file, out, record->sig);
    if (record->kind == TRC_RECORD_FOLD)
        fprintf(out, " polls=%" PRIu64 " busy=%.9f", record->count, seconds(file, record->busy));
    uint32_t flags = record->kind == TRC_RECORD_EVENT ? record->sig->flags : 0;
    if (flags & TRC_SIG_COLL)
        fprintf(out, " sequence=%" PRIu64, record->sequence);
    if (flags & (TRC_SIG_START | TRC_SIG_COMPLETE)) {
        if (record->request == UINT64_MAX)
            fputs(" request=-", out);
        else if (record->request_thread != thread)
            fprintf(out, " request=%" PRIu32 ":%" PRIu64, record->request_thread, record->request);
        else
            fprintf(out, " request=%" PRIu64, record->request);
    }
    fputc('\n', out);
}

enum trc_status trc_dump(struct trc_file *file, FILE *out)
{
    trc_set_final(file);
    dump_head(file, out);
    trc_dump_definitions(file, out);
    for (size_t i = 0; i < trc_threads(file); i++)
        dump_live(file, i, out);
    for (size_t i = 0; i < trc_threads(file); i++) {
        struct trc_cursor *cursor = trc_cursor_open(file, i);
        if (!cursor)
            return TRC_BAD;
        trc_cursor_want_rounds(cursor);
        trc_cursor_want_regions(cursor);
        struct trc_record record;
        while (trc_next(cursor, &record) == TRC_OK)
            dump_record(file, i, &record, out);
        trc_cursor_close(cursor);
    }
    if (!trc_dump_usage(file, out))
        return TRC_BAD;
    const char *damage;
    for (size_t i = 0; (damage = trc_damage(file, i)); i++)
        fprintf(out, "damage: %s\n", damage);
    return ferror(out) ? TRC_BAD : TRC_OK;
}
