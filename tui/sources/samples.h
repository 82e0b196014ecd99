/* Samples of the main threads of processes on this host, late ones and one to compare with: where each is, several
 * times a second.  A thread of its own takes them; there is one set at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum tui_samples_side { TUI_SAMPLES_LATE, TUI_SAMPLES_OTHER, TUI_SAMPLES_SIDES };
enum { TUI_SAMPLES_PLACES = 512, TUI_SAMPLES_MOST = 8 };

/* A function, or a line of it, and the samples of each side in it. */
struct tui_samples_place {
    char name[260]; /* "solve", "in MPI_Recv at halo.c:12" */
    char line[120]; /* "solver.c:88"; "": the function as a whole */
    unsigned count[TUI_SAMPLES_SIDES];
};

struct tui_samples_process {
    int pid;
    enum tui_samples_side side;
};

struct tui_samples {
    bool runs; /* further samples follow */
    unsigned count[TUI_SAMPLES_SIDES];
    size_t places;
    struct tui_samples_place place[TUI_SAMPLES_PLACES];
};

/* Starts to sample `n` processes, at most TUI_SAMPLES_MOST, 20 times a second.  False: earlier ones are still sampled,
 * or there is no thread. */
bool tui_samples_start(const struct tui_samples_process *process, size_t n, double seconds);
/* Copies the samples since the last start.  Any thread. */
void tui_samples_copy(struct tui_samples *out);
