#include "tui/sources/running.h"
#include "trace/util/sort.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENVIRONMENT (256u << 10) /* bytes of an environment that are read */

/* Variables of a launcher: which rank a process is, and which job it belongs to. */
static const struct launcher {
    const char *rank, *job;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_MCA_ess_base_jobid"},
    {"OMPI_COMM_WORLD_RANK", "PMIX_NAMESPACE"},
    {"PMIX_RANK", "PMIX_NAMESPACE"},
    {"SLURM_PROCID", "SLURM_JOB_ID"},
    {"HOROVOD_RANK", "HOROVOD_GLOO_RENDEZVOUS_PORT"},
    {"RANK", "MASTER_PORT"},
    {"PMI_RANK", NULL}, /* MPICH, Intel MPI: the parent of its ranks tells jobs apart */
};

size_t tui_read_file(const char *path, char *out, size_t size)
{
    size_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got; fd >= 0 && n + 1 < size && (got = read(fd, out + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    if (fd >= 0)
        close(fd);
    out[n] = 0;
    return n;
}

size_t tui_read_proc(int pid, const char *name, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return tui_read_file(path, out, size);
}

bool tui_is_this_host(const char *host)
{
    char here[64] = "";
    gethostname(here, sizeof here - 1);
    return strcmp(here, host) == 0;
}

/* The value of a variable in an environment of `n` bytes; NULL: it is not there. */
static const char *value_of(const char *environment, size_t n, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = environment; at < environment + n; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

/* The parent of a process and the seconds since it was started.  False: it is not there. */
static bool read_stat(int pid, int *parent, double *age_s)
{
    char stat[1024], uptime[64];
    unsigned long long start = 0;
    tui_read_proc(pid, "stat", stat, sizeof stat);
    const char *at = strrchr(stat, ')');
    if (!at || sscanf(at + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                      parent, &start) != 2)
        return false;
    const bool read = tui_read_file("/proc/uptime", uptime, sizeof uptime);
    *age_s = read ? strtod(uptime, NULL) - (double)start / (double)sysconf(_SC_CLK_TCK) : 0;
    return read;
}

/* Finds the launcher that has started a process as a rank, and its name for the job; NULL: none has. */
static const struct launcher *launcher_of(int pid, char *job, size_t size)
{
    static char environment[ENVIRONMENT];
    const size_t n = tui_read_proc(pid, "environ", environment, sizeof environment);
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const char *name = launchers[i].job, *value = name ? value_of(environment, n, name) : "";
        if (!value || !value_of(environment, n, launchers[i].rank))
            continue;
        snprintf(job, size, "%s=%s", name ? name : "", value);
        return &launchers[i];
    }
    return NULL;
}

/* Writes the port of mpiexec that Hydra's proxy, the parent of a rank, was given: all hosts have the same. */
static bool name_port(int parent, char *job, size_t size)
{
    char line[4096];
    const size_t n = tui_read_proc(parent, "cmdline", line, sizeof line);
    for (const char *word = line; word < line + n; word += strlen(word) + 1)
        if (strcmp(word, "--control-port") == 0)
            return snprintf(job, size, "control-port=%s", word + strlen(word) + 1) > 0;
    return false;
}

/* Writes which job a process is a rank of, and whether its parent is not.  False: of none. */
static bool name_job(int pid, char *job, size_t size, bool *is_first, double *age_s)
{
    char above[160];
    int parent;
    const struct launcher *launcher = launcher_of(pid, job, size);
    if (!launcher || !read_stat(pid, &parent, age_s))
        return false;
    *is_first = launcher_of(parent, above, sizeof above) != launcher || strcmp(above, job) != 0;
    if (launcher->job)
        return true;
    double other_s;
    while (launcher_of(parent, above, sizeof above) == launcher && read_stat(parent, &parent, &other_s))
        ;
    return name_port(parent, job, size) || snprintf(job, size, "%s=%d", launcher->rank, parent) > 0;
}

/* Finds the first file that a process has mapped with `word` in its line of /proc/PID/maps. */
static bool find_mapped(int pid, const char *word, char *line, size_t size)
{
    char path[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "re");
    while (maps && !found && fgets(line, (int)size, maps))
        found = strchr(line, '/') && strstr(line, word);
    if (maps)
        fclose(maps);
    return found;
}

/* Writes the folder of the trace file that a process has mapped; nothing if there is none. */
static void find_folder(int pid, char *out, size_t size)
{
    char line[PATH_MAX + 128];
    char *name = find_mapped(pid, ".hpctop\n", line, sizeof line) ? strchr(line, '/') : NULL;
    if (!name)
        return;
    *strrchr(name, '/') = 0;
    snprintf(out, size, "%s", name);
}

/* Adds a process to its job; `is_first`: its parent is no rank of the job. */
static void add_process(struct tui_running_job *job, int pid, double age_s, bool is_first)
{
    if (!*job->folder)
        find_folder(pid, job->folder, sizeof job->folder);
    tui_read_proc(pid, "comm", job->program, sizeof job->program);
    job->program[strcspn(job->program, "\n")] = 0;
    job->ranks += is_first;
    job->age_s = age_s > job->age_s ? age_s : job->age_s;
    job->pid = !job->pid || pid < job->pid ? pid : job->pid;
}

/* The rank that its launcher has given a process; -1: none has. */
static int rank_of(int pid)
{
    static char environment[ENVIRONMENT];
    const size_t n = tui_read_proc(pid, "environ", environment, sizeof environment);
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const char *value = value_of(environment, n, launchers[i].rank);
        if (value)
            return atoi(value);
    }
    return -1;
}

/* The first of some variables, which end with NULL, in the environment of a process, as a number; 0: it has none. */
static int number_of(int pid, const char *const *name)
{
    static char environment[ENVIRONMENT];
    const size_t n = tui_read_proc(pid, "environ", environment, sizeof environment);
    const char *value = NULL;
    for (; *name && !value; name++)
        value = value_of(environment, n, *name);
    return value ? atoi(value) : 0;
}

int tui_running_world(int pid)
{
    return number_of(pid, (const char *const[]){"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", NULL});
}

bool tui_running_variable(int pid, const char *name, char *out, size_t size)
{
    static char environment[ENVIRONMENT];
    const size_t n = tui_read_proc(pid, "environ", environment, sizeof environment);
    const char *value = value_of(environment, n, name);
    snprintf(out, size, "%s", value ? value : "");
    return value;
}

/* Writes the host in the arguments of ssh.  False: the process runs another program. */
static bool find_host(int pid, char *out, size_t size)
{
    char line[4096];
    const size_t n = tui_read_proc(pid, "cmdline", line, sizeof line);
    bool is_ssh = false;
    for (const char *word = line; word < line + n; word += strlen(word) + 1) {
        const char *slash = strrchr(word, '/');
        if (!is_ssh) {
            is_ssh = strcmp(slash ? slash + 1 : word, "ssh") == 0;
            if (!is_ssh && word != line)
                return false; /* the second word names a script */
        } else if (*word != '-') {
            snprintf(out, size, "%s", word);
            return true;
        } else if (word[1] && !word[2] && strchr("bcDeFIiJLlmOopQRSWw", word[1])) {
            word += strlen(word) + 1; /* its value */
        }
    }
    return false;
}

static bool is_launcher(int pid)
{
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun", "prte", "hydra"};
    char name[64];
    tui_read_proc(pid, "comm", name, sizeof name);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

size_t tui_running_hosts(int pid, char (*host)[64], size_t max)
{
    int above[4] = {0}, parent;
    double age_s;
    size_t depth = 0, n = 0;
    while (depth < 4 && read_stat(pid, &above[depth], &age_s))
        pid = above[depth++];
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && n < max && (entry = readdir(proc));) {
        pid = atoi(entry->d_name);
        if (pid <= 0 || !read_stat(pid, &parent, &age_s) || !is_launcher(parent))
            continue;
        for (size_t i = 0; i < depth; i++)
            if (above[i] == parent && find_host(pid, host[n], sizeof host[n])) {
                n++;
                break;
            }
    }
    if (proc)
        closedir(proc);
    return n;
}

static bool has_mpi(int pid)
{
    char line[PATH_MAX + 128];
    return find_mapped(pid, "/libmpi", line, sizeof line);
}

ANA_COMPARE(by_rank, struct tui_running_rank, x->rank - y->rank, y->calls_mpi - x->calls_mpi, x->pid - y->pid)

size_t tui_running_ranks(const char *job, struct tui_running_rank *out, size_t max)
{
    char name[sizeof((struct tui_running_job *)NULL)->job];
    static const char *const beside[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", NULL};
    size_t n = 0, kept = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && n < max && (entry = readdir(proc));) {
        const int pid = atoi(entry->d_name);
        bool is_first;
        double age_s;
        if (pid > 0 && name_job(pid, name, sizeof name, &is_first, &age_s) && strcmp(name, job) == 0)
            out[n++] = (struct tui_running_rank){rank_of(pid), pid, has_mpi(pid), (size_t)number_of(pid, beside)};
    }
    if (proc)
        closedir(proc);
    ana_sort(out, n, sizeof *out, by_rank);
    for (size_t i = 0; i < n; i++)
        if (!kept || out[i].rank != out[kept - 1].rank)
            out[kept++] = out[i];
    return kept;
}

bool tui_running_name(int pid, char *job, size_t size)
{
    bool is_first;
    double age_s;
    return name_job(pid, job, size, &is_first, &age_s);
}

static int by_age(const void *a, const void *b)
{
    const struct tui_running_job *x = a, *y = b;
    return (x->age_s < y->age_s) - (x->age_s > y->age_s);
}

size_t tui_running_find(struct tui_running_job *out, size_t max)
{
    char name[sizeof out->job];
    size_t n = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        const int pid = atoi(entry->d_name);
        bool is_first;
        double age_s;
        if (pid <= 0 || !name_job(pid, name, sizeof name, &is_first, &age_s))
            continue;
        size_t i = 0;
        while (i < n && strcmp(out[i].job, name) != 0)
            i++;
        if (i == max)
            continue;
        if (i == n) {
            out[n++] = (struct tui_running_job){0};
            snprintf(out[i].job, sizeof out[i].job, "%s", name);
        }
        add_process(&out[i], pid, age_s, is_first);
    }
    if (proc)
        closedir(proc);
    ana_sort(out, n, sizeof *out, by_age);
    return n;
}
