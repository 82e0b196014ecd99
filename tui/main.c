/* hpctop: shows the trace of a job. */
#include "tui/commands/command.h"
#include "tui/sources/lines.h"
#include "tui/sources/node.h"
#include "tui/term/out.h"
#include "trace/util/pages.h"

#include <locale.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#define LARGE (1 << 20) /* bytes: such memory leaves no hole as it grows, and is there only where it was written to */

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* numbers stay as in C */
    mallopt(M_ARENA_MAX, 1); /* what arrays of one thread leave behind as they grow is of use to the others */
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, LARGE);
    mallopt(M_TOP_PAD, 32 * LARGE); /* grows rarely: one call finds all memory of many ranks before it is used */
    ana_pages_of_heap();
    tui_out_guard();
    tui_names_use();
    int status = tui_command_main(argc, argv);
    if (tui_lines_busy()) { /* its thread may be inside a library that exit() would take apart */
        fflush(NULL);
        _exit(status);
    }
    tui_node_exit(status);
}
