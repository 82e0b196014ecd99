/* A call that comes with another size, from a known place: no other task is waited for, also
 * where the places just fill their room. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/cause/causes.h"
#include "trace/job/analysis.h"
#include <stdio.h>

enum { SIZES = 200, ROOM = 16 /* places, at first */ };

static struct ana_queue_consumer consumer; /* one reader of all facts */
static unsigned taken;                     /* number of its batches: one a block, and one when somebody waits for it */

static void count(void *user, const void *items, size_t n)
{
    taken++;
    consumer.consume(user, items, n);
}

/* A rank calls from many places, from the last with many sizes.  Returns the number of batches of facts. */
static unsigned takes(int places)
{
    folder_make("sizes");
    struct tb *tb = tb_new(0, 1);
    int64_t t = 1000;
    for (int place = 0; place < places; place++)
        for (uint64_t size = 0; size < (place + 1 < places ? 1 : SIZES); size++, t += 1000) {
            struct trc_sig sig = tb_sig(TB_CANCEL);
            sig.site = 0x1000 + (uint64_t)place;
            sig.sent = size;
            tb_event(tb, 0, &sig, t, t + 10, (struct tb_more){0});
        }
    folder_write(tb, 0);
    tb_free(tb);
    struct ana_job *job = folder_open();
    CHECK(ana_job_set_workers(job, 1), "out of memory");
    taken = 0;
    consumer = ana_job_analysis(job)->pass.why.causes->queue.consumer[0];
    ana_job_analysis(job)->pass.why.causes->queue.consumer[0].consume = count;
    ana_job_advance(job, 0);
    CHECK(ana_job_analysis(job)->pass.tally.sites.count == (size_t)places &&
              ana_job_analysis(job)->pass.tally.sites.room >= ROOM,
          "%zu places, room for %zu", ana_job_analysis(job)->pass.tally.sites.count,
          ana_job_analysis(job)->pass.tally.sites.room);
    ana_job_close(job);
    folder_remove();
    return taken;
}

int main(void)
{
    unsigned few = takes(ROOM - 1), full = takes(ROOM), more = takes(ROOM + 1);
    CHECK(few > 0 && full <= few + 2 && more <= few + 2, "taken %u, %u and %u times", few, full, more);
    return check_result();
}
