/* All that can stand before a program on a command line, one row each. */
#include "tui/launch/record.h"
#include "trace/util/text.h"

#include <stdlib.h>
#include <string.h>

#define SLURM_VALUES                                                                                                   \
    "n ntasks N nodes c cpus-per-task J job-name p partition A account t time w nodelist x exclude o output e error "  \
    "i input D chdir mpi ntasks-per-node ntasks-per-core ntasks-per-socket mem mem-per-cpu mem-per-gpu gres gpus G "   \
    "gpus-per-node gpus-per-task gpus-per-socket gpu-bind gpu-freq cpu-bind mem-bind m distribution C constraint "     \
    "q qos reservation R d dependency export jobid r relative signal S core-spec threads-per-core T threads W wait "   \
    "M clusters L licenses B extra-node-info a array b begin comment mail-type mail-user time-min tmp uid gid wrap "   \
    "export-file open-mode kill-on-invalid-dep priority deadline network hint container-image container-mounts "       \
    "container-workdir container-name bcast epilog prolog task-prolog task-epilog slurmd-debug het-group"

#define DOCKER_VALUES                                                                                                  \
    "v volume e env env-file w workdir u user name network net h hostname mount device p publish ipc pid userns "      \
    "entrypoint l label m memory shm-size cpus cpuset-cpus security-opt cap-add cap-drop gpus tmpfs ulimit add-host "  \
    "annotation cgroups platform pull runtime group-add uts log-driver stop-signal root rootfs"

