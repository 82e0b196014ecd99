/* Rate of right verdicts on random programs whose end is known:
 * yardstick [-j PROCESSES] [-n PROGRAMS] [-s FIRST SEED] [-k FILE] [-v | -vv], or yardstick -w SEED [-r FOLDER].
 *
 * Each program is met at one moment.  One that hangs: mostly 40 s after anything moved for the last time.  One that
 * does not: at its end or at a random moment.  Prints a table of programs that hang or are broken, by fault, and one of
 * programs that move.  -k: judged cases are saved in FILE, from where a later run goes on.  -v: and a line for each
 * wrong verdict; -vv: and the programs.
 *
 * -w: prints the program of a seed, for real/play.c, with its truth; -r: and makes its files in FOLDER, 40 s after all
 * has ended. */
#include "tests/yardstick/judge.h"
#include "trace/session/session.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND  INT64_C(1000000000)
#define LONG_NS (40 * SECOND)

/* Programs that move, by their kind; others are counted by their fault. */
enum moving { CORRECT, PAUSING, ONE_PROCESSOR, SLOW, FAULTY, MOVING };
static const char *const moving_name[MOVING] = {"correct", "correct, some ranks pause for long",
                                                "correct, on one processor", "one rank is slow", "faulty"};

struct row {
    unsigned programs[MOMENTS], right[MOMENTS], answers[ANSWERS], proven_wrong;
};
typedef struct row table[FAULTS + MOVING];

struct options {
    uint64_t programs, first;
    unsigned processes;
    int verbose;
    const char *keep, *folder;
    bool writes;
};

/* Judged so far: programs from the first seed on. */
struct kept {
    uint64_t first, programs;
    table rows;
};
enum { BATCH = 100000 };

static void clear(const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (dir)
        closedir(dir);
}

static const char *const moment_name[MOMENTS] = {"at its end", "all killed", "killed one by one", "live"};
static const char *const truth_name[TRUTHS] = {"moves", "hangs", "broken"};
static const char *const answer_name[ANSWERS] = {
    "right", "missed", "names nobody", "names others, too", "names others", "false alarm", "proven, then moved"};

static struct program program;
static struct run run;
static int64_t killed[MOST_RANKS];

/* Chooses the moment; simulates anew where the ranks go one by one. */
static struct instant choose(uint64_t *random)
{
    struct instant at = {.moment = (enum moment)random_below(random, MOMENTS), .ns = run.last + LONG_NS};
    bool early = random_below(random, 4) == 0;
    if (run.ended_all || (!run.finished && at.moment == AT_END))
        at.moment = ALL_KILLED;
    if (run.ended_all || at.moment == AT_END)
        at.ns = run.last + SECOND;
    else if (run.finished || early)
        at.ns = 1000000 + (int64_t)(random_next(random) % (uint64_t)run.last);
    at.truth = truth_at(&program, &run, at.ns);
    if (at.moment != ONE_BY_ONE)
        return at;
    for (int r = 0; r < program.ranks; r++)
        killed[r] = at.ns + random_below(random, 10000) * INT64_C(1000000);
    simulate(&program, killed, &run);
    at.killed = killed;
    return at;
}

static struct ana_job *open_job(const char *folder)
{
    struct ana_job *job;
    char error[512];
    if (ana_job_open((const char *const[]){folder}, 1, &job, error, sizeof error) == TRC_OK)
        return job;
    fprintf(stderr, "seed %llu: %s\n", (unsigned long long)program.seed, error);
    exit(1);
}

/* Opens the job as it is met. */
static struct ana_job *meet(const struct instant *at, const char *folder)
{
    bool live = at->moment == LIVE;
    int64_t ns = at->moment == ONE_BY_ONE ? at->ns + 20 * SECOND : at->ns, first = ns > SECOND ? ns - SECOND : ns / 2;
    record_begin(&program, &run, folder);
    for (int r = 0; r < program.ranks; r++)
        record_until(r, live ? first : at->moment == ONE_BY_ONE ? killed[r] : ns);
    process_set(&program, &run, live ? first : ns + 3600 * SECOND, live);
    struct ana_job *job = open_job(folder);
    if (live) {
        for (int r = 0; r < program.ranks; r++)
            record_until(r, ns);
        process_set(&program, &run, ns, true);
        ana_job_refresh(job);
    }
    record_end();
    return job;
}

