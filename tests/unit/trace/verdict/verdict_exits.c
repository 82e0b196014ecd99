/* Ranks that leave by exit: in a handler of a signal that they caused themselves, from a callback, or because the MPI
 * library has lost its launcher in MPI_Finalize. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/job/job.h"
#include "trace/verdict/verdict.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define S  INT64_C(1000000000)
#define MS INT64_C(1000000)

enum { RANKS = 4, CODE = 9 };

#define LIBC    "native\texit+0x1\tlibc.so.6+0x2\n"
#define LIBRARY "native\tMPI_Finalize+0x1\tlibmpich.so.12+0x2\n"
#define PROGRAM "native\tmain+0x1\tapp+0x2\n"

static const struct {
    const char *what;
    int signal;        /* signal that rank 3 handles when it leaves */
    const char *stack; /* stack of ranks 0, 1 and 3, leaving in MPI_Finalize; NULL: only rank 3 leaves */
    const char *want;
} cases[] = {
    {"in its handler of a signal from outside", SIGTERM, NULL, "aborted killed proven "},
    {"in its handler of its own timer", SIGALRM, NULL, "aborted early-exit proven 3"},
    {"in its handler of its crash", SIGSEGV, NULL, "aborted dead-rank proven 3"},
    {"by the library in MPI_Finalize", 0, LIBC LIBRARY PROGRAM, "aborted killed likely "},
    {"by a callback in MPI_Finalize", 0, LIBC "native\tcallback+0x1\tapp+0x9\n" LIBRARY PROGRAM,
     "aborted early-exit proven 0"},
};

/* The process notes its end; its last heartbeat came 50 ms before. */
static void note_end(struct tb *tb, int64_t at, enum trc_end_by by, int signal)
{
    struct trc_end *end = &tb_head(tb)->end;
    tb_running(tb, at - 50 * MS);
    end->ticks = tb_ticks(tb, at);
    end->by = by;
    end->signal = signal;
    end->code = by == TRC_END_SIGNAL ? 0 : CODE;
    end->sender = by == TRC_END_SIGNAL ? 4711 : 0;
    end->watched = UINT64_C(1) << (SIGTERM - 1);
}

static void leave_finalizing(struct tb *tb, int r, const char *stack)
{
    const struct trc_sig sig = tb_sig(TB_FINALIZE);
    const uint16_t flags = TRC_STACK_MAIN | TRC_STACK_CRASHED;
    tb_inside(tb, 0, &sig, 3 * S, 1);
    note_end(tb, 8 * S + r * MS, TRC_END_EXIT, 0);
    tb_stack(tb, 1, 1, (struct trc_def_stack){.reason = TRC_STACK_EXIT, .flags = flags}, stack);
    tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_EXIT, .flags = TRC_STACK_CLOSING}, "");
}

/* Makes a rank that runs after a first barrier; *sig: a further one. */
static struct tb *begin_rank(int r, struct trc_sig *sig)
{
    struct tb *tb = tb_new(r, RANKS);
    *sig = tb_sig(TB_BARRIER);
    sig->comm = TB_WORLD;
    sig->flags = TRC_SIG_COLL;
    tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 0);
    tb_running(tb, 8 * S);
    return tb;
}

static void make(size_t k)
{
    folder_make("exits");
    for (int r = 0; r < RANKS; r++) {
        struct trc_sig sig;
        struct tb *tb = begin_rank(r, &sig);
        if (cases[k].stack && r != 2)
            leave_finalizing(tb, r, cases[k].stack);
        if (!cases[k].stack && r != 2)
            tb_inside(tb, 0, &sig, 8 * S - 400 * MS, 1);
        if (!cases[k].stack)
            note_end(tb, 8 * S + (r == 3 ? 0 : 20 * MS), r == 3 ? TRC_END_EXIT : TRC_END_SIGNAL,
                     r == 3 ? cases[k].signal : SIGTERM);
        folder_write(tb, r);
        tb_free(tb);
    }
}

/* Rank 3 ends after MPI_Finalize at a time; the others, still inside it, were told to end at 8 s. */
static void make_exited(int64_t at, int code, int signal, bool told)
{
    folder_make("exited");
    for (int r = 0; r < RANKS; r++) {
        struct tb *tb = tb_new(r, RANKS);
        const struct trc_sig sig = tb_sig(TB_FINALIZE);
        tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 0);
        if (r < 3 && told) {
            tb_inside(tb, 0, &sig, 8 * S - 400 * MS, 1);
            note_end(tb, 8 * S, TRC_END_SIGNAL, SIGTERM);
        } else if (r == 3 && (code || signal)) {
            tb_head(tb)->end = (struct trc_end){.ticks = tb_ticks(tb, at),
                                                .by = signal ? TRC_END_SIGNAL : TRC_END_EXIT,
                                                .signal = signal,
                                                .code = code};
        }
        folder_write(tb, r);
        tb_free(tb);
    }
}

