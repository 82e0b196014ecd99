/* Call sites: definitions, and names. */
#include "trace/reader/file.h"
#include "trace/util/cxx_name.h"
#include "trace/util/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Writes "libx.so near f+0x12" to `out`, which has room. */
static const char *write_near(char *out, const char *near, const char *module)
{
    const char *file = trc_base_name(module);
    stpcpy(stpcpy(mempcpy(out, file, strcspn(file, "+")), " near "), near);
    return out;
}

void trc_define_site(struct trc_file *file, const struct trc_def *def, const char *text, size_t size)
{
    struct trc_site_def *kept = trc_file_alloc(file, sizeof *kept + 2 * size + sizeof " near " + 3);
    if (!kept)
        return;
    memcpy(kept->text, text, size);
    char *module = kept->text + strlen(kept->text) + 1, *near = module + strlen(module) + 1;
    trc_clean_text(kept->text);
    kept->cxx = trc_cxx_add(kept->text);
    trc_cxx_name(kept->text);
    trc_clean_text(module);
    trc_clean_text(near);
    trc_cxx_name(near);
    kept->function = kept->text[0] ? kept->text : NULL;
    kept->module = module[0] ? module : NULL;
    if (!kept->function && near[0])
        kept->near = write_near(near + strlen(near) + 1, near, module);
    kept->forwards = def->a & TRC_SITE_FORWARDS;
    trc_site_classify(kept);
    trc_table_add(file, def->type == TRC_DEF_SITE ? &file->sites : &file->guessed, def->b, kept);
}

void trc_define_module(struct trc_file *file, const struct trc_def *def, const char *payload, size_t size)
{
    struct trc_module_def *kept = NULL;
    if (size < sizeof kept->end + def->text_bytes || !def->id || def->id > TRC_MODULES_MOST)
        trc_file_damage(file, "file %u that was mapped: no such definition", def->id);
    else if ((kept = trc_file_alloc(file, sizeof *kept + def->text_bytes + 1))) {
        kept->begin = def->b;
        memcpy(&kept->end, payload, sizeof kept->end);
        memcpy(kept->path, payload + sizeof kept->end, def->text_bytes);
        trc_table_add(file, &file->modules, def->id, kept);
    }
}

/* Defines a site as a place in the module that had its address last. */
static void guess_site(struct trc_file *file, uint64_t site)
{
    const uint64_t address = site & (((uint64_t)1 << TRC_SITE_SHIFT) - 1);
    const struct trc_module_def *in = NULL;
    for (size_t i = 0; i < file->modules.sealed; i++) {
        const struct trc_module_def *module = file->modules.entries[i].value;
        in = module->begin <= address && address < module->end ? module : in;
    }
    char text[4096] = "";
    const struct trc_def def = {.b = site};
    int n = in ? snprintf(text + 1, sizeof text - 1, "%s+%#" PRIx64, in->path[0] ? in->path : file->head.exe,
                          address - in->begin)
               : 0;
    if (n > 0 && (size_t)n < sizeof text - 1)
        trc_define_site(file, &def, text, (size_t)n + 1);
}

void trc_guess_sites(struct trc_file *file)
{
    for (size_t i = 0; i < file->paths.sealed; i++) {
        const struct trc_path *path = file->paths.entries[i].value;
        for (uint32_t k = 0; k < path->n; k++)
            if (!trc_site_named(file, path->site[k]))
                guess_site(file, path->site[k]);
    }
}

const struct trc_site_def *trc_site_named(const struct trc_file *file, uint64_t site)
{
    const struct trc_site_def *def = trc_table_find(&file->sites, site);
    return def ? def : trc_table_find(&file->guessed, site);
}

void trc_site(const struct trc_file *file, uint64_t site, const char **function, const char **module)
{
    const struct trc_site_def *def = trc_site_named(file, trc_site_address(file, site));
    const char *shown = def ? trc_cxx_shown(def->cxx) : NULL;
    *function = shown ? shown : def && def->near ? def->near : def ? def->function : NULL;
    *module = def ? def->module : NULL;
}
