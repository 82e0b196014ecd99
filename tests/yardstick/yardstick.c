/* How often the verdict is right on random programs whose end is known:
 * yardstick [-j PROCESSES] [-n PROGRAMS] [-s FIRST SEED] [-v | -vv].
 *
 * Of each program the files of one moment are judged, as after kill -9 of all ranks: of one that hangs, 40 s after
 * anything moved; of one that does not, at its end or at a random moment.  Prints a row for each kind of fault. */
#include "tests/yardstick/program.h"
#include "trace/session/session.h"
#include "trace/verdict/verdict.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_NS INT64_C(40000000000)

enum truth { FINISHES, CUT, HANGS, TRUTHS };

struct row {
    unsigned programs, right, missed, no_name, more_names, wrong_name, false_alarms, proven_wrong;
};
typedef struct row table[FAULTS][TRUTHS];
static table *rows; /* of this process */

static void clear(const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (dir)
        closedir(dir);
}

static const char *judge(const struct program *p, enum truth truth, const struct ana_job *job,
                         const struct ana_verdict *v, struct row *row)
{
    bool trouble = v->state == ANA_VERDICT_HUNG || v->state == ANA_VERDICT_SLOW;
    bool aborted = v->state == ANA_VERDICT_ABORTED, named = v->culprits + v->absents > 0;
    size_t right_names = 0;
    for (size_t i = 0; i < v->culprits; i++)
        right_names += p->blame[ana_job_rank(job, v->culprit[i])->rank];
    row->programs++;
    if (truth != HANGS) {
        bool bad = truth == FINISHES ? v->state != ANA_VERDICT_HEALTHY : trouble || named;
        row->false_alarms += bad;
        row->proven_wrong += bad && trouble && v->confidence == ANA_PROVEN;
        row->right += !bad;
        return bad ? "false alarm" : NULL;
    }
    bool seen = v->state == ANA_VERDICT_HUNG || (p->fault == FAULT_EXIT && aborted);
    const char *wrong = !seen                       ? "missed"
                        : !named                    ? "names nobody"
                        : !right_names              ? "names others"
                        : right_names < v->culprits ? "names others, too"
                                                    : NULL;
    row->missed += !seen;
    row->no_name += seen && !named;
    row->more_names += seen && right_names && right_names < v->culprits;
    row->wrong_name += seen && named && !right_names;
    row->proven_wrong += wrong && !right_names && v->confidence == ANA_PROVEN && seen;
    row->right += !wrong;
    return wrong;
}

/* The program, an operation a line: who may be blamed has a `!`, where a rank stands a `>`. */
static void describe(const struct program *p, const struct run *run)
{
    static const char *const kinds[] = {"compute", "send",       "recv",        "sendrecv", "isend",
                                        "irecv",   "collective", "icollective", "waitall",  "test",
                                        "probe",   "iprobe",     "finalize",    "stuck",    "exit"};
    for (int r = 0; r < p->ranks; r++)
        for (int i = 0; i < p->ops[r]; i++) {
            const struct op *op = &p->op[r][i];
            if (op->kind != OP_COMPUTE)
                printf("%s%s%d %s call %d comm %d to %d from %d tag %d rtag %d bytes %llu root %d\n",
                       p->blame[r] ? "!" : " ", run->stuck[r] && i == run->done[r] - 1 ? ">" : " ", r, kinds[op->kind],
                       (int)op->call, op->comm, op->to, op->from, op->tag, op->rtag, (unsigned long long)op->bytes,
                       op->root);
        }
}

