#include "tui/app/user_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool tui_user_path(const char *xdg, const char *home, const char *name, char *out, size_t size)
{
    const char *folder = getenv(xdg), *user = getenv("HOME");
    int n = folder && *folder == '/' ? snprintf(out, size, "%s/hpctop/%s", folder, name)
            : user && *user == '/'   ? snprintf(out, size, "%s/%s/hpctop/%s", user, home, name)
                                     : -1;
    if (n < 0 || (size_t)n >= size)
        *out = 0;
    return *out;
}

void tui_user_folders(const char *path, mode_t mode)
{
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = folder; *slash && (slash = strchr(slash + 1, '/')); *slash = '/') {
        *slash = 0;
        mkdir(folder, mode);
    }
}

/* Writes the name that a file has while it is written. */
static void name_fresh(const char *path, char *out, size_t size)
{
    snprintf(out, size, "%s.%d", path, (int)getpid());
}

FILE *tui_user_begin(const char *path)
{
    char fresh[1100];
    name_fresh(path, fresh, sizeof fresh);
    return *path ? fopen(fresh, "wxe") : NULL;
}

bool tui_user_end(const char *path, FILE *out)
{
    char fresh[1100];
    name_fresh(path, fresh, sizeof fresh);
    bool whole = !ferror(out);
    whole = fclose(out) == 0 && whole && rename(fresh, path) == 0;
    if (!whole)
        unlink(fresh);
    return whole;
}
