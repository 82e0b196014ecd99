/* hpctop doctor: checks of the machine. */
#include "tui/doctor/doctor.h"
#include "trace/format/version.h"

#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

void tui_doctor_libtrace(struct tui_doctor *doctor)
{
    struct tui_elf elf, self;
    char said[512], preload[5000];
    if (!tui_find_libtrace(doctor->library, sizeof doctor->library)) {
        SAY_PROBLEM("libtrace.so", "was not found %s; set HPCTOP_LIBTRACE to its path", doctor->library);
        doctor->library[0] = 0;
        return;
    }
    if (!tui_elf_read(doctor->library, &elf) || !elf.is_elf || !tui_elf_read("/proc/self/exe", &self)) {
        SAY_PROBLEM("libtrace.so", "%s is not a shared library", doctor->library);
        return;
    }
    if (elf.machine != self.machine)
        SAY_PROBLEM("libtrace.so", "%s is for another kind of processor", doctor->library);
    else if (strcmp(elf.version, HPCTOP_VERSION) != 0)
        SAY_NOTE("libtrace.so", "%s has version %s, hpctop has %s; take both from one build", doctor->library,
                 elf.version[0] ? elf.version : "?", HPCTOP_VERSION);
    else
        SAY_OK("libtrace.so", "%s, version %s, the same as hpctop", doctor->library, elf.version);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", doctor->library);
    int status = tui_ask((const char *const[]){"env", preload, "true", NULL}, said, sizeof said);
    said[strcspn(said, "\n")] = 0;
    const char *glibc = gnu_get_libc_version();
    if (status != 0 || said[0])
        SAY_PROBLEM("glibc", "%s; libtrace.so needs %s and does not load: %s", glibc, elf.glibc,
                    said[0] ? said : "no reason given");
    else
        SAY_OK("glibc", "%s; libtrace.so needs %s and loads", glibc, elf.glibc);
    const char *there = getenv("LD_PRELOAD");
    if (there && *there)
        SAY_NOTE("LD_PRELOAD", "%s is preloaded already and stays; it gets calls before libtrace.so", there);
    const char *disabled = getenv("HPCTOP_DISABLE");
    if (disabled && *disabled == '1')
        SAY_PROBLEM("HPCTOP_DISABLE", "is 1, so that nothing is recorded; unset it");
}

static const char *name_filesystem(const char *folder, bool *local)
{
    static const struct {
        uint32_t magic;
        const char *name;
        bool local;
    } known[] = {
#define FILESYSTEM(magic, name, local, reserves) {magic, name, local},
#include "trace/format/filesystems.def"
#undef FILESYSTEM
    };
    struct statfs fs;
    *local = false;
    if (statfs(folder, &fs))
        return "an unknown file system";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((uint32_t)fs.f_type == known[i].magic) {
            *local = known[i].local;
            return known[i].name;
        }
    return "a file system that is not known";
}

void tui_doctor_folder(struct tui_doctor *doctor)
{
    const char *wanted = getenv("HPCTOP_DIR");
    char folder[4096], probe[4200];
    snprintf(folder, sizeof folder, "%s", wanted && *wanted ? wanted : ".");
    while (access(folder, F_OK) != 0 && errno == ENOENT) { /* record makes it: the folder above it decides */
        char *slash = strrchr(folder, '/');
        if (!slash)
            snprintf(folder, sizeof folder, ".");
        else
            slash[slash == folder] = 0;
    }
    char *real = realpath(folder, NULL);
    const char *shown = real ? real : folder;
    snprintf(probe, sizeof probe, "%s/.hpctop-XXXXXX", folder);
    bool local;
    const char *name = name_filesystem(folder, &local);
    struct statvfs space;
    if (!mkdtemp(probe)) {
        SAY_PROBLEM("trace folder", "%s cannot be written: %s; choose another with -o or HPCTOP_DIR", shown,
                    strerror(errno));
    } else {
        rmdir(probe);
        double free_gb = statvfs(folder, &space) == 0 ? (double)space.f_bavail * (double)space.f_frsize / 1e9 : 0;
        tui_doctor_print(doctor, free_gb < 0.1 ? TUI_DOCTOR_NOTE : TUI_DOCTOR_OK, "trace folder",
                         "%s: %s (%s), %.1f GB free%s", shown, name,
                         local ? "local" : "not local: live pages are written back twice a second", free_gb,
                         local ? "; ranks on other nodes write to their own" : "");
    }
    free(real);
}

static bool cpu_has(const char *word)
{
    char line[8192];
    bool found = false;
    FILE *info = fopen("/proc/cpuinfo", "r");
    while (info && !found && fgets(line, sizeof line, info))
        found = strncmp(line, "flags", 5) == 0 && strstr(line, word);
    if (info)
        fclose(info);
    return found;
}

