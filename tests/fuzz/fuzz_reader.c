/* Any bytes as a trace file: reading ends, in order, and touches nothing outside.
 * With libFuzzer (`make fuzz-run`), or as a program that takes files: the corpus, in `make check`. */
#include "tests/fuzz/fuzz.h"
#include "trace/reader/dump.h"
#include "trace/reader/reader.h"
#include "trace/reader/usage.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORDS_MAX 3000000 /* more than the longest input has bytes */

static void check(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz_reader: %s\n", what);
    abort();
}

static size_t sum; /* uses the results, so that reading is not optimised away */

static void read_records(struct trc_file *file, struct trc_cursor *cursor)
{
    struct trc_record record;
    size_t n = 0;
    while (trc_next(cursor, &record) == TRC_OK) {
        check(n++ < RECORDS_MAX, "a cursor that does not end");
        check(record.begin <= record.end, "a record that ends before it begins");
        check((record.sig == NULL) == (record.kind != TRC_RECORD_EVENT && record.kind != TRC_RECORD_FOLD),
              "a record without a signature");
        check(record.request_thread < TRC_MAX_THREADS, "an impossible thread");
        sum += record.sig ? record.sig->site : record.count;
        const struct trc_path *path = record.sig ? trc_path_of(file, record.sig->site) : NULL;
        check(!path || (path->n <= TRC_PATH_MOST && trc_path_place(file, path) < path->n), "a path without a place");
        for (size_t i = 0; record.kind == TRC_RECORD_ROUND && i < record.said.kept; i++)
            sum += record.said.bytes[i];
    }
}

static void read_definitions(const struct trc_file *file)
{
    for (uint32_t id = 0; id < 64; id++) {
        const struct trc_comm *comm = trc_comm(file, id);
        for (int32_t r = -2; comm && r < 70; r++)
            sum += (size_t)trc_comm_world_rank(comm, r, r & 1);
        sum += comm && comm->name ? strlen(comm->name) : 0;
        sum += trc_object(file, id) != NULL;
        sum += trc_region(file, id) ? strlen(trc_region(file, id)) : 0;
        sum += trc_kernel(file, id) ? strlen(trc_kernel(file, id)) : 0;
    }
    for (size_t i = 0; i < trc_threads(file); i++) {
        const struct trc_sig *sig = trc_live_sig(file, i, trc_thread(file, i)->inside);
        sum += sig ? strlen(trc_call(file, sig->call)->name) : 0;
        sum += trc_is_stream(file, i) + trc_device_stream(file, i)->device;
    }
}

static void read_operations(const struct trc_file *file)
{
    uint64_t before = 0;
    for (size_t i = 0; i < trc_gpu_ops(file); i++) {
        const struct trc_gpu_op *op = trc_gpu_op(file, i);
        check(op->number >= before && op->thread < TRC_MAX_THREADS, "operations out of order or of range");
        before = op->number;
        sum += strlen(trc_gpu_state_name(op)) + strlen(trc_call(file, op->call)->name) + trc_gpu_over(op);
        sum += (trc_gpu_type_name(op) != NULL) + (trc_gpu_op_name(op) != NULL) + (trc_comm(file, op->comm) != NULL);
    }
    sum += trc_gpu(file) ? trc_gpu(file)->begun : 0;
}

static void read_usage(struct trc_usage_cursor *cursor)
{
    struct trc_usage_item item;
    size_t n = 0;
    while (trc_usage_next(cursor, &item) == TRC_OK) {
        check(n++ < RECORDS_MAX, "usage that does not end");
        check(item.begin <= item.end, "usage that ends before it begins");
        for (size_t i = 0; i < item.n; i++)
            check(item.entry[i].whose < TRC_USAGE_THREAD + TRC_MAX_THREADS &&
                      item.entry[i].fields < 1u << TRC_USAGE_FIELDS,
                  "usage of nobody");
    }
}

/* Opens the file, reads it while it grows to its whole length, then reads it once more as text. */
static void read_file(int fd, const char *path, size_t size)
{
    struct trc_file *file = NULL;
    char error[256];
    if (ftruncate(fd, (off_t)(size - size / 4)))
        return;
    if (trc_open(path, &file, error, sizeof error) == TRC_OK) {
        size_t threads = trc_threads(file);
        struct trc_cursor *first = trc_cursor_open(file, 0), *last = trc_cursor_open(file, threads ? threads - 1 : 0);
        struct trc_usage_cursor *usage = trc_usage_open(file);
        check(first && last && usage, "out of memory");
        read_records(file, first);
        read_usage(usage);
        read_operations(file);
        trc_cursor_want_rounds(last);
        trc_cursor_want_regions(last);
        trc_cursor_seek(last, trc_head(file)->start.ticks + 100);
        read_records(file, last);
        sum += trc_refresh(file);
        read_operations(file);
        read_records(file, first);
        read_usage(usage);
        trc_usage_close(usage);
        trc_cursor_close(first);
        trc_cursor_close(last);
        trc_close(file);
    } else
        check(error[0] && !strchr(error, '\n'), "a refusal without a line of reason");
}

static void write_at(int fd, const uint8_t *data, size_t from, size_t to)
{
    while (from < to) {
        ssize_t n = pwrite(fd, data + from, to - from, (off_t)from);
        if (n <= 0)
            exit(1);
        from += (size_t)n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[32];
    static FILE *nowhere;
    if (fd < 0) {
        fd = memfd_create("fuzz_reader", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        nowhere = fopen("/dev/null", "w");
        if (fd < 0 || !nowhere)
            exit(1);
    }
    fuzz_begin();
    if (ftruncate(fd, 0))
        exit(1);
    write_at(fd, data, 0, size);
    read_file(fd, path, size);

    write_at(fd, data, 0, size);
    struct trc_file *file = NULL;
    char error[256];
    if (trc_open(path, &file, error, sizeof error) != TRC_OK)
        return 0;
    read_definitions(file);
    read_operations(file);
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    check(cursor != NULL, "out of memory");
    read_records(file, cursor);
    /* Second half from elsewhere: chunks change under the cursor. */
    write_at(fd, data, 0, size);
    if (size > 16384) {
        write_at(fd, data + 4096, size - 8192, size - 4096);
        sum += trc_refresh(file);
        read_operations(file);
        read_records(file, cursor);
    }
    trc_cursor_close(cursor);
    check(trc_dump(file, nowhere) == TRC_OK, "dump failed");
    trc_close(file);
    return 0;
}
