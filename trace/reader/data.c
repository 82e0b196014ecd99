/* Definitions of what calls move, of lists of ranks, and of what the program never freed. */
#include "trace/reader/file.h"

#include <stdlib.h>
#include <string.h>

struct data_def {
    struct trc_data data;
    char text[];
};
struct left_def {
    struct trc_left left;
    char kind[];
};

void trc_define_data(struct trc_file *file, const struct trc_def *def, const char *payload, size_t size)
{
    struct trc_def_data said;
    size_t text = def->text_bytes;
    if (size < sizeof said + text) {
        trc_file_damage(file, "data %u: its definition is too short", def->id);
        return;
    }
    struct data_def *kept = trc_file_alloc(file, sizeof *kept + text + 2);
    if (!kept)
        return;
    memcpy(&said, payload, sizeof said);
    memcpy(kept->text, payload + sizeof said, text);
    char *second = kept->text + strlen(kept->text) + 1;
    trc_clean_text(kept->text);
    trc_clean_text(second);
    kept->data = (struct trc_data){
        .signature = {kept->text, second},
        .size = {said.size[0], said.size[1]},
        .operation = said.operation < TRC_REDUCTION_COUNT ? (enum trc_reduction)said.operation : TRC_REDUCTION_OWN};
    trc_table_add(file, &file->data, def->id, kept);
}

void trc_define_left(struct trc_file *file, const struct trc_def *def, const char *text, size_t size)
{
    struct left_def *kept = trc_file_alloc(file, sizeof *kept + size + 1);
    if (!kept)
        return;
    memcpy(kept->kind, text, size);
    trc_clean_text(kept->kind);
    kept->left =
        (struct trc_left){.kind = kept->kind, .call = trc_call(file, def->a), .site = def->b, .count = def->id};
    trc_table_add(file, &file->left, file->left.count + 1, kept);
}

void trc_define_off(struct trc_file *file, const struct trc_def *def)
{
    struct trc_off *kept = def->id && def->id <= TRC_OFF_MOST ? trc_file_alloc(file, sizeof *kept) : NULL;
    if (!kept)
        return;
    *kept = (struct trc_off){def->b, def->ticks > def->b ? def->ticks : def->b};
    trc_table_add(file, &file->offs, def->id, kept);
}

const struct trc_off *trc_off_at(const struct trc_file *file, size_t i)
{
    return i < file->offs.sealed ? file->offs.entries[i].value : NULL;
}

void trc_define_ranks(struct trc_file *file, const struct trc_def *def, const char *payload, size_t size)
{
    if (def->a > size / sizeof(int32_t)) {
        trc_file_damage(file, "ranks %u: %u of them, of which %zu have room", def->id, def->a, size / sizeof(int32_t));
        return;
    }
    struct trc_ranks *kept = trc_file_alloc(file, sizeof *kept + def->a * sizeof(int32_t));
    if (!kept)
        return;
    kept->n = def->a;
    memcpy(kept->rank, payload, def->a * sizeof(int32_t));
    trc_table_add(file, &file->ranks, def->id, kept);
}

const struct trc_ranks *trc_ranks(const struct trc_file *file, uint32_t id)
{
    return trc_table_find(&file->ranks, id);
}

const struct trc_data *trc_data(const struct trc_file *file, uint32_t id)
{
    const struct data_def *def = trc_table_find(&file->data, id);
    return def ? &def->data : NULL;
}

const struct trc_left *trc_left_at(const struct trc_file *file, size_t i)
{
    return i < file->left.sealed ? &((const struct left_def *)file->left.entries[i].value)->left : NULL;
}

const char *trc_reduction_name(enum trc_reduction operation)
{
    static const char *const names[] = {"none",
#define REDUCTION(name) "MPI_" #name,
                                        TRC_REDUCTIONS(REDUCTION)
#undef REDUCTION
                                            "an own operation"};
    return (unsigned)operation < TRC_REDUCTION_COUNT ? names[operation] : names[TRC_REDUCTION_OWN];
}
