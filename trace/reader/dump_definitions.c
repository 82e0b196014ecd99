/* The definitions of a file as text: communicators, what calls move, facts and stacks, operations on devices. */
#include "trace/reader/dump_impl.h"
#include "trace/util/rows.h"

#include <string.h>

static const char *const comm_flag_words[] = {"inter", "world", "self", "foreign", "all"};
TRC_ASSERT_BITS(comm_flag_words, TRC_COMM_ALL);

static const char *const path_end_words[] = {
    "-", [TRC_PATH_WHOLE] = "whole", [TRC_PATH_LIMITED] = "limited", [TRC_PATH_LOST] = "lost"};
TRC_ASSERT_ROWS(path_end_words, TRC_PATH_LOST);

static void dump_objects(const struct trc_file *file, FILE *out)
{
    for (size_t i = 0; i < file->comms.sealed; i++) {
        const struct trc_comm_def *def = file->comms.entries[i].value;
        const struct trc_def_comm *comm = &def->comm.def;
        fprintf(out, "comm %" PRIu32 ": identity=%016" PRIx64 " parent=%016" PRIx64 " rank=%" PRId32 " size=%" PRId32,
                def->comm.id, comm->identity, comm->parent, comm->rank, comm->size);
        if (comm->flags & TRC_COMM_INTER)
            fprintf(out, " remote=%" PRId32, comm->remote_size);
        fputs(" flags=", out);
        PUT_FLAGS(out, comm_flag_words, comm->flags);
        fprintf(out, " by=%s", trc_call_known(file, comm->created_by) ? trc_call(file, comm->created_by)->name : "-");
        for (uint32_t m = 0; m < comm->members; m++)
            fprintf(out, "%s%" PRId32, m ? "," : " members=", def->comm.members[m]);
        trc_dump_list(file, out, "sources", def->comm.sources);
        trc_dump_list(file, out, "destinations", def->comm.destinations);
        if (def->comm.name)
            fprintf(out, " name=\"%s\"", def->comm.name);
        if (def->comm.in_doubt)
            fprintf(out, " doubt=%" PRIu64, def->comm.doubt_from);
        if (def->is_freed)
            fprintf(out, " freed=%.9f", trc_dump_since(file, def->freed));
        fputc('\n', out);
    }
    for (size_t i = 0; i < file->objects.sealed; i++) {
        const struct trc_object_def *def = file->objects.entries[i].value;
        fprintf(out, "%s %" PRIu32 ": comm=%" PRIu32 "%s%s\n", def->object.is_file ? "file" : "win", def->object.id,
                def->object.comm, def->object.name ? " name=" : "", def->object.name ? def->object.name : "");
    }
    for (size_t i = 0; i < file->sites.sealed; i++) {
        const struct trc_site_def *def = file->sites.entries[i].value;
        fprintf(out, "site %#" PRIx64 ": %s %s%s%s%s\n", file->sites.entries[i].key,
                def->function ? def->function : "-", def->module ? def->module : "-", def->forwards ? " forwards" : "",
                def->near ? " " : "", def->near ? def->near : "");
    }
    for (size_t i = 0; i < file->paths.sealed; i++) {
        const struct trc_path *path = file->paths.entries[i].value;
        fprintf(out, "path %" PRIu64 ": %s place=%" PRIu32, file->paths.entries[i].key,
                ONE_OF(path_end_words, path->end), trc_path_place(file, path));
        for (uint32_t k = 0; k < path->n; k++)
            fprintf(out, " %#" PRIx64, path->site[k]);
        fputc('\n', out);
    }
}

static void dump_regions(const struct trc_file *file, FILE *out)
{
    for (size_t i = 0; i < file->regions.sealed; i++)
        fprintf(out, "region %" PRIu64 ": %s\n", file->regions.entries[i].key,
                (const char *)file->regions.entries[i].value);
}

static void dump_data(const struct trc_file *file, FILE *out)
{
    for (size_t i = 0; i < file->data.sealed; i++) {
        const struct trc_data *data = trc_data(file, (uint32_t)file->data.entries[i].key);
        fprintf(out, "data %" PRIu64 ": sent=%s received=%s operation=%s\n", file->data.entries[i].key,
                *data->signature[0] ? data->signature[0] : "-", *data->signature[1] ? data->signature[1] : "-",
                trc_reduction_name(data->operation));
    }
    const struct trc_off *off;
    for (size_t i = 0; (off = trc_off_at(file, i)); i++)
        fprintf(out, "recording was off from %.9f to %.9f (MPI_Pcontrol)\n", trc_dump_since(file, off->begin),
                trc_dump_since(file, off->end));
    const struct trc_left *left;
    for (size_t i = 0; (left = trc_left_at(file, i)); i++)
        fprintf(out, "left %" PRIu32 ": %s by=%s site=%#" PRIx64 "\n", left->count, left->kind, left->call->name,
                left->site);
}

