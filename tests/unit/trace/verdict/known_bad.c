/* Versions and settings that are known to be bad: each row of the table says its line where it matches, and not where
 * one thing is otherwise. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/verdict/verdict.h"
#include <stdio.h>
#include <string.h>

#define S   INT64_C(1000000000)
#define END (100 * S)

/* Two ranks, and how they hang. */
enum hang {
    LATE,     /* rank 1 does not come to MPI_Barrier */
    INSIDE,   /* both are in MPI_Barrier */
    TWO_DUPS, /* rank 0 in MPI_Comm_dup, rank 1 in the dup of another communicator */
    THREADS,  /* the same, with a second thread in another MPI_Comm_dup on both */
    LOCK,     /* the same, with a second thread outside MPI, while the first keeps Python's lock */
    ERROR     /* NCCL has said on rank 1 that something is wrong */
};

struct setting {
    enum hang hang;
    const char *mpi, *exe, *container;
    const char *key, *value; /* a fact of rank 1 */
    const char *nccl;        /* its NCCL; NULL: none */
    int32_t threads;         /* head's thread_level */
};

static void dup_on(struct tb *tb, uint32_t thread, uint32_t comm, uint64_t sequence)
{
    struct trc_sig sig = tb_sig(TB_COMM_DUP);
    sig.comm = comm;
    sig.flags = TRC_SIG_COLL;
    tb_inside(tb, thread, &sig, 20 * S, sequence);
}

static void keep_lock(struct tb *tb, int me)
{
    tb_barrier(tb, 1, 3 * S, 4 * S, 4, 0);
    for (uint32_t t = 0; t < 2; t++)
        tb_stack(tb, 1, 1000u + (uint32_t)me + t,
                 (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = t ? 0 : TRC_STACK_MAIN | TRC_STACK_GIL},
                 "name\tpython3\npython\tstep\t/home/me/train.py\t7\n");
    tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING}, "");
}

static void async_error(struct tb *tb)
{
    struct trc_def_comm def = {.identity = 0xa, .rank = 1, .size = 2, .created_by = TB_NCCL_INIT};
    tb_define(tb, TRC_DEF_COMM, 3, 0, 0, &def, sizeof def, 0);
    tb_gpu_op(tb, (struct trc_gpu_op){.called = 40 * S,
                                      .comm = 3,
                                      .call = TB_NCCL_ASYNC,
                                      .root = -1,
                                      .result = 6,
                                      .op = TRC_GPU_OP_NONE,
                                      .state = TRC_GPU_FAILED,
                                      .flags = TRC_GPU_ASYNC_ERROR});
}

static struct tb *make(const struct setting *s, int me)
{
    static const int32_t both[] = {0, 1};
    struct tb *tb = tb_new(me, 2);
    struct trc_head *head = tb_head(tb);
    snprintf(head->mpi, sizeof head->mpi, "%s", s->mpi);
    snprintf(head->exe, sizeof head->exe, "%s", s->exe);
    snprintf(head->container, sizeof head->container, "%s", s->container);
    tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 0);
    tb_comm(tb, 4, 0xd0, me, both, 2);
    tb_running(tb, END);
    if (s->key && me == 1)
        tb_fact(tb, s->key, s->value);
    if (s->nccl && me == 1)
        tb_fact(tb, "nccl", s->nccl);
    head->thread_level = s->threads;
    struct trc_sig barrier = tb_sig(TB_BARRIER);
    barrier.comm = TB_WORLD;
    barrier.flags = TRC_SIG_COLL;
    if (s->hang == INSIDE || (s->hang == LATE && me == 0))
        tb_inside(tb, 0, &barrier, 20 * S, 1);
    if (s->hang == LOCK)
        keep_lock(tb, me);
    if (s->hang == TWO_DUPS || s->hang == THREADS || s->hang == LOCK)
        dup_on(tb, 0, me ? 4 : TB_WORLD, 1);
    if (s->hang == THREADS)
        dup_on(tb, 1, me ? 4 : TB_WORLD, 2);
    if (s->hang == ERROR && me == 1)
        async_error(tb);
    return tb;
}

static bool says(const struct setting *s, const char *source, enum ana_verdict_class *id)
{
    bool said = false;
    folder_make("known");
    for (int r = 0; r < 2; r++) {
        struct tb *tb = make(s, r);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v, "out of memory");
    if (v) {
        *id = v->id;
        for (size_t i = 0; i < v->facts; i++)
            said |= strncmp(v->fact[i].text, "known: ", 7) == 0 && strstr(v->fact[i].text, source);
    }
    ana_job_close(job);
    folder_remove();
    return said;
}

