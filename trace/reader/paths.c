/* Call paths: definitions, and which caller is the place that a call is shown at. */
#include "trace/reader/file.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Whether a module, "/usr/lib/libmpi.so.40+0x12", lies between programs and MPI. */
static bool is_binding(const char *module)
{
    static const char *const patterns[] = {
#define BINDING(pattern, reason) pattern,
#include "trace/reader/bindings.def"
#undef BINDING
    };
    const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module, *plus = strrchr(name, '+');
    char file[128];
    size_t n = plus ? (size_t)(plus - name) : strlen(name);
    if (n >= sizeof file)
        return false;
    memcpy(file, name, n);
    file[n] = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (fnmatch(patterns[i], file, 0) == 0)
            return true;
    return false;
}

bool trc_site_forwards(const struct trc_site_def *site, const char *mark)
{
    return strcmp(mark, TRC_SITE_WRAPPER) == 0 || (site->module && is_binding(site->module));
}

void trc_define_path(struct trc_file *file, const struct trc_def *def, const char *payload, size_t size)
{
    struct trc_path *kept = NULL;
    if (!def->a || def->a > TRC_PATH_MOST || def->a > size / sizeof *kept->site)
        trc_file_damage(file, "call path %u: %u callers where %zu have room", def->id, def->a,
                        size / sizeof *kept->site);
    else if (def->id && (kept = calloc(1, sizeof *kept))) {
        kept->n = def->a;
        kept->end = def->b <= TRC_PATH_LOST ? (enum trc_path_end)def->b : TRC_PATH_LOST;
        memcpy(kept->site, payload, kept->n * sizeof *kept->site);
        if (!trc_table_add(&file->paths, def->id, kept))
            free(kept);
    }
}

void trc_place_sig(const struct trc_file *file, struct trc_sig *sig)
{
    if (sig->path && trc_table_find(&file->paths, sig->path))
        sig->site = TRC_SITE_PATH | sig->path;
}

const struct trc_path *trc_path_of(const struct trc_file *file, uint64_t site)
{
    bool is_path = site >> 32 == TRC_SITE_PATH >> 32;
    return is_path ? trc_table_find(&file->paths, (uint32_t)site) : NULL;
}

uint32_t trc_path_place(const struct trc_file *file, const struct trc_path *path)
{
    for (uint32_t i = 0; i < path->n; i++) {
        const struct trc_site_def *site = trc_table_find(&file->sites, path->site[i]);
        if (!site)
            break; /* nobody knows what it is */
        if (!site->forwards)
            return i;
    }
    return 0;
}

uint64_t trc_site_innermost(const struct trc_file *file, uint64_t site)
{
    const struct trc_path *path = trc_path_of(file, site);
    return path ? path->site[0] : site;
}

uint64_t trc_site_address(const struct trc_file *file, uint64_t site)
{
    const struct trc_path *path = trc_path_of(file, site);
    return path ? path->site[trc_path_place(file, path)] : site;
}
