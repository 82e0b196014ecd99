#include "interpose/identity/job_id.h"
#include "interpose/base/procfs.h"
#include "interpose/base/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *read_variable(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

/* Open MPI up to 4: a number, whose upper half is the job family, shared by spawned jobs.  Families repeat, so the
 * start of a random key that all ranks have is appended.  From 5 on (prterun): a name, with @1, @2 .. for spawned
 * jobs. */
static void add_open_mpi(struct ipo_text *job)
{
    const char *space = read_variable("PMIX_NAMESPACE"), *key = read_variable("OMPI_MCA_orte_precondition_transports");
    char family[64] = "";
    uint64_t number = 0;
    const char *digit = space;
    while (*digit >= '0' && *digit <= '9')
        number = number * 10 + (uint64_t)(*digit++ - '0');
    if (*space && !*digit) {
        ipo_text_add_number(job, number >> 16);
    } else {
        strncpy(family, space, sizeof family - 1);
        char *at = strrchr(family, '@');
        if (at && at > family)
            *at = 0;
        ipo_text_add(job, family);
    }
    if (job->used && *key) {
        char start[7] = "";
        strncpy(start, key, sizeof start - 1);
        ipo_text_add(job, "-");
        ipo_text_add(job, start);
    }
}

/* The argument after `name` in a command line as /proc shows it; "" if there is none. */
static const char *find_argument(const char *line, size_t size, const char *name)
{
    for (const char *at = line; at < line + size; at += strlen(at) + 1)
        if (strcmp(at, name) == 0)
            return at + strlen(at) + 1 < line + size ? at + strlen(at) + 1 : "";
    return "";
}

/* Hydra gives its ranks no name of the run.  But the command lines of its proxies, one a host, have the address of the
 * same mpiexec; a rank's proxy is among its ancestors.  Intel's proxies have another name. */
static bool add_hydra(struct ipo_text *job, struct ipo_text *world)
{
    char text[4096];
    long pid = getppid();
    for (int up = 0; up < 32 && pid > 1; up++) {
        size_t size = ipo_read_process((uint32_t)pid, 0, "cmdline", text, sizeof text);
        const char *control = find_argument(text, size, "--control-port"); /* HOST:PORT */
        const char *host = find_argument(text, size, "--upstream-host"),
                   *port = find_argument(text, size, "--upstream-port");
        if (*control || (*host && *port)) {
            ipo_text_add(job, *control ? control : host);
            ipo_text_add(job, *control ? "" : ":");
            ipo_text_add(job, *control ? "" : port);
            ipo_text_add(world, find_argument(text, size, "--pgid")); /* counts the spawned groups, up to MPICH 4 */
            return true;
        }
        ipo_read_process((uint32_t)pid, 0, "stat", text, sizeof text);
        const char *at = strrchr(text, ')'); /* "12 (name) S PARENT .." */
        pid = at && strlen(at) > 4 ? (long)ipo_text_number(at + 4) : 0;
    }
    return false;
}

void ipo_batch_id(struct ipo_text *id)
{
    static const char *const names[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "COBALT_JOBID", NULL};
    for (size_t i = 0; names[i] && !id->used; i++)
        ipo_text_add(id, read_variable(names[i]));
}

/* The run inside the batch job, where the batch system itself starts the ranks. */
static void add_batch(struct ipo_text *job)
{
    ipo_batch_id(job);
    if (*read_variable("SLURM_JOB_ID") && *read_variable("SLURM_STEP_ID")) {
        ipo_text_add(job, ".");
        ipo_text_add(job, read_variable("SLURM_STEP_ID"));
    }
}

/* Launchers give all ranks the address where they meet.  The port is often the default: so the batch job's name comes
 * first. */
static void add_meeting(struct ipo_text *job, const char *address, const char *port)
{
    ipo_batch_id(job);
    ipo_text_add(job, job->used ? "-" : "");
    ipo_text_add(job, address);
    ipo_text_add(job, "-");
    ipo_text_add(job, port);
}

