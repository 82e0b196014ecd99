/* Files that are there whole or not at all: written as NAME.part, which takes the name at the end. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct tui_whole {
    const char *path; /* the caller's, as long as it is written */
    char part[4096];
    FILE *out;
};

/* Opens it for writing to whole->out; follows no link, and replaces nothing but files.  False: errno says why. */
bool tui_whole_open(struct tui_whole *whole, const char *path);
/* Closes it, and gives it its name if all was written (`complete`) without an error; else nothing is left.  False:
 * errno says why; that is ENOMEM where nothing but `complete` is wrong. */
bool tui_whole_close(struct tui_whole *whole, bool complete);
