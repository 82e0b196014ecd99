/* Sets of ranks as text: with and without the noun, in several worlds, and where there is no room. */
#include "tests/support/check.h"
#include "trace/util/ranges.h"
#include <string.h>

static void set(const int32_t *rank, size_t n, size_t most, bool noun, size_t size, const char *want)
{
    char out[80];
    struct ana_ranges ranges;
    ana_ranges_begin(&ranges, out, size, most, noun);
    for (size_t i = 0; i < n; i++)
        ana_ranges_add(&ranges, (struct ana_rank_id){.rank = rank[i]});
    ana_ranges_end(&ranges);
    CHECK(strcmp(out, want) == 0, "got \"%s\", want \"%s\"", out, want);
}
#define SET(most, noun, want, ...)                                                                                     \
    set((const int32_t[]){__VA_ARGS__}, sizeof(int32_t[]){__VA_ARGS__} / 4, most, noun, 80, want)

int main(void)
{
    set(NULL, 0, 6, true, 80, "");
    SET(6, true, "rank 3", 3);
    SET(6, true, "ranks 3 and 4", 3, 4);
    SET(6, true, "ranks 3-5", 3, 4, 5);
    SET(6, true, "ranks 0-4 and 7", 0, 1, 2, 3, 4, 7);
    SET(6, true, "ranks 0, 1 and 3-5", 0, 1, 3, 4, 5);
    SET(6, true, "ranks 5, 3 and 1", 5, 3, 1);
    SET(6, false, "0-2, 4, 5", 0, 1, 2, 4, 5);
    SET(2, true, "ranks 0, 2 and 3 more", 0, 2, 4, 6, 7);
    SET(2, true, "ranks 0, 1 and 1 more", 0, 1, 4);
    SET(2, false, "0, 2 and 1 more", 0, 2, 4);
    set((const int32_t[]){10, 20, 30}, 3, 6, true, 12, "ranks 10...");

    struct ana_ranges ranges;
    char out[80];
    static const struct ana_rank_id id[] = {{0, 6, 1},  {0, 7, 1},  {0, 8, 1},   {1, 9, 1},
                                            {1, 10, 1}, {1, 11, 1}, {0, -1, 77}, {0, 0, 1}};
    ana_ranges_begin(&ranges, out, sizeof out, 6, true);
    for (size_t i = 0; i < sizeof id / sizeof *id; i++)
        ana_ranges_add(&ranges, id[i]);
    ana_ranges_end(&ranges);
    CHECK(strcmp(out, "ranks 6-8, w1:9-w1:11, pid 77 and 0") == 0, "%s", out);
    return check_result();
}
