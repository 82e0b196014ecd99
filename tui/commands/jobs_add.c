#include "tui/commands/jobs.h"
#include "tui/commands/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the folder -------------------------------------------------------------------------------------------------- */

/* A folder that is open: every check and every use is of its descriptor, never again of a name. */
struct folder {
    const char *shown; /* name for errors */
    int descriptor;
    uid_t uid;
    gid_t gid;      /* group of the owner's entry */
    char user[64];  /* the owner's name */
    char real[960]; /* path for rows */
};
_Static_assert(sizeof((struct folder *)NULL)->real + sizeof "/report-1000.html" <=
                   sizeof((struct tui_job_row *)NULL)->page,
               "a page's path fits into a row");

static void name_owner(struct folder *f)
{
    enum { NOBODY = 65534 }; /* the group of a user that has no entry */
    const struct passwd *user = getpwuid(f->uid);
    f->gid = user ? user->pw_gid : NOBODY;
    if (user)
        snprintf(f->user, sizeof f->user, "%.*s", (int)sizeof f->user - 1, user->pw_name);
    else
        snprintf(f->user, sizeof f->user, "%u", (unsigned)f->uid);
}

/* Returns the reason to refuse the open folder, in `text` or static; NULL: there is none. */
static const char *refuse(struct folder *f, const char *owner, char *text, size_t size)
{
    char link[64];
    struct stat is;
    if (fstat(f->descriptor, &is) != 0)
        return strerror(errno);
    f->uid = is.st_uid;
    if (owner && strtoul(owner, NULL, 10) != f->uid) {
        snprintf(text, size, "user %u owns it, not user %s", (unsigned)f->uid, owner);
        return text;
    }
    if (geteuid() == 0 && is.st_mode & (S_IWGRP | S_IWOTH))
        return "group or others may write to it";
    snprintf(link, sizeof link, "/proc/self/fd/%d", f->descriptor);
    ssize_t n = readlink(link, f->real, sizeof f->real);
    if (n < 0)
        return strerror(errno);
    if (n == sizeof f->real)
        return "the path is too long";
    f->real[n] = 0;
    name_owner(f);
    return NULL;
}

/* Opens a folder, and checks it.  False: the reason is on stderr. */
static bool open_folder(struct folder *f, const char *name, const char *owner)
{
    char text[128];
    *f = (struct folder){.shown = name};
    /* O_PATH: root need not be able to read it, as on a network file system. */
    f->descriptor = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC | (owner ? O_NOFOLLOW : 0));
    if (f->descriptor < 0) {
        tui_input_error("%s: %s", name, errno == ENOTDIR && owner ? "not a folder, or a link to one" : strerror(errno));
        return false;
    }
    const char *why = refuse(f, owner, text, sizeof text);
    if (!why)
        return true;
    tui_input_error("%s: %s", name, why);
    close(f->descriptor);
    return false;
}

/* ---- its reader -------------------------------------------------------------------------------------------------- */

/* Moves the bytes of a row through a pipe: sends, or receives them.  False: it broke off. */
static bool move_row(int pipe, char *at, bool sends)
{
    for (size_t left = sizeof(struct tui_job_row); left;) {
        ssize_t n = sends ? write(pipe, at, left) : read(pipe, at, left);
        if (n <= 0)
            return false;
        at += n;
        left -= (size_t)n;
    }
    return true;
}

static bool send_row(void *user, const struct tui_job_row *row)
{
    struct tui_job_row copy = *row;
    return move_row(*(const int *)user, (char *)&copy, true);
}

/* Limits the address space of this process to half of the machine's memory, or less if it is limited already.  False:
 * errno says why it is not limited. */
