/* Rate of right verdicts on NCCL: random programs of MPI and NCCL with one fault or none, whose end a
 * simulation knows.  The files of one moment are judged, as after kill -9 of all ranks: 40 s after anything moved or,
 * of programs that do not hang, at their end or at a random moment.  Prints a row for each kind of fault.
 *
 * nccl_random [PROGRAMS [FIRST SEED]]: also prints the errors. */
#include "tests/support/check.h"
#include "tests/support/nccl_program.h"
#include "tests/support/trace_folder.h"
#include "trace/verdict/verdict.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LONG_NS  INT64_C(40000000000)
#define SHORT_NS INT64_C(300000000)
enum { PROGRAMS = 1300, FIRST_COMM = 3, MOST_BYTES = 4 << 20 };

static struct row {
    unsigned programs, right, missed, no_name, more_names, other_names, other_class, false_alarms, proven_wrong;
} rows[NP_FAULTS][2]; /* finishes or is cut off, hangs */

/* ---- trace of a recorder ----------------------------------------------------------------------------------------- */

static void write_comms(struct tb *tb, const struct np_program *p, int rank)
{
    static const char *const names[] = {"a", "b", "c"};
    for (int c = 0; c < p->comms; c++) {
        int in = np_rank_in(&p->comm[c], rank);
        struct trc_def_comm def = {
            .identity = 0xa00u + (uint64_t)c, .rank = in, .size = p->comm[c].size, .created_by = TB_NCCL_INIT};
        if (in < 0)
            continue;
        tb_define(tb, TRC_DEF_COMM, (uint32_t)(FIRST_COMM + c), 0, 0, &def, sizeof def, 0);
        tb_comm_name(tb, (uint32_t)(FIRST_COMM + c), names[c]);
    }
}

static void write_op(struct tb *tb, const struct np_op *o)
{
    const struct np_step *s = o->step;
    struct trc_gpu_op op = {.sequence = o->sequence,
                            .count = s->count,
                            .bytes = s->count * 4u,
                            .stream = 0x100u + s->stream,
                            .called = (uint64_t)o->enqueued - 500,
                            .enqueued = (uint64_t)o->enqueued,
                            .started = (uint64_t)o->started,
                            .ended = (uint64_t)o->ended,
                            .group = (uint64_t)o->enqueued,
                            .comm = FIRST_COMM + s->comm,
                            .call = s->call,
                            .root = s->root,
                            .type = 7,
                            .op = s->call == TB_NCCL_ALLREDUCE ? 0 : TRC_GPU_OP_NONE,
                            .state = (uint8_t)o->state,
                            .flags = s->kind == NP_COLLECTIVE ? 0 : TRC_GPU_MESSAGE};
    if (s->kind == NP_KERNEL)
        return;
    tb_gpu_op(tb, op);
    if (!s->error || o->state != NP_STARTED)
        return;
    op.call = TB_NCCL_ASYNC;
    op.state = TRC_GPU_FAILED;
    op.flags = TRC_GPU_ASYNC_ERROR;
    op.result = 6;
    tb_gpu_op(tb, op);
}

static void write_host(struct tb *tb, const struct np_program *p, const struct np_run *run, int rank)
{
    uint64_t barriers = 1;
    int64_t begin = run->now;
    for (int i = 0; i < p->steps[rank] && i <= run->at[rank]; i++) {
        const struct np_step *s = &p->step[rank][i];
        int64_t end = run->end[rank][i];
        bool over = i < run->at[rank];
        begin = i == 0 || over ? end - 900 : run->since[rank];
        struct trc_sig sig = tb_sig(s->kind == NP_BARRIER ? TB_BARRIER : TB_RECV);
        sig.comm = TB_WORLD;
        sig.flags = s->kind == NP_BARRIER ? TRC_SIG_COLL : TRC_SIG_P2P_IN;
        sig.received = s->kind == NP_BARRIER ? 0 : 8;
        sig.source = s->kind == NP_BARRIER ? TRC_PEER_NONE : s->root;
        sig.rtag = s->kind == NP_BARRIER ? TRC_TAG_NONE : 7;
        if (s->kind == NP_MPI_SEND && over)
            tb_send(tb, 0, begin, end, s->root, 7, 8);
        else if (s->kind == NP_MPI_RECV && over)
            tb_recv(tb, 0, begin, end, s->root, 7, 8);
        else if (s->kind == NP_BARRIER && over)
            tb_barrier(tb, 0, begin, end, TB_WORLD, barriers++);
        else if ((s->kind == NP_MPI_RECV || s->kind == NP_BARRIER) && run->since[rank] >= 0)
            tb_inside(tb, 0, &sig, run->since[rank], s->kind == NP_BARRIER ? barriers : 0);
    }
}