void tui_doctor_clock(struct tui_doctor *doctor)
{
    char source[64] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (file && fgets(source, sizeof source, file))
        source[strcspn(source, "\n")] = 0;
    if (file)
        fclose(file);
    const char *invariant =
        cpu_has("constant_tsc") ? cpu_has("nonstop_tsc") ? "invariant" : "stops in deep sleep" : "not invariant";
    if (strcmp(source, "tsc") == 0)
        SAY_OK("clock", "TSC (%s; the kernel's own clock too)", invariant);
    else
        SAY_NOTE("clock", "clock_gettime, since the kernel's clock is %s; each record costs some tens of ns more",
                 source[0] ? source : "unknown");
}

/* Whether libtrace.so contains the name of a library, and so can use it. */
static bool names_library(const struct tui_doctor *doctor, const char *name)
{
    struct stat info;
    int fd = open(doctor->library, O_RDONLY | O_CLOEXEC);
    void *all = fd >= 0 && fstat(fd, &info) == 0 && info.st_size > 0
                    ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                    : MAP_FAILED;
    bool found = all != MAP_FAILED && memmem(all, (size_t)info.st_size, name, strlen(name));
    if (all != MAP_FAILED)
        munmap(all, (size_t)info.st_size);
    if (fd >= 0)
        close(fd);
    return found;
}

void tui_doctor_libraries(struct tui_doctor *doctor)
{
    static const struct {
        const char *topic, *missing, *knows;
        const char *names[6];
    } wanted[] = {
        {"CUPTI",
         "GPU kernels cannot be recorded",
         "libcupti.so",
         {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so",
          "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", NULL}},
        {"NCCL",
         "not installed as a shared library; a program may have its own",
         "ncclAllReduce",
         {"libnccl.so.2", NULL}},
    };
    char path[4096];
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        bool found = false, used = doctor->library[0] && names_library(doctor, wanted[i].knows);
        for (int n = 0; wanted[i].names[n] && !found; n++)
            found = tui_probe_library(wanted[i].names[n], NULL, path, sizeof path, NULL, 0);
        tui_doctor_print(doctor, found && used ? TUI_DOCTOR_OK : TUI_DOCTOR_NOTE, wanted[i].topic, "%s%s%s",
                         found ? path : "not found: ", found ? "" : wanted[i].missing,
                         used ? "" : "; this libtrace.so does not use it");
    }
}

/* Asks a launcher or runtime for its version: one line. */
static void ask_version(const char *path, char *out, size_t size)
{
    char said[2048];
    if (tui_ask((const char *const[]){path, "--version", NULL}, said, sizeof said) != 0)
        said[0] = 0;
    const char *number = strstr(said, "Version:"); /* Hydra has its version in the second line */
    const char *from = number ? number + strlen("Version:") : said;
    from += strspn(from, " \t\n");
    snprintf(out, size, "%.*s", (int)strcspn(from, "\n"), from);
}

static void list_installed(struct tui_doctor *doctor, enum tui_layer_role role, const char *topic, const char *none)
{
    bool any = false;
    char name[64], path[4096], said[256], real[PATH_MAX], before[PATH_MAX] = "";
    for (const struct tui_layer_kind *k = tui_layer_kinds; k->title; k++)
        for (const char *at = k->names; k->role == role && *at;) {
            size_t n = strcspn(at, " ");
            snprintf(name, sizeof name, "%.*s", (int)n, at);
            at += n + strspn(at + n, " ");
            /* If several rows have this name, take the one whose program is installed. */
            if (!tui_find_program(name, path, sizeof path) || tui_layer_kind_of(name, true) != k)
                continue;
            if (!realpath(path, real) || strcmp(real, before) == 0) /* singularity is mostly a link to apptainer */
                continue;
            strcpy(before, real);
            ask_version(path, said, sizeof said);
            bool number = said[0] >= '0' && said[0] <= '9';
            bool setuid = k->prefixes && tui_has_setuid_starter(path);
            SAY_OK(topic, "%s: %s%s%s%s", path, number || !said[0] ? k->title : "", number ? " " : "", said,
                   setuid ? "; its starter is setuid: --cleanenv and --containall need --userns" : "");
            any = true;
            if (role == TUI_LAYER_LAUNCHER) /* other names are the same program */
                break;
        }
    if (!any)
        SAY_NOTE(topic, "%s", none);
}

void tui_doctor_launchers(struct tui_doctor *doctor)
{
    list_installed(doctor, TUI_LAYER_LAUNCHER, "launcher", "none found in PATH: no mpirun, mpiexec, srun");
}

void tui_doctor_runtimes(struct tui_doctor *doctor)
{
    list_installed(doctor, TUI_LAYER_RUNTIME, "containers", "no runtime found in PATH");
}
