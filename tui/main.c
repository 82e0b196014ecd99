/* hpctop: looks at the trace of a job. */
#include "tui/command.h"
#include "tui/lines.h"

#include <locale.h>

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* numbers stay as in C */
    tui_names_use();
    return tui_command_main(argc, argv);
}
