/* hpctop doctor: which files may be run to ask them something.  Only files that are installed here, which the user runs
 * by their names anyway; nothing else that the command names. */
#include "tui/doctor/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether `path` lies in a folder; with `below`, at any depth. */
static bool lies_in(const char *path, const char *folder, bool below)
{
    size_t n = strlen(folder);
    while (n > 0 && folder[n - 1] == '/')
        n--;
    if (strncmp(path, folder, n) != 0 || path[n] != '/')
        return false;
    return below || !strchr(path + n + 1, '/');
}

static bool lies_in_any(const char *path, const char *variable, bool (*fits)(const char *path, const char *folder))
{
    const char *list = getenv(variable);
    char *copy = list ? strdup(list) : NULL, *rest = copy;
    bool found = false;
    for (char *folder; copy && !found && (folder = strsep(&rest, ":"));)
        found = folder[0] == '/' && fits(path, folder);
    free(copy);
    return found;
}

static bool is_folder_of(const char *path, const char *folder)
{
    return lies_in(path, folder, false);
}

/* Whether `path` lies in the lib beside a bin folder. */
static bool is_bin_beside(const char *path, const char *folder)
{
    static const char *const beside[] = {"/lib", "/lib64", "/lib32"};
    char prefix[4096], lib[4096 + 8];
    snprintf(prefix, sizeof prefix, "%s", folder);
    char *slash = strrchr(prefix, '/');
    if (!slash || strcmp(slash, "/bin") != 0)
        return false;
    *slash = 0;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        snprintf(lib, sizeof lib, "%s%s", prefix, beside[i]);
        if (lies_in(path, lib, true))
            return true;
    }
    return false;
}

bool tui_is_installed(const char *path)
{
    if (path[0] != '/' || strstr(path, "/../") || strstr(path, "/./"))
        return false;
    return lies_in_any(path, "PATH", is_folder_of) || lies_in_any(path, "PATH", is_bin_beside) ||
           lies_in_any(path, "LD_LIBRARY_PATH", is_folder_of) || lies_in(path, "/lib", true) ||
           lies_in(path, "/lib64", true) || lies_in(path, "/usr/lib", true) || lies_in(path, "/usr/lib64", true);
}
