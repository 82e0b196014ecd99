/* The name of the job under every launcher: the same on all ranks, whatever the first host has in its environment. */
#include "interpose/identity/job_id.c" /* not in a library that tests link */
#include "tests/support/check.h"
#include <stdio.h>

extern char **environ;

/* The /proc of a host: a proxy above a shell above us. */
static const char *proxy;
static size_t proxy_size;
size_t ipo_read_process(uint32_t pid, uint32_t tid, const char *what, char *out, size_t size)
{
    char text[128] = "";
    const char *from = text;
    size_t n = 0;
    (void)tid;
    if (pid == (uint32_t)getppid()) {
        n = (size_t)snprintf(text, sizeof text, "%s", strcmp(what, "stat") == 0 ? "9 (a) shell) S 7 1 1" : "sh");
    } else if (pid == 7 && strcmp(what, "cmdline") == 0) {
        from = proxy;
        n = proxy_size;
    }
    n = n < size - 1 ? n : size - 1;
    if (n)
        memcpy(out, from, n);
    out[n] = 0;
    return n;
}

struct ids {
    char job[128], world[128];
};
static uint64_t nccl;
static struct ids ids_with(const char *const *variables)
{
    static char *none[] = {NULL};
    environ = none;
    for (; variables && *variables; variables += 2)
        setenv(variables[0], variables[1], 1);
    struct ipo_text job = {0}, world = {0};
    ipo_job_id(&job, &world, 4711, 99, nccl);
    struct ids ids;
    snprintf(ids.job, sizeof ids.job, "%.127s", job.text);
    snprintf(ids.world, sizeof ids.world, "%.127s", world.text);
    return ids;
}
#define WITH(...)     ids_with((const char *const[]){__VA_ARGS__, NULL})
#define BATCH         "SLURM_JOB_ID", "77", "PBS_JOBID", "78.server", "LSB_JOBID", "79", "JOB_ID", "80"
#define IS(ids, name) CHECK(strcmp((ids).job, name) == 0, "%s, wanted %s", (ids).job, name)
#define PROXY(text)   (proxy = text, proxy_size = sizeof text - 1)

static void test_mpirun(void)
{
    struct ids first = WITH("OMPI_COMM_WORLD_RANK", "0", "PMIX_NAMESPACE", "3670081",
                            "OMPI_MCA_orte_precondition_transports", "abcdef0123456789-0123456789abcdef");
    IS(first, "56-abcdef");
    struct ids batch = WITH("OMPI_COMM_WORLD_RANK", "0", "PMIX_NAMESPACE", "3670081",
                            "OMPI_MCA_orte_precondition_transports", "abcdef0123456789-0123456789abcdef", BATCH);
    CHECK(strcmp(first.job, batch.job) == 0 && strcmp(first.world, batch.world) == 0, "%s", batch.job);
    struct ids spawned = WITH("OMPI_COMM_WORLD_RANK", "0", "PMIX_NAMESPACE", "3670082",
                              "OMPI_MCA_orte_precondition_transports", "abcdef0123456789-0123456789abcdef");
    CHECK(strcmp(first.job, spawned.job) == 0 && strcmp(first.world, spawned.world) != 0, "%s", spawned.world);
    struct ids five = WITH("OMPI_COMM_WORLD_RANK", "1", "PMIX_NAMESPACE", "prterun-node1-123@1", BATCH);
    IS(five, "prterun-node1-123");
    spawned = WITH("PMIX_NAMESPACE", "prterun-node1-123@2");
    IS(spawned, "prterun-node1-123");
    CHECK(strcmp(five.world, spawned.world) != 0, "%s", spawned.world);
}

