#include "tests/support/trace_folder.h"
#include "trace/session/session.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/stat.h>

static char place[256], folder[512];

const char *folder_make(const char *name)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(place, sizeof place, "%s/trace-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(place)) {
        perror(place);
        exit(1);
    }
    snprintf(folder, sizeof folder, "%s/hpctop-%s", place, name);
    if (mkdir(folder, 0777) != 0) {
        perror(folder);
        exit(1);
    }
    return folder;
}

void folder_remove(void)
{
    DIR *dir = opendir(folder);
    char path[1024];
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            unlink(path);
        }
    if (dir)
        closedir(dir);
    rmdir(folder);
    rmdir(place);
}

void folder_write(struct tb *tb, int rank)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%d.hpctop", folder, rank);
    tb_write(tb, path);
}

struct ana_job *folder_open(void)
{
    const char *folders[] = {folder};
    struct ana_job *job = NULL;
    char error[512] = "";
    if (ana_job_open(folders, 1, &job, error, sizeof error) != TRC_OK) {
        printf("%s: %s\n", folder, error);
        exit(1);
    }
    return job;
}

/* Ends the test unless each rank's accounts add up to its elapsed time. */
static void check_accounts(const struct ana_job *job, const struct ana_summary *s)
{
    for (size_t i = 0; s->has_accounts && i < s->rank_count; i++) {
        const struct ana_rank *rank = ana_job_rank(job, s->ranks[i].index);
        const int64_t sum_ns = ana_account_total(&s->ranks[i].account), elapsed_ns = rank->end_ns - rank->begin_ns;
        if (!rank->counted || sum_ns == elapsed_ns)
            continue;
        printf("rank %zu: its accounts are %lld ns of %lld\n", i, (long long)sum_ns, (long long)elapsed_ns);
        exit(1);
    }
}

static enum ana_verdict_state verdict_of(const struct ana_job *job)
{
    const struct ana_verdict *verdict = ana_job_verdict(job);
    return verdict ? verdict->state : ANA_VERDICT_UNKNOWN;
}

/* Whether heads and live pages alone make a verdict of `healthy`. */
static bool is_finished_well(struct ana_job *job)
{
    struct ana_summary counters;
    bool well = verdict_of(job) == ANA_VERDICT_HEALTHY && ana_summarize_counters(job, &counters) == TRC_OK;
    if (well) {
        well = ana_finished_well(job, &counters);
        ana_summary_free(&counters);
    }
    return well;
}

/* Ends the test if the events change a verdict that heads and live pages had decided. */
static void check_finished(const struct ana_job *job)
{
    if (verdict_of(job) == ANA_VERDICT_HEALTHY)
        return;
    printf("healthy by heads and live pages, %s by events\n", ana_verdict_state_name(verdict_of(job)));
    exit(1);
}

struct ana_summary folder_summary(struct ana_job *job)
{
    struct ana_summary s;
    bool well = is_finished_well(job);
    ana_job_advance(job, 0);
    if (ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &s) != TRC_OK) {
        printf("no summary\n");
        exit(1);
    }
    check_accounts(job, &s);
    if (well)
        check_finished(job);
    return s;
}

void folder_process(struct tb *tb, pid_t pid)
{
    struct trc_head *head = tb_head(tb);
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f && fgets(head->boot_id, sizeof head->boot_id, f))
        head->boot_id[strcspn(head->boot_id, "\n")] = 0;
    if (f)
        fclose(f);
    gethostname(head->host, sizeof head->host - 1);
    head->pid = (uint32_t)pid;
    char line[1024] = "", path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    if (f && fgets(line, sizeof line, f)) {
        char *at = strrchr(line, ')');
        for (int field = 2; at && field < 22; field++)
            at = strchr(at + 1, ' ');
        head->pid_start = at ? strtoull(at, NULL, 10) : 0;
    }
    if (f)
        fclose(f);
}

void folder_this_process(struct tb *tb)
{
    folder_process(tb, getpid());
}

struct two two_ranks(void)
{
    struct two two = {{tb_new(0, 2), tb_new(1, 2)}};
    tb_site(two.rank[0], 0x1000u + TB_SEND, "deliver+0x10", "app+0x1234");
    tb_send(two.rank[0], 0, 1000000, 1010000, 1, 7, 4096);
    tb_allreduce(two.rank[0], 0, 2000000, 3000000, TB_WORLD, 1, 8);
    tb_recv(two.rank[1], 0, 100000, 1020000, 0, 7, 4096);
    tb_allreduce(two.rank[1], 0, 2900000, 3000000, TB_WORLD, 1, 8);
    return two;
}

void two_write(struct two two)
{
    for (int i = 0; i < 2; i++) {
        folder_write(two.rank[i], i);
        tb_free(two.rank[i]);
    }
}
