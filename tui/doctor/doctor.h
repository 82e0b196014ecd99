/* hpctop doctor: facts that decide what would be recorded, a line for each.  One thread alone uses it. */
#pragma once

#include "tui/launch/record.h"

enum tui_doctor_level { TUI_DOCTOR_OK, TUI_DOCTOR_NOTE, TUI_DOCTOR_PROBLEM };

struct tui_doctor {
    char library[4096]; /* path of libtrace.so; empty if there is none */
    struct tui_plan plan;
    bool command;             /* a command was given, and the plan is its */
    bool problem;             /* a line told a problem */
    const char *mpi;          /* family of the program's MPI; NULL: unknown */
    char mpi_version[64];     /* "Open MPI 4.1.4"; "": unknown */
    char nccl_version[16];    /* "2.28.9"; "": unknown, or none */
    const char *mpi_launcher; /* tui_layer_kind.title of its own launcher; "" if it has none */
};

/* Prints a line on stdout.  A problem keeps the command from being recorded; a note tells what will be missing. */
void tui_doctor_print(struct tui_doctor *doctor, enum tui_doctor_level level, const char *topic, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));
/* Lines of a check, whose parameter is `doctor`. */
#define SAY_OK(...)      tui_doctor_print(doctor, TUI_DOCTOR_OK, __VA_ARGS__)
#define SAY_NOTE(...)    tui_doctor_print(doctor, TUI_DOCTOR_NOTE, __VA_ARGS__)
#define SAY_PROBLEM(...) tui_doctor_print(doctor, TUI_DOCTOR_PROBLEM, __VA_ARGS__)

/* The checks print a line for each fact.  They are called in this order; the last three only with a command. */

/* Checks that libtrace.so is there, fits this machine and loads, and that the environment lets it record. */
void tui_doctor_libtrace(struct tui_doctor *doctor);

/* Checks that the trace folder can be written, on which file system it is, and how much room it has. */
void tui_doctor_folder(struct tui_doctor *doctor);

/* Checks which clock the records would be timed with. */
void tui_doctor_clock(struct tui_doctor *doctor);

/* Checks whether CUPTI and NCCL are installed. */
void tui_doctor_libraries(struct tui_doctor *doctor);

/* Lists the launchers in PATH, with their versions. */
void tui_doctor_launchers(struct tui_doctor *doctor);

/* Lists the container runtimes in PATH, with their versions. */
void tui_doctor_runtimes(struct tui_doctor *doctor);

/* Checks the command: its executable, launcher and container, and whether it is a script. */
void tui_doctor_command(struct tui_doctor *doctor);

/* Checks the program of the command: its MPI, NCCL and sanitizer, and that its launcher is of its MPI.  Runs nothing
 * that is not installed (tui_is_installed). */
void tui_doctor_program(struct tui_doctor *doctor);

/* Prints the known faults of the program's MPI and NCCL, and of the settings of command and environment. */
void tui_doctor_known(struct tui_doctor *doctor);

/* Checks whether hpctop record could record the command. */
void tui_doctor_plan(struct tui_doctor *doctor);

/* Whether a program or library is installed here: in PATH, the lib beside a bin of PATH, LD_LIBRARY_PATH or the
 * system's folders.  Only such a file may be run to ask it something. */
bool tui_is_installed(const char *path);

/* Opens a library in a child process, since opening it runs its code.  Writes its path into `path` and its version's
 * text into `text` (may be NULL); `version` names an int function of a buffer and its length (may be NULL).  False if
 * it cannot be opened. */
bool tui_probe_library(const char *name, const char *version, char *path, size_t path_size, char *text,
                       size_t text_size);
