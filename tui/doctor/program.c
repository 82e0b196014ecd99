/* hpctop doctor: checks of the command and of how its program is linked. */
#include "tui/doctor/doctor.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void answer_and_exit(int to, const char *name, const char *version)
{
    char text[8192] = "";
    int length = 0;
    struct link_map *map;
    alarm(20); /* code that runs when a library is opened may never end */
    void *library = dlopen(name, RTLD_LAZY);
    int (*ask)(char *, int *) = library && version ? (int (*)(char *, int *))dlsym(library, version) : NULL;
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map))
        _exit(1);
    if (ask && ask(text, &length))
        text[0] = 0;
    dprintf(to, "%s\n%s\n", map->l_name, text);
    _exit(0);
}

bool tui_probe_library(const char *name, const char *version, char *path, size_t path_size, char *text,
                       size_t text_size)
{
    int ends[2], status = -1;
    char said[8192 + 4096];
    size_t used = 0;
    fflush(stdout);
    if (pipe(ends))
        return false;
    pid_t child = fork();
    if (child == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        answer_and_exit(ends[1], name, version);
    }
    close(ends[1]);
    for (ssize_t n = 1; child > 0 && n > 0 && used + 1 < sizeof said; used += n > 0 ? (size_t)n : 0)
        n = read(ends[0], said + used, sizeof said - 1 - used);
    close(ends[0]);
    said[used] = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return false;
    size_t line = strcspn(said, "\n");
    snprintf(path, path_size, "%.*s", (int)line, said);
    if (!text)
        return true;
    const char *from = said + line + 1, *label = strstr(from, "Version:"); /* MPICH puts a label before its number */
    size_t end = strcspn(from, "\n,");
    snprintf(text, text_size, "%.*s", (int)end, from);
    if (label && label < from + end)
        snprintf(text, text_size, "%.*s%.*s", (int)(label - from), from,
                 (int)strcspn(label + 8 + strspn(label + 8, " \t"), "\n,"), label + 8 + strspn(label + 8, " \t"));
    return true;
}

void tui_doctor_command(struct tui_doctor *doctor)
{
    const struct tui_plan *plan = &doctor->plan;
    const struct tui_layer *launcher = tui_plan_layer(plan, TUI_LAYER_LAUNCHER),
                           *runtime = tui_plan_layer(plan, TUI_LAYER_RUNTIME);
    char path[4096];
    if (!tui_find_program(plan->words.word[0], path, sizeof path))
        SAY_PROBLEM("command", "%s is not there, or not executable", plan->words.word[0]);
    if (launcher)
        SAY_OK("started by", "%s: %s", plan->words.word[launcher->at], launcher->kind->title);
    if (runtime)
        SAY_NOTE("container", "%s: the image is not examined; run hpctop doctor inside it", runtime->kind->title);
    if (plan->launches)
        SAY_NOTE("script", "it is not known what it starts; run hpctop doctor on its launch line");
    else if (!launcher)
        SAY_NOTE("started by", "no launcher: one rank alone");
}

/* An MPI library by its soname. */
static const struct mpi_name {
    const char *soname, *launcher, *family;
} mpi_names[] = {{"libmpi.so.12", "Hydra", "MPICH"},
                 {"libmpich.so", "Hydra", "MPICH"},
                 {"libmpi_abi.so", "", "that of the standard ABI"},
                 {"libmpi_cray.so", "srun", "Cray MPICH"},
                 {"libmpi.so", "Open MPI", "Open MPI"}};

static const struct mpi_name *find_mpi_name(const char *soname)
{
    for (size_t i = 0; i < sizeof mpi_names / sizeof *mpi_names; i++)
        if (strncmp(soname, mpi_names[i].soname, strlen(mpi_names[i].soname)) == 0)
            return &mpi_names[i];
    return NULL;
}

/* Stores a version as the trace has it: "Open MPI v4.1.4, package: .." is "Open MPI 4.1.4". */
static void note_mpi(struct tui_doctor *doctor, const char *version)
{
    const char *v = strstr(version, " v");
    const bool number = v && v[2] >= '0' && v[2] <= '9';
    const int before = number ? (int)(v + 1 - version) : (int)strcspn(version, ",");
    snprintf(doctor->mpi_version, sizeof doctor->mpi_version, "%.*s%.*s", before, version,
             number ? (int)strcspn(v + 2, ",") : 0, number ? v + 2 : "");
}

static void print_mpi(struct tui_doctor *doctor, const struct mpi_name *mpi, const char *path)
{
    char real[4096], version[512];
    doctor->mpi_launcher = mpi->launcher;
    doctor->mpi = mpi->family;
    if (!tui_is_installed(path))
        SAY_NOTE("MPI", "linked dynamically; not installed here, so not run to ask its version: %s", path);
    else if (tui_probe_library(path, "MPI_Get_library_version", real, sizeof real, version, sizeof version) &&
             version[0]) {
        SAY_OK("MPI", "%s, linked dynamically: %s", version, path);
        note_mpi(doctor, version);
    } else {
        SAY_NOTE("MPI", "linked dynamically; it does not tell its version: %s", path);
    }
}

