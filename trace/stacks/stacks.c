/* Stacks out of the records of files: parsed, and the newest of each process. */
#include "trace/stacks/stacks.h"
#include "trace/util/cxx_name.h"
#include "trace/util/sort.h"
#include "trace/util/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY 64u /* bytes of parsed stacks for each byte of a file, at most */

/* Memory of one parsed record, in a chain from ana_stacks.owned. */
struct piece {
    struct piece *next;
    struct ana_frame *frames;
    char text[];
};

static struct piece *add_piece(struct ana_stacks *stacks, const char *text)
{
    size_t size = strlen(text) + 1, frames = 0;
    for (const char *at = text; *at; at++)
        frames += *at == '\n';
    bool fits = ana_charge(&stacks->budget, 1, sizeof(struct piece) + size + (frames + 1) * sizeof(struct ana_frame));
    struct piece *piece = fits ? malloc(sizeof *piece + size) : NULL;
    if (!piece)
        return NULL;
    piece->frames = malloc((frames + 1) * sizeof *piece->frames);
    if (!piece->frames) {
        free(piece);
        return NULL;
    }
    memcpy(piece->text, text, size);
    piece->next = stacks->owned;
    stacks->owned = piece;
    return piece;
}

/* ---- one record -------------------------------------------------------------------------------------------------- */

/* Returns the next field of a line at *at and terminates it; "" when there is none. */
static char *next_field(char **at)
{
    char *begin = *at, *tab = strchr(begin, '\t');
    if (tab)
        *tab = 0;
    *at = tab ? tab + 1 : begin + strlen(begin);
    return begin;
}

/* Cuts "+0x12" off a name and returns the number; 0 without one. */
static uint64_t cut_offset(char *name)
{
    char *plus = strrchr(name, '+');
    if (!plus || strncmp(plus, "+0x", 3) != 0)
        return 0;
    *plus = 0;
    return strtoull(plus + 3, NULL, 16);
}

static struct ana_frame frame_of(bool python, char *rest)
{
    struct ana_frame frame = {.python = python};
    char *function = next_field(&rest), *file = next_field(&rest);
    frame.file = file;
    if (python) {
        frame.line = (uint32_t)strtoul(next_field(&rest), NULL, 10);
    } else {
        frame.in_module = cut_offset(file);
        frame.offset = cut_offset(function);
        trc_cxx_name(function);
        if (!*function || !strcmp(function, "?"))
            frame.offset = frame.in_module;
    }
    frame.function = *function ? function : "?";
    return frame;
}

/* Parses a record.  Frames lie in one array: Python's first, then the native ones. */
static bool parse_record(struct ana_stacks *stacks, const struct trc_stack *from, struct ana_stack *out,
                         const char **why)
{
    struct piece *piece = add_piece(stacks, from->text);
    if (!piece)
        return false;
    size_t pythons = 0;
    for (const char *at = from->text, *end; at; at = end ? end + 1 : NULL) {
        pythons += strncmp(at, "python\t", 7) == 0;
        end = strchr(at, '\n');
    }
    struct ana_frame *python = piece->frames, *native = piece->frames + pythons;
    out->name = out->on = "";
    out->python = python;
    out->native = native;
    for (char *line = piece->text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        const char *kind = next_field(&line);
        if (!strcmp(kind, "python") && next)
            python[out->python_count++] = frame_of(true, line);
        else if (!strcmp(kind, "native") && next)
            native[out->native_count++] = frame_of(false, line);
        else if (!strcmp(kind, "name"))
            out->name = line;
        else if (!strcmp(kind, "on"))
            out->on = line;
        else if (!strcmp(kind, "why") && why)
            *why = line;
    }
    return true;
}

/* ---- one file ---------------------------------------------------------------------------------------------------- */

static const char *call_inside(const struct trc_file *file, uint32_t tid)
{
    for (size_t i = 0; i < trc_threads(file); i++) {
        const struct trc_thread *thread = trc_thread(file, i);
        const struct trc_sig *sig = thread->tid == tid ? trc_live_sig(file, i, thread->inside) : NULL;
        if (sig)
            return trc_call(file, sig->call)->name;
    }
    return NULL;
}

static bool is_empty(const struct ana_stack *stack)
{
    return stack->python_count + stack->native_count == 0 && !(stack->flags & TRC_STACK_RUNNING);
}

ANA_COMPARE(main_first, struct ana_stack, ANA_ORDER(is_empty(x), is_empty(y)),
            ANA_ORDER(y->flags &TRC_STACK_MAIN, x->flags &TRC_STACK_MAIN), ANA_ORDER(x->tid, y->tid))

