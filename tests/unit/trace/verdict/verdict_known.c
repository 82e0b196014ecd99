/* Unmoving ranks of a watched job are not read anew for each verdict; moved ones are. */
#include "tests/support/verdict_ranks.h"
#include "trace/job/analysis.h"
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Stands in front of libc's: counts bytes read. */
static size_t reads;
ssize_t pread(int fd, void *buffer, size_t size, off_t at)
{
    reads++;
    return syscall(SYS_pread64, fd, buffer, size, at);
}

/* Number of reads of a new verdict; nothing was refreshed before it. */
static size_t reads_of_verdict(struct ana_job *job)
{
    size_t before = reads;
    ana_job_refresh_state(job);
    return reads - before;
}

int main(void)
{
    static const struct rank rank[] = {SEND(1, 3), SEND(0, 3)};
    struct timespec now, pause = {0, 700000000};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t made = (uint64_t)(now.tv_sec - 25) * 1000000000u;
    folder_make("known");
    for (int r = 0; r < 2; r++) {
        struct tb *tb = tb_new(r, 2);
        tb_clock(tb, 1000000000u, made, 1);
        folder_this_process(tb);
        tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 0);
        struct trc_sig sig = sig_of(&rank[r]);
        tb_running(tb, 24 * S);
        tb_inside(tb, 0, &sig, 20 * S, 0);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    nanosleep(&pause, NULL);
    ana_job_refresh(job);
    judge("nobody watches", job, ANA_VERDICT_HUNG, ANA_CLASS_CYCLE, "0,1", NULL);
    size_t each = reads_of_verdict(job);
    CHECK(each > 0, "its last events are read");
    ana_job_watch(job, true);
    size_t first = reads_of_verdict(job), second = reads_of_verdict(job);
    CHECK(first == each, "first %zu, each %zu", first, each);
    CHECK(second < first, "they are known: %zu reads in place of %zu", second, first);
    judge("somebody watches", job, ANA_VERDICT_HUNG, ANA_CLASS_CYCLE, "0,1", NULL);
    trc_refresh(ana_job_members(job)->process[0].rank.file);
    size_t third = reads_of_verdict(job);
    CHECK(third > second && third < first, "one of two is read: %zu, %zu, %zu", first, second, third);
    ana_job_close(job);
    folder_remove();
    return check_result();
}