const struct tui_layer_kind tui_layer_kinds[] = {
    {.title = "Open MPI",
     .names = "mpirun mpiexec orterun prterun prun mpirun.openmpi mpiexec.openmpi oshrun shmemrun",
     .tells = "Open MPI|OpenRTE|PRTE|PRRTE",
     .role = TUI_LAYER_LAUNCHER,
     .values = "n np c N npernode npersocket host H hostfile machinefile default-hostfile add-host add-hostfile x "
               "mca:2 gmca:2 omca:2 prtemca:2 pmixmca:2 map-by rank-by bind-to rf rankfile wd wdir prefix "
               "output-filename output stdin timeout report-uri report-pid tune am app ompi-server cpu-set cpu-list "
               "slot-list personality dvm dvm-uri display runtime-options mca-base-env-list preload-files "
               "set-cwd-to-session-dir path max-restarts tv-debugger debugger",
     .setting = "-x|%n=%v",
     .joined = "mca_base_env_list",
     .contexts = true},
    {.title = "Hydra",
     .names = "mpirun mpiexec mpiexec.hydra mpirun.mpich mpiexec.mpich mpirun.hydra",
     .tells = "HYDRA|Intel(R) MPI|MVAPICH",
     .role = TUI_LAYER_LAUNCHER,
     .values =
         "n np f hosts host hostfile machinefile ppn perhost grr genv:2 env:2 genvlist envlist wdir wd configfile "
         "launcher launcher-exec bootstrap bootstrap-exec rmk bind-to map-by membind topolib demux iface "
         "prepend-pattern outfile-pattern errfile-pattern nameserver localhost usize gpus-per-proc path umask "
         "order-nodes s pmi-port pmi-args port-range rr-offset",
     .setting = "-genv|%n|%v"},
    {.title = "mpirun_rsh",
     .names = "mpirun_rsh mpispawn",
     .role = TUI_LAYER_LAUNCHER,
     .values = "n np hostfile config rdd debug-config sg sp dpm dpmspec",
     .setting = "%n=%v",
     .assigns = true},
    {.title = "srun",
     .names = "srun",
     .role = TUI_LAYER_LAUNCHER,
     .values = SLURM_VALUES,
     .list = "--export",
     .list_variables = "SLURM_EXPORT_ENV"},
    {.title = "horovodrun",
     .names = "horovodrun",
     .role = TUI_LAYER_LAUNCHER,
     .values = "np num-proc p ssh-port i ssh-identity-file network-interface network-interfaces output-filename "
               "start-timeout config-file H hosts hostfile min-np max-np min-num-proc max-num-proc slots-per-host "
               "slots elastic-timeout reset-limit host-discovery-script fusion-threshold-mb cycle-time-ms "
               "cache-capacity autotune-log-file autotune-warmup-samples autotune-steps-per-sample "
               "autotune-bayes-opt-max-samples autotune-gaussian-process-noise timeline-filename "
               "stall-check-warning-time-seconds stall-check-shutdown-time-seconds mpi-args num-nccl-streams "
               "thread-affinity gloo-timeout-seconds binding-args log-level blacklist-cooldown-range "
               "cooldown-range tcp",
     .inner = true},
    {.title = "ibrun", .names = "ibrun", .role = TUI_LAYER_LAUNCHER, .values = "n np o", .inner = true},
    {.title = "jsrun",
     .names = "jsrun",
     .role = TUI_LAYER_LAUNCHER,
     .values = "n nrs np p a tasks_per_rs c cpu_per_rs g gpu_per_rs r rs_per_host d launch_distribution b bind E env "
               "l latency_priority M smpiargs h chdir k stdio_stderr o stdio_stdout t stdio_input U use_spindle",
     .setting = "-E|%n=%v",
     .contexts = true},
    {.title = "aprun",
     .names = "aprun",
     .role = TUI_LAYER_LAUNCHER,
     .values = "n N d cc L S ss e j m p r D",
     .setting = "-e|%n=%v",
     .contexts = true},
    {.title = "flux",
     .names = "flux",
     .role = TUI_LAYER_LAUNCHER,
     .values = "n ntasks N nodes c cores-per-task g gpus-per-task t time-limit q queue env o setopt S setattr output",
     .commands = "run",
     .setting = "--env=%n=%v"},
    {.title = "salloc", .names = "salloc", .role = TUI_LAYER_WRAPPER, .values = SLURM_VALUES},
    {.title = "sbatch",
     .names = "sbatch",
     .role = TUI_LAYER_BATCH,
     .values = SLURM_VALUES,
     .list = "--export",
     .list_variables = "SBATCH_EXPORT"},
    {.title = "Apptainer",
     .names = "apptainer singularity",
     .role = TUI_LAYER_RUNTIME,
     .values = "B bind mount env env-file H home o overlay S scratch W workdir pwd cwd app hostname dns network "
               "network-args security add-caps drop-caps apply-cgroups fusemount p2p docker-username docker-password "
               "pem-path",
     .commands = "exec run shell",
     .operands = 1,
     .clears = "cleanenv e containall C",
     .prefixes = "APPTAINERENV_ SINGULARITYENV_",
     .bind_variables = "APPTAINER_BIND SINGULARITY_BIND"},
    {.title = "Docker or Podman",
     .names = "docker podman nerdctl podman-hpc",
     .role = TUI_LAYER_RUNTIME,
     .values = DOCKER_VALUES,
     .commands = "run create",
     .operands = 1,
     .setting = "-e|%n=%v",
     .bind = "-v|%v:%v",
     .isolated = true},
    {.title = "Charliecloud",
     .names = "ch-run",
     .role = TUI_LAYER_RUNTIME,
     .values = "b bind c cd g gid u uid unset-env j join-ct join-pid join-tag",
     .operands = 1,
     .setting = "--set-env=%n=%v",
     .bind = "-b|%v:%v"},
    {.title = "Shifter",
     .names = "shifter",
     .role = TUI_LAYER_RUNTIME,
     .values = "i image V volume e env env-file module m w workdir",
     .setting = "--env=%n=%v",
     .bind = "--volume=%v:%v"},
    {.title = "env",
     .names = "env",
     .role = TUI_LAYER_WRAPPER,
     .values = "u unset C chdir",
     .setting = "%n=%v",
     .assigns = true,
     .clears = "i ignore-environment -"},
    {.title = "time", .names = "time", .role = TUI_LAYER_WRAPPER, .values = "o output f format"},
    {.title = "nice", .names = "nice", .role = TUI_LAYER_WRAPPER, .values = "n adjustment"},
    {.title = "ionice", .names = "ionice", .role = TUI_LAYER_WRAPPER, .values = "c class n classdata"},
    {.title = "timeout",
     .names = "timeout",
     .role = TUI_LAYER_WRAPPER,
     .values = "s signal k kill-after",
     .operands = 1},
    {.title = "stdbuf", .names = "stdbuf", .role = TUI_LAYER_WRAPPER, .values = "i input o output e error"},
    {.title = "numactl",
     .names = "numactl",
     .role = TUI_LAYER_WRAPPER,
     .values = "i interleave m membind N cpunodebind C physcpubind p preferred"},
    {.title = "taskset", .names = "taskset", .role = TUI_LAYER_WRAPPER, .operands = 1},
    {.title = "a wrapper", .names = "nohup setsid exec command unbuffer", .role = TUI_LAYER_WRAPPER},
    {.title = "a shell script", .names = "sh bash dash zsh ksh csh tcsh fish make gmake", .role = TUI_LAYER_SHELL},
    {.title = NULL}};