static void exited(void)
{
    static const struct {
        const char *what;
        int64_t at;
        int code, signal;
        bool told;
        const char *want;
    } ends[] = {
        {"an exit code, then the others were told", 8 * S - 20 * MS, 9, 0, true,
         "rank 3 ended with exit code 9 after MPI_Finalize, and the launcher ended the others for it (SIGTERM)"},
        {"the others were told, then an exit code", 8 * S + 20 * MS, 9, 0, true,
         "3 ranks were told to end: SIGTERM (process 4711)"},
        {"a crash, then the others were told", 8 * S - 20 * MS, 0, SIGABRT, true,
         "rank 3 crashed by SIGABRT after MPI_Finalize, and the launcher ended the others for it (SIGTERM)"},
        {"a crash after all had finished", 8 * S - 20 * MS, 0, SIGABRT, false,
         "rank 3 crashed by SIGABRT after MPI_Finalize"},
        {"an exit code after all had finished", 8 * S - 20 * MS, 9, 0, false, ""},
        {"no exit code", 8 * S - 20 * MS, 0, 0, true, "3 ranks were told to end: SIGTERM (process 4711)"},
    };
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        make_exited(ends[k].at, ends[k].code, ends[k].signal, ends[k].told);
        struct ana_job *job = folder_open();
        const struct ana_verdict *v = ana_job_verdict(job);
        CHECK(v && strcmp(v->summary.text, ends[k].want) == 0, "%s: %s", ends[k].what, v ? v->summary.text : "");
        ana_job_close(job);
        folder_remove();
    }
}

/* All ranks return `code` from main, rank 2 first; rank 1 returns `odd`. */
static void check_all(const char *what, int code, int odd, const char *summary, const char *next)
{
    folder_make("all");
    for (int r = 0; r < RANKS; r++) {
        struct tb *tb = tb_new(r, RANKS);
        tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 0);
        note_end(tb, 8 * S + (r == 2 ? 0 : MS), TRC_END_RETURN, 0);
        tb_head(tb)->end.code = r == 1 ? odd : code;
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v && v->id == ANA_CLASS_EARLY_EXIT && strcmp(v->summary.text, summary) == 0, "%s: %s", what,
          v ? v->summary.text : "");
    CHECK(v && strncmp(v->next, next, strlen(next)) == 0, "%s: %s", what, v ? v->next : "");
    ana_job_close(job);
    folder_remove();
}

/* Ranks that were killed while they waited for rank 2; hpctop record saw them end at these times, 0: it did not. */
static void make_seen(const int64_t *at)
{
    folder_make("seen");
    for (int r = 0; r < RANKS; r++) {
        struct trc_sig sig;
        struct tb *tb = begin_rank(r, &sig);
        if (r != 2)
            tb_inside(tb, 0, &sig, 3 * S, 1);
        tb_head(tb)->end.ticks = at[r] ? tb_ticks(tb, 8 * S + at[r]) : 0;
        folder_write(tb, r);
        tb_free(tb);
    }
}

static void seen(void)
{
    static const struct {
        const char *what;
        int64_t at[RANKS];
        enum ana_verdict_class id;
        enum ana_confidence confidence;
        const char *says; /* a fact */
    } ends[] = {
        {"one was seen to end first",
         {35 * MS, 20 * MS, 34 * MS, 36 * MS},
         ANA_CLASS_DEAD,
         ANA_LIKELY,
         "hpctop record saw its process end 14 ms before the others: the launcher ended them after it"},
        {"one sweep", {20 * MS, 21 * MS, 21 * MS, 22 * MS}, ANA_CLASS_KILLED, ANA_LIKELY, ""},
        {"a slow sweep", {28 * MS, 20 * MS, 28 * MS, 29 * MS}, ANA_CLASS_KILLED, ANA_POSSIBLE, ""},
        {"apart", {20 * MS, 28 * MS, 35 * MS, 41 * MS}, ANA_CLASS_KILLED, ANA_POSSIBLE, ""},
        {"one was not seen", {35 * MS, 20 * MS, 34 * MS, 0}, ANA_CLASS_KILLED, ANA_LIKELY, ""},
    };
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        make_seen(ends[k].at);
        struct ana_job *job = folder_open();
        const struct ana_verdict *v = ana_job_verdict(job);
        bool says = !*ends[k].says;
        for (size_t i = 0; v && i < v->facts; i++)
            says |= strcmp(v->fact[i].text, ends[k].says) == 0;
        CHECK(v && v->id == ends[k].id && v->confidence == ends[k].confidence && says &&
                  (v->id != ANA_CLASS_DEAD || (v->culprits == 1 && v->culprit[0] == 1)),
              "%s: %s, %s", ends[k].what, v ? v->summary.text : "", v ? ana_confidence_name(v->confidence) : "");
        ana_job_close(job);
        folder_remove();
    }
}

int main(void)
{
    check_all("all with an error", 3, 3, "ranks 0-3 returned 3 from main without MPI_Finalize (last call MPI_Barrier)",
              "what the program printed: all ranks ended alike with exit code 3");
    check_all("all without", 0, 0, "ranks 0-3 returned 0 from main without MPI_Finalize (last call MPI_Barrier)",
              "the end of the program: all ranks ended alike with exit code 0");
    check_all("one otherwise", 3, 0,
              "rank 2 returned 3 from main without MPI_Finalize (last call MPI_Barrier); ranks 0, 1 and 3 too",
              "why that rank left early");
    exited();
    seen();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char got[128] = "out of memory";
        make(k);
        struct ana_job *job = folder_open();
        const struct ana_verdict *v = ana_job_verdict(job);
        if (v)
            snprintf(got, sizeof got, "%s %s %s ", ana_verdict_state_name(v->state),
                     v->id ? ana_verdict_class_name(v->id) : "-", ana_confidence_name(v->confidence));
        for (size_t i = 0; v && i < v->culprits; i++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%zu", v->culprit[i]);
        CHECK(strcmp(got, cases[k].want) == 0, "%s: %s, not %s", cases[k].what, got, cases[k].want);
        ana_job_close(job);
        folder_remove();
    }
    return check_result();
}
