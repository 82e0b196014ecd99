/* Random programs that make all their calls in a few functions of their own, as most do: one for halos, one for sums,
 * one that passes data on.  So a place does not tell which of the program's loops calls.  How often is the number of
 * iterations of the time loop right?
 *
 *   shared_programs [FIRST_SEED COUNT [v]]
 */
#include "tests/support/planted.h"
#include "trace/diff/diff.h"
#include "trace/session/session.h"
#include <stdlib.h>

enum { RANKS = 4, RIGHT_PERCENT = 94, WORDS = 8, LIBRARY = 90, LINES = 8 };

static uint64_t state;
static int random_below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}
static int between(int least, int most)
{
    return least + random_below(most - least + 1);
}

/* ---- the program's functions ------------------------------------------------------------------------------------ */

static struct planted p;
static int neighbours[RANKS]; /* number of neighbours of each rank */

static void call_at(int rank, enum tb_call call, int site, int tag, int bytes)
{
    struct trc_sig sig = tb_sig(call);
    sig.site = (uint64_t)site;
    sig.tag = tag;
    sig.sent = (uint64_t)bytes;
    tb_event(p.tb[rank], 0, &sig, p.at[rank], p.at[rank] + US, (struct tb_more){0});
    p.at[rank] += US + 100 * random_below(40);
}

static void halo(int tag, int bytes)
{
    for (int r = 0; r < RANKS; r++) {
        for (int i = 0; i < neighbours[r]; i++)
            call_at(r, TB_IRECV, 0x100, tag, 0);
        for (int i = 0; i < neighbours[r]; i++)
            call_at(r, TB_ISEND, 0x110, tag, bytes);
        call_at(r, TB_WAITALL, 0x120, 0, 0);
    }
}

static void sum(void)
{
    for (int r = 0; r < RANKS; r++)
        p.at[r] += 10 * US + 100 * random_below(20);
    planted_meet(&p, 0x200, TB_WORLD, UINT64_MAX);
}

static void pass_on(int site)
{
    for (int direction = 0; direction < 3; direction++)
        for (int r = 0; r < RANKS; r++)
            call_at(r, TB_SENDRECV, site, 1, 64);
}

static void save(void)
{
    for (int r = 0; r < RANKS; r++)
        call_at(r, TB_FILE_WRITE, 0x400, 0, 512);
}

static void all_call(enum tb_call call, int site)
{
    for (int r = 0; r < RANKS; r++)
        call_at(r, call, site, 0, 0);
}

/* ---- loops; each returns its number of iterations ---------------------------------------------------------------- */

static void solve(int steps)
{
    sum();
    for (int i = 0; i < steps; i++) {
        halo(1, 512);
        sum();
        sum();
    }
    halo(1, 512);
    sum();
}

static int solve_fixed(void)
{
    int rounds = between(8, 50), steps = between(5, 30);
    if (random_below(2))
        solve(steps);
    for (int i = 0; i < rounds; i++) {
        solve(steps);
        sum();
        sum();
    }
    return rounds;
}

/* Converges sooner or later. */
static int solve_varying(void)
{
    int rounds = between(8, 40), least = between(3, 15), most = least + between(1, 15);
    for (int i = 0; i < rounds; i++) {
        solve(between(least, most));
        sum();
    }
    return rounds;
}

/* A V-cycle on each grid, coarser ones with less to send. */
static int multigrid(void)
{
    int rounds = between(8, 50), grids = between(2, 5);
    sum();
    for (int i = 0; i < rounds; i++) {
        for (int g = grids - 1; g > 0; g--)
            halo(1, 64 << g);
        for (int g = 0; g < grids; g++)
            halo(1, 64 << g);
        halo(1, 64 << (grids - 1));
    }
    sum();
    return rounds;
}

