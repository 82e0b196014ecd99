/* hpctop: looks at the trace of a job. */
#include "tui/command.h"
#include "tui/lines.h"
#include "tui/node.h"
#include "tui/out.h"

#include <locale.h>

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* numbers stay as in C */
    tui_out_guard();
    tui_names_use();
    tui_node_exit(tui_command_main(argc, argv));
}
