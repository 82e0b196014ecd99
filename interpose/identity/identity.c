#include "interpose/identity/identity.h"
#include "interpose/arch/arch.h"
#include "interpose/base/procfs.h"
#include "interpose/identity/container.h"
#include "interpose/identity/job_id.h"
#include "interpose/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/vfs.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <xxhash.h>

static const char *find_variable(const char *const *names)
{
    for (; *names; names++) {
        const char *value = getenv(*names);
        if (value && *value)
            return value;
    }
    return NULL;
}

static int read_number(const char *const *names)
{
    const char *value = find_variable(names);
    int n = 0;
    if (!value)
        return -1;
    for (; *value >= '0' && *value <= '9' && n < 100000000; value++)
        n = n * 10 + (*value - '0');
    return *value ? -1 : n;
}

static uint64_t read_pid_start(void)
{
    char stat[1024];
    ipo_read_file("/proc/self/stat", stat, sizeof stat);
    const char *at = strrchr(stat, ')'); /* the name before it may contain any character */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? ipo_text_number(at) : 0;
}

static void read_command_line(struct trc_head *head)
{
    char raw[sizeof head->command];
    size_t n = ipo_read_file("/proc/self/cmdline", raw, sizeof raw);
    for (size_t i = 0; i < n; i++)
        raw[i] = raw[i] ? raw[i] : ' ';
    while (n > 0 && raw[n - 1] == ' ')
        n--;
    raw[n] = 0;
    ipo_copy(head->command, sizeof head->command, raw);
    ssize_t length = readlink("/proc/self/exe", head->exe, sizeof head->exe - 1);
    head->exe[length > 0 ? length : 0] = 0;
}

void ipo_identity(struct trc_head *head, char *folder, size_t folder_size, const char *wanted, const char *image,
                  int nccl_size, uint64_t nccl_hash)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK",
                                        "HOROVOD_RANK",         NULL};
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",     "SLURM_NTASKS",
                                        "WORLD_SIZE",           "HOROVOD_SIZE", NULL};
    head->pid = (uint32_t)getpid();
    head->pid_start = read_pid_start();
    bool by_torch = getenv("TORCHELASTIC_RUN_ID") != NULL; /* torchrun may itself be started by srun or mpirun */
    head->rank = read_number(by_torch ? (const char *const[]){"RANK", NULL} : ranks);
    head->world_size = read_number(by_torch ? (const char *const[]){"WORLD_SIZE", NULL} : sizes);
    gethostname(head->host, sizeof head->host - 1);
    ipo_read_file("/proc/sys/kernel/random/boot_id", head->boot_id, sizeof head->boot_id);
    ipo_container(head, image);
    read_command_line(head);
    struct ipo_text job = {0}, world = {0}, batch = {0};
    ipo_batch_id(&batch);
    ipo_copy(head->batch, sizeof head->batch, batch.text);
    bool of_all = head->world_size <= 0 || head->world_size == nccl_size;
    ipo_job_id(&job, &world, head->pid, head->pid_start, of_all ? nccl_hash : 0);
    ipo_copy(head->job, sizeof head->job, job.text);
    head->world_identity = XXH64(world.text, world.used, 0);

    struct ipo_text name = {0};
    if (wanted && *wanted) {
        ipo_text_add(&name, wanted);
    } else {
        ipo_text_add(&name, "hpctop-");
        ipo_text_add(&name, head->job);
    }
    ipo_copy(folder, folder_size, name.used < folder_size ? name.text : "");
}

bool ipo_tsc_is_good(void)
{
    char source[32] = "";
    if (IPO_HAS_TSC)
        ipo_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
    return source[0] && strcmp(source, IPO_CLOCK_SOURCE) == 0;
}

bool ipo_is_local(const char *folder, bool *reserves)
{
    static const struct {
        uint32_t magic;
        bool local, reserves;
    } known[] = {
#define FILESYSTEM(magic, name, local, reserves) {magic, local, reserves},
#include "trace/format/filesystems.def"
#undef FILESYSTEM
    };
    struct statfs fs;
    *reserves = true;
    if (statfs(folder, &fs))
        return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((uint32_t)fs.f_type == known[i].magic) {
            *reserves = known[i].reserves;
            return known[i].local;
        }
    return false;
}

bool ipo_is_privileged(void)
{
    return getauxval(AT_SECURE) != 0;
}

const char *ipo_errno_name(int error)
{
    static char digits[24];
    switch (error) {
    case ENOSPC:
        return "ENOSPC (no space left)";
    case EDQUOT:
        return "EDQUOT (over quota)";
    case EACCES:
        return "EACCES (not allowed)";
    case EROFS:
        return "EROFS (read-only file system)";
    case ENOENT:
        return "ENOENT (no such folder)";
    case EEXIST:
        return "EEXIST (it exists)";
    default:
        break;
    }
    struct ipo_text text = {0};
    ipo_text_add_number(&text, (uint64_t)error);
    ipo_copy(digits, sizeof digits, text.text);
    return digits;
}

void ipo_first_words(char *out, size_t size, const char *text)
{
    size_t n = 0;
    bool gap = false;
    for (; *text && *text != ',' && *text != '\n' && n + 2 < size; text++) {
        if (*text == ' ' || *text == '\t') {
            gap = n > 0;
            continue;
        }
        if (gap)
            out[n++] = ' ';
        gap = false;
        out[n++] = *text;
    }
    out[n] = 0;
}
