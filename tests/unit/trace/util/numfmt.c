/* Numbers to text: every unit at its steps. */
#include "tests/support/check.h"
#include "trace/util/numfmt.h"
#include <stdio.h>
#include <string.h>

static void same(const char *got, const char *want)
{
    CHECK(strcmp(got, want) == 0, "got \"%s\", want \"%s\"", got, want);
}

static void test_columns(void)
{
    char out[64];
    same(ana_column(out, sizeof out, "abc", 5, false), "abc  ");
    same(ana_column(out, sizeof out, "abc", 5, true), "  abc");
    same(ana_column(out, sizeof out, "abcdef", 4, false), "abc~");
    same(ana_column(out, sizeof out, "planted.c:1234", 10, false), "plan~:1234");
    same(ana_column(out, sizeof out, "elk-lapw+0x123e43", 14, false), "elk-~+0x123e43");
    CHECK(ana_place_tail("Foam::reduce+0x39a") == 6 && ana_place_tail("planted.c:1234") == 5 && !ana_place_tail("a:b"));
    same(ana_column(out, sizeof out, "planted.c:1234", 5, false), "plan~");
    same(ana_column(out, sizeof out, "\xe2\x80\x93", 3, true), "  \xe2\x80\x93");
}

int main(void)
{
    static const struct {
        enum ana_unit unit;
        double value;
        const char *text;
    } cases[] = {
        {ANA_COUNT, 0, "0"},           {ANA_COUNT, 1, "1"},          {ANA_COUNT, 0.5, "0.50"},
        {ANA_COUNT, 999, "999"},       {ANA_COUNT, 999.6, "1.00k"},  {ANA_COUNT, 1000, "1.00k"},
        {ANA_COUNT, 12400, "12.4k"},   {ANA_COUNT, 999499, "999k"},  {ANA_COUNT, 999501, "1.00M"},
        {ANA_COUNT, 1.1e6, "1.10M"},   {ANA_COUNT, -1500, "-1.50k"}, {ANA_COUNT, 18446744073709551615.0, "18.4E"},
        {ANA_PER_S, 412000, "412k/s"}, {ANA_PER_S, 2.5, "2.50/s"},   {ANA_BYTES, 8, "8 B"},
        {ANA_BYTES, 32768, "32.8 kB"}, {ANA_BYTES, 36e9, "36.0 GB"}, {ANA_BYTES_PER_S, 2.31e9, "2.31 GB/s"},
        {ANA_BYTES_PER_S, NAN, "-"},   {ANA_NS, 0, "0ns"},           {ANA_NS, 61.2, "61ns"},
        {ANA_NS, 61000, "61.0us"},     {ANA_NS, 1.9e6, "1.90ms"},    {ANA_NS, 12.3e9, "12.3s"},
        {ANA_NS, 99.9e9, "99.9s"},     {ANA_NS, 192e9, "3m12s"},     {ANA_NS, 8047e9, "2h14m"},
        {ANA_NS, 90000e9, "1d01h"},    {ANA_NS, -1500, "-1.50us"},   {ANA_NS, INFINITY, "-"},
        {ANA_SHARE, 0, "0.0%"},        {ANA_SHARE, 0.0001, "<0.1%"}, {ANA_SHARE, 0.091, "9.1%"},
        {ANA_SHARE, 0.9996, "100%"},   {ANA_SHARE, 1, "100%"},
    };
    char out[ANA_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        same(ana_number(out, sizeof out, cases[i].unit, cases[i].value, false), cases[i].text);
    same(ana_number(out, sizeof out, ANA_COUNT, NAN, true), "\xe2\x80\x93");
    same(ana_number(out, sizeof out, ANA_NS, ana_known(-1), false), "-");
    same(ana_number(out, 4, ANA_COUNT, 12400, false), "12.");

    same(ana_clock(out, sizeof out, 7999999999), "00:00:07");
    same(ana_clock(out, sizeof out, 8047000000000), "02:14:07");
    same(ana_clock(out, sizeof out, 267247000000000), "3d 02:14:07");
    same(ana_clock(out, sizeof out, -1), "--:--:--");

    same(ana_spoken(out, sizeof out, 850), "850 ns");
    same(ana_spoken(out, sizeof out, 1500), "1.5 us");
    same(ana_spoken(out, sizeof out, 1.9e6), "1.9 ms");
    same(ana_spoken(out, sizeof out, 20e6), "20 ms");
    same(ana_spoken(out, sizeof out, 12e9), "12 s");
    same(ana_spoken(out, sizeof out, 192e9), "3 min 12 s");
    same(ana_spoken(out, sizeof out, 8047e9), "2 h 14 min");

    same(ana_run_time(out, sizeof out, 530000000), "530 ms");
    same(ana_run_time(out, sizeof out, 59000000000), "59 s");
    same(ana_run_time(out, sizeof out, 60000000000), "00:01:00");
    same(ana_run_time(out, sizeof out, -1), "--:--:--");
    same(ana_spoken(out, sizeof out, NAN), "unknown");

    same(ana_size_class(out, sizeof out, -1), "all");
    same(ana_size_class(out, sizeof out, 0), "0 B");
    same(ana_size_class(out, sizeof out, 1), "1 B");
    same(ana_size_class(out, sizeof out, 7), "64 B");
    same(ana_size_class(out, sizeof out, 16), "32.8 kB");
    same(ana_size_class(out, sizeof out, 21), "1.05 MB");
    same(ana_size_class(out, sizeof out, 64), "unknown");

    test_columns();
    return check_result();
}
