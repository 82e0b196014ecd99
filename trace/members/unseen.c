#include "trace/members/unseen.h"

#include "trace/util/text.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool ana_unseen(const char *folder, char *out, size_t size)
{
    char path[PATH_MAX];
    struct stat is;
    ssize_t n = 0;
    snprintf(path, sizeof path, "%s/unseen.txt", folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && !fstat(fd, &is) && S_ISREG(is.st_mode))
        n = read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    out[strcspn(out, "\n")] = 0;
    trc_clean_text(out);
    return out[0];
}
