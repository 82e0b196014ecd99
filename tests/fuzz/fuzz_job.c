/* Any bytes as the files of a job: opening, the whole pass, what the GPUs did, Horovod, the summary, the verdict, text,
 * JSON and all exports end and touch nothing outside; then the files change, and all is looked at once more.  An input
 * is one file, whose second rank is a copy of it with a few bytes turned; or packed (fuzz.h): up to four ranks, and
 * what changes.  With libFuzzer (`make fuzz-run`), or as a program that takes files: the corpus, in `make check`. */
#include "tests/fuzz/job.h"
#include "trace/job/window.h"
#include "trace/util/hash.h"
#include "trace/export/export.h"
#include "trace/gpu/device.h"
#include "trace/format/format.h"
#include "trace/horovod/horovod.h"
#include "tui/sources/lines.h"
#include "tui/output/report_json.h"

#include <fcntl.h>
#include <ftw.h>

/* Takes the pieces up to FUZZ_LATER, or from there on. */
static void unpack(const uint8_t *at, const uint8_t *end, bool later)
{
    struct fuzz_piece piece;
    bool behind = false;
    int file[FUZZ_FILES] = {0};
    while (fuzz_next(&at, end, &piece)) {
        unsigned i = piece.place / FUZZ_FILE;
        behind |= piece.place == FUZZ_LATER;
        if (behind != later || i >= FUZZ_FILES)
            continue;
        if (!file[i])
            file[i] = open(fuzz_path[i], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (file[i] < 0 || pwrite(file[i], piece.bytes, piece.size, piece.place % FUZZ_FILE) != piece.size)
            exit(1);
    }
    for (unsigned i = 0; i < FUZZ_FILES; i++)
        if (file[i])
            close(file[i]);
}

/* File of rank `rank` of two; from `from` on every byte is turned by `turn`. */
static void write_rank(int32_t rank, const uint8_t *data, size_t size, size_t from, uint8_t turn)
{
    uint8_t *copy = malloc(size + 1);
    FILE *out = fopen(fuzz_path[rank], "wb");
    if (!copy || !out)
        exit(1);
    memcpy(copy, data, size);
    if (size >= sizeof(struct trc_head))
        memcpy(copy + offsetof(struct trc_head, rank), &rank, sizeof rank);
    for (size_t i = from; turn && i < size; i += 61)
        copy[i] ^= turn;
    if (fwrite(copy, 1, size, out) != size || fclose(out))
        exit(1);
    free(copy);
}

static size_t sum; /* uses the results */

static void look_at_gpus(struct ana_job *job)
{
    struct ana_gpu_summary look;
    struct ana_timeline_cell cell[8];
    char words[64];
    if (!ana_gpu_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &look))
        exit(1);
    for (size_t i = 0; i < look.kernel_count; i++) {
        ana_kernel_words(look.kernels[i].name, words, sizeof words);
        sum += strlen(words);
    }
    for (size_t i = 0; i < look.nccl_count; i++)
        sum += strlen(look.nccl[i].call) + strlen(look.nccl[i].comm_name);
    for (size_t i = 0; i < ana_streams(job) && i < 64; i++) {
        sum += ana_stream(job, i).stream;
        ana_stream_timeline(job, i, 0, INT64_MAX / 4, 8, cell);
        ana_stream_timeline(job, i, 1000, 2000000, 8, cell);
    }
    ana_gpu_summary_free(&look);
}

static void say(struct ana_job *job, struct ana_summary *summary, const struct ana_verdict *verdict)
{
    ana_report_text(job, summary, true, fuzz_nowhere);
    char *text = tui_report_json(job, summary);
    sum += text ? strlen(text) : 0;
    free(text);
    text = tui_verdict_json(job, verdict, verdict->summary.text);
    sum += text ? strlen(text) : 0;
    free(text);
    char line[8][ANA_DETAIL_LINE];
    for (size_t i = 0; i < ana_job_info(job).ranks && i < FUZZ_FILES; i++)
        sum += ana_rank_detail(job, i, line, 8);
}

