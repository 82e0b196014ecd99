#include "tui/commands/ask.h"
#include "trace/job/job.h"
#include "trace/members/bundle.h"
#include "trace/stacks/stacks.h"
#include "trace/verdict/verdict.h"
#include "trace/util/now.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_NS 50000000
#define AGAIN_NS  INT64_C(10000000000) /* least time between two requests for a verdict */

/* Asks the recorders of a folder, or of a file's folder, for stacks: touches the file that they watch.  Returns its
 * time of modification in ns, which names the request; 0, with errno, if that failed. */
static uint64_t ask_in_folder(const char *place)
{
    char path[4200];
    struct stat there;
    const char *slash = strrchr(place, '/');
    if (!stat(place, &there) && S_ISDIR(there.st_mode))
        snprintf(path, sizeof path, "%s/stacks.request", place);
    else
        snprintf(path, sizeof path, "%.*sstacks.request", slash ? (int)(slash - place) + 1 : 0, place);
    /* Others may have put a link or a pipe there: it is not followed and does not block. */
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0)
        return 0;
    bool regular = !fstat(fd, &there) && S_ISREG(there.st_mode) && there.st_nlink == 1;
    bool done = regular && !futimens(fd, NULL) && !fstat(fd, &there);
    int kept = regular ? errno : EINVAL;
    close(fd);
    errno = kept;
    return done ? (uint64_t)there.st_mtim.tv_sec * 1000000000u + (uint64_t)there.st_mtim.tv_nsec : 0;
}

uint64_t tui_ask_for_stacks(const char *const *folder, int n, bool loud)
{
    uint64_t asked = 0;
    for (int i = 0; i < n; i++) {
        uint64_t at = ask_in_folder(folder[i]);
        if (!at && loud)
            fprintf(stderr, "hpctop: cannot ask for stacks in %s: %s; the stacks shown are older\n", folder[i],
                    strerror(errno));
        else if (at && (!asked || at < asked))
            asked = at;
    }
    return asked;
}

bool tui_may_answer(const struct ana_rank *rank)
{
    return rank->state == ANA_RANK_RUN || rank->state == ANA_RANK_IN_MPI || rank->state == ANA_RANK_UNKNOWN ||
           rank->lives_on;
}

bool tui_has_answered(const struct trc_file *file, uint64_t asked)
{
    for (size_t i = trc_stacks(file); i-- > 0;) {
        const struct trc_stack *stack = trc_stack(file, i);
        if (stack->def.flags & TRC_STACK_CLOSING && stack->def.reason == TRC_STACK_DEMAND &&
            stack->request_ns + 1000000 > asked)
            return true;
    }
    return false;
}

void tui_wait_for_answers(struct ana_job *job, uint64_t asked, int64_t patience_ns)
{
    int64_t end = ana_now_ns() + patience_ns;
    for (bool all = !asked; !all && ana_now_ns() < end;) {
        nanosleep(&(struct timespec){.tv_nsec = SAMPLE_NS}, NULL);
        ana_job_refresh(job);
        all = true;
        for (size_t i = 0; i < ana_job_info(job).ranks; i++) {
            const struct ana_rank *rank = ana_job_rank(job, i);
            /* A rank that may be dead is not waited for. */
            if (tui_may_answer(rank) && rank->state != ANA_RANK_UNKNOWN && !tui_has_answered(rank->file, asked))
                all = false;
        }
    }
}

/* Whether somebody is to blame whose stack was not taken yet. */
static bool lacks_stacks(const struct ana_job *job, const struct ana_verdict *v)
{
    struct ana_stacks stacks;
    bool lacks = false;
    if ((v->state != ANA_VERDICT_HUNG && v->state != ANA_VERDICT_WAITING) || !ana_stacks_read(job, &stacks))
        return false;
    for (size_t i = 0; i < v->culprits && !lacks; i++)
        lacks = tui_may_answer(ana_job_rank(job, v->culprit[i])) && !ana_stack_of(&stacks, v->culprit[i]);
    ana_stacks_free(&stacks);
    return lacks;
}

const struct ana_verdict *tui_sure_verdict(struct ana_job *job, const char *const *folder, int n, int64_t patience_ns)
{
    static int64_t asked_ns; /* 0: never */
    const struct ana_verdict *v = ana_job_verdict(job);
    if (!v || (asked_ns && ana_now_ns() - asked_ns < AGAIN_NS) || !lacks_stacks(job, v))
        return v;
    asked_ns = ana_now_ns();
    tui_wait_for_answers(job, tui_ask_for_stacks(folder, n, false), patience_ns);
    return ana_job_verdict(job);
}
