#include "tui/commands/whole.h"

#include "trace/export/out.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

bool tui_whole_open(struct tui_whole *whole, const char *path)
{
    whole->path = path;
    whole->out = NULL;
    if (snprintf(whole->part, sizeof whole->part, "%s.part", path) >= (int)sizeof whole->part) {
        errno = ENAMETOOLONG;
        return false;
    }
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        errno = S_ISDIR(there.st_mode) ? EISDIR : EEXIST; /* a device would be replaced */
        return false;
    }
    int file = ana_out_make(whole->part);
    whole->out = file >= 0 ? fdopen(file, "w") : NULL;
    return whole->out != NULL;
}

bool tui_whole_close(struct tui_whole *whole, bool complete)
{
    errno = ENOMEM;
    bool whole_yet = fflush(whole->out) == 0 && !ferror(whole->out) && complete;
    int reason = errno;
    if (fclose(whole->out) == 0 && whole_yet && rename(whole->part, whole->path) == 0)
        return true;
    reason = whole_yet ? errno : reason;
    unlink(whole->part);
    errno = reason;
    return false;
}
