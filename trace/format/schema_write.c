/* The schema's text.  Linked into libtrace.so and called once there: no allocation, no stdio, no libc. */
#include "trace/format/schema.h"

/* Text is written here: all of it is counted, and what fits is kept. */
struct sink {
    char *out;
    size_t size, length;
};

static void put_text(struct sink *sink, const char *text)
{
    for (; *text; text++, sink->length++)
        if (sink->length < sink->size)
            sink->out[sink->length] = *text;
}

static void put_number(struct sink *sink, size_t value)
{
    char digits[24];
    char *p = digits + sizeof digits - 1;
    *p = 0;
    do
        *--p = (char)('0' + value % 10);
    while (value /= 10);
    put_text(sink, p);
}

/* Writes a line: "first", a number, up to three words. */
static void put_line(struct sink *sink, const char *first, size_t number, const char *const *words)
{
    put_text(sink, first);
    put_text(sink, " ");
    put_number(sink, number);
    for (; *words; words++) {
        put_text(sink, " ");
        put_text(sink, *words);
    }
    put_text(sink, "\n");
}

size_t trc_schema_write(char *out, size_t size)
{
    struct sink sink = {out, size, 0};
    put_line(&sink, "hpctop-trace", TRC_VERSION, (const char *const[]){0});
    for (size_t i = 0; i < TRC_OPCLASSES; i++)
        put_line(&sink, "class", i, (const char *const[]){trc_opclass_text((enum trc_opclass)i), 0});
    put_text(
        &sink, "sig"
#define FIELD(type, name, kind) " " #name ":" #kind
        TRC_SIG_FIELDS(FIELD)
#undef FIELD
            "\n"
            "item 0 end: nothing here yet\n"
            "item 1 sig: bytes, then that many bytes of fields in the order of the sig line; the next signature\n"
            "item 2 fold: signature, gap, then u64 count, busy, span: unsuccessful polls or control rounds\n"
            "item 3 lost: count of records that could not be kept\n"
            "item 4 said: bytes, then that many: kind, communicator, sequence, round, gap, duration, size, what was "
            "said\n"
            "item 5 region: bytes, then that many: what, region, gap\n"
            "item 6 like: bytes, then that many: signature, mask of fields, values of these; the next signature\n"
            "item 8+i event of signature i: gap and duration unless sub, sequence if coll, request if complete\n"
            "gpu chunk 5: a head of 64 bytes, then slots of"
#define FIELD(type, name) " " #name ":" #type
        TRC_GPU_FIELDS(FIELD)
#undef FIELD
            "; states 1 called 2 enqueued 3 started 4 completed 5 aborted 6 failed 7 captured\n"
            "usage chunk 6: items: bytes, then that many: ticks, entries; entry: whose (0 process 1 node 2+i thread "
            "i), "
            "fields, values of"
#define USAGE(id, name) " " name
        TRC_USAGE_LIST(USAGE)
#undef USAGE
            "\n"
            "def 7 fact: key NUL value\n"
            "def 8 stack: id snapshot, a thread; u8 reason (1 hang 2 demand 3 fatal), char state, u16 flags, i32 "
            "signal, "
            "i32 system call, u32 count; lines name, on, python function file line, native function module, why\n"
            "def 9 kernel: id; text its name\n"
            "def 11 data: id; u64 size sent, u64 size received, u32 operation; text type signature sent NUL received\n"
            "def 12 left: id how many, a call, b site; text what: not freed at MPI_Finalize\n"
            "def 16 call: id; text name NUL class NUL roles of its arguments\n"
            "page entries: 1 use: u16 entry, index, row, out, in; u32 uses, arrivals; signature.  2 row: u16 entry, "
            "number, call + 1, size class; u64 calls, ticks, min, max, sent, received; histogram.  3 peer: u16 entry, "
            "number; u32 rank + 1; u64 sent messages, sent bytes, received messages, received bytes\n");
    return sink.length;
}

static void put_part(struct sink *sink, const char *text)
{
    put_text(sink, text);
    if (sink->length < sink->size)
        sink->out[sink->length] = 0;
    sink->length++;
}

size_t trc_schema_call(char *out, const struct trc_schema_call *call)
{
    struct sink sink = {out, TRC_CALL_TEXT, 0};
    put_part(&sink, call->name);
    put_part(&sink, trc_opclass_text(call->opclass));
    put_text(&sink, call->roles ? call->roles : "");
    return sink.length < TRC_CALL_TEXT ? sink.length : TRC_CALL_TEXT;
}