static size_t row_of(const struct program *p, enum truth truth)
{
    if (truth != MOVES)
        return p->fault;
    enum moving moving = p->fault == FAULT_SLOW ? SLOW
                         : p->fault             ? FAULTY
                         : p->one_processor     ? ONE_PROCESSOR
                         : p->pauses            ? PAUSING
                                                : CORRECT;
    return FAULTS + moving;
}

static void try(uint64_t seed, const char *folder, const struct options *o, table *rows)
{
    uint64_t random = seed * 31 + 7;
    bool proven_wrong;
    generate(seed, &program);
    simulate(&program, NULL, &run);
    struct instant at = choose(&random);
    clear(folder);
    struct ana_job *job = meet(&at, folder);
    const struct ana_verdict *v = ana_job_verdict(job);
    if (!v)
        exit(1);
    enum answer answer = judge(&program, &run, &at, job, v, &proven_wrong);
    struct row *row = &(*rows)[row_of(&program, at.truth)];
    row->programs[at.moment]++;
    row->right[at.moment] += answer == RIGHT;
    row->answers[answer]++;
    row->proven_wrong += proven_wrong;
    char said[768];
    ana_verdict_headline(v, said, sizeof said);
    if (answer != RIGHT && o->verbose)
        printf("seed %llu, %d ranks, %s, %s, %s: %s: %s %s %s: %s\n", (unsigned long long)seed, program.ranks,
               fault_name[program.fault], truth_name[at.truth], moment_name[at.moment], answer_name[answer],
               ana_verdict_state_name(v->state), v->id ? ana_verdict_class_name(v->id) : "-",
               ana_confidence_name(v->confidence), said);
    if (o->verbose > 1)
        describe(&program, &run);
    ana_job_close(job);
}

static void add_row(struct row *sum, const struct row *row)
{
    for (size_t k = 0; k < sizeof *sum / sizeof(unsigned); k++)
        ((unsigned *)sum)[k] += ((const unsigned *)row)[k];
}

static void print_shares(const struct row *row, enum moment first)
{
    for (int m = first; m < MOMENTS; m++)
        if (row->programs[m])
            printf(" %.1f |", 100.0 * row->right[m] / row->programs[m]);
        else
            printf(" |");
}

static unsigned programs_of(const struct row *row)
{
    unsigned sum = 0;
    for (int m = 0; m < MOMENTS; m++)
        sum += row->programs[m];
    return sum;
}

static void print_stuck(const table *rows)
{
    printf("| fault | programs | all killed | one by one | live | missed | names nobody | names others, too | names "
           "others | proven, wrong |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (int f = 0; f < FAULTS; f++) {
        const struct row *row = &(*rows)[f];
        if (!programs_of(row))
            continue;
        printf("| %s | %u |", fault_name[f], programs_of(row));
        print_shares(row, ALL_KILLED);
        for (int a = MISSED; a <= OTHER_NAMES; a++)
            printf(" %u |", row->answers[a]);
        printf(" %u |\n", row->proven_wrong);
    }
}

static void print_moving(const table *rows)
{
    printf("\n| program | programs | at its end | all killed | one by one | live | false alarms | proven, then moved | "
           "proven, wrong |\n|---|---|---|---|---|---|---|---|---|\n");
    for (int m = 0; m < MOVING; m++) {
        const struct row *row = &(*rows)[FAULTS + m];
        if (!programs_of(row))
            continue;
        printf("| %s | %u |", moving_name[m], programs_of(row));
        print_shares(row, AT_END);
        printf(" %u | %u | %u |\n", row->answers[FALSE_ALARM], row->answers[PROVEN_MOVES], row->proven_wrong);
    }
}

