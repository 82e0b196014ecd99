/* The screen that is there while the files of a job are opened, where that takes time. */
#pragma once

#include "tui/term/term.h"

/* Zeros but for the first members. */
struct tui_opening {
    const char *folder; /* folder that is opened */
    enum tui_colour colour;
    bool ascii;
    struct tui_term term; /* made when the screen is first shown, if it has no `ops`; the caller closes it */
    struct tui_grid grid; /* tui_grid_free */
    int64_t began_ns, next_ns;
    bool left;       /* the user wants nothing more */
    char error[256]; /* reason why there is no terminal */
};

/* An ana_opening (trace/job/job.h) whose user is a struct tui_opening: shows how far it is, ten times a second from
 * 0.1 s on, and takes keys: Esc leaves out the other files, q does too and sets `left`. */
bool tui_opening_step(void *user, size_t opened, size_t files);
