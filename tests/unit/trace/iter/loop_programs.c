/* Random programs of nested loops whose iterations are known: how often their number is found.
 *
 *   loop_programs [FIRST_SEED COUNT]
 *
 * A program has a prologue (perhaps with a short loop), a main loop, perhaps inside one that repeats too seldom to
 * count, and an epilogue.  The main loop calls plainly, in inner loops of constant or changing numbers of times, on
 * some ranks only, and every k-th time only.  Numbers of times are the same on all ranks. */
#include "tests/support/planted.h"
#include "trace/session/session.h"
#include <stdlib.h>

enum { RANKS = 3, PARTS = 6, RIGHT_PERCENT = 94 };

enum part_kind { PLAIN, INNER, SOME_RANKS, EVERY };
struct part {
    enum part_kind kind;
    int calls, site; /* calls of its own, one after the other */
    int times, more; /* INNER: least number, and most more at random; EVERY: k */
    int phase;
    bool nested;       /* INNER: another loop in it */
    enum tb_call call; /* call that it makes */
};
struct program {
    struct part part[PARTS];
    int parts, iterations, outer;
    bool has_changing, has_every;
};

static uint64_t state;
static int random_below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static void call_at(struct planted *p, int rank, enum tb_call call, int site)
{
    struct trc_sig sig = tb_sig(call);
    sig.site = (uint64_t)site;
    tb_event(p->tb[rank], 0, &sig, p->at[rank], p->at[rank] + US, (struct tb_more){0});
    p->at[rank] += US + 100 * random_below(40);
}

static void all_call(struct planted *p, enum tb_call call, int site)
{
    for (int r = 0; r < RANKS; r++)
        p->at[r] += 10 * US + 100 * random_below(20);
    if (call == TB_ALLREDUCE)
        planted_meet(p, (uint64_t)site, TB_WORLD, UINT64_MAX);
    else
        for (int r = 0; r < RANKS; r++)
            call_at(p, r, call, site);
}

static void run_inner(struct planted *p, const struct part *part)
{
    int times = part->times + (part->more ? random_below(part->more + 1) : 0);
    for (int t = 0; t < times; t++) {
        for (int c = 0; c < part->calls; c++)
            all_call(p, part->call, part->site + c);
        for (int n = part->nested ? 2 + random_below(3) : 0; n > 0; n--)
            all_call(p, TB_FILE_WRITE, part->site + 8);
    }
}

static void run_part(struct planted *p, const struct part *part, int iteration)
{
    if (part->kind == INNER)
        run_inner(p, part);
    else if (part->kind == SOME_RANKS)
        for (int r = 0; r < RANKS; r += 2)
            call_at(p, r, TB_COMM_DUP, part->site);
    else if (part->kind == PLAIN || iteration % part->times == part->phase)
        for (int c = 0; c < part->calls; c++)
            all_call(p, part->call, part->site + c);
}

static struct program make_program(void)
{
    static const enum tb_call calls[] = {TB_ALLREDUCE, TB_WIN_FENCE, TB_PUT, TB_ALLREDUCE};
    struct program g = {.parts = 1 + random_below(PARTS), .iterations = 10 + random_below(120), .outer = 1};
    int plain = random_below(g.parts);
    if (random_below(4) == 0)
        g.outer = 2 + random_below(3);
    for (int i = 0; i < g.parts; i++) {
        struct part *part = &g.part[i];
        *part = (struct part){.kind = i == plain ? PLAIN : (enum part_kind)random_below(4),
                              .calls = 1 + random_below(3),
                              .site = 0x1000 + 0x10 * i,
                              .call = calls[random_below(4)]};
        if (part->kind == INNER) {
            part->times = random_below(5);
            part->more = random_below(2) || !part->times ? 1 + random_below(5) : 0;
            part->nested = random_below(4) == 0;
            g.has_changing |= part->more > 0;
        } else if (part->kind == EVERY) {
            part->times = 2 + random_below(19);
            part->phase = random_below(2) ? random_below(part->times) : part->times - 1;
            part->call = random_below(2) ? TB_FILE_WRITE : part->call;
            g.has_every = true;
        }
    }
    return g;
}

/* Runs a program; returns how many iterations were found. */
static uint64_t found_in(const struct program *g, struct ana_summary *s)
{
    struct planted p = planted_begin("programs", RANKS);
    for (int i = random_below(4); i > 0; i--)
        all_call(&p, TB_ALLREDUCE, 0x100 + i);
    for (int i = random_below(2) ? 6 : 0; i > 0; i--)
        all_call(&p, TB_ALLREDUCE, 0x200);
    for (int o = 0; o < g->outer; o++) {
        if (g->outer > 1)
            all_call(&p, TB_ALLREDUCE, 0x300);
        for (int i = 0; i < g->iterations; i++)
            for (int k = 0; k < g->parts; k++)
                run_part(&p, &g->part[k], i);
    }
    for (int i = random_below(4); i > 0; i--)
        all_call(&p, TB_ALLREDUCE, 0x400 + i);
    struct ana_job *job = planted_open(&p);
    *s = folder_summary(job);
    uint64_t count = s->iterations.levels ? s->iterations.loop[s->iterations.level].count : 0;
    ana_job_close(job);
    folder_remove();
    return count;
}

static void say(uint64_t seed, const struct program *g, const struct ana_summary *s)
{
    static const char *const names[] = {"plain", "inner", "some", "every"};
    printf("seed %llu: %d iterations of", (unsigned long long)seed, g->iterations * g->outer);
    for (int i = 0; i < g->parts; i++)
        printf(" %s x%d call %d (%d+%d ph %d)%s", names[g->part[i].kind], g->part[i].calls, g->part[i].call,
               g->part[i].times, g->part[i].more, g->part[i].phase, g->part[i].nested ? " nested" : "");
    printf("; found");
    for (size_t i = 0; i < s->iterations.levels; i++)
        printf(" %s%llu%s at %s", i == s->iterations.level ? "*" : "", (unsigned long long)s->iterations.loop[i].count,
               s->iterations.loop[i].is_detour ? " (detour)" : "", s->iterations.loop[i].end.place);
    printf("\n");
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 2 ? strtoull(argv[1], NULL, 0) : 1000000,
             count = argc > 2 ? strtoull(argv[2], NULL, 0) : 300;
    unsigned all[4] = {0}, right[4] = {0};
    for (uint64_t seed = first; seed < first + count; seed++) {
        state = seed * 0x9e3779b97f4a7c15u;
        struct program g = make_program();
        struct ana_summary s;
        bool is_right = found_in(&g, &s) == (uint64_t)(g.iterations * g.outer);
        int kind = g.has_changing + 2 * g.has_every;
        all[kind]++;
        right[kind] += is_right;
        if (!is_right && argc > 3)
            say(seed, &g, &s);
        ana_summary_free(&s);
    }
    static const char *const what[] = {"constant inner loops only", "changing inner loops", "every k-th time",
                                       "changing, and every k-th time"};
    unsigned sum = 0;
    for (int i = 0; i < 4; i++) {
        printf("%s: %u of %u right\n", what[i], right[i], all[i]);
        sum += right[i];
    }
    CHECK(sum * 100 >= count * RIGHT_PERCENT, "%u of %llu right", sum, (unsigned long long)count);
    return check_result();
}
