/* Call paths: definitions, and which caller is the place that a call is shown at. */
#include "trace/reader/file.h"
#include "trace/util/text.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Patterns of names of files, and of functions. */
static const char *const libraries[] = {
#define BINDING(pattern, reason) pattern,
#define INTERPRETER(pattern, language)
#define WRAPPER(pattern, program)
#include "trace/reader/bindings.def"
};
static const char *const interpreters[] = {
#define BINDING(pattern, reason)
#define INTERPRETER(pattern, language) pattern,
#define WRAPPER(pattern, program)
#include "trace/reader/bindings.def"
};
static const char *const functions[] = {
#define BINDING(pattern, reason)
#define INTERPRETER(pattern, language)
#define WRAPPER(pattern, program) pattern,
#include "trace/reader/bindings.def"
};

/* Whether a text begins as a pattern does before its first special character: cheaper than fnmatch. */
static bool begins_alike(const char *pattern, const char *text)
{
    return strncmp(pattern, text, strcspn(pattern, "*?[\\")) == 0;
}

/* Whether the name before an offset ("halo+0x12") matches one of `n` patterns. */
static bool matches(const char *name, const char *const *patterns, size_t n)
{
    const char *plus = strrchr(name, '+');
    size_t length = plus ? (size_t)(plus - name) : strlen(name);
    char text[256];
    if (length >= sizeof text)
        return false;
    memcpy(text, name, length);
    text[length] = 0;
    for (size_t i = 0; i < n; i++)
        if (begins_alike(patterns[i], text) && fnmatch(patterns[i], text, 0) == 0)
            return true;
    return false;
}

void trc_site_classify(struct trc_site_def *site)
{
    const char *file = trc_base_name(site->module);
    site->interprets = file && matches(file, interpreters, sizeof interpreters / sizeof *interpreters);
    site->forwards |= (file && matches(file, libraries, sizeof libraries / sizeof *libraries)) ||
                      (site->function && matches(site->function, functions, sizeof functions / sizeof *functions));
}

void trc_define_path(struct trc_file *file, const struct trc_def *def, const char *payload, size_t size)
{
    struct trc_path *kept = NULL;
    if (!def->a || def->a > TRC_PATH_MOST || def->a > size / sizeof *kept->site)
        trc_file_damage(file, "call path %u: %u callers where %zu have room", def->id, def->a,
                        size / sizeof *kept->site);
    else if (def->id && (kept = trc_file_alloc(file, sizeof *kept))) {
        kept->n = def->a;
        kept->end = def->b <= TRC_PATH_LOST ? (enum trc_path_end)def->b : TRC_PATH_LOST;
        memcpy(kept->site, payload, kept->n * sizeof *kept->site);
        trc_table_add(file, &file->paths, def->id, kept);
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
        const struct trc_site_def *site = trc_site_named(file, path->site[i]);
        if (!site)
            break; /* unknown site */
        if (site->interprets)
            return i > 0 ? i - 1 : 0;
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