static void write_rank(const char *folder, const struct np_program *p, const struct np_run *run, int rank, int64_t now)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%d.hpctop", folder, rank);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *image = fd >= 0 && ftruncate(fd, MOST_BYTES) == 0
                      ? mmap(NULL, MOST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                      : MAP_FAILED;
    if (image == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    struct tb *tb = tb_new_in(rank, p->ranks, image, MOST_BYTES);
    tb_barrier(tb, 0, 1000000, 2000000, TB_WORLD, 0);
    write_comms(tb, p, rank);
    write_host(tb, p, run, rank);
    for (int i = 0; i < run->ops[rank]; i++)
        write_op(tb, &run->op[rank][i]);
    if (run->at[rank] != NP_STEPS)
        tb_running(tb, now);
    size_t size;
    tb_image(tb, &size);
    tb_free(tb);
    munmap(image, MOST_BYTES);
    CHECK(ftruncate(fd, (off_t)size) == 0);
    close(fd);
}

/* ---- is it right ------------------------------------------------------------------------------------------------- */

static bool is_class(const struct np_program *p, enum ana_verdict_class id)
{
    switch (p->fault) {
    case NP_OTHER_CALL:
    case NP_OTHER_COUNT:
    case NP_OTHER_ROOT:
        return id == ANA_CLASS_MISMATCHED;
    case NP_STREAM_ORDER:
    case NP_HOST_ORDER:
        return id == ANA_CLASS_CYCLE;
    case NP_HOST_RECV:
        return id == ANA_CLASS_CYCLE || id == ANA_CLASS_UNMATCHED;
    case NP_BLOCKED:
    case NP_ERROR:
        return id == ANA_CLASS_DEVICE;
    case NP_OUTSIDE:
        return id == ANA_CLASS_MISSING || id == ANA_CLASS_UNMATCHED;
    default:
        return id != ANA_CLASS_NONE && id != ANA_CLASS_DEVICE && id != ANA_CLASS_INSIDE;
    }
}

static const char *judge(const struct np_program *p, bool hangs, const struct ana_job *job, const struct ana_verdict *v,
                         struct row *row)
{
    bool trouble = v->state == ANA_VERDICT_HUNG || v->state == ANA_VERDICT_SLOW, culprit = false;
    size_t allowed = 0;
    row->programs++;
    if (!hangs) {
        /* First death among ranks that were killed at once is no matter of NCCL. */
        bool bad = trouble || (v->culprits > 0 && v->id != ANA_CLASS_DEAD);
        row->false_alarms += bad;
        row->proven_wrong += bad && v->confidence == ANA_PROVEN;
        row->right += !bad;
        return bad ? "false alarm" : NULL;
    }
    for (size_t i = 0; i < v->culprits; i++) {
        int rank = ana_job_rank(job, v->culprit[i])->rank;
        culprit |= rank == p->culprit;
        allowed += p->blame[rank];
    }
    bool hung = v->state == ANA_VERDICT_HUNG;
    const char *wrong = !hung                   ? "missed"
                        : v->culprits == 0      ? "names nobody"
                        : !culprit              ? "names others"
                        : allowed < v->culprits ? "names others, too"
                        : !is_class(p, v->id)   ? "other class"
                                                : NULL;
    row->missed += !hung;
    row->no_name += hung && v->culprits == 0;
    row->other_names += hung && v->culprits && !culprit;
    row->more_names += hung && culprit && allowed < v->culprits;
    row->other_class += wrong && strcmp(wrong, "other class") == 0;
    row->proven_wrong += wrong && hung && !culprit && v->confidence == ANA_PROVEN;
    row->right += !wrong;
    return wrong;
}

static void describe(const struct np_program *p, const struct np_run *run)
{
    static const char *const kinds[] = {"collective", "send",     "recv",   "sync", "barrier",
                                        "mpi_send",   "mpi_recv", "kernel", "leave"};
    for (int r = 0; r < p->ranks; r++) {
        printf("  %s%d:", p->blame[r] ? "!" : "", r);
        for (int i = 0, op = 0; i < p->steps[r]; i++) {
            const struct np_step *s = &p->step[r][i];
            bool nccl = s->kind <= NP_RECV || s->kind == NP_KERNEL;
            const char *state = i < run->at[r] && nccl ? &"....ES "[run->op[r][op++].state + 2] : "";
            if (i + 8 < run->at[r] && *state != 'E' && *state != 'S')
                continue;
            printf(" %s%s%s%.0d%s%c", i == run->at[r] ? ">" : "", kinds[s->kind], nccl ? "@" : "",
                   nccl ? s->comm + 1 : 0, s->kind == NP_SYNC || nccl ? (s->stream ? "/1" : "/0") : "",
                   *state ? *state : ' ');
        }
        printf("\n");
    }
}

static void try(uint64_t seed, const char *folder, bool verbose)
{
    static struct np_program program;
    static struct np_run run;
    uint64_t random = seed * 2654435761u;
    np_generate(seed, &program);
    np_run(&program, seed, INT_MAX, &run);
    bool hangs = !run.finished;
    if (!hangs && random >> 8 & 1)
        np_run(&program, seed, (int)(random >> 16 & 63), &run);
    int64_t now = hangs ? run.now + LONG_NS : run.now + (int64_t)(random >> 24) % SHORT_NS;
    for (int r = 0; r < program.ranks; r++)
        write_rank(folder, &program, &run, r, now);
    struct ana_job *job = folder_open();
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v, "out of memory");
    const char *wrong = v ? judge(&program, hangs, job, v, &rows[program.fault][hangs]) : NULL;
    if (wrong && verbose) {
        printf("seed %llu, %d ranks, %s of %d: %s: %s %s %s: %s\n", (unsigned long long)seed, program.ranks,
               np_fault_name[program.fault], program.culprit, wrong, ana_verdict_state_name(v->state),
               v->id ? ana_verdict_class_name(v->id) : "-", ana_confidence_name(v->confidence), v->summary.text);
        describe(&program, &run);
    }
    ana_job_close(job);
    char path[600];
    for (int r = 0; r < program.ranks; r++) {
        snprintf(path, sizeof path, "%s/%d.hpctop", folder, r);
        unlink(path);
    }
}