/* Multigrid that smoothes another number of times on each grid, and has a norm each time. */
static int multigrid_norm(void)
{
    int rounds = between(8, 40), grids = between(2, 4), smooth = between(1, 3);
    for (int i = 0; i < rounds; i++) {
        for (int g = grids - 1; g > 0; g--)
            for (int s = 0; s < smooth + g; s++)
                halo(g, 128);
        for (int g = 0; g < grids; g++)
            halo(g, 128);
        sum();
    }
    return rounds;
}

static int preconditioned(void)
{
    int sets = between(1, 3), rounds = between(10, 50), grids = between(1, 5);
    for (int set = 0; set < sets; set++) {
        sum();
        for (int i = 0; i < rounds; i++) {
            for (int g = 0; g < grids; g++)
                halo(1, 64);
            sum();
            halo(1, 64);
            sum();
            sum();
        }
    }
    return sets * rounds;
}

/* Time steps of molecules: neighbours are found anew every so often, something is printed every so often. */
static int molecules(void)
{
    int rounds = between(20, 120), anew = between(4, 20), prints = anew * between(1, 5), many = random_below(2);
    for (int i = 1; i <= rounds; i++) {
        if (i % anew == 0) {
            sum();
            halo(1, many ? 64 * between(4, 80) : 256);
            halo(2, 512);
        } else {
            pass_on(0x300);
        }
        pass_on(0x310);
        if (i % prints == 0)
            sum();
    }
    return rounds;
}

/* An explicit scheme: a time step over all, halos; a file every so often, with a halo of its own or none. */
static int explicit_steps(void)
{
    int rounds = between(20, 120), saves = between(5, 25), halos = between(1, 4), fill = random_below(2);
    for (int i = 0; i < rounds; i++) {
        sum();
        for (int h = 0; h < halos; h++)
            halo(1, 512);
        if ((i + 1) % saves == 0) {
            if (fill)
                halo(1, 512);
            save();
        }
    }
    return rounds;
}

/* Before the time loop another one, of the same functions, some of it with the same order of calls. */
static int after_another(void)
{
    int before = between(5, 20), rounds = between(30, 100), halos = between(2, 4);
    for (int i = 0; i < before; i++) {
        halo(1, 512);
        sum();
    }
    for (int i = 0; i < rounds; i++) {
        for (int h = 0; h < halos; h++)
            halo(1, 512);
        sum();
        halo(2, 512);
        sum();
        sum();
    }
    return rounds;
}

/* Time steps, in each some of Newton's, in each a linear solver that converges sooner or later. */
static int newton(void)
{
    int rounds = between(6, 25), newtons = between(2, 4), more = random_below(2);
    for (int i = 0; i < rounds; i++) {
        pass_on(0x300);
        for (int n = newtons + (more ? random_below(3) : 0); n > 0; n--) {
            halo(2, 256);
            sum();
            for (int k = between(4, 12); k > 0; k--) {
                halo(1, 512);
                sum();
                sum();
            }
        }
        sum();
    }
    return rounds;
}

/* Sums as a library makes them of messages and broadcasts: it calls at one place before and after the messages. */
static int library_sums(void)
{
    int rounds = between(20, 120), asks = between(2, 3);
    for (int i = 0; i < rounds; i++) {
        all_call(TB_COMM_RANK, 0x600);
        for (int k = 0; k < asks; k++) {
            if (k > 0)
                pass_on(0x300);
            all_call(TB_COMM_DUP, 0x610);
        }
        sum();
        sum();
    }
    return rounds;
}

/* Steps with a place of their own, which assemble three times by a library of many places, and solve in fewer steps
 * once they have settled. */
static int assembled(void)
{
    int rounds = between(20, 40), steps = between(3, 6), more = rounds / between(5, 8);
    for (int i = 0; i < rounds; i++) {
        planted_meet(&p, 0x700, TB_WORLD, UINT64_MAX);
        for (int k = 0; k < 3 * LIBRARY; k++)
            all_call(TB_COMM_DUP, 0x1000 + 16 * (k % LIBRARY));
        solve(steps + (i < more ? more - i : 0));
    }
    return rounds;
}