bool tui_listed(const char *list, char separator, const char *word, size_t length)
{
    const char *at = list;
    while (at && *at) {
        const char *end = strchrnul(at, separator);
        if ((size_t)(end - at) == length && memcmp(at, word, length) == 0)
            return true;
        at = *end ? end + 1 : end;
    }
    return false;
}

static bool contains_name(const char *text, const char *tells)
{
    for (const char *at = tells; at && *at;) {
        const char *end = strchrnul(at, '|');
        if (memmem(text, strlen(text), at, (size_t)(end - at)))
            return true;
        at = *end ? end + 1 : end;
    }
    return false;
}

static const struct tui_layer_kind *find_only_kind(const char *name, int *matches)
{
    const struct tui_layer_kind *found = NULL;
    *matches = 0;
    for (const struct tui_layer_kind *kind = tui_layer_kinds; kind->title; kind++)
        if (tui_listed(kind->names, ' ', name, strlen(name))) {
            found = found ? found : kind;
            ++*matches;
        }
    return found;
}

const struct tui_layer_kind *tui_layer_kind_of(const char *word, bool may_ask)
{
    int matches;
    char path[4096], said[4096];
    const struct tui_layer_kind *kind = find_only_kind(trc_base_name(word), &matches);
    if (matches < 2 || !may_ask || !tui_find_program(word, path, sizeof path))
        return kind;
    char *real = realpath(path, NULL);
    int real_matches = 0;
    const struct tui_layer_kind *of_real = real ? find_only_kind(trc_base_name(real), &real_matches) : NULL;
    free(real);
    if (real_matches == 1)
        return of_real;
    if (tui_ask((const char *const[]){path, "--version", NULL}, said, sizeof said) >= 0)
        for (const struct tui_layer_kind *k = tui_layer_kinds; k->title; k++)
            if (contains_name(said, k->tells))
                return k;
    /* A launcher that nobody knows: as a rule its ranks get its environment. */
    static const struct tui_layer_kind unknown = {
        .title = "an unknown MPI's launcher", .role = TUI_LAYER_LAUNCHER, .values = "n np"};
    return &unknown;
}

int tui_layer_values(const struct tui_layer_kind *kind, const char *option)
{
    const char *name = option + strspn(option, "-");
    size_t length = strlen(name);
    for (const char *at = kind->values; at && length > 0 && *at;) {
        const char *end = strchrnul(at, ' ');
        const char *number = memchr(at, ':', (size_t)(end - at));
        if ((size_t)((number ? number : end) - at) == length && memcmp(at, name, length) == 0)
            return number ? number[1] - '0' : 1;
        at = *end ? end + 1 : end;
    }
    return 0;
}
