/* hpctop doctor: facts that decide what would be recorded, one line each. */
#ifndef TUI_DOCTOR_H
#define TUI_DOCTOR_H

#include "tui/launch/record.h"

enum tui_doctor_level { TUI_DOCTOR_OK, TUI_DOCTOR_NOTE, TUI_DOCTOR_PROBLEM };

struct tui_doctor {
    char library[4096]; /* libtrace.so; empty if there is none */
    struct tui_plan plan;
    bool command;             /* the plan is of one */
    bool problem;             /* some line was one */
    const char *mpi;          /* family of the program's MPI; NULL: unknown */
    const char *mpi_launcher; /* and the tui_layer_kind.title of its own launcher; "" if it has none */
};

/* Prints a line.  A problem keeps the command from being recorded; a note is what will be missing. */
void tui_doctor_say(struct tui_doctor *doctor, enum tui_doctor_level level, const char *topic, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Each looks into one thing, in the order in which they are shown. */
void tui_doctor_libtrace(struct tui_doctor *doctor);
void tui_doctor_folder(struct tui_doctor *doctor);
void tui_doctor_clock(struct tui_doctor *doctor);
void tui_doctor_libraries(struct tui_doctor *doctor);
void tui_doctor_launchers(struct tui_doctor *doctor);
void tui_doctor_runtimes(struct tui_doctor *doctor);
void tui_doctor_command(struct tui_doctor *doctor);
void tui_doctor_program(struct tui_doctor *doctor);
void tui_doctor_plan(struct tui_doctor *doctor);

/* Whether a program or library belongs to what is installed here (PATH, the lib beside its bin, LD_LIBRARY_PATH, the
 * system's): such a one may be run to ask it something.  Nothing else is. */
bool tui_is_installed(const char *path);

/* What a library says of itself: its path, and the text of `version` (an int function of a buffer and a length; may be
 * NULL).  It is opened in a child process, since what opening it runs is not ours.  False: it cannot be opened. */
bool tui_probe_library(const char *name, const char *version, char *path, size_t path_size, char *text,
                       size_t text_size);

#endif
