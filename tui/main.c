/* hpctop: looks at the trace of a job. */
#include "tui/commands/command.h"
#include "tui/sources/lines.h"
#include "tui/sources/node.h"
#include "tui/term/out.h"

#include <locale.h>

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* numbers stay as in C */
    tui_out_guard();
    tui_names_use();
    tui_node_exit(tui_command_main(argc, argv));
}