/* Adds the snapshot that begins at record *i of the file, and moves *i behind it. */
static bool add_snapshot(struct ana_stacks *stacks, const struct trc_file *file, size_t index, size_t *i)
{
    const struct trc_stack *record = trc_stack(file, *i);
    if (!ana_grow_alone(&stacks->snapshot, stacks->snapshots, sizeof *stacks->snapshot))
        return false;
    struct ana_snapshot *snapshot = &stacks->snapshot[stacks->snapshots++];
    *snapshot = (struct ana_snapshot){.index = index,
                                      .number = record->snapshot,
                                      .reason = (enum trc_stack_reason)record->def.reason,
                                      .why = "",
                                      .first = stacks->count};
    for (; (record = trc_stack(file, *i)) && record->snapshot == snapshot->number; ++*i) {
        struct ana_stack stack = {.index = index,
                                  .snapshot = record->snapshot,
                                  .tid = record->tid,
                                  .ticks = record->ticks,
                                  .reason = snapshot->reason,
                                  .flags = record->def.flags,
                                  .state = record->def.state,
                                  .signal = record->def.signal,
                                  .call = record->def.call,
                                  .call_inside = call_inside(file, record->tid)};
        if (!parse_record(stacks, record, &stack, &snapshot->why))
            return false;
        snapshot->ticks = record->ticks;
        if (record->def.flags & TRC_STACK_CLOSING) {
            snapshot->complete = true;
            snapshot->request_ns = record->request_ns;
            snapshot->threads = record->def.count;
            continue;
        }
        if (!ana_grow_alone(&stacks->stack, stacks->count, sizeof *stacks->stack))
            return false;
        stacks->stack[stacks->count++] = stack;
        snapshot->count++;
    }
    if (snapshot->count)
        ana_sort(&stacks->stack[snapshot->first], snapshot->count, sizeof *stacks->stack, main_first);
    return true;
}

bool ana_stacks_of_file(const struct trc_file *file, size_t index, struct ana_stacks *out)
{
    *out = (struct ana_stacks){0};
    ana_budget_set(&out->budget, trc_size(file), MEMORY);
    for (size_t i = 0; i < trc_stacks(file);)
        if (!add_snapshot(out, file, index, &i)) {
            ana_stacks_free(out);
            return false;
        }
    return true;
}

/* Returns the first record of the newest snapshot with a reason up to `most`; SIZE_MAX: there is none. */
static size_t newest_snapshot(const struct trc_file *file, enum trc_stack_reason most)
{
    size_t best = SIZE_MAX, begin = 0;
    int best_weight = 0;
    for (size_t i = 0; i < trc_stacks(file); i++) {
        const struct trc_stack *record = trc_stack(file, i);
        if (i && trc_stack(file, i - 1)->snapshot != record->snapshot)
            begin = i;
        bool closing = record->def.flags & TRC_STACK_CLOSING;
        int weight = record->def.reason >= TRC_STACK_FATAL ? 3 : closing ? 2 : 1;
        if (weight >= best_weight && (enum trc_stack_reason)record->def.reason <= most) {
            best_weight = weight;
            best = begin;
        }
    }
    return best;
}

/* Replaces the snapshot added last, of an exit by a thread of a library, by the newest one before.  False: out of
 * memory. */
static bool replace_exit(struct ana_stacks *stacks, const struct trc_file *file, size_t index)
{
    const struct ana_snapshot *end = &stacks->snapshot[stacks->snapshots - 1];
    const struct ana_stack *stack = &stacks->stack[end->first];
    size_t i = newest_snapshot(file, TRC_STACK_FATAL - 1);
    if (end->reason != TRC_STACK_EXIT || !end->count || stack->flags & TRC_STACK_IN_HANDLER ||
        !ana_stack_is_library(stack) || i == SIZE_MAX)
        return true;
    stacks->count = end->first;
    stacks->snapshots--;
    if (!add_snapshot(stacks, file, index, &i))
        return false;
    end = &stacks->snapshot[stacks->snapshots - 1];
    for (size_t k = 0; k < end->count; k++)
        stacks->stack[end->first + k].left = true;
    return true;
}

bool ana_stacks_read(const struct ana_job *job, struct ana_stacks *out)
{
    *out = (struct ana_stacks){0};
    size_t ranks = ana_job_info(job).ranks;
    uint64_t size = 0;
    for (size_t index = 0; index < ranks; index++) {
        const struct trc_file *file = ana_job_rank(job, index)->file;
        size += file ? trc_size(file) : 0;
        ana_budget_set(&out->budget, size, MEMORY);
        size_t i = file ? newest_snapshot(file, TRC_STACK_EXIT) : SIZE_MAX;
        if (i != SIZE_MAX && (!add_snapshot(out, file, index, &i) || !replace_exit(out, file, index))) {
            ana_stacks_free(out);
            return false;
        }
    }
    return true;
}

void ana_stacks_free(struct ana_stacks *stacks)
{
    for (struct piece *piece = stacks->owned, *next; piece; piece = next) {
        next = piece->next;
        free(piece->frames);
        free(piece);
    }
    free(stacks->snapshot);
    free(stacks->stack);
    *stacks = (struct ana_stacks){0};
}
