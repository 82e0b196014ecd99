/* An index is taken up as it was written; of one in which numbers were changed, with checksums that fit, something is taken up
 * that no question about the job falls over, or nothing.  Under AddressSanitizer (make check-asan) this finds what
 * trusts a number. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/index/index.h"
#include "trace/job/job_impl.h"
#include "trace/verdict/verdict.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { RANKS = 4, ROUNDS = 60, CHANGES = 400, OF = 40, BLOCK = 1 << 20 };

static uint64_t random_state = 88172645463325252u;
static uint64_t below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % n;
}

/* Each round a ring of messages that are waited for, a sum that somebody comes late to, and a write. */
static void build(void)
{
    struct tb *tb[RANKS];
    for (int r = 0; r < RANKS; r++) {
        tb[r] = tb_new(r, RANKS);
        tb_comm_name(tb[r], TB_WORLD, "ring");
        tb_file(tb[r], 7, TB_WORLD, "out.dat");
        tb_site(tb[r], 0x1000, "main+0x10", "app+0x1000");
        tb_site(tb[r], 0x2000, "main+0x20", "app+0x2000");
    }
    for (int64_t i = 0; i < ROUNDS; i++)
        for (int32_t r = 0; r < RANKS; r++) {
            int64_t t = 1000 + i * 40000;
            int32_t next = (r + 1) % RANKS, before = (r + RANKS - 1) % RANKS;
            tb_send(tb[r], 0, t + r * 700, t + r * 700 + 300, next, 5, 64u << (i % 9));
            tb_recv(tb[r], 0, t + r * 700 + 400, t + RANKS * 700 + 900, before, 5, 64u << (i % 9));
            if (i + 1 < ROUNDS || r < 2) /* the last sum is left open */
                tb_allreduce(tb[r], 0, t + 9000 + r * 500, t + 12000, TB_WORLD, (uint64_t)i + 1, 8);
        }
    for (int r = 0; r < RANKS; r++) {
        folder_write(tb[r], r);
        tb_free(tb[r]);
    }
}

/* Asks all that reports and screens ask; returns a number that depends on the answers. */
static double ask(struct ana_job *job)
{
    static const struct ana_selection all = {.begin_ns = 0, .end_ns = INT64_MAX},
                                      part = {.begin_ns = 50000, .end_ns = 900000};
    struct ana_timeline_cell cells[64];
    struct ana_iteration_cell of[16];
    struct ana_summary s;
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        ana_job_advance(job, 0);
        if (ana_summarize(job, i ? part : all, &s) != TRC_OK)
            continue;
        for (size_t k = 0; k < s.pair_count; k++)
            sum += (double)s.pairs[k].bytes;
        for (size_t k = 0; k < s.rank_count; k++)
            sum += (double)s.ranks[k].waiting_ns + 3 * (double)s.ranks[k].caused_ns;
        for (size_t k = 0; k < s.collective_count; k++)
            sum += (double)s.collectives[k].instances + 100 * (double)s.collectives[k].incomplete;
        for (size_t l = 0; l < s.iterations.levels; l++)
            ana_iteration_cells(job, &s.iterations, l, 1, 1, 20, 16, of);
        sum += (double)s.path_ns + (double)s.segment_count + (double)s.price_count + (double)s.iterations.levels;
        ana_summary_free(&s);
    }
    for (size_t r = 0; r < ana_job_info(job).ranks; r++)
        ana_timeline(job, r, 0, 2000000, 64, cells);
    return sum + (ana_job_verdict(job) ? ana_job_verdict(job)->state : 0);
}

static char path[1024];

/* The numbers in an index, without blocks; for the caller to free. */
static uint8_t *unpack(uint8_t head[OF], size_t *size)
{
    uint8_t *all = malloc(16 * BLOCK), *packed = malloc(BLOCK);
    uint32_t block[3];
    FILE *file = fopen(path, "rb");
    *size = 0;
    CHECK(file && fread(head, OF, 1, file) == 1);
    while (file && fread(block, sizeof block, 1, file) == 1 && block[0]) {
        uLongf length = block[0];
        CHECK(fread(packed, block[1], 1, file) == 1);
        if (block[1] == block[0])
            memcpy(all + *size, packed, length);
        else
            CHECK(uncompress(all + *size, &length, packed, block[1]) == Z_OK);
        *size += length;
    }
    free(packed);
    if (file)
        fclose(file);
    return all;
}