/* Every `processes`-th program, from `first` + `index` on. */
static int judge_share(const struct options *o, unsigned index, table *rows)
{
    char folder[] = "/dev/shm/yardstick-XXXXXX";
    /* A large block is given back at once, so that a new one is of zeros without anybody writing them. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    for (uint64_t i = index; i < o->programs; i += o->processes)
        try(o->first + i, folder, o, rows);
    clear(folder);
    rmdir(folder);
    return 0;
}

/* Judges a number of programs in all processes; adds to the table.  False: something failed. */
static bool judge_batch(const struct options *o, table *sum)
{
    bool good = true;
    table *all = mmap(NULL, o->processes * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return false;
    fflush(stdout);
    for (unsigned i = 0; i < o->processes; i++)
        if (fork() == 0) {
            setvbuf(stdout, NULL, _IOLBF, 0);
            exit(judge_share(o, i, &all[i]));
        }
    for (int status; wait(&status) > 0;)
        good &= status == 0;
    for (unsigned i = 0; i < o->processes; i++)
        for (int f = 0; f < FAULTS + MOVING; f++)
            add_row(&(*sum)[f], &all[i][f]);
    munmap(all, o->processes * sizeof *all);
    return good;
}

static bool load(const struct options *o, struct kept *kept)
{
    *kept = (struct kept){.first = o->first};
    FILE *f = o->keep ? fopen(o->keep, "r") : NULL;
    bool good = !f || (fread(kept, sizeof *kept, 1, f) == 1 && kept->first == o->first);
    if (f)
        fclose(f);
    return good;
}

static bool save(const struct options *o, const struct kept *kept)
{
    char anew[512];
    snprintf(anew, sizeof anew, "%s.new", o->keep);
    FILE *f = fopen(anew, "w");
    bool good = f && fwrite(kept, sizeof *kept, 1, f) == 1;
    return f && fclose(f) == 0 && good && rename(anew, o->keep) == 0;
}

static bool parse(int argc, char **argv, struct options *o)
{
    for (int c; (c = getopt(argc, argv, "j:k:n:r:s:vw:")) != -1;)
        switch (c) {
        case 'j':
            o->processes = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'k':
            o->keep = optarg;
            break;
        case 'n':
            o->programs = strtoull(optarg, NULL, 10);
            break;
        case 's':
            o->first = strtoull(optarg, NULL, 10);
            break;
        case 'r':
            o->folder = optarg;
            break;
        case 'v':
            o->verbose++;
            break;
        case 'w':
            o->first = strtoull(optarg, NULL, 10);
            o->writes = true;
            break;
        default:
            return false;
        }
    return optind == argc && o->processes > 0;
}

static int write_one(const struct options *o)
{
    generate(o->first, &program);
    simulate(&program, NULL, &run);
    write_program(&program, &run);
    if (!o->folder)
        return 0;
    record_begin(&program, &run, o->folder);
    for (int r = 0; r < program.ranks; r++)
        record_until(r, run.last + LONG_NS);
    record_end();
    return 0;
}

int main(int argc, char **argv)
{
    static struct kept kept;
    struct options o = {.programs = 1000, .first = 1, .processes = (unsigned)sysconf(_SC_NPROCESSORS_ONLN)};
    if (!parse(argc, argv, &o)) {
        fprintf(stderr, "usage: yardstick [-j PROCESSES] [-n PROGRAMS] [-s FIRST SEED] [-k FILE] [-v | -vv] | -w SEED "
                        "[-r FOLDER]\n");
        return 64;
    }
    if (o.writes)
        return write_one(&o);
    bool good = load(&o, &kept);
    while (good && kept.programs < o.programs) {
        struct options batch = o;
        uint64_t left = o.programs - kept.programs;
        batch.first = o.first + kept.programs;
        batch.programs = left < BATCH ? left : BATCH;
        good = judge_batch(&batch, &kept.rows);
        kept.programs += batch.programs;
        if (o.keep)
            good &= save(&o, &kept);
    }
    print_stuck((const table *)&kept.rows);
    print_moving((const table *)&kept.rows);
    return !good;
}
