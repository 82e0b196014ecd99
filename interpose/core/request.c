#include "interpose/core/request.h"
#include "interpose/base/text.h"
#include "interpose/core/state.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void ipo_request_init(struct ipo_request *request, const char *name)
{
    struct ipo_text path = {0};
    char here[4096] = "";
    if (ipo_process.folder[0] != '/' && getcwd(here, sizeof here))
        ipo_text_add(&path, here);
    ipo_text_add(&path, path.used ? "/" : "");
    ipo_text_add(&path, ipo_process.folder);
    ipo_text_add(&path, "/.");
    if (path.used + 1 < sizeof request->folder)
        memcpy(request->folder, path.text, path.used + 1);
    path.used--;
    ipo_text_add(&path, name);
    if (path.used + 1 < sizeof request->path)
        memcpy(request->path, path.text, path.used + 1);
}

/* Makes the system call: fstat and stat have newer symbol versions than we may use. */
static bool read_file_state(const char *path, struct stat *there)
{
    return path[0] && !syscall(SYS_newfstatat, AT_FDCWD, path, there, AT_SYMLINK_NOFOLLOW);
}

uint64_t ipo_request_time(const struct ipo_request *request)
{
    struct stat file, folder;
    if (!read_file_state(request->path, &file) || !S_ISREG(file.st_mode) || file.st_nlink != 1)
        return 0;
    if (!read_file_state(request->folder, &folder) || folder.st_mode & (S_IWOTH | S_IWGRP))
        return 0;
    if (file.st_uid != geteuid() && file.st_uid != 0 && file.st_uid != folder.st_uid)
        return 0;
    return (uint64_t)file.st_mtim.tv_sec * 1000000000u + (uint64_t)file.st_mtim.tv_nsec;
}
