/* Files of the user: where they lie, and how they are replaced. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Writes the path of hpctop/NAME below the folder that the environment variable `xdg` names, else below `home` in the
 * user's home; "" where there is neither, or it does not fit.  False: "". */
bool tui_user_path(const char *xdg, const char *home, const char *name, char *out, size_t size);
/* Makes the folders that a path leads through. */
void tui_user_folders(const char *path, mode_t mode);
/* Makes a new file beside `path`, to replace it later; NULL, with errno: it cannot be made. */
FILE *tui_user_begin(const char *path);
/* Closes it and gives it the name `path`.  False, with errno: something failed, and the old file stays. */
bool tui_user_end(const char *path, FILE *out);