static void print_nccl(struct tui_doctor *doctor, const char *where, bool inside)
{
    struct tui_elf trace;
    char *real = realpath(where, NULL); /* libnccl.so.2.28.9 */
    const char *version = real ? strstr(real, "libnccl.so.") : NULL;
    if (version && !inside)
        snprintf(doctor->nccl_version, sizeof doctor->nccl_version, "%s", version + strlen("libnccl.so."));
    free(real);
    bool recorded = doctor->library[0] && tui_elf_read(doctor->library, &trace) && trace.nccl_inside;
    if (inside)
        SAY_NOTE("NCCL", "static, inside %s: its calls cannot be recorded", where);
    else
        tui_doctor_print(doctor, recorded ? TUI_DOCTOR_OK : TUI_DOCTOR_NOTE, "NCCL", "shared: %s%s", where,
                         recorded ? "" : "; this libtrace.so does not record NCCL");
}

/* Only a shared AddressSanitizer has to come first; all other sanitizers start at any place. */
static void check_sanitizer(struct tui_doctor *doctor, const struct tui_elf *elf)
{
    const char *runtime = elf->asan_runtime;
    if (elf->asan_inside)
        SAY_OK("sanitizer", "AddressSanitizer, in the program itself");
    else if (runtime[0])
        SAY_NOTE("sanitizer",
                 "%s has to be the first library; hpctop record arranges that; if you set LD_PRELOAD yourself, "
                 "%s%s%s%s",
                 runtime, tui_asan_must_be_first(runtime) ? "" : "set ASAN_OPTIONS=" TUI_ASAN_OPTION " or ", "put ",
                 runtime, " before libtrace.so in it");
}

/* Asks the loader which libraries the program would load, and checks them. */
static void check_libraries(struct tui_doctor *doctor, const char *path, const struct tui_elf *elf)
{
    static char said[1 << 18];
    const struct mpi_name *mpi = NULL;
    struct tui_elf self;
    bool missing = false;
    /* Only our own loader is run: another one, or a library that audits, would be code of the program. */
    if (elf->audits || !tui_elf_read("/proc/self/exe", &self) || strcmp(self.interpreter, elf->interpreter) != 0) {
        SAY_NOTE("MPI",
                 elf->audits ? "it names a library that audits, so its libraries are not examined"
                             : "it has its own loader (%s), so its libraries are not examined",
                 elf->interpreter);
        return;
    }
    if (tui_ask((const char *const[]){self.interpreter, "--list", path, NULL}, said, sizeof said) < 0)
        said[0] = 0;
    for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n")) {
        char name[256] = "", where[4096] = "";
        if (sscanf(line, " %255s => %4095[^(\n]", name, where) != 2)
            continue;
        for (size_t n = strlen(where); n > 0 && where[n - 1] == ' '; n--)
            where[n - 1] = 0;
        if (strcmp(where, "not found") == 0) {
            SAY_PROBLEM("library", "%s was not found, so the program does not start here", name);
            missing = true;
            continue;
        }
        const struct mpi_name *family = find_mpi_name(name);
        struct tui_elf library;
        if (family && !mpi)
            print_mpi(doctor, family, where);
        else if (family && strcmp(family->family, mpi->family) != 0 && mpi->launcher[0])
            SAY_NOTE("MPI", "%s, too; the MPI that is initialized first is recorded", where);
        else if (strncmp(name, "libnccl.so", 10) == 0)
            print_nccl(doctor, where, false);
        else if (tui_elf_read(where, &library) && library.nccl_inside)
            print_nccl(doctor, where, true);
        mpi = mpi ? mpi : family;
    }
    if (!mpi && !missing)
        SAY_PROBLEM("MPI", "no MPI library is linked; nothing is recorded unless the program loads one");
    if (elf->nccl_inside)
        print_nccl(doctor, path, true);
}

