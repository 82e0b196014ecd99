/* hpctop dump DIR|FILE..: every record as text. */
#include "tui/commands/arguments.h"
#include "tui/commands/command.h"

#include "trace/members/bundle.h"
#include "trace/reader/dump.h"

int tui_command_dump(int argc, char **argv)
{
    int status = tui_arguments(argc, argv, &(struct tui_argument){0}, "a trace folder or file");
    if (status != TUI_EXIT_OK)
        return status;
    struct ana_bundle bundle;
    if (!ana_bundle_open(&bundle, (const char *const *)argv + optind, (size_t)(argc - optind)))
        return tui_input_error("out of memory");
    ana_bundle_scan(&bundle);
    bool any = false;
    for (size_t i = 0; i < bundle.count; i++)
        any = any || bundle.files[i].file;
    for (size_t i = 0; i < bundle.count && (any || i == 0); i++) {
        struct ana_bundle_file *f = &bundle.files[i];
        if (!f->file)
            status = tui_input_error("%s", f->error ? f->error : "out of memory");
        else if (trc_dump(f->file, stdout) != TRC_OK)
            status = TUI_EXIT_INPUT; /* if stdout failed, tui_finish says so */
    }
    if (!bundle.count)
        status = tui_input_error("no trace file (*" ANA_SUFFIX ") in %s", argv[optind]);
    ana_bundle_close(&bundle);
    return tui_finish(status);
}
