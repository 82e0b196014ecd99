#include "trace/index/place.h"
#include "trace/members/members.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDER  (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define STALE_S 600 /* a file that was begun so long ago: its writer was killed */

/* Opens a folder in a folder, which is closed; makes it if there is none.  -1: there is none. */
static int enter(int folder, const char *name, bool make)
{
    int inside = -1;
    if (folder >= 0 && (!make || mkdirat(folder, name, 0700) == 0 || errno == EEXIST))
        inside = openat(folder, name, FOLDER | O_NOFOLLOW);
    if (folder >= 0)
        close(folder);
    return inside;
}

/* Whether this user may make something in a folder: it is his own. */
static bool is_own(int folder, uid_t *owner)
{
    struct stat st;
    bool known = folder >= 0 && fstat(folder, &st) == 0;
    *owner = known ? st.st_uid : 0;
    return known && st.st_uid == geteuid();
}

bool ana_place_open(const struct ana_job *job, enum ana_place_of_index which, uint64_t files, bool make,
                    struct ana_place *place)
{
    const struct ana_members *members = ana_job_members(job);
    const char *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME");
    bool is_cache = which == ANA_IN_CACHE;
    *place = (struct ana_place){.folder = -1};
    snprintf(place->name, sizeof place->name, is_cache ? "%016" PRIx64 : "analysis", files);
    snprintf(place->part, sizeof place->part, "%s.part", place->name);
    const char *around = !is_cache && members->bundle.folders == 1 ? members->bundle.folder[0]
                         : is_cache && cache && *cache == '/'      ? cache
                         : is_cache && home && *home == '/'        ? home
                                                                   : NULL;
    if (!around)
        return false;
    bool in_home = is_cache && around == home;
    if (is_cache && !in_home && make)
        mkdir(around, 0700);
    snprintf(place->path, sizeof place->path, "%.3900s%s/%s/%s", around, in_home ? "/.cache" : "",
             is_cache ? "hpctop" : "index", place->name);
    int folder = open(around, FOLDER);
    bool own = is_own(folder, &place->owner);
    if (make && !own) {
        if (folder >= 0)
            close(folder);
        return false;
    }
    if (in_home)
        folder = enter(folder, ".cache", make);
    place->folder = enter(folder, is_cache ? "hpctop" : "index", make);
    return place->folder >= 0;
}

void ana_place_close(struct ana_place *place)
{
    char folder[PATH_MAX];
    close(place->folder);
    snprintf(folder, sizeof folder, "%s", place->path);
    *strrchr(folder, '/') = 0;
    rmdir(folder); /* if nothing is in it */
}

FILE *ana_place_read(const struct ana_place *place)
{
    struct stat st;
    int fd = openat(place->folder, place->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool trusted = fd >= 0 && fstat(fd, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == place->owner);
    FILE *file = trusted ? fdopen(fd, "rb") : NULL;
    if (fd >= 0 && !file)
        close(fd);
    return file;
}

/* Handler from before, restored: meanwhile a limit of the size of files is an error, and ends nobody. */
static struct sigaction before;

FILE *ana_place_write(const struct ana_place *place)
{
    struct stat st;
    if (fstatat(place->folder, place->part, &st, AT_SYMLINK_NOFOLLOW) == 0 && time(NULL) - st.st_mtime > STALE_S)
        unlinkat(place->folder, place->part, 0);
    int fd = openat(place->folder, place->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w+b") : NULL;
    if (fd >= 0 && !file)
        close(fd);
    if (file)
        sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, &before);
    return file;
}

bool ana_place_finish(const struct ana_place *place, FILE *file, bool whole)
{
    bool closed = fclose(file) == 0;
    bool ok = closed && whole && renameat(place->folder, place->part, place->folder, place->name) == 0;
    int why = errno;
    sigaction(SIGXFSZ, &before, NULL);
    if (!ok)
        unlinkat(place->folder, place->part, 0);
    errno = why;
    return ok;
}
