#include "tui/commands/unnamed.h"
#include "trace/job/site_words.h"
#include "tui/launch/record.h"

#include <string.h>
#include <unistd.h>

enum { PLACES = 12, FILES = 4, WIDTH = 1100 }; /* places that are looked at: a report's; files that are named */

/* Finds the package that owns a file here, by dpkg or rpm. */
static bool find_package(const char *path, char *out, size_t size)
{
    char program[4096];
    bool dpkg = tui_find_program("dpkg-query", program, sizeof program);
    if (!dpkg && !tui_find_program("rpm", program, sizeof program))
        return false;
    bool found = tui_ask(dpkg ? (const char *const[]){program, "-S", path, NULL}
                              : (const char *const[]){program, "-qf", "--qf", "%{NAME}\\n", path, NULL},
                         out, size) == 0;
    if (!found && dpkg && strncmp(path, "/usr/lib", 8) == 0) /* packages may name /lib, which may be a link */
        found = tui_ask((const char *const[]){program, "-S", path + 4, NULL}, out, size) == 0;
    size_t n = strcspn(out, ":,\n");
    if (!found || n == 0 || n + sizeof "-debuginfo" > size || memchr(out, ' ', n))
        return false;
    bool libc = n == 5 && strncmp(out, "libc6", 5) == 0; /* the only one with a package of the old kind */
    strcpy(out + n, libc ? "-dbg" : dpkg ? "-dbgsym" : "-debuginfo");
    return true;
}

/* Prints what would give names in a file. */
static void print_file(const struct trc_file *file, const char *path, FILE *out)
{
    char package[512], key[WIDTH + 16];
    const char *slash = strrchr(path, '/');
    snprintf(key, sizeof key, "build-id %s", path);
    const char *id = trc_fact(file, key);
    if (access(path, F_OK) == 0 && find_package(path, package, sizeof package))
        fprintf(out, "  %s: package %s\n", slash + 1, package);
    else if (id && strlen(id) > 2)
        fprintf(out, "  %s: what was stripped from it, as\n  /usr/lib/debug/.build-id/%.2s/%s.debug\n", slash + 1, id,
                id + 2);
    else
        fprintf(out, "  %s: the same file, not stripped\n", slash + 1);
}

void tui_unnamed_print(const struct ana_job *job, const struct ana_summary *summary, FILE *out)
{
    char files[FILES][WIDTH];
    size_t n = 0;
    for (size_t i = 0; i < summary->site_count && i < PLACES && n < FILES; i++) {
        const struct ana_site *site = &summary->sites[i];
        const char *plus = site->module ? strrchr(site->module, '+') : NULL;
        bool named = site->line || (site->function && !ana_is_near(site->function));
        if (named || !plus || site->module[0] != '/' || plus - site->module >= WIDTH)
            continue;
        snprintf(files[n], WIDTH, "%.*s", (int)(plus - site->module), site->module);
        size_t same = 0;
        while (strcmp(files[same], files[n]) != 0)
            same++;
        if (same < n)
            continue;
        if (n++ == 0)
            fprintf(out, "\nWHAT WOULD NAME THE FUNCTIONS of these files\n");
        print_file(ana_job_rank(job, site->index)->file, files[n - 1], out);
    }
    if (n)
        fprintf(out, "  or HPCTOP_DEBUGINFOD=1, with servers in DEBUGINFOD_URLS\n");
}
