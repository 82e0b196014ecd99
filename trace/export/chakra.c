/* Chakra's execution traces, a file a rank: nodes for work, messages and collectives, each with those that must have
 * ended before it.  The order of a rank is in the dependencies; what it only started has none behind it before it was
 * waited for. Source: MLCommons, Chakra's schema/protobuf/et_def.proto and its converter's names of attributes. */
#include "trace/export/proto.h"
#include "trace/export/sorted.h"
#include "trace/export/ti_impl.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Fields, types of nodes and kinds of collectives of Chakra's. */
enum { META_VERSION = 1, META_ATTRIBUTE = 2 };
enum { NODE_ID = 1, NODE_NAME, NODE_TYPE, NODE_AFTER = 5, NODE_MICROS = 7, NODE_ATTRIBUTE = 10 };
enum { ATTRIBUTE_NAME = 1, INT32 = 7, INT64 = 9, UINT64 = 13, BOOL = 27, STRING = 29 };
enum { JOIN = 1, WORK = 4, SEND = 5, RECEIVE = 6, COLLECTIVE = 7 };
enum {
    ALL_REDUCE,
    REDUCE,
    ALL_GATHER,
    GATHER,
    SCATTER,
    BROADCAST,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    BARRIER
};

enum { ROOM = 60000, MOST_AFTER = 4096 }; /* bytes of a node; nodes that one may wait for */

struct chakra_rank {
    uint64_t nodes, bytes;
    uint64_t *after; /* nodes that the next one waits for */
    size_t afters, room;
    double rest_ns; /* of work, less than a microsecond */
};

struct chakra {
    struct ana_sorted *records; /* of all ranks, by rank */
    struct chakra_rank *rank;   /* by rank index */
    struct ana_proto p;
    uint8_t record[ROOM + 16];
};

static struct chakra *chakra_of(const struct ana_exporting *x)
{
    return ((struct ti *)x->own)->own;
}

/* ---- messages of its protobuf ------------------------------------------------------------------------------------ */

/* A record is its length and a message; both are put together behind room for the length. */
static void begin_record(struct chakra *chakra)
{
    chakra->p.at = chakra->record + 8;
}

static void end_record(struct chakra *chakra, size_t index)
{
    uint8_t *from = chakra->record + 8, length[8];
    size_t n = (size_t)(chakra->p.at - from);
    struct ana_proto p = {.at = length};
    ana_proto_varint(&p, n);
    size_t m = (size_t)(p.at - length);
    memcpy(from - m, length, m);
    ana_sorted_add(chakra->records, (int64_t)index, from - m, n + m);
    chakra->rank[index].bytes += n + m;
}

static void put_number(struct chakra *chakra, uint32_t field, const char *name, uint32_t type, uint64_t value)
{
    uint8_t *at = ana_proto_begin_small(&chakra->p, field);
    ana_proto_text(&chakra->p, ATTRIBUTE_NAME, name);
    ana_proto_uint(&chakra->p, type, value);
    ana_proto_end_small(&chakra->p, at);
}

static void put_text(struct chakra *chakra, uint32_t field, const char *name, const char *text)
{
    uint8_t *at = ana_proto_begin(&chakra->p, field);
    ana_proto_text(&chakra->p, ATTRIBUTE_NAME, name);
    ana_proto_text(&chakra->p, STRING, text);
    ana_proto_end(&chakra->p, at);
}

static uint64_t begin_node(struct ana_exporting *x, size_t index, const char *name, int type, bool beside);

/* Lets the next node of a rank wait for this one; of very many, by a node between. */
static void wait_for(struct ana_exporting *x, size_t index, uint64_t node)
{
    struct chakra_rank *rank = &chakra_of(x)->rank[index];
    if (rank->afters == MOST_AFTER) {
        begin_node(x, index, "all of these", JOIN, false);
        end_record(chakra_of(x), index);
    }
    if (rank->afters == rank->room) {
        uint64_t *grown = realloc(rank->after, (2 * rank->room + 4) * sizeof *grown);
        if (!grown) {
            ana_export_fail(x, "out of memory");
            return;
        }
        rank->after = grown;
        rank->room = 2 * rank->room + 4;
    }
    rank->after[rank->afters++] = node;
}

/* Begins a node that comes after all that its rank has waited for; those behind it come after it unless `beside`.
 * Returns its number. */