/* A part of the time, and of the calls: the call that took most time, on the first communicator. */
static void look_at_part(struct ana_job *job, const struct ana_summary *whole)
{
    struct ana_selection part = {.begin_ns = 1000, .end_ns = ana_job_info(job).elapsed_ns / 2 + 2000};
    struct ana_timeline_cell cell[8];
    for (int filter = 0; filter < 3; filter++) {
        struct ana_summary s;
        part.call = filter == 1 && whole->call_count ? ana_hash_text(whole->calls[0].name) : 0;
        part.comm = filter == 2 && whole->collective_count ? whole->collectives[0].comm_identity : 0;
        if (!ana_job_set_window(job, part.begin_ns, part.end_ns))
            exit(1);
        ana_job_advance(job, 0);
        for (int i = 0; i < 2; i++) { /* the first asks for the events */
            if (ana_summarize(job, part, &s) != TRC_OK)
                exit(1);
            ana_job_advance(job, 0);
            ana_report_text(job, &s, true, fuzz_nowhere);
            sum += s.outlier_count + s.size_count + s.file_count;
            ana_summary_free(&s);
        }
        ana_timeline(job, 0, 0, part.end_ns, 8, cell);
        ana_timeline(job, 0, 1000, 2000, 8, cell);
    }
}

static int remove_one(const char *name, const struct stat *status, int kind, struct FTW *at)
{
    (void)status, (void)kind, (void)at;
    return remove(name);
}

/* All formats, whole and a part. */
static void export_all(struct ana_job *job)
{
    char out[96], error[512];
    const struct ana_export_format *format;
    int64_t end_ns = ana_job_info(job).elapsed_ns / 2 + 2000;
    struct ana_selection part[] = {{.begin_ns = INT64_MIN, .end_ns = INT64_MAX}, {.begin_ns = 1000, .end_ns = end_ns}};
    snprintf(out, sizeof out, "%s/out", fuzz_folder);
    for (size_t i = 0; (format = ana_export_format(i)); i++)
        for (int p = 0; p < 2; p++) {
            sum += ana_export(job, &(struct ana_export){.format = format->name, .out = out, .part = part[p]}, error,
                              sizeof error);
            nftw(out, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        }
}

static void look(struct ana_job *job)
{
    struct ana_summary s;
    struct ana_timeline_cell cell[8];
    ana_job_advance(job, 0);
    look_at_gpus(job);
    bool summed = ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &s) == TRC_OK;
    const struct ana_verdict *v = ana_job_verdict(job);
    sum += ana_job_horovod(job)->sets;
    ana_timeline(job, 0, 0, ana_job_info(job).elapsed_ns, 8, cell);
    if (summed && v)
        say(job, &s, v);
    if (summed)
        look_at_part(job, &s);
    export_all(job);
    if (summed)
        ana_summary_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!fuzz_nowhere) {
        fuzz_make_folder();
        tui_names_use();
    }
    fuzz_begin();
    bool packed = size >= 4 && memcmp(data, "PACK", 4) == 0;
    if (packed) {
        unpack(data + 4, data + size, false);
    } else {
        write_rank(0, data, size, size, 0);
        write_rank(1, data, size, size > 0 ? data[size - 1] * 64u : 0, size > 1 ? data[size - 2] : 0);
    }
    const char *folders[] = {fuzz_folder};
    struct ana_job *job = NULL;
    char error[512] = "";
    if (ana_job_open(folders, 1, &job, error, sizeof error) == TRC_OK) {
        look(job);
        if (packed)
            unpack(data + 4, data + size, true);
        else
            write_rank(0, data, size, size / 2, 0x80);
        ana_job_refresh(job);
        look(job);
        ana_job_close(job);
    }
    for (unsigned i = 0; i < FUZZ_FILES; i++)
        unlink(fuzz_path[i]);
    return 0;
}