static const char *const reason_words[TRC_STACK_REASONS] = {
    [TRC_STACK_HANG] = "hang", [TRC_STACK_DEMAND] = "demand", [TRC_STACK_FATAL] = "fatal", [TRC_STACK_EXIT] = "exit"};
static const char *const stack_flag_words[] = {"main",    "closing", "crashed", "running",  "short",
                                               "in_call", "gil",     "guessed", "overflow", "in_handler"};
TRC_ASSERT_BITS(stack_flag_words, TRC_STACK_IN_HANDLER);

static void dump_facts_and_stacks(const struct trc_file *file, FILE *out)
{
    const char *key, *value;
    for (size_t i = 0; trc_fact_at(file, i, &key, &value); i++)
        fprintf(out, "fact %s: %s\n", key, value);
    for (size_t i = 0; i < trc_stacks(file); i++) {
        const struct trc_stack *stack = trc_stack(file, i);
        fprintf(out, "stack %" PRIu32 ": %.9f tid=%" PRIu32 " reason=%s state=%c flags=", stack->snapshot,
                trc_dump_since(file, stack->ticks), stack->tid, ONE_OF(reason_words, stack->def.reason),
                stack->def.state);
        PUT_FLAGS(out, stack_flag_words, stack->def.flags);
        if (stack->def.signal)
            fprintf(out, " signal=%" PRId32, stack->def.signal);
        if (stack->def.call >= 0)
            fprintf(out, " syscall=%" PRId32, stack->def.call);
        if (stack->def.flags & TRC_STACK_CLOSING)
            fprintf(out, " threads=%" PRIu32 " request=%" PRIu64, stack->def.count, stack->request_ns);
        fputc('\n', out);
        for (const char *line = stack->text; *line;) {
            size_t n = strcspn(line, "\n");
            fprintf(out, "  %.*s\n", (int)n, line);
            line += n + (line[n] != 0);
        }
    }
}

static const char *const watch_words[] = {"none", "events", "stopped"};
TRC_ASSERT_ROWS(watch_words, TRC_GPU_WATCH_STOPPED);
static const char *const gpu_flag_words[] = {"blind",   "by_events", "by_plugin",  "approximate",
                                             "grouped", "message",   "async_error"};
TRC_ASSERT_BITS(gpu_flag_words, TRC_GPU_ASYNC_ERROR);

static void dump_gpu_op(const struct trc_file *file, const struct trc_gpu_op *op, FILE *out)
{
    const struct trc_comm *comm = trc_comm(file, op->comm);
    const char *type = trc_gpu_type_name(op), *reduction = trc_gpu_op_name(op);
    fprintf(out, "op %" PRIu64 ": %s %s comm=%" PRIu32 "(%s) sequence=%" PRIu64 " order=%" PRIu64, op->number,
            trc_gpu_state_name(op), trc_call(file, op->call)->name, op->comm, comm && comm->name ? comm->name : "",
            op->sequence, op->order);
    if (type)
        fprintf(out, " count=%" PRIu64 " type=%s", op->count, type);
    trc_dump_bytes(out, "bytes", op->bytes);
    if (reduction)
        fprintf(out, " op=%s", reduction);
    if (op->root >= 0)
        fprintf(out, " %s=%" PRId32, op->flags & TRC_GPU_MESSAGE ? "peer" : "root", op->root);
    if (op->result)
        fprintf(out, " result=%" PRId32, op->result);
    fprintf(out, " stream=%#" PRIx64 " group=%" PRIu64 " thread=%u", op->stream, op->group, op->thread);
    const struct {
        const char *title;
        uint64_t ticks;
    } times[] = {{"called", op->called}, {"enqueued", op->enqueued}, {"started", op->started}, {"ended", op->ended}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i].ticks)
            fprintf(out, " %s=%.9f", times[i].title, trc_dump_since(file, times[i].ticks));
    fputs(" flags=", out);
    PUT_FLAGS(out, gpu_flag_words, op->flags);
    fputc('\n', out);
}

static void dump_gpu(const struct trc_file *file, FILE *out)
{
    const struct trc_gpu_head *gpu = trc_gpu(file);
    if (!gpu)
        return;
    fprintf(out, "device operations: begun=%" PRIu64 " lost=%" PRIu64 " watch=%s rounds=%" PRIu64, gpu->begun,
            gpu->lost, ONE_OF(watch_words, gpu->watch), gpu->rounds);
    if (gpu->error)
        fprintf(out, " error=%" PRId32, gpu->error);
    if (gpu->inside_since)
        fprintf(out, " inside the driver since %.9f", trc_dump_since(file, gpu->inside_since));
    fputc('\n', out);
    for (size_t i = 0; i < trc_gpu_ops(file); i++)
        dump_gpu_op(file, trc_gpu_op(file, i), out);
}

void trc_dump_definitions(const struct trc_file *file, FILE *out)
{
    dump_objects(file, out);
    dump_data(file, out);
    dump_regions(file, out);
    dump_facts_and_stacks(file, out);
    dump_gpu(file, out);
}
