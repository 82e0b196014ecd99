/* Varints and requests: written, read back and cut off. */
#include "tests/support/check.h"
#include "trace/format/decode.h"
#include "tests/support/trace_encode.h"

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

int main(void)
{
    test_varints();
    test_requests();
    return check_result();
}