/* Sums of a function that is called from line `line` of the program. */
static void sums_from(int line, int times)
{
    for (; times > 0; times--) {
        p.path = (uint32_t)line;
        sum();
    }
    p.path = 0;
}

/* A block of vectors, from which the ones that have converged are taken out: a solver for each, and sums of each with
 * each, made by one function that is called from several lines. */
static int block(void)
{
    int rounds = between(12, 40), vectors = between(4, 10);
    for (int i = 0; i < rounds; i++) {
        for (int v = 0; v < vectors; v++) {
            all_call(TB_COMM_DUP, 0x800);
            for (int k = 0; k < 3; k++)
                halo(k, 64);
        }
        for (int line = 1; line <= 5; line++)
            sums_from(line, line % 2 ? vectors * vectors : vectors);
        vectors -= vectors > 3 && random_below(4) == 0;
    }
    return rounds;
}

/* Solvers that end in the middle of an iteration, and a sum after each. */
static int ended_inside(void)
{
    int rounds = between(8, 40), least = between(3, 15), most = least + between(4, 20);
    for (int i = 0; i < rounds; i++) {
        for (int k = between(least, most);; k--) {
            all_call(TB_COMM_DUP, 0x900);
            planted_meet(&p, 0x910, TB_WORLD, UINT64_MAX);
            if (k == 0)
                break;
            pass_on(0x300);
            planted_meet(&p, 0x920, TB_WORLD, UINT64_MAX);
        }
        planted_meet(&p, 0x930, TB_WORLD, UINT64_MAX);
    }
    return rounds;
}

/* Phases without a loop: each calls its own functions several times, and one function that all phases call; two phases
 * send to three neighbours. */
static int phases(void)
{
    bool sends = random_below(2);
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 2 + i % 3; k++)
            for (int c = 0; c < 3 + i; c++)
                all_call(TB_COMM_DUP, 0x2000 + 0x100 * i + 0x10 * c);
        for (int k = 0; sends && i < 2 && k < 3; k++)
            pass_on(0xa00);
        for (int r = 0; r < RANKS; r++)
            p.at[r] += 3 * MS;
        sums_from(1 + i, 1);
    }
    return 0;
}

/* Rank 0 hands out tasks, the others come for them; an iteration is a task of one rank. */
static int master(void)
{
    int tasks = between(20, 150), most = 0, of[RANKS] = {0};
    for (int i = 0; i < tasks; i++) {
        int worker = between(1, RANKS - 1);
        of[worker]++;
        most = of[worker] > most ? of[worker] : most;
        call_at(worker, TB_SEND, 0x500, 1, 8);
        p.at[0] = p.at[0] > p.at[worker] ? p.at[0] : p.at[worker];
        call_at(0, TB_RECV, 0x510, 1, 8);
        call_at(0, TB_SEND, 0x520, 2, 8);
        p.at[worker] = p.at[0];
        call_at(worker, TB_RECV, 0x530, 2, 8);
    }
    return most;
}

/* Any order of calls, each time the same. */
static bool repeats(const int *word, int n)
{
    for (int period = 1; period < n; period++) {
        bool same = n % period == 0;
        for (int i = 0; same && i < n; i++)
            same = word[i] == word[(i + period) % n];
        if (same)
            return true;
    }
    return false;
}
static int any_order(void)
{
    int word[WORDS], n = between(2, WORDS), rounds = between(10, 80);
    do {
        for (int i = 0; i < n; i++)
            word[i] = random_below(4);
    } while (repeats(word, n));
    for (int i = 0; i < rounds; i++)
        for (int k = 0; k < n; k++)
            if (word[k] == 3)
                pass_on(0x300);
            else if (word[k] == 2)
                sum();
            else
                halo(word[k], 64);
    return rounds;
}

