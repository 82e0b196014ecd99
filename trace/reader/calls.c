/* Calls: definitions of what the numbers of calls mean. */
#include "trace/reader/file.h"

#include <stdlib.h>
#include <string.h>

struct trc_call_def {
    struct trc_call call; /* first: what trc_call returns */
    uint32_t id;
    char name[];
};

/* Makes room for one more call, and for this id. */
static bool make_room(struct trc_file *file, uint32_t id)
{
    size_t ids = id < file->call_ids ? file->call_ids : (size_t)id + 8;
    return trc_file_grow(file, &file->call_at, &file->call_ids, ids, sizeof *file->call_at) &&
           trc_file_room(file, &file->calls, &file->call_room, file->call_count, sizeof *file->calls);
}

void trc_define_call(struct trc_file *file, const struct trc_def *def, const char *text, size_t size)
{
    if (def->id >= TRC_CALLS_MAX || size == 0) {
        trc_file_damage(file, "call %u: its definition cannot be used", def->id);
        return;
    }
    struct trc_call_def *kept = trc_file_alloc(file, sizeof *kept + size + 1);
    if (!kept || !make_room(file, def->id) || file->call_at[def->id]) {
        free(kept); /* the first stays: others may hold pointers to it */
        return;
    }
    memcpy(kept->name, text, size);
    kept->id = def->id;
    kept->call = (struct trc_call){kept->name, def->a < TRC_OPCLASSES ? (enum trc_opclass)def->a : TRC_OP_OTHER};
    trc_clean_text(kept->name);
    file->calls[file->call_count] = kept;
    file->call_at[def->id] = (uint16_t)++file->call_count;
}

void trc_calls_free(struct trc_file *file)
{
    for (size_t i = 0; i < file->call_count; i++)
        free(file->calls[i]);
    free(file->calls);
    free(file->call_at);
}

size_t trc_calls(const struct trc_file *file)
{
    return file->call_count;
}

uint32_t trc_call_id(const struct trc_file *file, size_t i)
{
    return file->calls[i]->id;
}

bool trc_call_known(const struct trc_file *file, uint32_t id)
{
    return id < file->call_ids && file->call_at[id];
}

const struct trc_call *trc_call(const struct trc_file *file, uint32_t id)
{
    static const struct trc_call unknown = {"unknown call", TRC_OP_OTHER};
    return trc_call_known(file, id) ? &file->calls[file->call_at[id] - 1]->call : &unknown;
}
