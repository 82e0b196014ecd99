/* Any numbers in an index: it is taken up, and then all questions about the job are answered, or refused, and then the
 * job is as it was.  An input is pieces (pack.h) that are laid over the unpacked parts of a good index, which is packed
 * again with the checksums that belong to it; "FILE" and a whole file, as it is.  With libFuzzer (`make fuzz-run`), or
 * as a program that takes files: the corpus, in `make check`. */
#include "tests/fuzz/job.h"
#include "tests/support/trace_scene.h"
#include "trace/index/archive.h"
#include "trace/index/load.h"
#include "trace/util/hash.h"
#include "trace/util/now.h"

#include <sys/mman.h>
#include <zstd.h>

enum { BLOCK = 1 << 20, MOST = 8 * BLOCK };

/* A good index, unpacked. */
static uint8_t good[MOST], changed[MOST];
static size_t part_end[ANA_PARTS_OF_INDEX];

static int make_file(const void *bytes, size_t size)
{
    int file = memfd_create("fuzz_index", MFD_CLOEXEC);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size)
        exit(1);
    return file;
}

/* Saves what the pass over the job finds. */
static FILE *save(void)
{
    struct ana_job *job = fuzz_open_job();
    struct ana_archive archive;
    struct ana_job_archive k = ana_job_archive_of(job, &archive);
    FILE *file = fdopen(make_file("", 0), "w+b");
    ana_job_advance(job, 0);
    if (!file || !ana_job_analysis(job)->flushed)
        exit(1);
    ana_archive_save(&archive, file, UINT64_MAX);
    ana_job_save(&k);
    fuzz_check(ana_job_save_latest(&k, SIZE_MAX) && fflush(file) == 0, "no index can be saved");
    ana_job_save_end(&k);
    ana_archive_end(&archive);
    ana_job_close(job);
    return file;
}

/* Unpacks the blocks of an index. */
static void unpack(FILE *file)
{
    static uint8_t packed[BLOCK];
    uint32_t head[3]; /* length, packed length, checksum */
    size_t size = 0, parts = 0;
    for (rewind(file); parts < ANA_PARTS_OF_INDEX && fread(head, sizeof head, 1, file) == 1;) {
        if (!head[0])
            part_end[parts++] = size;
        else if (size + head[0] > MOST || fread(packed, head[1], 1, file) != 1)
            exit(1);
        else if (head[1] == head[0])
            memcpy(good + size, packed, head[0]);
        else
            fuzz_check(ZSTD_decompress(good + size, head[0], packed, head[1]) == head[0], "a block does not unpack");
        size += head[0];
    }
    fuzz_check(parts == ANA_PARTS_OF_INDEX, "parts are missing");
}

static void build(void)
{
    fuzz_make_folder();
    for (int rank = 0; rank < SCENE_RANKS; rank++) {
        struct tb *tb = scene_rank(SCENES - 1, rank);
        tb_write(tb, fuzz_path[rank]);
        tb_free(tb);
    }
    FILE *file = save();
    unpack(file);
    fclose(file);
}

static void put_block(int file, const uint8_t *bytes, uint32_t n)
{
    uint32_t head[] = {n, n, (uint32_t)ana_hash(bytes, n)};
    if (write(file, head, sizeof head) != sizeof head || write(file, bytes, n) != (ssize_t)n)
        exit(1);
}

/* Lays the pieces over the good parts; a piece at FUZZ_LATER cuts all that is behind its size. */
static int pack(const uint8_t *data, const uint8_t *end)
{
    size_t size = part_end[ANA_PARTS_OF_INDEX - 1], most = size, done = 0;
    struct fuzz_piece piece;
    memcpy(changed, good, size);
    while (fuzz_next(&data, end, &piece)) {
        size_t at = piece.place % size, n = piece.size < size - at ? piece.size : size - at;
        if (piece.place == FUZZ_LATER)
            most = piece.size;
        else
            memcpy(changed + at, piece.bytes, n);
    }
    int file = make_file("", 0);
    for (size_t part = 0; part < ANA_PARTS_OF_INDEX; part++) {
        size_t stop = part_end[part] < most ? part_end[part] : most;
        for (; done < stop; done += stop - done < BLOCK ? stop - done : BLOCK)
            put_block(file, changed + done, (uint32_t)(stop - done < BLOCK ? stop - done : BLOCK));
        put_block(file, changed, 0);
    }
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ana_job *job;
    if (!fuzz_nowhere)
        build();
    fuzz_begin();
    bool whole = size >= 4 && memcmp(data, "FILE", 4) == 0;
    int fd = whole ? make_file(data + 4, size - 4) : pack(data, data + size);
    off_t length = lseek(fd, 0, SEEK_END);
    FILE *file = fdopen(fd, "rb");
    if (!file)
        exit(1);
    job = job ? job : fuzz_open_job();
    bool loaded = ana_index_load(job, file, 0, (uint64_t)length);
    fclose(file);
    if (!loaded)
        return 0;
    fuzz_check(ana_job_analysis(job)->indexed, "taken up, and not known");
    fuzz_ask(job);
    ana_job_close(job);
    job = NULL;
    return 0;
}