static bool limit_memory(void)
{
    const rlim_t most = (rlim_t)sysconf(_SC_PHYS_PAGES) / 2 * (rlim_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0)
        return false;
    limit.rlim_cur = limit.rlim_cur < most ? limit.rlim_cur : most;
    limit.rlim_max = limit.rlim_max < most ? limit.rlim_max : most;
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

/* Drops root's rights, and memory without limit, where another one owns the folder. */
static bool become_owner(const struct folder *f)
{
    return geteuid() == f->uid || geteuid() != 0 ||
           (limit_memory() && setgroups(0, NULL) == 0 && setgid(f->gid) == 0 && setuid(f->uid) == 0);
}

/* Reads the folder as its owner, and sends the rows.  Returns the exit status. */
static int read_as_owner(const struct folder *f, const char *said, int out)
{
    umask(077);
    if (!become_owner(f))
        return tui_input_error("%s: cannot become its owner, %s: %s", f->shown, f->user, strerror(errno));
    if (fchdir(f->descriptor) != 0)
        return tui_input_error("%s: %s", f->shown, strerror(errno));
    return tui_jobs_read(f->shown, said, send_row, &out);
}

/* Starts a process that reads the folder; *rows: the descriptor of its rows.  -1: errno says why not. */
static pid_t start_reader(const struct folder *f, const char *said, int *rows)
{
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0)
        return -1;
    pid_t reader = fork();
    if (reader == 0) {
        close(ends[0]);
        int status = read_as_owner(f, said, ends[1]);
        fflush(NULL);
        _exit(status);
    }
    close(ends[1]);
    *rows = ends[0];
    return reader;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* Completes a row by facts that its sender cannot choose. */
static void complete_row(struct tui_job_row *row, const struct folder *f, const char *said)
{
    char page[sizeof "report-1000.html"];
    snprintf(page, sizeof page, "%.*s", (int)sizeof page - 1, row->page);
    bool is_name = page[0] && !strchr(page, '/');
    snprintf(row->page, sizeof row->page, "%s%s%s", is_name ? f->real : "", is_name ? "/" : "", is_name ? page : "");
    snprintf(row->folder, sizeof row->folder, "%s", f->real);
    snprintf(row->user, sizeof row->user, "%s", f->user);
    snprintf(row->said, sizeof row->said, "%.*s", (int)sizeof row->said - 1, said);
}

/* Puts at most TUI_JOBS_RUNS rows into the list.  False: the list is at fault, and `error` says why. */
static bool put_rows(int in, const struct folder *f, const struct tui_jobs_adding *adding, char *error, size_t size)
{
    struct tui_job_row row;
    struct tui_jobs_db *db = tui_jobs_open(adding->list, true, error, size);
    bool good = db != NULL;
    for (int rows = 0; good && rows < TUI_JOBS_RUNS && move_row(in, (char *)&row, false); rows++) {
        complete_row(&row, f, adding->said);
        good = !row.ranks || tui_jobs_put(db, &row, error, size);
    }
    tui_jobs_close(db);
    return good;
}

/* Adds the runs in a folder.  Its reader starts before the list is open: it has no descriptor of the list.  Returns the
 * exit status. */
static int add_folder(const struct tui_jobs_adding *adding, const char *name)
{
    char error[512];
    struct folder f;
    int rows, status;
    if (!open_folder(&f, name, adding->owner))
        return TUI_EXIT_INPUT;
    pid_t reader = start_reader(&f, adding->said, &rows);
    int reason = errno;
    close(f.descriptor);
    if (reader < 0)
        return tui_input_error("%s: %s", name, strerror(reason));
    bool listed = put_rows(rows, &f, adding, error, sizeof error);
    close(rows);
    bool ended = waitpid(reader, &status, 0) == reader && WIFEXITED(status);
    if (!listed)
        return tui_input_error("%s: %s", adding->list, error);
    return ended ? WEXITSTATUS(status) : tui_input_error("%s: its reader was killed", name);
}

int tui_jobs_add(const struct tui_jobs_adding *adding, char **folder, int n)
{
    char error[512];
    struct tui_jobs_db *db = tui_jobs_open(adding->list, true, error, sizeof error);
    if (!db)
        return tui_input_error("%s", error);
    tui_jobs_close(db);
    int status = TUI_EXIT_OK;
    for (int i = 0; i < n; i++) { /* one that cannot be read does not keep the others out */
        int one = add_folder(adding, folder[i]);
        status = one ? one : status;
    }
    return status;
}
