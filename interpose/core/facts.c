#include "interpose/core/facts.h"
#include "interpose/core/source.h"
#include "interpose/core/state.h"
#include "interpose/base/text.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SETTINGS   96u /* variables of the environment, at most */
#define FORK_FACTS 16u

extern char **environ;

static atomic_uint forks;
static unsigned forks_written, fork_facts;
static bool added;

static void write_fact(const char *first, const char *second, const char *value)
{
    struct ipo_text text = {0};
    ipo_text_add(&text, first);
    ipo_text_add(&text, second);
    size_t key = text.used + 1;
    text.used = key; /* a NUL separates key and value */
    ipo_text_add(&text, value);
    trc_writer_define(&ipo_process.writer, TRC_DEF_FACT, 0, 0, 0, NULL, 0, text.text, text.used);
}

void ipo_fact(const char *key, const char *value)
{
    write_fact(key, "", value);
}

static bool starts_with(const char *text, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (!strncmp(text, *prefixes, strlen(*prefixes)))
            return true;
    return false;
}

/* Settings of the libraries that a job runs on; none that looks like a secret. */
static void write_settings(void)
{
    static const char *const wanted[] = {"HOROVOD_",
                                         "NCCL_",
                                         "UCX_",
                                         "OMPI_MCA_",
                                         "OMPI_COMM_WORLD_SIZE=",
                                         "PMI_SIZE=",
                                         "PMIX_MCA_",
                                         "I_MPI_",
                                         "MPICH_",
                                         "MV2_",
                                         "PSM2_",
                                         "FI_PROVIDER",
                                         "OMP_",
                                         "KMP_AFFINITY",
                                         "CUDA_VISIBLE_DEVICES",
                                         "MPI4PY_",
                                         "PYTHONFAULTHANDLER",
                                         NULL};
    static const char *const noise[] = {"OMPI_MCA_orte", "OMPI_MCA_ess", "OMPI_MCA_initial_wdir",
                                        "OMPI_MCA_shmem_RUNTIME", NULL};
    static const char *const secret[] = {"SECRET", "TOKEN", "PASSW", "_KEY", NULL};
    unsigned kept = 0;
    for (char **at = environ; at && *at && kept < SETTINGS; at++) {
        const char *equals = strchr(*at, '=');
        char name[96];
        size_t n = equals ? (size_t)(equals - *at) : sizeof name;
        if (n >= sizeof name || !starts_with(*at, wanted) || starts_with(*at, noise))
            continue;
        memcpy(name, *at, n);
        name[n] = 0;
        bool hidden = false;
        for (size_t i = 0; secret[i]; i++)
            hidden |= strstr(name, secret[i]) != NULL;
        char value[256];
        size_t size = strnlen(equals + 1, sizeof value - 1);
        memcpy(value, equals + 1, size);
        value[size] = 0;
        write_fact("env.", name, hidden ? "(set, not shown)" : value);
        kept++;
    }
}

static void count_fork(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

void ipo_facts_start(void)
{
    write_settings();
    const char *(*version)(void) = (const char *(*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    if (version)
        write_fact("glibc", "", version());
    ipo_at_fork(NULL, count_fork, NULL);
}

/* ---- the rest, by our own thread --------------------------------------------------------------------------------- */

/* Main thread's affinity, "0-3,8". */
static void write_affinity(void)
{
    unsigned long mask[128];
    long bytes = syscall(SYS_sched_getaffinity, getpid(), sizeof mask, mask);
    struct ipo_text text = {0};
    long bits = bytes > 0 ? bytes * 8 : 0;
    for (long i = 0; i < bits; i++) {
        if (!(mask[i / 64] >> i % 64 & 1))
            continue;
        long last = i;
        while (last + 1 < bits && mask[(last + 1) / 64] >> (last + 1) % 64 & 1)
            last++;
        ipo_text_add(&text, text.used ? "," : "");
        ipo_text_add_number(&text, (uint64_t)i);
        if (last > i) {
            ipo_text_add(&text, "-");
            ipo_text_add_number(&text, (uint64_t)last);
        }
        i = last;
    }
    if (text.used)
        write_fact("affinity", "", text.text);
}

void ipo_facts_round(void)
{
    if (!added) {
        added = true;
        IPO_ASK_SOURCES(add_facts);
        write_affinity();
    }
    /* The number is written again each time it has doubled: facts cannot be changed. */
    unsigned now = atomic_load_explicit(&forks, memory_order_relaxed);
    if (now && (!forks_written || now >= forks_written * 2) && fork_facts < FORK_FACTS) {
        struct ipo_text text = {0};
        ipo_text_add_number(&text, now);
        write_fact("forks after MPI_Init", "", text.text);
        forks_written = now;
        fork_facts++;
    }
}