static uint64_t begin_node(struct ana_exporting *x, size_t index, const char *name, int type, bool beside)
{
    struct chakra *chakra = chakra_of(x);
    struct chakra_rank *rank = &chakra->rank[index];
    uint64_t node = ++rank->nodes;
    begin_record(chakra);
    ana_proto_uint(&chakra->p, NODE_ID, node);
    ana_proto_text(&chakra->p, NODE_NAME, name);
    ana_proto_uint(&chakra->p, NODE_TYPE, (uint64_t)type);
    for (size_t i = 0; i < rank->afters; i++)
        ana_proto_uint(&chakra->p, NODE_AFTER, rank->after[i]);
    if (!beside) {
        rank->afters = 0;
        wait_for(x, index, node);
    }
    return node;
}

static void put_work(struct ana_exporting *x, size_t index)
{
    struct chakra *chakra = chakra_of(x);
    struct ti_rank *rank = &((struct ti *)x->own)->rank[index];
    double ns = rank->work_ns + chakra->rank[index].rest_ns;
    uint64_t micros = (uint64_t)(ns / 1000);
    rank->work_ns = 0;
    chakra->rank[index].rest_ns = ns - (double)micros * 1000;
    if (!micros)
        return;
    begin_node(x, index, "work", WORK, false);
    ana_proto_uint(&chakra->p, NODE_MICROS, micros);
    put_number(chakra, NODE_ATTRIBUTE, "is_cpu_op", BOOL, 1);
    end_record(chakra, index);
}

/* ---- what ranks do ----------------------------------------------------------------------------------------------- */

static uint64_t put_message(struct ana_exporting *x, size_t index, enum ti_word word, uint32_t peer, int32_t tag,
                            uint64_t bytes)
{
    struct chakra *chakra = chakra_of(x);
    uint32_t me = ((struct ti *)x->own)->rank[index].number;
    bool receives = word == TI_RECV || word == TI_IRECV;
    put_work(x, index);
    uint64_t node = begin_node(x, index, receives ? "receive" : "send", receives ? RECEIVE : SEND,
                               word == TI_ISEND || word == TI_IRECV);
    put_number(chakra, NODE_ATTRIBUTE, "is_cpu_op", BOOL, 0);
    put_number(chakra, NODE_ATTRIBUTE, "comm_size", INT64, bytes);
    put_number(chakra, NODE_ATTRIBUTE, "comm_src", INT32, receives ? peer : me);
    put_number(chakra, NODE_ATTRIBUTE, "comm_dst", INT32, receives ? me : peer);
    put_number(chakra, NODE_ATTRIBUTE, "comm_tag", INT32, (uint64_t)tag);
    end_record(chakra, index);
    return node;
}

/* The work until then stands beside what was started. */
static void put_wait(struct ana_exporting *x, size_t index, const struct ti_request *request, bool receives)
{
    (void)receives;
    put_work(x, index);
    wait_for(x, index, request->node);
}

/* What Chakra calls a collective; -1: it has no name for it. */
static int kind_of(enum trc_opclass opclass)
{
    static const int kinds[][2] = {{TRC_OP_ALLREDUCE, ALL_REDUCE}, {TRC_OP_REDUCE, REDUCE},
                                   {TRC_OP_ALLGATHER, ALL_GATHER}, {TRC_OP_GATHER, GATHER},
                                   {TRC_OP_SCATTER, SCATTER},      {TRC_OP_BCAST, BROADCAST},
                                   {TRC_OP_ALLTOALL, ALL_TO_ALL},  {TRC_OP_REDUCE_SCATTER, REDUCE_SCATTER},
                                   {TRC_OP_BARRIER, BARRIER}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i][0] == (int)opclass)
            return kinds[i][1];
    return trc_opclass_shape(opclass) == TRC_SHAPE_ALL ? BARRIER : -1; /* it makes an object: all wait for all */
}

static uint64_t known(uint64_t bytes)
{
    return bytes == TRC_BYTES_UNKNOWN ? 0 : bytes;
}

/* Writes a collective; `beside`: it is only started.  Returns its node; 0: Chakra has no name for it. */
static uint64_t put_any_collective(struct ana_exporting *x, const struct ana_event *e, bool beside)
{
    struct chakra *chakra = chakra_of(x);
    const struct ana_export_comm *comm =
        ana_export_comm(x, ana_comm_identity(x->job, e->index, e->use->comm), e->use->comm);
    uint64_t sent = known(e->sig->sent), received = known(e->sig->received);
    int kind = kind_of(e->use->call->opclass);
    if (kind < 0 || !comm)
        return 0;
    put_work(x, e->index);
    uint64_t node = begin_node(x, e->index, e->use->call->name, COLLECTIVE, beside);
    put_number(chakra, NODE_ATTRIBUTE, "is_cpu_op", BOOL, 0);
    put_number(chakra, NODE_ATTRIBUTE, "comm_type", INT64, (uint64_t)kind);
    put_number(chakra, NODE_ATTRIBUTE, "comm_size", INT64, sent > received ? sent : received);
    put_text(chakra, NODE_ATTRIBUTE, "pg_name", comm->name);
    if (trc_opclass_is_rooted(e->use->call->opclass) && ti_number(x, e, e->sig->peer) != UINT32_MAX)
        put_number(chakra, NODE_ATTRIBUTE, "root", INT32, ti_number(x, e, e->sig->peer));
    end_record(chakra, e->index);
    return node;
}

