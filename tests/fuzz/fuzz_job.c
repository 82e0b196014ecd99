/* Any bytes as the files of a job of two ranks: opening, the whole pass, what the GPUs did, the summary and the verdict
 * end and touch nothing outside.  The second rank's file is the first's, but for who it is and for a few bytes. With
 * libFuzzer (`make fuzz-run`), or as a program that takes files: the corpus, in `make check`. */
#include "tests/fuzz/fuzz.h"
#include "trace/device.h"
#include "trace/format.h"
#include "trace/job.h"
#include "trace/verdict.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/fuzz_job-XXXXXX", path[2][64];

static void remove_all(void)
{
    for (int i = 0; i < 2; i++)
        unlink(path[i]);
    rmdir(folder);
}

static void make_folder(void)
{
    if (!mkdtemp(folder))
        exit(77);
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s/%d.hpctop", folder, i);
    atexit(remove_all);
}

/* As rank `rank` of two; from `from` on every byte is turned by `turn`. */
static void write_rank(int32_t rank, const uint8_t *data, size_t size, size_t from, uint8_t turn)
{
    uint8_t *copy = malloc(size + 1);
    FILE *out = fopen(path[rank], "wb");
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

static size_t sum; /* what is computed is used */

static void look_at_gpus(struct ana_job *job)
{
    struct ana_gpu_look look;
    struct ana_timeline_cell cell[8];
    char words[64];
    if (!ana_gpu_take_look(job, (struct ana_selection){0, INT64_MAX, NULL}, &look))
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
    ana_gpu_look_free(&look);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool made;
    if (!made)
        make_folder();
    made = true;
    write_rank(0, data, size, size, 0);
    write_rank(1, data, size, size > 0 ? data[size - 1] * 64u : 0, size > 1 ? data[size - 2] : 0);
    const char *folders[] = {folder};
    struct ana_job *job = NULL;
    char error[512] = "";
    if (ana_job_open(folders, 1, &job, error, sizeof error) != TRC_OK)
        return 0;
    ana_job_advance(job, 0);
    look_at_gpus(job);
    struct ana_verdict v;
    struct ana_summary s;
    bool summed = ana_summarize(job, (struct ana_selection){0, INT64_MAX, NULL}, &s) == TRC_OK;
    if (ana_verdict(job, summed ? &s : NULL, &v)) {
        sum += strlen(v.summary) + strlen(v.next);
        ana_verdict_free(&v);
    }
    if (summed)
        ana_summary_free(&s);
    ana_job_close(job);
    return 0;
}