int main(int argc, char **argv)
{
    uint64_t programs = argc > 1 ? strtoull(argv[1], NULL, 10) : PROGRAMS;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    unsigned all = 0, right = 0, alarms = 0, proven = 0;
    if (!getenv("TMPDIR"))
        setenv("TMPDIR", "/dev/shm", 1);
    const char *folder = folder_make("nccl-random");
    for (uint64_t i = 0; i < programs; i++)
        try(first + i, folder, argc > 1);
    folder_remove();
    printf("| fault | the program | programs | right | missed | names nobody | names others, too | names others | "
           "other class | false alarms | proven, wrong |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int f = 0; f < NP_FAULTS; f++)
        for (int h = 0; h < 2; h++) {
            const struct row *row = &rows[f][h];
            all += row->programs;
            right += row->right;
            alarms += row->false_alarms;
            proven += row->proven_wrong;
            if (row->programs)
                printf("| %s | %s | %u | %.1f %% | %u | %u | %u | %u | %u | %u | %u |\n", np_fault_name[f],
                       h ? "hangs" : "does not hang", row->programs, 100.0 * row->right / row->programs, row->missed,
                       row->no_name, row->more_names, row->other_names, row->other_class, row->false_alarms,
                       row->proven_wrong);
        }
    printf("%u of %u right\n", right, all);
    CHECK(alarms == 0, "%u false alarms", alarms);
    CHECK(proven == 0, "%u proven verdicts name others", proven);
    CHECK(right * 100 >= all * 99, "%u of %u right", right, all);
    return check_result();
}