#define MPICH "MPICH Version: 4.0.2"
#define BTL   "env.OMPI_MCA_btl"
static const struct {
    const char *what, *source;
    enum ana_verdict_class id;
    struct setting is, is_not; /* the second differs in one thing */
} rows[] = {
    {"vader of Open MPI 3.1.3",
     "open-mpi/ompi#5638",
     ANA_CLASS_INSIDE,
     {INSIDE, "Open MPI 3.1.3, package: x", "/bin/app", "", NULL, NULL, NULL, 0},
     {INSIDE, "Open MPI 3.1.4, package: x", "/bin/app", "", NULL, NULL, NULL, 0}},
    {"memory of ranks in other user namespaces",
     "open-mpi/ompi#4948",
     ANA_CLASS_INSIDE,
     {INSIDE, "Open MPI 4.1.4", "/bin/app", "app.sif", NULL, NULL, NULL, 0},
     {INSIDE, "Open MPI 4.1.4", "/bin/app", "", NULL, NULL, NULL, 0}},
    {"the same, not all of them in it",
     "open-mpi/ompi#4948",
     ANA_CLASS_INSIDE,
     {INSIDE, "Open MPI 4.1.4", "/bin/app", "app.sif", NULL, NULL, NULL, 0},
     {LATE, "Open MPI 4.1.4", "/bin/app", "app.sif", NULL, NULL, NULL, 0}},
    {"MPI_Comm_dup with Python's lock held",
     "mpi4py/mpi4py#784",
     ANA_CLASS_CYCLE,
     {LOCK, MPICH, "/usr/bin/python3.11", "", NULL, NULL, NULL, 0},
     {TWO_DUPS, MPICH, "/usr/bin/python3.11", "", NULL, NULL, NULL, 0}},
    {"MPI_Comm_dup in several threads",
     "open-mpi/ompi#2025",
     ANA_CLASS_CYCLE,
     {THREADS, "Open MPI 4.1.4", "/bin/app", "", NULL, NULL, NULL, 0},
     {TWO_DUPS, "Open MPI 4.1.4", "/bin/app", "", NULL, NULL, NULL, 0}},
    {"the same, another MPI",
     "open-mpi/ompi#2025",
     ANA_CLASS_CYCLE,
     {THREADS, "Open MPI 4.1.4", "/bin/app", "", NULL, NULL, NULL, 0},
     {THREADS, MPICH, "/bin/app", "", NULL, NULL, NULL, 0}},
    {"forks",
     "horovod/horovod#1102",
     ANA_CLASS_MISSING,
     {LATE, MPICH, "/bin/app", "", "forks after MPI_Init", "4", NULL, 0},
     {LATE, MPICH, "/bin/app", "", "threads", "4", NULL, 0}},
    {"all-to-all of NCCL 2.8.3",
     "horovod/horovod#2601",
     ANA_CLASS_DEVICE,
     {ERROR, MPICH, "/bin/app", "", "nccl", "2.8.3", NULL, 0},
     {ERROR, MPICH, "/bin/app", "", "nccl", "2.8.4", NULL, 0}},
    {"openib with threads",
     "open-mpi/ompi#80",
     ANA_CLASS_MISSING,
     {LATE, "Open MPI 4.0.1", "/bin/app", "", BTL, "self,openib", NULL, 3},
     {LATE, "Open MPI 4.0.1", "/bin/app", "", BTL, "self,openib", NULL, 2}},
    {"openib, left out",
     "open-mpi/ompi#80",
     ANA_CLASS_MISSING,
     {LATE, "Open MPI 4.0.1", "/bin/app", "", "file.mca_btl_openib.so", "/x/mca_btl_openib.so", NULL, 3},
     {LATE, "Open MPI 4.0.1", "/bin/app", "", BTL, "^tcp,openib", NULL, 3}},
    {"channels of NCCL 2.28.9",
     "NVIDIA/nccl#1915",
     ANA_CLASS_MISSING,
     {LATE, MPICH, "/bin/app", "", "env.NCCL_NCHANNELS_PER_NET_PEER", "32", "2.28.9", 0},
     {LATE, MPICH, "/bin/app", "", "env.NCCL_NCHANNELS_PER_NET_PEER", "32", "2.29.3", 0}},
    {"the same, another number",
     "NVIDIA/nccl#1915",
     ANA_CLASS_MISSING,
     {LATE, MPICH, "/bin/app", "", "env.NCCL_NCHANNELS_PER_NET_PEER", "32", "2.28.9", 0},
     {LATE, MPICH, "/bin/app", "", "env.NCCL_NCHANNELS_PER_NET_PEER", "3", "2.28.9", 0}},
    {"NCCL 2.29.2",
     "pytorch/pytorch#174338",
     ANA_CLASS_MISSING,
     {LATE, MPICH, "/bin/app", "", NULL, NULL, "2.29.2", 0},
     {LATE, MPICH, "/bin/app", "", NULL, NULL, "2.29.3", 0}},
    {"NCCL beside CUDA in MPI",
     "horovod/horovod#186",
     ANA_CLASS_MISSING,
     {LATE, "Open MPI 4.1.4", "/bin/app", "", "env.OMPI_MCA_opal_cuda_support", "1", "2.18.3", 0},
     {LATE, "Open MPI 4.1.4", "/bin/app", "", "env.OMPI_MCA_opal_cuda_support", "1", NULL, 0}},
    {"the same, nothing on a device",
     "horovod/horovod#2601",
     ANA_CLASS_DEVICE,
     {ERROR, MPICH, "/bin/app", "", "nccl", "2.8.3", NULL, 0},
     {LATE, MPICH, "/bin/app", "", "nccl", "2.8.3", NULL, 0}},
};

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum ana_verdict_class id = ANA_CLASS_NONE, other;
        bool said = says(&rows[i].is, rows[i].source, &id);
        CHECK(said && id == rows[i].id, "%s: class %s", rows[i].what, id ? ana_verdict_class_name(id) : "-");
        CHECK(!says(&rows[i].is_not, rows[i].source, &other), "%s: where one thing differs", rows[i].what);
    }
    return check_result();
}