/* ---- number of right ones ---------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(void);
} kinds[] = {{"a solver, fixed steps", solve_fixed},
             {"a solver, varying steps", solve_varying},
             {"multigrid", multigrid},
             {"multigrid with a norm", multigrid_norm},
             {"preconditioned", preconditioned},
             {"molecules", molecules},
             {"explicit steps", explicit_steps},
             {"after another loop", after_another},
             {"newton", newton},
             {"library sums", library_sums},
             {"assembled", assembled},
             {"a block of vectors", block},
             {"ended inside", ended_inside},
             {"phases", phases},
             {"master and workers", master},
             {"any order", any_order}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Whether a diff of the job with itself compares the iterations that its summary has: all between two ends, of
 * the rank with fewest. */
static bool diff_agrees(struct ana_job *job, const struct ana_iterations *of)
{
    const struct ana_selection all = {.begin_ns = 0, .end_ns = INT64_MAX}, selection[2] = {all, all};
    struct ana_job *const both[2] = {job, job};
    struct ana_diff diff;
    CHECK(ana_diff_jobs(both, selection, &diff));
    const uint64_t found = diff.run[0].iterations, count = of->levels ? of->loop[of->level].count - 1 : 0;
    const bool same_loop = found <= count && found + 1 >= count && diff.run[1].iterations == found;
    ana_diff_free(&diff);
    return same_loop;
}

/* Names the lines from which sums are called. */
static void define_lines(void)
{
    for (int r = 0; r < RANKS; r++) {
        tb_site(p.tb[r], 0x200, "sum+0x5", "shared+0x200");
        for (uint32_t line = 1; line <= LINES; line++) {
            char where[32];
            snprintf(where, sizeof where, "shared+0x1%04x", line);
            tb_site(p.tb[r], 0x10000 + line, "", where);
            tb_path(p.tb[r], line, (const uint64_t[]){0x200, 0x10000 + line}, 2, TRC_PATH_WHOLE);
        }
    }
}

static bool is_right(uint64_t seed, bool say)
{
    state = seed * 0x9e3779b97f4a7c15u;
    p = planted_begin("shared", RANKS);
    bool open = random_below(2); /* ends of a row of ranks have one neighbour */
    for (int r = 0; r < RANKS; r++)
        neighbours[r] = open && (r == 0 || r == RANKS - 1) ? 1 : 2;
    define_lines();
    for (int i = random_below(3); i > 0; i--)
        halo(1, 512);
    for (int i = random_below(2); i > 0; i--)
        sum();
    int truth = kinds[seed % KINDS].run();
    for (int i = random_below(2); i > 0; i--)
        sum();
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const struct ana_iterations *of = &s.iterations;
    long long found = of->levels ? (long long)of->loop[of->level].count : 0;
    bool right = llabs(found - truth) <= 2; /* time before and after may count as one more each */
    if (!right && say) {
        printf("seed %llu, %s: %d iterations; found", (unsigned long long)seed, kinds[seed % KINDS].name, truth);
        for (size_t i = 0; i < of->levels; i++)
            printf(" %s%llu%s at %s", i == of->level ? "*" : "", (unsigned long long)of->loop[i].count,
                   of->loop[i].is_detour ? " (detour)" : "", of->loop[i].end.place);
        printf("\n");
    }
    /* workers have fewer tasks than the one with most, and a diff compares as many as all have */
    CHECK(kinds[seed % KINDS].run == master || diff_agrees(job, of),
          "seed %llu, %s: report and diff have different loops", (unsigned long long)seed, kinds[seed % KINDS].name);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
    return right;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 2 ? strtoull(argv[1], NULL, 0) : 11000,
             count = argc > 2 ? strtoull(argv[2], NULL, 0) : 20 * KINDS;
    unsigned all[KINDS] = {0}, right[KINDS] = {0}, sum_right = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        all[seed % KINDS]++;
        right[seed % KINDS] += is_right(seed, argc > 3);
    }
    for (int i = 0; i < KINDS; i++) {
        printf("%s: %u of %u right\n", kinds[i].name, right[i], all[i]);
        sum_right += right[i];
    }
    printf("%u of %llu right\n", sum_right, (unsigned long long)count);
    CHECK(sum_right * 100 >= count * RIGHT_PERCENT, "%u of %llu right", sum_right, (unsigned long long)count);
    return check_result();
}
