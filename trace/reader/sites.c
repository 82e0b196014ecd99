/* Call sites: definitions, and names. */
#include "trace/reader/file.h"
#include "trace/util/cxx_name.h"
#include "trace/util/text.h"

#include <stdlib.h>
#include <string.h>

/* Writes "near f+0x12 in libx.so" to `out`, which has room. */
static const char *write_near(char *out, const char *near, const char *module)
{
    const char *file = trc_base_name(module);
    *(char *)mempcpy(stpcpy(stpcpy(stpcpy(out, "near "), near), " in "), file, strcspn(file, "+")) = 0;
    return out;
}

void trc_define_site(struct trc_file *file, const struct trc_def *def, const char *text, size_t size)
{
    struct trc_site_def *kept = trc_file_alloc(file, sizeof *kept + 2 * size + sizeof "near  in " + 3);
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
    kept->forwards = def->a & TRC_SITE_FORWARDS || trc_site_forwards(kept);
    trc_table_add(file, &file->sites, def->b, kept);
}

void trc_site(const struct trc_file *file, uint64_t site, const char **function, const char **module)
{
    const struct trc_site_def *def = trc_table_find(&file->sites, trc_site_address(file, site));
    const char *shown = def ? trc_cxx_shown(def->cxx) : NULL;
    *function = shown ? shown : def && def->near ? def->near : def ? def->function : NULL;
    *module = def ? def->module : NULL;
}
