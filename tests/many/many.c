/* Makes the trace of a job of any number of ranks, hosts and rounds (plan.h has the plan), by the recorder's own
 * writer: all at once, or live, as the recorders of a real job would, by one process.
 *     many [OPTION..] FOLDER
 *     --ranks N --hosts N --rounds N --round MS   its size; at first 4, 1, 20 and 10 ms (live: 1000)
 *     --late-rank R[:BY] --late-host H[:BY]       computes longer by this share (0.4; 0.2); may be given again
 *     --hang R --dead H                           does not go on; hosts count from 0, and are called node000 ..
 *     --fault ROUND                               from this one on; at first half of all
 *     --lasts S                                   of a job that hangs: how long it did when it was cut off (60)
 *     --files                                     each tenth round writes a file
 *     --live S                                    writes by the clock, for so long; then the job is over
 * A live job says "live" on stdout when all its files are there. */
#include "tests/many/rank.h"
#include "trace/writer/digest.h"
#include "trace/writer/now.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 100, BEAT_TICKS = 5, DIGEST_TICKS = 10 };

struct options {
    struct plan plan;
    double live_s, lasts_s;
    const char *folder;
};

static bool is_broken(const struct plan *plan)
{
    return plan->hang >= 0 || plan->dead >= 0;
}

static void make_finished(const struct options *o)
{
    const struct plan *plan = &o->plan;
    static struct rank rank;
    int64_t end_ns = plan->rounds * plan->round_ns;
    if (is_broken(plan))
        end_ns = (plan->fault + 1) * plan->round_ns + (int64_t)(o->lasts_s * 1e9);
    rank_epoch(trc_wall_ns() - (uint64_t)end_ns, 1000000000000u);
    for (int32_t r = 0; r < plan->ranks; r++) {
        int64_t death_ns = plan_death_ns(plan, r);
        rank_open(&rank, plan, r, o->folder);
        rank_go_on(&rank, plan, end_ns);
        rank_beat(&rank, plan, death_ns < end_ns ? death_ns : end_ns);
        rank_close(&rank, plan, end_ns, !is_broken(plan));
    }
}

/* Recorders' digests: while somebody watches, a digest of each host that lives, once a second, each at its own
 * time. */
static void write_digests(const struct options *o, int64_t tick, int64_t now_ns)
{
    static struct trc_digest **digest;
    const struct plan *plan = &o->plan;
    char path[4096];
    struct stat is;
    snprintf(path, sizeof path, "%s/" TRC_DIGEST_REQUEST, o->folder);
    if (stat(path, &is) != 0 || time(NULL) - is.st_mtime > TRC_DIGEST_LAPSE_S)
        return;
    bool fresh = !digest;
    if (fresh && !(digest = calloc((size_t)plan->hosts, sizeof *digest)))
        exit(1);
    for (int32_t r = 0; fresh && r < plan->ranks; r++) {
        struct trc_digest **of = &digest[plan_host(plan, r)];
        snprintf(path, sizeof path, "%d.hpctop", (int)r);
        if (!*of && !(*of = calloc(1, sizeof **of)))
            exit(1);
        trc_digest_follow(*of, path);
    }
    int folder = open(o->folder, O_RDONLY | O_DIRECTORY);
    for (int32_t h = 0; h < plan->hosts; h++) {
        if ((tick + h) % DIGEST_TICKS || (h == plan->dead && now_ns >= plan->fault * plan->round_ns))
            continue;
        struct trc_digest_head head = {.sequence = 1000 + (uint64_t)tick, .writer = 1, .realtime_ns = trc_wall_ns()};
        rank_host(&head, h);
        size_t size = trc_digest_make(digest[h], folder, &head, rank_calls, rank_call_count);
        snprintf(path, sizeof path, "%s/%s.%.8s" TRC_DIGEST_SUFFIX, o->folder, head.host, head.boot_id);
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        if (fd < 0 || pwrite(fd, digest[h]->out, size, 0) != (ssize_t)size)
            exit(1);
        close(fd);
    }
    close(folder);
}

