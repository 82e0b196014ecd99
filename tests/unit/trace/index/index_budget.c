/* An index of some KB that asks for gigabytes is refused before they are allocated: rows of zeros need hardly a byte in
 * it.  Each of its parts begins with a count of rows; one after the other has a count that is far too high.  One that
 * is so large that its budget would have gigabytes is refused as well: no index of two ranks has MB. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/index/index.h"
#include "trace/index/archive.h"
#include "trace/job/analysis.h"
#include "trace/util/hash.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

enum { OF = 40, BLOCK = 1 << 20, ROWS = 40000000, MOST_MB = 64 };

static char folder[900], path[1024];
static bool stored; /* blocks are not packed */

static void put_block(FILE *file, const uint8_t *bytes, uint32_t n)
{
    static uint8_t packed[BLOCK + BLOCK / 8];
    size_t size = n ? ZSTD_compress(packed, sizeof packed, bytes, n, 1) : 0;
    bool smaller = !stored && !ZSTD_isError(size) && size < n;
    uint32_t head[] = {n, smaller ? (uint32_t)size : n, (uint32_t)ana_hash(bytes, n)};
    CHECK(fwrite(head, sizeof head, 1, file) == 1 && fwrite(smaller ? packed : bytes, 1, head[1], file) == head[1]);
}

/* Writes what `old` has up to part `hostile`, and then a number of rows, zeros that fill `blocks`, and empty parts. */
static long write_hostile(const uint8_t *old, size_t size, size_t hostile, uint32_t blocks)
{
    static uint8_t zeros[BLOCK];
    uint64_t rows = ROWS;
    size_t parts = 0, at = OF;
    for (uint32_t head[3]; parts < hostile && at + sizeof head <= size; at += sizeof head + head[1]) {
        memcpy(head, old + at, sizeof head);
        parts += !head[0];
    }
    mkdir(folder, 0700); /* an empty folder is removed */
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(old, at, 1, file) == 1 && parts == hostile);
    memcpy(zeros, &rows, sizeof rows);
    for (uint32_t i = 0; i < blocks; i++) {
        put_block(file, zeros, BLOCK);
        memset(zeros, 0, sizeof rows);
    }
    for (; parts < ANA_PARTS_OF_INDEX; parts++)
        put_block(file, zeros, 0);
    long length = ftell(file);
    fclose(file);
    return length;
}

/* MB that a process has at most while it opens and asks the job. */
static long look(void)
{
    pid_t child = fork();
    if (child == 0) {
        struct ana_job *job = folder_open();
        ana_job_advance(job, 0);
        _exit(ana_job_analysis(job)->indexed ? 1 : 0);
    }
    int status = -1;
    struct rusage used = {0};
    CHECK(child > 0 && wait4(child, &status, 0, &used) == child && status == 0, "status %d", status);
    return used.ru_maxrss / 1024;
}

int main(void)
{
    static uint8_t old[1 << 20];
    char said[1024];
    snprintf(folder, sizeof folder, "%s/index", folder_make("index_budget"));
    snprintf(path, sizeof path, "%s/analysis", folder);
    two_write(two_ranks());
    struct ana_job *job = folder_open();
    ana_job_advance(job, 0);
    CHECK(ana_index_write(job, true, said, sizeof said) && strcmp(said, path) == 0, "%s", said);
    ana_job_close(job);
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(old, 1, sizeof old, file) : 0;
    CHECK(size > OF && size < sizeof old && fclose(file) == 0);
    unlink(path);
    long before = look();
    for (size_t part = ANA_PART_CLOCK; part < ANA_PARTS_OF_INDEX; part++)
        for (int i = 0; i < 2; i++) {
            stored = i == 1;
            long length = write_hostile(old, size, part, stored ? 2 : 20), mb = look() - before;
            CHECK(mb < MOST_MB, "part %zu: %ld bytes make it allocate %ld MB", part, length, mb);
        }
    unlink(path);
    rmdir(folder);
    folder_remove();
    return check_result();
}