/* torchrun and other launchers of PyTorch.  The name of the run is "none" unless the user gave one. */
static void add_torch(struct ipo_text *job, struct ipo_text *world)
{
    const char *run = read_variable("TORCHELASTIC_RUN_ID"), *address = read_variable("MASTER_ADDR");
    add_meeting(job, *run && strcmp(run, "none") != 0 ? run : address, read_variable("MASTER_PORT"));
    ipo_text_add(world, read_variable("TORCHELASTIC_RESTART_COUNT"));
}

static bool shares_world;

bool ipo_job_shares_world(void)
{
    return shares_world;
}

void ipo_job_id(struct ipo_text *job, struct ipo_text *world, uint32_t pid, uint64_t pid_start, uint64_t nccl)
{
    bool by_srun = *read_variable("SLURM_PROCID") && *read_variable("SLURM_STEP_ID") && *read_variable("SLURM_JOB_ID");
    const char *space = read_variable("PMIX_NAMESPACE");
    bool to_torch = *read_variable("RANK") && *read_variable("WORLD_SIZE") && *read_variable("MASTER_ADDR") &&
                    *read_variable("MASTER_PORT");
    if (to_torch && *read_variable("TORCHELASTIC_RUN_ID")) { /* torchrun's variables count before its own launcher's */
        add_torch(job, world);
    } else if (*read_variable("OMPI_COMM_WORLD_RANK") || (*space && strncmp(space, "slurm.", 6) != 0)) {
        add_open_mpi(job);
    } else if (*read_variable("MPISPAWN_MPIRUN_ID")) { /* MVAPICH2's mpirun_rsh: its host and pid */
        ipo_text_add(job, read_variable("MPISPAWN_MPIRUN_HOST"));
        ipo_text_add(job, "-");
        ipo_text_add(job, read_variable("MPISPAWN_MPIRUN_ID"));
    } else if (*read_variable("PMI_FD") || *read_variable("PMI_PORT") || (*read_variable("PMI_RANK") && !by_srun)) {
        if (!add_hydra(job, world) &&
            !by_srun) { /* a pid namespace hides the proxy: the ranks of a host have one parent */
            ipo_text_add(job, "p");
            ipo_text_add_number(job, (uint64_t)getppid());
        }
        shares_world = *read_variable("PMI_SPAWNED") && (!world->used || strcmp(world->text, "0") == 0);
        ipo_text_add(world, shares_world ? "spawned" : "");      /* mpi/spawned.h may name its parent */
    } else if (*read_variable("HOROVOD_GLOO_RENDEZVOUS_ADDR")) { /* horovodrun --gloo */
        add_meeting(job, read_variable("HOROVOD_GLOO_RENDEZVOUS_ADDR"), read_variable("HOROVOD_GLOO_RENDEZVOUS_PORT"));
    }
    if (job->used == 0)
        add_batch(job);
    bool meets = nccl && *read_variable("MASTER_ADDR") && *read_variable("MASTER_PORT");
    if (job->used == 0 && (to_torch || meets)) /* by hand the program itself may know its rank */
        add_torch(job, world);
    if (job->used == 0 && nccl) { /* started by hand, with other ranks */
        ipo_text_add(job, "nccl-");
        ipo_text_add_number(job, nccl);
    }
    if (job->used == 0) { /* started by hand: alone */
        ipo_text_add_number(job, pid);
        ipo_text_add(job, "-");
        ipo_text_add_number(job, pid_start);
    }
    for (size_t i = 0; i < job->used; i++) /* the name becomes a file name */
        if (job->text[i] == '/' || job->text[i] == ' ' || job->text[i] == ':')
            job->text[i] = '_';
    ipo_text_add(world, "/");
    ipo_text_add(world, job->text);
    ipo_text_add(world, "/");
    ipo_text_add(world, space);
}
