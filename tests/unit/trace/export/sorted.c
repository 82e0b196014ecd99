/* Records in order of time: those of one time in the order in which they came, also when they do not fit into memory. */
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
    struct ana_sorted *sorted = ana_sorted_new("no/such/place");
    struct ana_out *out = ana_out_open("/dev/null");
    char bytes[1024] = {0};
    for (size_t i = 0; i <= ANA_SORTED_ROOM / sizeof bytes; i++)
        ana_sorted_add(sorted, 1, bytes, sizeof bytes);
    CHECK(ana_sorted_write(sorted, out) != 0);
    ana_out_close(out);
    ana_sorted_free(sorted);
}

int main(void)
{
    hold(0, 1);
    hold(1000, 10);
    hold(4000000, 1000); /* more than fits */
    no_place();
    return check_result();
}
