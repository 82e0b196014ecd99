/* The verdict on a thousand ranks, or as many as the argument says; prints what that took. */
#include "tests/support/verdict_ranks.h"
#include "trace/util/now.h"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Files with holes where there are zeros: a thousand would fill a small disk. */
static void write_sparse(struct tb *tb, const char *folder, int rank)
{
    enum { BLOCK = 4096 };
    static const uint8_t zeros[BLOCK];
    char path[600];
    size_t size;
    const uint8_t *image = tb_image(tb, &size);
    snprintf(path, sizeof path, "%s/%d.hpctop", folder, rank);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0666);
    for (size_t at = 0; fd >= 0 && at < size; at += BLOCK) {
        size_t n = size - at < BLOCK ? size - at : BLOCK;
        CHECK(memcmp(image + at, zeros, n) == 0 || pwrite(fd, image + at, n, (off_t)at) == (ssize_t)n);
    }
    CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0, "%s", path);
    close(fd);
}

static double seconds(void)
{
    return (double)ana_now_ns() / 1e9;
}

/* `odd` of n ranks are elsewhere, the others in a barrier. */
static void many(int n, int every, const struct rank *odd, enum ana_verdict_class id)
{
    struct rank usual = BARRIER(20 * S);
    const char *folder = folder_make("many");
    for (int r = 0; r < n; r++) {
        struct tb *tb = make(r % every == 7 ? odd : &usual, r, n);
        write_sparse(tb, folder, r);
        tb_free(tb);
    }
    double opened = seconds();
    struct ana_job *job = folder_open();
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v, "out of memory");
    if (v) { /* once more, with all its data in memory */
        double read = seconds();
        ana_job_set_rules(job, (struct ana_verdict_rules){S, 30 * S, true});
        CHECK(v = ana_job_verdict(job), "out of memory");
        printf("%d ranks, %zu to blame (%s): files read and judged in %.0f ms, judged again in %.0f ms\n", n,
               v->culprits, ana_verdict_class_name(v->id), (read - opened) * 1e3, (seconds() - read) * 1e3);
        CHECK(v->state == ANA_VERDICT_HUNG && v->id == id && v->culprits >= 1, "%d ranks, one in %d", n, every);
    }
    ana_job_close(job);
    folder_remove();
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    static const struct rank outside = OUTSIDE, recv = RECV(0, 3),
                             reduce = {.call = TB_REDUCE, .since = 20 * S, .sequence = 1};
    many(n, n, &outside, ANA_CLASS_MISSING);
    many(n, 8, &outside, ANA_CLASS_MISSING);
    many(n, n, &recv, ANA_CLASS_UNMATCHED);
    many(n, n, &reduce, ANA_CLASS_MISMATCHED);
    return check_result();
}