static void try(uint64_t seed, const char *folder, int verbose)
{
    static struct program program;
    static struct run run;
    generate(seed, &program);
    simulate(&program, &run);
    uint64_t random = seed * 31 + 7;
    enum truth truth = run.finished ? (random_below(&random, 2) ? FINISHES : CUT) : HANGS;
    int64_t ns = truth == FINISHES ? run.last + 1000000
                 : truth == HANGS  ? run.last + LONG_NS
                                   : 1000000 + (int64_t)(random_next(&random) % (uint64_t)(run.last - 1000000));
    clear(folder);
    record(&program, &run, ns, folder);
    struct ana_job *job;
    char error[512];
    if (ana_job_open((const char *const[]){folder}, 1, &job, error, sizeof error) != TRC_OK) {
        fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, error);
        exit(1);
    }
    const struct ana_verdict *verdict = ana_job_verdict(job);
    if (!verdict)
        exit(1);
    const char *wrong = judge(&program, truth, job, verdict, &(*rows)[program.fault][truth]);
    if (wrong && verbose)
        printf("seed %llu, %d ranks, %s: %s: %s %s %s: %s\n", (unsigned long long)seed, program.ranks,
               fault_name[program.fault], wrong, ana_verdict_state_name(verdict->state),
               verdict->id ? ana_verdict_class_name(verdict->id) : "-", ana_confidence_name(verdict->confidence),
               verdict->summary.text);
    if (verbose > 1)
        describe(&program, &run);
    ana_job_close(job);
}

static void print(const table *all, unsigned processes)
{
    static const char *const ends[] = {"finishes", "is cut off", "hangs"};
    printf("| fault | the program | programs | right | missed | names nobody | names others, too | names others | "
           "false alarms | proven, wrong |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (int f = 0; f < FAULTS; f++)
        for (int t = 0; t < TRUTHS; t++) {
            struct row sum = {0};
            for (unsigned i = 0; i < processes; i++)
                for (size_t k = 0; k < sizeof sum / sizeof(unsigned); k++)
                    ((unsigned *)&sum)[k] += ((const unsigned *)&all[i][f][t])[k];
            if (sum.programs)
                printf("| %s | %s | %u | %.1f %% | %u | %u | %u | %u | %u | %u |\n", fault_name[f], ends[t],
                       sum.programs, 100.0 * sum.right / sum.programs, sum.missed, sum.no_name, sum.more_names,
                       sum.wrong_name, sum.false_alarms, sum.proven_wrong);
        }
}

struct options {
    uint64_t programs, first;
    unsigned processes;
    int verbose;
};

/* Every `processes`-th program, from `first` + `index` on. */
static int judge_share(const struct options *o, unsigned index)
{
    char folder[] = "/dev/shm/yardstick-XXXXXX";
    /* A large block is given back at once, so that a new one is of zeros without anybody writing them. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    for (uint64_t i = index; i < o->programs; i += o->processes)
        try(o->first + i, folder, o->verbose);
    clear(folder);
    rmdir(folder);
    return 0;
}

static bool parse(int argc, char **argv, struct options *o)
{
    for (int c; (c = getopt(argc, argv, "j:n:s:v")) != -1;)
        switch (c) {
        case 'j':
            o->processes = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'n':
            o->programs = strtoull(optarg, NULL, 10);
            break;
        case 's':
            o->first = strtoull(optarg, NULL, 10);
            break;
        case 'v':
            o->verbose++;
            break;
        default:
            return false;
        }
    return optind == argc && o->processes > 0;
}

int main(int argc, char **argv)
{
    struct options o = {.programs = 1000, .first = 1, .processes = (unsigned)sysconf(_SC_NPROCESSORS_ONLN)};
    if (!parse(argc, argv, &o)) {
        fprintf(stderr, "usage: yardstick [-j PROCESSES] [-n PROGRAMS] [-s FIRST SEED] [-v | -vv]\n");
        return 64;
    }
    table *all = mmap(NULL, o.processes * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
        perror("yardstick");
        return 1;
    }
    for (unsigned i = 0; i < o.processes; i++)
        if (fork() == 0) {
            rows = &all[i];
            exit(judge_share(&o, i));
        }
    bool good = true;
    for (int status; wait(&status) > 0;)
        good &= status == 0;
    print(all, o.processes);
    return !good;
}