static void make_live(const struct options *o)
{
    const struct plan *plan = &o->plan;
    struct rank *ranks = calloc((size_t)plan->ranks, sizeof *ranks);
    if (!ranks)
        exit(1);
    rank_epoch(trc_wall_ns(), trc_now_ns());
    for (int32_t r = 0; r < plan->ranks; r++)
        rank_open(&ranks[r], plan, r, o->folder);
    uint64_t began = trc_now_ns();
    puts("live");
    fflush(stdout);
    /* The job begins when all its files are there: they tell of the same moment. */
    rank_epoch(trc_wall_ns(), began);
    for (int64_t tick = 0;; tick++) {
        int64_t now = (int64_t)(trc_now_ns() - began), next = (tick + 1) * TICK_MS * 1000000;
        for (int32_t r = 0; r < plan->ranks; r++)
            if (now < plan_death_ns(plan, r)) {
                rank_go_on(&ranks[r], plan, now);
                if (tick == 0 || (tick + r) % BEAT_TICKS == 0)
                    rank_beat(&ranks[r], plan, now);
            }
        if ((double)now >= o->live_s * 1e9)
            break;
        write_digests(o, tick, now);
        now = (int64_t)(trc_now_ns() - began);
        if (next > now)
            nanosleep(&(struct timespec){(next - now) / 1000000000, (next - now) % 1000000000}, NULL);
    }
    int64_t now = (int64_t)(trc_now_ns() - began);
    for (int32_t r = 0; r < plan->ranks && !is_broken(plan); r++)
        rank_close(&ranks[r], plan, now, true);
}

/* "NUMBER[:BY]" */
static bool read_late(const char *text, int *n, int32_t *number, double *by)
{
    if (*n == PLAN_LATE || sscanf(text, "%d:%lf", number, by) < 1)
        return false;
    ++*n;
    return true;
}

static bool take_option(struct options *o, int option)
{
    struct plan *p = &o->plan;
    int i = option == 'r' ? p->late_ranks : p->late_hosts;
    switch (option) {
    case 'n':
        return (p->ranks = atoi(optarg)) > 0;
    case 'h':
        return (p->hosts = atoi(optarg)) > 0;
    case 'k':
        return (p->rounds = atoll(optarg)) > 0;
    case 'p':
        return (p->round_ns = (int64_t)(atof(optarg) * 1e6)) > 0;
    case 'r':
        if (i < PLAN_LATE)
            p->late_rank[i].by = 0.4;
        return i < PLAN_LATE && read_late(optarg, &p->late_ranks, &p->late_rank[i].number, &p->late_rank[i].by);
    case 'o':
        if (i < PLAN_LATE)
            p->late_host[i].by = 0.2;
        return i < PLAN_LATE && read_late(optarg, &p->late_hosts, &p->late_host[i].number, &p->late_host[i].by);
    case 'g':
        return (p->hang = atoi(optarg)) >= 0;
    case 'd':
        return (p->dead = atoi(optarg)) >= 0;
    case 'f':
        return (p->fault = atoll(optarg)) >= 0;
    case 's':
        return (o->lasts_s = atof(optarg)) > 0;
    case 'l':
        return (o->live_s = atof(optarg)) > 0;
    case 'i':
        return p->files = true;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        {"ranks", 1, NULL, 'n'},     {"hosts", 1, NULL, 'h'},     {"rounds", 1, NULL, 'k'}, {"round", 1, NULL, 'p'},
        {"late-rank", 1, NULL, 'r'}, {"late-host", 1, NULL, 'o'}, {"hang", 1, NULL, 'g'},   {"dead", 1, NULL, 'd'},
        {"fault", 1, NULL, 'f'},     {"lasts", 1, NULL, 's'},     {"live", 1, NULL, 'l'},   {"files", 0, NULL, 'i'},
        {NULL, 0, NULL, 0}};
    struct options o = {.plan = {.ranks = 4, .hosts = 1, .hang = -1, .dead = -1, .fault = -1}, .lasts_s = 60};
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;)
        if (!take_option(&o, option))
            return 64;
    struct plan *p = &o.plan;
    p->round_ns = p->round_ns ? p->round_ns : o.live_s > 0 ? 1000000000 : 10000000;
    p->rounds = p->rounds ? p->rounds : o.live_s > 0 ? (int64_t)(o.live_s * 1e9) / p->round_ns : 20;
    p->fault = p->fault >= 0 ? p->fault : p->rounds / 2;
    if (optind + 1 != argc || p->hosts > p->ranks)
        return 64;
    o.folder = argv[optind];
    plan_settle(p);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (mkdir(o.folder, 0777) != 0 && errno != EEXIST) {
        perror(o.folder);
        return 1;
    }
    if (o.live_s > 0)
        make_live(&o);
    else
        make_finished(&o);
    return 0;
}