static void test_hydra(void)
{
    PROXY("/usr/bin/hydra_pmi_proxy\0--control-port\0node1:40123\0--rmk\0user\0--pgid\0"
          "0\0--proxy-id\0"
          "1");
    struct ids first = WITH("PMI_RANK", "3", "PMI_FD", "6", "PMI_SIZE", "4"),
               batch = WITH("PMI_RANK", "3", "PMI_FD", "6", BATCH);
    IS(first, "node1_40123");
    CHECK(strcmp(first.job, batch.job) == 0 && strcmp(first.world, batch.world) == 0, "%s", batch.job);
    PROXY("hydra_pmi_proxy\0--control-port\0node1:40123\0--pgid\0"
          "1");
    struct ids spawned = WITH("PMI_RANK", "0", "PMI_FD", "6");
    CHECK(strcmp(first.job, spawned.job) == 0 && strcmp(first.world, spawned.world) != 0, "%s", spawned.world);
    CHECK(!ipo_job_shares_world(), "its group has a number");
    PROXY("hydra_pmi_proxy\0--control-port\0node1:40123\0--pgid\0" /* MPICH 5: all groups under the first's proxy */
          "0");
    spawned = WITH("PMI_RANK", "0", "PMI_FD", "6", "PMI_SPAWNED", "1");
    CHECK(strcmp(first.job, spawned.job) == 0 && strcmp(first.world, spawned.world) != 0, "%s", spawned.world);
    CHECK(ipo_job_shares_world(), "this or another of the spawned");
    PROXY("hydra_bstrap_proxy\0--upstream-host\0node1\0--upstream-port\0"
          "35075\0--pgid\0"
          "0");
    IS(WITH("PMI_RANK", "3", "PMI_FD", "6"), "node1_35075");
    PROXY("hydra_pmi_proxy\0--control-port"); /* cut off */
    CHECK(WITH("PMI_RANK", "3", "PMI_FD", "6").job[0] == 'p', "out of sight: the parent");
    /* mpiexec inside a batch job starts its proxies with srun: theirs is the step, not the job's. */
    PROXY("hydra_pmi_proxy\0--control-port\0node1:40123");
    IS(WITH("PMI_RANK", "3", "PMI_FD", "6", "SLURM_JOB_ID", "77", "SLURM_STEP_ID", "5", "SLURM_PROCID", "1"),
       "node1_40123");
}

static void test_batch(void)
{
    PROXY("slurmstepd: [77.3]");
    static const char *const step[] = {"SLURM_JOB_ID", "77", "SLURM_STEP_ID", "3", "SLURM_PROCID", "1"};
#define STEP step[0], step[1], step[2], step[3], step[4], step[5]
    IS(WITH(STEP), "77.3");
    IS(WITH(STEP, "PMI_RANK", "1", "PMI_FD", "6"), "77.3");                        /* srun --mpi=pmi2 */
    IS(WITH(STEP, "PMIX_NAMESPACE", "slurm.pmix.77.3", "PMIX_RANK", "1"), "77.3"); /* srun --mpi=pmix */
    IS(WITH("PBS_JOBID", "78.server/x y:z"), "78.server_x_y_z");
    IS(WITH("LSB_JOBID", "79"), "79");
    IS(WITH("JOB_ID", "80"), "80");
    struct ids alone = ids_with(NULL);
    IS(alone, "4711-99");
    nccl = 18446744073709551615u;
    IS(WITH("RANK", "1", "WORLD_SIZE", "2"), "nccl-18446744073709551615");
    IS(WITH("LSB_JOBID", "79"), "79"); /* a launcher's word counts before */
    nccl = 0;
    struct ids rsh =
        WITH("MPISPAWN_MPIRUN_ID", "123", "MPISPAWN_MPIRUN_HOST", "node1", "PMI_PORT", "node2:3000", BATCH);
    IS(rsh, "node1-123"); /* MVAPICH2's mpirun_rsh: PMI_PORT is of each host */
}

static void test_torch(void)
{
#define TORCH "RANK", "1", "WORLD_SIZE", "2", "MASTER_ADDR", "node1", "MASTER_PORT", "29500"
    IS(WITH(TORCH), "node1-29500");
    struct ids first = WITH(TORCH, "TORCHELASTIC_RUN_ID", "none", "TORCHELASTIC_RESTART_COUNT", "0");
    IS(first, "node1-29500");
    IS(WITH(TORCH, "TORCHELASTIC_RUN_ID", "sweep/7"), "sweep_7-29500");
    IS(WITH(TORCH, "TORCHELASTIC_RUN_ID", "none", BATCH), "77-node1-29500");
    /* srun or mpirun started torchrun once a node: theirs are not the ranks */
    IS(WITH(TORCH, "TORCHELASTIC_RUN_ID", "none", "SLURM_JOB_ID", "77", "SLURM_STEP_ID", "3", "SLURM_PROCID", "0"),
       "77-node1-29500");
    IS(WITH(TORCH, "TORCHELASTIC_RUN_ID", "none", "OMPI_COMM_WORLD_RANK", "0", "PMIX_NAMESPACE", "x@1"), "node1-29500");
    /* a program that srun started, which exports these names itself */
    IS(WITH(TORCH, "SLURM_JOB_ID", "77", "SLURM_STEP_ID", "3", "SLURM_PROCID", "1"), "77.3");
    struct ids again = WITH(TORCH, "TORCHELASTIC_RUN_ID", "none", "TORCHELASTIC_RESTART_COUNT", "1");
    CHECK(strcmp(first.job, again.job) == 0 && strcmp(first.world, again.world) != 0, "%s", again.world);
}

int main(void)
{
    test_torch();
    test_mpirun();
    test_hydra();
    test_batch();
    return check_result();
}