static void pack(const uint8_t head[OF], const uint8_t *all, size_t size)
{
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(head, OF, 1, file) == 1);
    for (size_t done = 0;; done += BLOCK) {
        uint32_t n = size - done < BLOCK ? (uint32_t)(size - done) : BLOCK;
        uint32_t block[] = {n, n, (uint32_t)crc32(crc32(0, NULL, 0), all + done, n)};
        fwrite(block, sizeof block, 1, file);
        if (n && fwrite(all + done, n, 1, file) != 1)
            CHECK(false, "cannot write");
        if (done + n == size) {
            uint32_t end[3] = {0};
            if (n)
                fwrite(end, sizeof end, 1, file);
            break;
        }
    }
    fclose(file);
}

/* Changes a number or some, so that it is small, or large, or another one. */
static void change(uint8_t *all, size_t size)
{
    for (uint64_t n = 1 + below(3); n--;) {
        size_t at = (size_t)below(size);
        all[at] = below(3) ? (uint8_t)below(256) : (uint8_t)(below(2) ? 0xff : 0);
    }
}

static double look(bool *indexed)
{
    struct ana_job *job = folder_open();
    double answer = ask(job);
    *indexed = job->indexed;
    ana_job_close(job);
    return answer;
}

/* Numbers that random changes hardly reach: each is what a way through the job would go wrong by. */
enum { SPOILED = 6 };
static void spoil(struct ana_job *job, int how)
{
    struct ana_iter_mark *mark = ana_iter_mark_at(&job->iter, 1);
    if (how == 0)
        mark->kind = 1; /* a mark's number where a kind's belongs */
    else if (how == 1)
        mark->count = UINT64_MAX;
    else if (how == 2)
        mark->stride = 0;
    else if (how == 3)
        job->store.message[0].source = RANKS;
    else if (how == 4)
        job->store.message[0].send_begin_ns = INT64_MAX;
    else
        ana_segment_at(&job->pass.why, 1)->to = UINT32_MAX;
}

int main(void)
{
    char said[1024], folder[900];
    uint8_t head[OF];
    size_t size, taken = 0;
    bool indexed;
    snprintf(folder, sizeof folder, "%s", folder_make("index"));
    snprintf(path, sizeof path, "%s/index/analysis", folder);
    build();
    double plain = look(&indexed);
    CHECK(!indexed && access(path, F_OK) != 0, "a small trace has an index unasked");
    struct ana_job *job = folder_open();
    CHECK(!ana_index_write(job, true, said, sizeof said), "of a job that was not read");
    ana_job_advance(job, 0);
    CHECK(ana_index_write(job, true, said, sizeof said) && strcmp(said, path) == 0, "%s", said);
    ana_job_close(job);
    double kept = look(&indexed);
    CHECK(indexed && kept == plain, "indexed %d: %.17g, without %.17g", indexed, kept, plain);
    uint8_t *all = unpack(head, &size), *changed = malloc(size + 1);
    pack(head, all, size);
    kept = look(&indexed);
    CHECK(indexed && kept == plain, "packed again: indexed %d, %.17g", indexed, kept);
    for (int i = 0; i < CHANGES; i++) {
        memcpy(changed, all, size);
        change(changed, size);
        pack(head, changed, i % 20 ? size : (size_t)below(size)); /* some are cut */
        double answer = look(&indexed);
        taken += indexed;
        CHECK(indexed || answer == plain, "refused, and yet %.17g, not %.17g", answer, plain);
    }
    CHECK(taken > 0 && taken < CHANGES, "%zu of %d were taken up", taken, CHANGES);
    for (int how = 0; how < SPOILED; how++) {
        unlink(path);
        job = folder_open();
        ana_job_advance(job, 0);
        spoil(job, how);
        CHECK(ana_index_write(job, true, said, sizeof said), "%s", said);
        ana_job_close(job);
        kept = look(&indexed);
        CHECK(!indexed && kept == plain, "spoiled %d: indexed %d, %.17g", how, indexed, kept);
    }
    free(all);
    free(changed);
    unlink(path);
    snprintf(path, sizeof path, "%s/index", folder);
    rmdir(path);
    folder_remove();
    return check_result();
}
