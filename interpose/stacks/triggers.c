/* Moments at which stacks are due. */
#include "interpose/stacks/stacks_impl.h"
#include "interpose/core/request.h"
#include "interpose/core/state.h"
#include "interpose/mpi/progress.h"
#include "interpose/stacks/stacks.h"
#include "interpose/base/text.h"
#include "trace/writer/now.h"
#include "trace/writer/switch.h"

#define LOOK_NS    500000000u
#define OVERDUE_NS 5000000000u /* a call is not overdue before */
#define LONGEST_NS 3600000000000u
#define DEMAND_NS  2000000000u /* one request is served in this time, at most */

static struct {
    bool on;
    uint64_t hang_ns;    /* 0: never */
    uint64_t sampled_ns; /* last check */
    uint64_t progress, moved_ns, next_ns, wait_ns;
    const char *overdue;
    uint64_t request_ns; /* modification time of the last request seen */
    uint64_t served_ns;  /* time when it was served */
    struct ipo_request request;
} trigger;

void ipo_triggers_start(void)
{
    trigger.on = ipo_process.options.stacks;
    if (!trigger.on)
        return;
    trigger.hang_ns = (uint64_t)(ipo_process.options.hang * 1e9);
    trigger.wait_ns = trigger.hang_ns;
    ipo_request_init(&trigger.request, "stacks.request");
    trigger.request_ns = ipo_request_time(&trigger.request);
}

static void add_seconds(struct ipo_text *line, uint64_t ns)
{
    ipo_text_add_number(line, ns / 1000000000u);
    ipo_text_add(line, ".");
    ipo_text_add_number(line, ns / 100000000u % 10);
    ipo_text_add(line, " s");
}

/* Records stacks when nothing has moved for HPCTOP_HANG seconds, and again after twice as long; or when one call takes
 * 50 times longer than ever. */
static void check_for_hang(uint64_t now)
{
    uint64_t progress = ipo_progress();
    if (progress != trigger.progress || !trigger.moved_ns || trc_writer_is_off(&ipo_process.writer)) {
        trigger.progress = progress;
        trigger.moved_ns = now;
        trigger.wait_ns = trigger.hang_ns;
        trigger.overdue = NULL;
        return;
    }
    struct ipo_text why = {0};
    uint64_t quiet = now - trigger.moved_ns;
    if (quiet >= trigger.wait_ns) {
        trigger.wait_ns = trigger.wait_ns < LONGEST_NS / 2 ? trigger.wait_ns * 2 : quiet + LONGEST_NS;
        ipo_text_add(&why, "no call completed for ");
        add_seconds(&why, quiet);
    } else if (!trigger.overdue && trigger.hang_ns > OVERDUE_NS && quiet >= OVERDUE_NS) {
        double ns_per_tick = 1;
        const struct trc_head *head = ipo_process.writer.head;
        if (head->latest.ticks > head->start.ticks)
            ns_per_tick = (double)(head->latest.monotonic_ns - head->start.monotonic_ns) /
                          (double)(head->latest.ticks - head->start.ticks);
        trigger.overdue = ipo_overdue((uint64_t)((double)OVERDUE_NS / ns_per_tick));
        if (!trigger.overdue)
            return;
        ipo_text_add(&why, trigger.overdue);
        ipo_text_add(&why, " takes more than 50 times what it ever took: ");
        add_seconds(&why, quiet);
    } else {
        return;
    }
    ipo_stacks_write(TRC_STACK_HANG, why.text, 0, NULL);
}

void ipo_triggers_round(void)
{
    if (!trigger.on)
        return;
    uint64_t now = trc_now_ns();
    if (now - trigger.sampled_ns < LOOK_NS)
        return;
    trigger.sampled_ns = now;
    if (trigger.hang_ns)
        check_for_hang(now);
    if (trigger.served_ns && now - trigger.served_ns < DEMAND_NS)
        return;
    uint64_t asked = ipo_request_time(&trigger.request);
    if (asked && asked != trigger.request_ns) {
        trigger.request_ns = asked;
        trigger.served_ns = now;
        ipo_stacks_write(TRC_STACK_DEMAND, "asked for by hpctop stacks", asked, NULL);
    }
}
