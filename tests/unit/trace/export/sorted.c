/* Records in order of time: those of one time in the order in which they came, also when they do not fit into
 * memory. */
#include "tests/support/check.h"
#include "trace/export/sorted.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t state = 1;
static uint64_t below(uint64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}

/* Adds `n` records of random times below `times`, each with its time and number, and reads them back in order. */
static void hold(uint64_t n, uint64_t times)
{
    char path[64], in[96];
    long long at, number, last_at = -1, last_number = -1;
    uint64_t seen = 0, wrong = 0;
    snprintf(path, sizeof path, "sorted-%d", (int)getpid());
    struct ana_sorted *sorted = ana_sorted_new(path);
    struct ana_out *out = ana_out_open(path);
    for (uint64_t i = 0; i < n; i++) {
        long long time = (long long)below(times);
        int length = snprintf(in, sizeof in, "%lld %llu %0*d\n", time, (unsigned long long)i, (int)below(40) + 1, 7);
        ana_sorted_add(sorted, time, in, (size_t)length);
    }
    CHECK(ana_sorted_write(sorted, out) == 0);
    CHECK(ana_out_close(out) == 0);
    ana_sorted_free(sorted);
    FILE *file = fopen(path, "r");
    while (file && fgets(in, sizeof in, file) && sscanf(in, "%lld %lld", &at, &number) == 2) {
        wrong += at < last_at || (at == last_at && number <= last_number);
        last_at = at;
        last_number = number;
        seen++;
    }
    if (file)
        fclose(file);
    unlink(path);
    CHECK(seen == n && wrong == 0, "%llu of %llu, %llu not in order", (unsigned long long)seen, (unsigned long long)n,
          (unsigned long long)wrong);
}

/* What cannot be kept is told. */
static void no_place(void)
{
    char path[64];
    struct ana_sorted *sorted = ana_sorted_new("no/such/place");
    snprintf(path, sizeof path, "sorted-%d", (int)getpid());
    struct ana_out *out = ana_out_open(path);
    char bytes[1024] = {0};
    for (size_t i = 0; i <= ANA_SORTED_ROOM / sizeof bytes; i++)
        ana_sorted_add(sorted, 1, bytes, sizeof bytes);
    CHECK(ana_sorted_write(sorted, out) != 0);
    ana_out_close(out);
    ana_sorted_free(sorted);
    unlink(path);
}

/* Who may write where an export is made can lay a link for it: what that leads to is not written. */
static void links(void)
{
    char victim[64], path[64], name[2][80], text[16] = "";
    snprintf(victim, sizeof victim, "victim-%d", (int)getpid());
    snprintf(path, sizeof path, "links-%d", (int)getpid());
    snprintf(name[0], sizeof name[0], "%s", path);
    snprintf(name[1], sizeof name[1], "%s.sort", path);
    FILE *file = fopen(victim, "w");
    fputs("mine", file);
    fclose(file);
    for (int i = 0; i < 2; i++)
        CHECK(symlink(victim, name[i]) == 0);
    struct ana_sorted *sorted = ana_sorted_new(path);
    struct ana_out *out = ana_out_open(path);
    for (size_t i = 0; i < 3 * (ANA_SORTED_ROOM / 32); i++) /* more records than are kept in memory */
        ana_sorted_add(sorted, 1, "theirs", 6);
    CHECK(ana_sorted_write(sorted, out) == 0 && ana_out_close(out) == 0);
    ana_sorted_free(sorted);
    file = fopen(victim, "r");
    CHECK(file && fgets(text, sizeof text, file) && strcmp(text, "mine") == 0, "%s", text);
    if (file)
        fclose(file);
    CHECK(access(name[1], F_OK) != 0, "%s is left", name[1]);
    unlink(path);
    unlink(victim);
}

int main(void)
{
    hold(0, 1);
    hold(1000, 10);
    hold(4000000, 1000); /* more than fits */
    no_place();
    links();
    return check_result();
}
