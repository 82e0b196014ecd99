/* Facts about the process, and the stacks that were taken of it. */
#include "trace/reader/file.h"
#include "trace/util/sort.h"

#include <string.h>

#define FACTS_MAX  4096u
#define STACKS_MAX 65536u /* a hostile file may hold many small ones */

/* ---- facts ------------------------------------------------------------------------------------------------------- */

ANA_COMPARE(by_key, struct trc_fact_def *const, strcmp((*x)->key, (*y)->key), ANA_ORDER((*x)->ticks, (*y)->ticks))

void trc_define_fact(struct trc_file *file, const struct trc_def *def, const char *text, size_t size)
{
    if (file->fact_count >= FACTS_MAX ||
        !trc_file_room(file, &file->facts, &file->fact_room, file->fact_count, sizeof *file->facts))
        return;
    struct trc_fact_def *fact = trc_file_alloc(file, sizeof *fact + size + 2);
    if (!fact)
        return;
    memcpy(fact->key, text, size);
    char *value = fact->key + strlen(fact->key) + 1;
    trc_clean_text(fact->key);
    trc_clean_text(value);
    fact->value = value;
    fact->ticks = def->ticks;
    file->facts[file->fact_count++] = fact;
    file->facts_seen++;
}

static void seal_facts(struct trc_file *file)
{
    if (file->fact_count < 2)
        return;
    ana_sort(file->facts, file->fact_count, sizeof *file->facts, by_key);
    size_t kept = 0;
    for (size_t i = 0; i < file->fact_count; i++) {
        if (kept && !strcmp(file->facts[kept - 1]->key, file->facts[i]->key))
            free(file->facts[--kept]); /* the later one replaces it */
        file->facts[kept++] = file->facts[i];
    }
    file->fact_count = kept;
}

bool trc_fact_at(const struct trc_file *file, size_t i, const char **key, const char **value)
{
    if (i >= file->fact_count)
        return false;
    *key = file->facts[i]->key;
    *value = file->facts[i]->value;
    return true;
}

uint64_t trc_facts_seen(const struct trc_file *file)
{
    return file->facts_seen;
}

const char *trc_fact(const struct trc_file *file, const char *key)
{
    for (size_t i = 0; i < file->fact_count; i++)
        if (!strcmp(file->facts[i]->key, key))
            return file->facts[i]->value;
    return NULL;
}

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

ANA_COMPARE(by_snapshot, struct trc_stack_def *const, ANA_ORDER((*x)->stack.snapshot, (*y)->stack.snapshot),
            ANA_ORDER((*x)->order, (*y)->order))

/* Replaces all but text by '?'; keeps the tabs and line ends that separate fields and lines. */
static void clean_lines(char *text)
{
    for (char *at = text; *at;) {
        size_t n = strcspn(at, "\t\n");
        char end = at[n];
        at[n] = 0;
        trc_clean_text(at);
        at[n] = end;
        at += n + (end != 0);
    }
}

void trc_define_stack(struct trc_file *file, uint32_t chunk, const struct trc_def *def, const char *payload,
                      size_t size)
{
    if (size < sizeof(struct trc_def_stack)) {
        trc_file_damage(file, "a stack of snapshot %u is too short", def->id);
        return;
    }
    if (file->stack_count >= STACKS_MAX ||
        !trc_file_room(file, &file->stacks, &file->stack_room, file->stack_count, sizeof *file->stacks))
        return;
    size_t text = size - sizeof(struct trc_def_stack);
    if (text > def->text_bytes)
        text = def->text_bytes;
    const size_t bytes = sizeof(struct trc_stack_def) + text + 1;
    struct trc_stack_def *kept = trc_file_alloc(file, bytes);
    if (!kept)
        return;
    kept->bytes = bytes;
    memcpy(&kept->stack.def, payload, sizeof kept->stack.def);
    memcpy(kept->text, payload + sizeof kept->stack.def, text);
    clean_lines(kept->text);
    kept->stack.snapshot = def->id;
    kept->stack.tid = kept->stack.def.flags & TRC_STACK_CLOSING ? 0 : def->a;
    kept->stack.ticks = def->ticks;
    kept->stack.request_ns = def->b;
    kept->stack.text = kept->text;
    if (kept->stack.def.state < ' ' || kept->stack.def.state > '~')
        kept->stack.def.state = '?';
    kept->chunk = chunk;
    kept->order = file->stacks_seen++;
    file->stacks[file->stack_count++] = kept;
}

void trc_forget_stacks(struct trc_file *file, uint32_t chunk)
{
    size_t kept = 0;
    for (size_t i = 0; i < file->stack_count; i++) {
        if (file->stacks[i]->chunk == chunk)
            ana_budget_free(&file->budget, file->stacks[i], file->stacks[i]->bytes);
        else
            file->stacks[kept++] = file->stacks[i];
    }
    file->stack_count = kept;
}

size_t trc_stacks(const struct trc_file *file)
{
    return file->stack_count;
}

const struct trc_stack *trc_stack(const struct trc_file *file, size_t i)
{
    return i < file->stack_count ? &file->stacks[i]->stack : NULL;
}

void trc_facts_seal(struct trc_file *file)
{
    seal_facts(file);
    if (file->stack_count > 1)
        ana_sort(file->stacks, file->stack_count, sizeof *file->stacks, by_snapshot);
}

void trc_facts_free(struct trc_file *file)
{
    for (size_t i = 0; i < file->fact_count; i++)
        free(file->facts[i]);
    for (size_t i = 0; i < file->stack_count; i++)
        free(file->stacks[i]);
    free(file->facts);
    free(file->stacks);
}
