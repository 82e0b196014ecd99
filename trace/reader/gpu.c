/* The table of device operations: one copy, which is read anew while operations are under way. */
#include "trace/reader/file.h"
#include "trace/util/sort.h"

struct trc_gpu {
    uint32_t chunk;
    struct trc_gpu_head head;
    bool settled; /* all operations were over at the last refresh */
    size_t count;
    struct trc_gpu_op op[TRC_GPU_OPS];
};

ANA_COMPARE(by_number, struct trc_gpu_op, ANA_ORDER(x->number, y->number))

/* Copies the slots that are in use and did not change while they were copied, sorted.  Numbers out of range become
 * NONE.
 * */
static void copy_slots(struct trc_gpu *gpu, const struct trc_gpu_op *first, const struct trc_gpu_op *second)
{
    gpu->count = 0;
    bool over = true;
    for (size_t i = 0; i < TRC_GPU_OPS; i++) {
        struct trc_gpu_op op = second[i];
        if (op.number == 0 || op.number != first[i].number || op.state == TRC_GPU_FREE)
            continue;
        if (op.state > TRC_GPU_CAPTURED)
            op.state = TRC_GPU_CAPTURED; /* state from a later version */
        if (op.thread >= TRC_MAX_THREADS)
            op.thread = 0;
        over &= trc_gpu_over(&op);
        gpu->op[gpu->count++] = op;
    }
    gpu->settled = over;
    if (gpu->count)
        ana_sort(gpu->op, gpu->count, sizeof *gpu->op, by_number);
}

static bool read_table(struct trc_file *file, uint32_t chunk)
{
    uint64_t offset = trc_chunk_offset(file, chunk) + sizeof(struct trc_chunk);
    struct trc_gpu_head head;
    if (trc_file_read(file, offset, &head, sizeof head) != sizeof head)
        return trc_file_damage(file, "chunk %u: the device operations are cut off", chunk);
    struct trc_gpu *gpu = file->gpu ? file->gpu : calloc(1, sizeof *gpu);
    if (!gpu)
        return trc_file_damage(file, "out of memory: no device operations");
    if (!file->gpu)
        gpu->chunk = chunk;
    file->gpu = gpu;
    if (gpu->chunk != chunk)
        return trc_file_damage(file, "chunk %u: a second table of device operations: left out", chunk);
    bool moved = head.begun != gpu->head.begun || !gpu->settled;
    gpu->head = head;
    if (!moved)
        return false;
    if (head.slot_size != sizeof(struct trc_gpu_op) || head.slots > TRC_GPU_OPS) {
        trc_file_damage(file, "chunk %u: %u device operations of %u bytes: left out", chunk, head.slots,
                        head.slot_size);
        gpu->count = 0;
        gpu->settled = true;
        return moved;
    }
    static const size_t bytes = TRC_GPU_OPS * sizeof(struct trc_gpu_op);
    struct trc_gpu_op *copy = calloc(2, bytes);
    if (!copy) {
        trc_file_damage(file, "out of memory: no device operations");
        return moved;
    }
    trc_file_read(file, offset + sizeof head, copy, head.slots * sizeof *copy);
    trc_file_read(file, offset + sizeof head, copy + TRC_GPU_OPS, head.slots * sizeof *copy);
    copy_slots(gpu, copy, copy + TRC_GPU_OPS);
    free(copy);
    return moved;
}

bool trc_gpu_refresh(struct trc_file *file)
{
    bool moved = false;
    for (uint32_t i = 0; i < file->chunk_count; i++)
        if (file->chunks[i].magic && file->chunks[i].kind == TRC_CHUNK_GPU)
            moved |= read_table(file, i);
    return moved;
}

const struct trc_gpu_head *trc_gpu(const struct trc_file *file)
{
    return file->gpu ? &file->gpu->head : NULL;
}
size_t trc_gpu_ops(const struct trc_file *file)
{
    return file->gpu ? file->gpu->count : 0;
}
const struct trc_gpu_op *trc_gpu_op(const struct trc_file *file, size_t i)
{
    return file->gpu && i < file->gpu->count ? &file->gpu->op[i] : NULL;
}

/* ---- words */

const char *trc_gpu_state_name(const struct trc_gpu_op *op)
{
    static const char *const name[] = {"free",      "called",  "enqueued", "started",
                                       "completed", "aborted", "failed",   "captured"};
    return name[op->state < sizeof name / sizeof *name ? op->state : 0];
}

/* ncclDataType_t and ncclRedOp_t: equal in all versions of nccl.h. */
const char *trc_gpu_type_name(const struct trc_gpu_op *op)
{
    static const char *const name[] = {"int8",    "uint8",   "int32",   "uint32",   "int64",      "uint64",
                                       "float16", "float32", "float64", "bfloat16", "float8e4m3", "float8e5m2"};
    return op->type == 255 ? NULL : op->type < sizeof name / sizeof *name ? name[op->type] : "another type";
}
const char *trc_gpu_op_name(const struct trc_gpu_op *op)
{
    static const char *const name[] = {"sum", "prod", "max", "min", "avg"};
    if (op->op == TRC_GPU_OP_NONE)
        return NULL;
    return op->op < sizeof name / sizeof *name ? name[op->op] : "an own reduction";
}

const char *trc_gpu_result_name(int result)
{
    static const char *const name[] = {"no error",          "ncclUnhandledCudaError", "ncclSystemError",
                                       "ncclInternalError", "ncclInvalidArgument",    "ncclInvalidUsage",
                                       "ncclRemoteError",   "ncclInProgress",         "ncclTimeout"};
    return result >= 0 && (size_t)result < sizeof name / sizeof *name ? name[result] : "an unknown error";
}
