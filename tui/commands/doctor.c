/* hpctop doctor [-- CMD..]: says what would be recorded here, and why something would not. */
#include "tui/commands/command.h"
#include "tui/commands/nearest.h"
#include "tui/doctor/doctor.h"

#include <getopt.h>
#include <stdio.h>

enum { EXIT_PROBLEM = 1 };

int tui_command_doctor(int argc, char **argv)
{
    static const struct {
        void (*check)(struct tui_doctor *doctor);
        bool of_command;
    } checks[] = {{tui_doctor_libtrace, false},  {tui_doctor_folder, false},    {tui_doctor_clock, false},
                  {tui_doctor_libraries, false}, {tui_doctor_launchers, false}, {tui_doctor_runtimes, false},
                  {tui_doctor_command, true},    {tui_doctor_program, true},    {tui_doctor_known, true},
                  {tui_doctor_plan, true}};
    static const struct option names[] = {{0}};
    optind = 1;
    opterr = 0;
    if (getopt_long(argc, argv, "+", names, NULL) != -1)
        return tui_unknown_option("doctor", argv[optind - 1]);
    struct tui_doctor doctor = {.command = optind < argc};
    if (doctor.command && !tui_plan_read(&doctor.plan, argv + optind, (size_t)(argc - optind)))
        return tui_input_error("%s", doctor.plan.refusal);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (doctor.command || !checks[i].of_command) {
            checks[i].check(&doctor);
            fflush(stdout);
        }
    tui_plan_free(&doctor.plan);
    int status = tui_finish(TUI_EXIT_OK);
    return status != TUI_EXIT_OK ? status : doctor.problem ? EXIT_PROBLEM : TUI_EXIT_OK;
}
