/* When stacks are due. */
#include "interpose/base/oldglibc.h"
#include "interpose/stacks/triggers.h"
#include "interpose/core/state.h"
#include "interpose/mpi/progress.h"
#include "interpose/stacks/stacks.h"
#include "interpose/base/text.h"
#include "trace/writer/now.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_NS    500000000u
#define OVERDUE_NS 5000000000u /* a call is not overdue before */
#define LONGEST_NS 3600000000000u
#define DEMAND_NS  2000000000u /* at most one request is served in this time */

static struct {
    bool on;
    uint64_t hang_ns;    /* 0: never */
    uint64_t sampled_ns; /* last check */
    uint64_t progress, moved_ns, next_ns, wait_ns;
    const char *overdue;
    uint64_t request_ns; /* modification time of the last request seen */
    uint64_t served_ns;  /* when it was served */
    char folder[4608];   /* path; empty: not known */
    char request[4608];
} trigger;

/* By system call: fstat and stat have newer symbol versions than we may use. */
static bool read_file_state(const char *path, struct stat *there)
{
    return path[0] && !syscall(SYS_newfstatat, AT_FDCWD, path, there, AT_SYMLINK_NOFOLLOW);
}

/* When stacks were last requested; 0: never.  A request is a plain file of this user, of root or of the folder's
 * owner, in a folder that others may not write to. */
static uint64_t read_request_time(void)
{
    struct stat file, folder;
    if (!read_file_state(trigger.request, &file) || !S_ISREG(file.st_mode) || file.st_nlink != 1)
        return 0;
    if (!read_file_state(trigger.folder, &folder) || folder.st_mode & S_IWOTH)
        return 0;
    if (file.st_uid != geteuid() && file.st_uid != 0 && file.st_uid != folder.st_uid)
        return 0;
    return (uint64_t)file.st_mtim.tv_sec * 1000000000u + (uint64_t)file.st_mtim.tv_nsec;
}

void ipo_triggers_start(void)
{
    trigger.on = ipo_process.options.stacks;
    if (!trigger.on)
        return;
    trigger.hang_ns = (uint64_t)(ipo_process.options.hang * 1e9);
    trigger.wait_ns = trigger.hang_ns;
    /* The program may change its directory. */
    struct ipo_text path = {0};
    char here[4096] = "";
    if (ipo_process.folder[0] != '/' && getcwd(here, sizeof here))
        ipo_text_add(&path, here);
    ipo_text_add(&path, path.used ? "/" : "");
    ipo_text_add(&path, ipo_process.folder);
    ipo_text_add(&path, "/.");
    if (path.used + 1 < sizeof trigger.folder)
        memcpy(trigger.folder, path.text, path.used + 1);
    path.used--;
    ipo_text_add(&path, "stacks.request");
    if (path.used + 1 < sizeof trigger.request)
        memcpy(trigger.request, path.text, path.used + 1);
    trigger.request_ns = read_request_time();
}

static void add_seconds(struct ipo_text *line, uint64_t ns)
{
    ipo_text_add_number(line, ns / 1000000000u);
    ipo_text_add(line, ".");
    ipo_text_add_number(line, ns / 100000000u % 10);
    ipo_text_add(line, " s");
}

/* Takes stacks when nothing has moved for HPCTOP_HANG seconds, and again after twice as long; or when one call takes 50
 * times longer than ever. */
static void check_for_hang(uint64_t now)
{
    uint64_t progress = ipo_progress();
    if (progress != trigger.progress || !trigger.moved_ns) {
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
    ipo_stacks_take(TRC_STACK_HANG, why.text, 0, NULL);
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
    uint64_t asked = read_request_time();
    if (asked && asked != trigger.request_ns) {
        trigger.request_ns = asked;
        trigger.served_ns = now;
        ipo_stacks_take(TRC_STACK_DEMAND, "asked for by hpctop stacks", asked, NULL);
    }
}