/* Asks a Python for the MPI that it would load: MPI is loaded when the program runs. */
static void check_python(struct tui_doctor *doctor, const char *path)
{
    /* Modules of the working directory, which may belong to anybody, are not run. */
    static const char question[] = "import sys; sys.path[:] = [p for p in sys.path if p]\n"
                                   "import importlib.util as u, glob, os\n"
                                   "s = u.find_spec('mpi4py')\n"
                                   "if s:\n"
                                   " import mpi4py; mpi4py.rc.initialize = False\n"
                                   " from mpi4py import MPI\n"
                                   " v = MPI.Get_library_version().replace('\\t', ' ').split('\\n')[0].split(',')[0]\n"
                                   " print('MPI', 'mpi4py', mpi4py.__version__, 'with', v)\n"
                                   "s = u.find_spec('torch')\n"
                                   "if s: print('TORCH', s.origin)\n"
                                   "s = u.find_spec('horovod')\n"
                                   "for d in (s.submodule_search_locations if s else []):\n"
                                   " for f in glob.glob(os.path.join(d, '*', 'mpi_lib*.so')): print('HVD', f)\n";
    char said[8192];
    bool any = false;
    if (!tui_is_installed(path)) {
        SAY_NOTE("MPI", "%s is not in PATH, so it is not run to ask what it would load", path);
        return;
    }
    int status = tui_ask((const char *const[]){path, "-c", question, NULL}, said, sizeof said);
    for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n")) {
        struct tui_elf library;
        if (strncmp(line, "MPI ", 4) == 0) {
            SAY_OK("MPI", "%s", line + 4);
            const char *with = strstr(line, " with ");
            note_mpi(doctor, with ? with + strlen(" with ") : "");
            for (size_t i = 0; i < sizeof mpi_names / sizeof *mpi_names; i++)
                if (strstr(line, mpi_names[i].family)) {
                    doctor->mpi = mpi_names[i].family;
                    doctor->mpi_launcher = mpi_names[i].launcher;
                }
            any = true;
        } else if (strncmp(line, "TORCH ", 6) == 0) {
            SAY_OK("PyTorch", "%s; its backends nccl and gloo are recorded", line + 6);
            any = true;
        } else if (strncmp(line, "HVD ", 4) == 0 && tui_elf_read(line + 4, &library)) {
            SAY_OK("Horovod", "%s; it is recorded over %sGloo", line + 4, library.mpi_called ? "MPI and " : "");
            if (library.nccl_inside || library.nccl_called)
                print_nccl(doctor, line + 4, library.nccl_inside);
            any = true;
        } else if (status != 0) {
            SAY_NOTE("Python", "%s", line);
        }
    }
    if (!any)
        SAY_PROBLEM("MPI", "%s has neither mpi4py nor Horovod nor PyTorch; nothing would be recorded", path);
}

void tui_doctor_program(struct tui_doctor *doctor)
{
    struct tui_plan *plan = &doctor->plan;
    const struct tui_layer *launcher = tui_plan_layer(plan, TUI_LAYER_LAUNCHER);
    char path[4096];
    struct tui_elf elf, self;
    if (plan->script || tui_plan_layer(plan, TUI_LAYER_RUNTIME) || plan->program >= plan->words.count)
        return;
    const char *word = plan->words.word[plan->program], *name = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
    if (!tui_find_program(word, path, sizeof path) || !tui_elf_read(path, &elf)) {
        SAY_PROBLEM("program", "%s is not there, or not executable", word);
        return;
    }
    bool python = strncmp(name, "python", 6) == 0 || (elf.script && strstr(elf.interpreter, "python"));
    SAY_OK("program", "%s%s%s", path, elf.script ? ", run by " : "", elf.script ? elf.interpreter : "");
    if (python) {
        if (elf.script && strncmp(name, "python", 6) != 0) /* #!/usr/bin/env python3, #!/usr/bin/python3 -u */
            for (char *part = strtok(elf.interpreter, " "); part; part = strtok(NULL, " "))
                if (strstr(part, "python") && tui_find_program(part, path, sizeof path))
                    break;
        check_python(doctor, path);
    } else if (elf.is_elf && tui_elf_read("/proc/self/exe", &self) && elf.machine != self.machine) {
        SAY_PROBLEM("program", "it is for another kind of processor");
    } else if (elf.is_elf && elf.dynamic && !elf.mpi_inside) {
        check_sanitizer(doctor, &elf);
        check_libraries(doctor, path, &elf);
    } else if (!elf.is_elf) {
        SAY_NOTE("MPI", "the program is neither a binary nor Python; it is not known what it loads");
    } /* else tui_doctor_plan says why it cannot be recorded */
    const char *wanted = doctor->mpi_launcher;
    if (launcher && wanted && wanted[0] && strcmp(wanted, launcher->kind->title) != 0 &&
        (strcmp(launcher->kind->title, "Hydra") == 0 || strcmp(launcher->kind->title, "Open MPI") == 0))
        SAY_NOTE("started by", "%s, but the program's MPI is %s; every rank would be alone in its own world",
                 launcher->kind->title, doctor->mpi);
}

void tui_doctor_plan(struct tui_doctor *doctor)
{
    if (!doctor->library[0])
        return; /* said above */
    if (!tui_plan_apply(&doctor->plan, doctor->library, doctor->plan.launches ? NULL : "/"))
        SAY_PROBLEM("recording", "%s", doctor->plan.refusal);
    else if (doctor->problem)
        SAY_NOTE("recording", "see the problems above");
    else
        SAY_OK("recording", "hpctop record -- CMD records it; with -n it prints how");
}
