#include "tui/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>

void tui_doctor_print(struct tui_doctor *doctor, enum tui_doctor_level level, const char *topic, const char *format,
                      ...)
{
    static const char *const words[] = {"ok", "note", "problem"};
    _Static_assert(sizeof words / sizeof *words == TUI_DOCTOR_PROBLEM + 1, "a row each");
    va_list args;
    printf("%-8s %-13s ", words[level], topic);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    doctor->problem = doctor->problem || level == TUI_DOCTOR_PROBLEM;
}
