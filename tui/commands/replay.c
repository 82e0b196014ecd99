#include "tui/commands/replay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct tui_replay {
    char folder[256];
    char path[TUI_REPLAY_FILES][300];
    char starter[4096], program[4096];
};

/* Who interrupts ends SimGrid, too; the folder is removed then as always. */
static void ignore(int signal)
{
    (void)signal;
}

/* Whether both programs are in a folder. */
static bool are_in(struct tui_replay *replay, const char *folder)
{
    snprintf(replay->starter, sizeof replay->starter, "%s/simgrid/smpimain", folder);
    snprintf(replay->program, sizeof replay->program, "%s/simgrid/smpireplaymain", folder);
    return access(replay->starter, X_OK) == 0 && access(replay->program, R_OK) == 0;
}

/* SimGrid's programs lie in lib/simgrid beside a folder of PATH, or in lib/x86_64-linux-gnu/simgrid. */
static bool find_programs(struct tui_replay *replay)
{
    const char *path = getenv("PATH");
    bool found = false;
    for (const char *dir = path ? path : "/usr/bin"; *dir && !found;) {
        int n = (int)strcspn(dir, ":");
        char lib[2048], folder[2400];
        struct dirent *entry;
        snprintf(lib, sizeof lib, "%.*s/../lib64", n, dir);
        found = n && are_in(replay, lib);
        lib[strlen(lib) - 2] = 0;
        DIR *open = n && !found ? opendir(lib) : NULL;
        while (open && !found && (entry = readdir(open))) {
            snprintf(folder, sizeof folder, "%s/%s", lib, entry->d_name);
            found = are_in(replay, folder);
        }
        if (open)
            closedir(open);
        dir += n + (dir[n] == ':');
    }
    return found;
}

struct tui_replay *tui_replay_open(char *error, size_t size)
{
    static const char *const names[] = {"actions.ti", "platform.xml", "hosts", "list"};
    struct tui_replay *replay = calloc(1, sizeof *replay);
    const char *where = getenv("TMPDIR");
    if (!replay) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    if (!find_programs(replay)) {
        snprintf(error, size,
                 "SimGrid is not here, whose smpireplaymain replays the run; Debian and Ubuntu: apt install "
                 "libsimgrid-dev");
        free(replay);
        return NULL;
    }
    char folder[sizeof replay->folder];
    snprintf(folder, sizeof folder, "%.200s/hpctop-whatif-XXXXXX", where && *where ? where : "/tmp");
    if (!mkdtemp(folder)) {
        snprintf(error, size, "cannot make %s: %s", folder, strerror(errno));
        free(replay);
        return NULL;
    }
    memcpy(replay->folder, folder, sizeof folder);
    for (int i = 0; i < TUI_REPLAY_FILES; i++)
        snprintf(replay->path[i], sizeof replay->path[i], "%s/%s", folder, names[i]);
    struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return replay;
}

void tui_replay_close(struct tui_replay *replay)
{
    if (!replay)
        return;
    for (int i = 0; i < TUI_REPLAY_FILES; i++)
        unlink(replay->path[i]);
    rmdir(replay->folder);
    free(replay);
}

const char *tui_replay_file(const struct tui_replay *replay, enum tui_replay_file file)
{
    return replay->path[file];
}

/* Writes where each rank is, and where their actions are.  False: errno. */
static bool write_lists(const struct tui_replay *replay, size_t ranks)
{
    FILE *hosts = fopen(replay->path[TUI_REPLAY_HOSTS], "w"), *list = fopen(replay->path[TUI_REPLAY_LIST], "w");
    for (size_t i = 0; hosts && i < ranks; i++)
        fprintf(hosts, "r%zu\n", i);
    if (list)
        fprintf(list, "%s\n", replay->path[TUI_REPLAY_ACTIONS]);
    bool good = hosts && list && !ferror(hosts) && !ferror(list);
    good &= !hosts || fclose(hosts) == 0;
    good &= !list || fclose(list) == 0;
    return good;
}

enum { MOST_OPTIONS = 32 };

/* In the child: becomes SimGrid, whose words go to `out`. */
static void become(const struct tui_replay *replay, char *options, int out)
{
    char hosts[400], list[400], *argv[MOST_OPTIONS + 8] = {(char *)replay->starter, (char *)replay->program};
    int n = 2;
    snprintf(hosts, sizeof hosts, "--cfg=smpi/hostfile:%s", replay->path[TUI_REPLAY_HOSTS]);
    snprintf(list, sizeof list, "--cfg=smpi/replay:%s", replay->path[TUI_REPLAY_LIST]);
    argv[n++] = hosts;
    argv[n++] = list;
    argv[n++] = (char *)"--cfg=smpi/privatization:no";
    argv[n++] = (char *)"--cfg=smpi/host-speed:1Gf";
    for (char *line; (line = strsep(&options, "\n")) && n < MOST_OPTIONS + 6;)
        if (*line)
            argv[n++] = line;
    argv[n] = (char *)replay->path[TUI_REPLAY_PLATFORM];
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    unsetenv("LD_PRELOAD"); /* it is no job to be recorded */
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv(replay->starter, argv);
    fprintf(stderr, "cannot start %s: %s\n", replay->starter, strerror(errno));
    _exit(127);
}

/* Reads what SimGrid says: the time when its last rank ended, and its last word. */
static bool read_words(FILE *in, double *seconds, char *last, size_t size)
{
    static const char mark[] = "Simulation time ";
    char line[1024];
    bool found = false;
    while (fgets(line, sizeof line, in)) {
        const char *at = strstr(line, mark);
        line[strcspn(line, "\n")] = 0;
        if (at)
            *seconds = strtod(at + sizeof mark - 1, NULL);
        found |= at != NULL;
        if (*line)
            snprintf(last, size, "%.200s", line);
    }
    return found;
}

bool tui_replay_run(struct tui_replay *replay, size_t ranks, const char *options, double *seconds, char *error,
                    size_t size)
{
    int ends[2], status = 0;
    char last[256] = "it said nothing";
    char *copy = strdup(options);
    if (!copy || !write_lists(replay, ranks) || pipe2(ends, O_CLOEXEC) != 0) {
        snprintf(error, size, "cannot replay in %s: %s", replay->folder, strerror(copy ? errno : ENOMEM));
        free(copy);
        return false;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become(replay, copy, ends[1]);
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    bool found = in && read_words(in, seconds, last, sizeof last);
    if (in)
        fclose(in);
    else
        close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    free(copy);
    if (child > 0 && found && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    snprintf(error, size, "SimGrid did not end the replay: %s", last);
    return false;
}