static bool put_collective(struct ana_exporting *x, const struct ana_event *e)
{
    bool is_work = trc_opclass_category(e->use->call->opclass) == TRC_CAT_IO;
    return is_work || put_any_collective(x, e, false);
}

static uint64_t start_collective(struct ana_exporting *x, const struct ana_event *e)
{
    return put_any_collective(x, e, true);
}

/* The head of a rank's file. */
static void begin_rank(struct ana_exporting *x, size_t index)
{
    struct chakra *chakra = chakra_of(x);
    begin_record(chakra);
    ana_proto_text(&chakra->p, META_VERSION, "0.0.4");
    put_text(chakra, META_ATTRIBUTE, "schema", "1.1.0-chakra.0.0.4");
    put_number(chakra, META_ATTRIBUTE, "rank", INT64, ((struct ti *)x->own)->rank[index].number);
    end_record(chakra, index);
}

static void end_rank(struct ana_exporting *x, size_t index)
{
    put_work(x, index);
}

/* ---- the files --------------------------------------------------------------------------------------------------- */

static bool begin(struct ana_exporting *x)
{
    static const struct ti_writer writer = {begin_rank, end_rank,       put_message,
                                            put_wait,   put_collective, start_collective};
    char path[4200];
    if (!ti_begin(x, &writer))
        return false;
    snprintf(path, sizeof path, "%s/traces", x->path);
    struct chakra *chakra = ((struct ti *)x->own)->own = calloc(1, sizeof *chakra);
    if (chakra)
        chakra->records = ana_sorted_new(path);
    if (!chakra || !chakra->records || !(chakra->rank = calloc(x->job->count + 1, sizeof *chakra->rank))) {
        ana_export_fail(x, "out of memory");
        return false;
    }
    return true;
}

/* Copies so many bytes. */
static bool copy(FILE *from, const char *path, uint64_t bytes)
{
    char room[65536];
    struct ana_out *to = ana_out_open(path);
    bool good = to;
    for (uint64_t n; good && bytes; bytes -= n) {
        n = bytes < sizeof room ? bytes : sizeof room;
        good = fread(room, 1, n, from) == n;
        ana_out_bytes(to, room, n);
    }
    int error = ana_out_close(to);
    errno = error ? error : good ? 0 : EIO;
    return good && !error;
}

/* Cuts what was put in order of ranks into a file a rank. */
static void write_files(struct ana_exporting *x, struct chakra *chakra)
{
    char all[4200], path[4200];
    snprintf(all, sizeof all, "%s/traces.all", x->path);
    struct ana_out *out = ana_out_open(all);
    int error = out ? ana_sorted_write(chakra->records, out) : ENOMEM, closing = ana_out_close(out);
    FILE *from = error || closing ? NULL : fopen(all, "rb");
    bool good = from;
    errno = error ? error : closing ? closing : errno;
    for (size_t i = 0; good && i < x->job->count; i++) {
        snprintf(path, sizeof path, "%s/traces.%u.et", x->path, ((struct ti *)x->own)->rank[i].number);
        good = !chakra->rank[i].bytes || copy(from, path, chakra->rank[i].bytes);
    }
    if (!good)
        ana_export_fail(x, "cannot write in %s: %s", x->path, strerror(errno));
    if (from)
        fclose(from);
    unlink(all);
}

static void finish(struct ana_exporting *x)
{
    struct ti *ti = x->own;
    struct chakra *chakra = ti ? ti->own : NULL;
    if (chakra && chakra->records && chakra->rank && !x->error[0]) {
        ti_end_ranks(x);
        write_files(x, chakra);
    }
    for (size_t i = 0; chakra && chakra->rank && i < x->job->count; i++)
        free(chakra->rank[i].after);
    if (chakra) {
        ana_sorted_free(chakra->records);
        free(chakra->rank);
    }
    free(chakra);
    ti_finish(x);
}

const struct ana_export_sink ana_export_chakra = {
    .is = {"chakra", "et", "MLCommons Chakra's execution traces, a file a rank, for simulators", true},
    .begin = begin,
    .event = ti_event,
    .finish = finish,
};
