/* How long ago a process of another host gave a sign of life, when the wall clocks of the two hosts differ. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/process.h"
#include <string.h>

int main(void)
{
    folder_make("process");
    struct tb *a = tb_new(0, 1);
    strcpy(tb_head(a)->host, "elsewhere");
    tb_running(a, 5000000);
    folder_write(a, 0);
    tb_free(a);
    struct ana_job *job = folder_open();
    struct ana_process p = {.rank = *ana_job_rank(job, 0), .alive = true};
    const struct trc_head *head = trc_head(p.rank.file);
    const int64_t second = 1000000000;
    struct ana_here here = {
        .host = "here", .realtime_ns = (int64_t)head->latest.realtime_ns + 5 * second, .monotonic_ns = 77 * second};
    double apart[3];
    apart[0] = (double)(ana_process_end_ticks(&p, &here) - head->latest.ticks) * trc_ns_per_tick(p.rank.file) / 1e9;
    p.heartbeat_seen = 77 * second - second / 10; /* it moved a moment ago */
    apart[1] = (double)(ana_process_end_ticks(&p, &here) - head->latest.ticks) * trc_ns_per_tick(p.rank.file) / 1e9;
    here.realtime_ns -= 8 * second; /* theirs is ahead */
    apart[2] = (double)(ana_process_end_ticks(&p, &here) - head->latest.ticks) * trc_ns_per_tick(p.rank.file) / 1e9;
    CHECK(apart[0] > 4.9 && apart[0] < 5.1, "the first look can only believe the wall clocks: %g", apart[0]);
    CHECK(apart[1] > 0.09 && apart[1] < 0.11, "then our own clock tells: %g", apart[1]);
    CHECK(apart[2] == 0, "never before the heartbeat: %g", apart[2]);
    ana_job_close(job);
    folder_remove();
    return failures ? 1 : 0;
}
