/* Varints and the schema's text: written, read back, cut off, and of another version. */
#include "tests/support/check.h"
#include "trace/format/decode.h"
#include "tests/support/trace_encode.h"
#include "trace/reader/schema.h"

#include <stdio.h>
#include <stdlib.h>

static void test_varints(void)
{
    for (unsigned bit = 0; bit < 64; bit++)
        for (int delta = -2; delta <= 2; delta++) {
            uint64_t value = (1ull << bit) + (uint64_t)(int64_t)delta, back = ~value;
            uint8_t bytes[TRC_VARINT_MAX];
            size_t size = (size_t)(trc_put_varint(bytes, value) - bytes);
            CHECK(size <= TRC_VARINT_MAX, "%zu bytes", size);
            struct trc_bytes in = {bytes, bytes + size};
            CHECK(trc_get_varint(&in, &back) && back == value && in.at == in.end, "%llx came back as %llx",
                  (unsigned long long)value, (unsigned long long)back);
            for (size_t cut = 0; cut < size; cut++) {
                in = (struct trc_bytes){bytes, bytes + cut};
                CHECK(!trc_get_varint(&in, &back) && in.at == bytes, "%zu of %zu bytes were taken", cut, size);
            }
            int64_t number = (int64_t)value;
            CHECK(trc_unzigzag(trc_zigzag(number)) == number, "zigzag of %lld", (long long)number);
        }
    CHECK(trc_zigzag(-1) == 1 && trc_zigzag(1) == 2, "small numbers stay small");
    uint8_t overlong[11];
    memset(overlong, 0xff, sizeof overlong);
    overlong[10] = 1;
    struct trc_bytes in = {overlong, overlong + sizeof overlong};
    uint64_t value;
    CHECK(!trc_get_varint(&in, &value), "a varint of more than 64 bits was taken");
}

/* Every start number comes back from the bytes that tb_put_request makes of it. */
static void test_requests(void)
{
    uint8_t bytes[2 * TRC_VARINT_MAX];
    CHECK(tb_put_request(bytes, 0, 10, 0, 9) - bytes == 1 && bytes[0] == 0, "the last start is 0");
    CHECK(tb_put_request(bytes, 0, 10, 0, 0) - bytes == 1 && bytes[0] == 18, "the first of ten is 9 back");
    CHECK(tb_put_request(bytes, 0, 10, 0, UINT64_MAX) - bytes == 1 && bytes[0] == 1, "unknown, on thread 0");
    CHECK(tb_put_request(bytes, 3, 10, 3, UINT64_MAX) - bytes == 1 && bytes[0] == 7, "unknown, on thread 3");
    CHECK(tb_put_request(bytes, 3, 10, 2, 5) - bytes == 2 && bytes[0] == 5 && bytes[1] == 5, "thread 2's sixth");
}

static const struct trc_schema_call calls[] = {
    {"MPI_Send", TRC_OP_SEND, "buf count type dest tag comm"},
    {"MPI_Wait", TRC_OP_WAIT, NULL},
    {"MPI_Allreduce", TRC_OP_ALLREDUCE, "sbuf rbuf"},
};

static void test_schema(void)
{
    size_t size = trc_schema_write(NULL, 0);
    char *text = malloc(size + 1), *copy = malloc(size + 1);
    text[size] = '#';
    CHECK(trc_schema_write(text, size) == size && text[size] == '#' && text[size - 1] == '\n',
          "the length asked for is not the length written");
    char some[11] = "##########";
    CHECK(trc_schema_write(some, 5) == size && !memcmp(some, "hpcto#####", 10), "wrote past its room");

    struct trc_schema schema;
    const char *complaint;
    memcpy(copy, text, size);
    trc_schema_parse(&schema, copy, size, &complaint);
    CHECK(!complaint, "%s", complaint);
    CHECK(schema.field_count == 12 && schema.fields[4].zigzag &&
              schema.fields[4].offset == offsetof(struct trc_sig, peer) && schema.fields[8].size == 8,
          "the sig line came back as another");

    /* Cut anywhere: the last field may be another's or missing, and all before it are as they were.  Without the line
     * the fields are ours, and it is told. */
    text[size] = 0;
    const char *line = strstr(text, "\nsig ") + 1, *line_end = strchr(line, '\n');
    struct trc_schema whole = schema;
    for (size_t cut = 0; cut < size; cut++) {
        memcpy(copy, text, cut);
        trc_schema_parse(&schema, copy, cut, &complaint);
        size_t words = 0;
        for (const char *at = line + 3; at < line_end && at + 1 < text + cut; at++)
            words += *at == ' ';
        bool any = words > 0;
        CHECK(schema.field_count == (any ? words : whole.field_count) && !complaint == any,
              "%zu of %zu fields when cut at %zu: %s", (size_t)schema.field_count, words, cut, complaint);
        for (size_t i = 0; i + (text + cut < line_end) < schema.field_count; i++)
            CHECK(schema.fields[i].offset == whole.fields[i].offset && schema.fields[i].size == whole.fields[i].size &&
                      schema.fields[i].zigzag == whole.fields[i].zigzag,
                  "field %zu when cut at %zu", i, cut);
    }
    free(copy);
    free(text);
}

static void test_other_version(void)
{
    char text[] = "hpctop-trace 1\nnews from the future\nsig tag:s colour:u call:u depth:s\ncall 7\n";
    struct trc_schema schema;
    const char *complaint;
    trc_schema_parse(&schema, text, sizeof text - 1, &complaint);
    CHECK(!complaint, "not read");
    CHECK(schema.field_count == 4 && schema.fields[0].offset == offsetof(struct trc_sig, tag) &&
              schema.fields[1].size == 0 && schema.fields[2].size == 4 && schema.fields[3].size == 0,
          "fields in another order");
}

static void test_calls(void)
{
    char text[TRC_CALL_TEXT];
    for (size_t i = 0; i < 3; i++) {
        size_t size = trc_schema_call(text, &calls[i]), name = strlen(calls[i].name) + 1;
        CHECK(size > name && !strcmp(text, calls[i].name) && trc_schema_class(text + name) == calls[i].opclass,
              "call %zu came back as another", i);
    }
    CHECK(trc_schema_class("telepathy") == TRC_OP_OTHER, "an unknown class is other");
    char name[2 * TRC_CALL_TEXT];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = 0;
    struct trc_schema_call endless = {name, TRC_OP_SEND, ""};
    CHECK(trc_schema_call(text, &endless) == TRC_CALL_TEXT, "a long one is cut");
}

int main(void)
{
    test_varints();
    test_requests();
    test_schema();
    test_other_version();
    test_calls();
    return check_result();
}
