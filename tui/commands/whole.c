#include "tui/commands/whole.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool tui_whole_open(struct tui_whole *whole, const char *path)
{
    whole->path = path;
    whole->out = NULL;
    if (snprintf(whole->part, sizeof whole->part, "%s.part", path) >= (int)sizeof whole->part) {
        errno = ENAMETOOLONG;
        return false;
    }
    unlink(whole->part); /* of one that was killed */
    int file = open(whole->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
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
