/* hpctop demo [DIR]: the screens on a recorded job of four ranks, workloads/heat.py, without an MPI. */
#include "tui/commands/arguments.h"
#include "tui/commands/command.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

/* The trace files, a frame of zstd each. */
extern const unsigned char demo_traces[], demo_traces_end[];
__asm__(".section .rodata\n.global demo_traces\ndemo_traces:\n.incbin \"tui/commands/demo.zst\"\n"
        ".global demo_traces_end\ndemo_traces_end:\n.previous\n");

/* Writes a frame as a file.  False: errno says why. */
static bool write_frame(const char *path, const unsigned char *frame, size_t n)
{
    const size_t size = (size_t)ZSTD_getFrameContentSize(frame, n);
    void *bytes = malloc(size);
    FILE *file = bytes ? fopen(path, "wxe") : NULL;
    bool done = file && ZSTD_decompress(bytes, size, frame, n) == size && fwrite(bytes, 1, size, file) == size;
    done = file && fclose(file) == 0 && done;
    free(bytes);
    return done;
}

/* Makes the folder, with the trace in it.  False: errno says why. */
static bool write_trace(const char *folder)
{
    char path[4200];
    bool done = mkdir(folder, 0700) == 0;
    for (const unsigned char *at = demo_traces; done && at < demo_traces_end;) {
        const size_t n = ZSTD_findFrameCompressedSize(at, (size_t)(demo_traces_end - at));
        snprintf(path, sizeof path, "%s/%td.hpctop", folder, at - demo_traces);
        done = write_frame(path, at, n);
        at += n;
    }
    return done;
}

static void remove_trace(const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(folder);
}

/* Shows the job in a folder that is removed afterwards. */
static int show_demo(void)
{
    char place[4096], folder[4104];
    const char *temporary = getenv("TMPDIR");
    char *view[] = {"view", folder, NULL};
    snprintf(place, sizeof place, "%s/hpctop-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(place))
        return tui_input_error("cannot write to %s: %s", place, strerror(errno));
    snprintf(folder, sizeof folder, "%s/demo", place);
    setenv("HPCTOP_INDEX", "no", 1);
    int status = write_trace(folder) ? tui_command_view(2, view)
                                     : tui_input_error("cannot write to %s: %s", folder, strerror(errno));
    remove_trace(folder);
    rmdir(place);
    return status;
}

int tui_command_demo(int argc, char **argv)
{
    const struct tui_argument known[] = {{0}};
    const int status = tui_arguments(argc, argv, known, NULL);
    if (status != TUI_EXIT_OK)
        return status;
    if (argc - optind > 1)
        return tui_usage_error("demo", "demo writes one folder");
    if (optind == argc)
        return show_demo();
    if (!write_trace(argv[optind]))
        return tui_input_error("cannot write to %s: %s", argv[optind], strerror(errno));
    printf("hpctop %s\n", argv[optind]);
    return tui_finish(TUI_EXIT_OK);
}
