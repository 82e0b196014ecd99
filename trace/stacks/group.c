/* Groups of equal stacks, their lines for people, and their prefix tree. */
#include "trace/job/site_words.h"
#include "trace/stacks/stacks.h"
#include "trace/util/sort.h"
#include "trace/util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ------------------------------------------------------------------------------------------------------- */

void ana_frame_line(const struct ana_frame *frame, char *out, size_t size)
{
    const char *file = trc_base_name(frame->file);
    if (frame->python)
        snprintf(out, size, "%s:%u in %s", file, frame->line, frame->function);
    else if (strcmp(frame->function, "?") != 0)
        snprintf(out, size, *file ? "%s (%s)" : "%s", frame->function, file);
    else
        snprintf(out, size, "%s+0x%llx", *file ? file : "?", (unsigned long long)frame->offset);
}

/* Whether a module only tells how a thread waits, not what for. */
static bool is_plumbing(const char *module)
{
    static const char *const known[] = {
        "libc.so",   "libc-",    "libpthread", "ld-linux",  "libmpi",   "libopen-pal", "libopen-rte", "libucp.so",
        "libucs.so", "libuct",   "libpmix",    "libfabric", "libevent", "libtrace.so", "mca_",        "[vdso]",
        "libstdc++", "libgcc_s", "libibverbs", "libmlx",    "libpsm",   "librdmacm",   "libhcoll",    "libgfortran",
        "libifcore", "libflang", "libtorch",   "libc10.so", "libgloo"};
    const char *name = trc_base_name(module);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strncmp(name, known[i], strlen(known[i])))
            return true;
    return false;
}

void ana_frame_words(const struct ana_job *job, size_t index, const struct ana_frame *frame, char *out, size_t size)
{
    char place[1100];
    snprintf(place, sizeof place, "%s+0x%llx", frame->file, (unsigned long long)frame->in_module);
    bool asks = !frame->python && frame->in_module && !is_plumbing(frame->file);
    const char *line = asks ? ana_site_line(job, index, place) : NULL;
    if (line)
        snprintf(out, size, "%s in %s", line, frame->function);
    else
        ana_frame_line(frame, out, size);
}

bool ana_stack_is_library(const struct ana_stack *stack)
{
    bool library = stack->python_count == 0 && stack->native_count > 0;
    for (size_t i = 0; library && i < stack->native_count; i++)
        library = is_plumbing(stack->native[i].file);
    return library;
}

bool ana_stack_is_own(const struct ana_stack *stack)
{
    bool own = stack->python_count > 0;
    for (size_t i = 0; !own && i < stack->native_count; i++)
        own = !is_plumbing(stack->native[i].file) && strncmp(trc_base_name(stack->native[i].file), "lib", 3) != 0;
    return own;
}

bool ana_stack_is_called_by_library(const struct ana_stack *stack)
{
    size_t own = 0;
    while (own < stack->native_count && is_plumbing(stack->native[own].file))
        own++;
    return own > 0 && strncmp(trc_base_name(stack->native[own - 1].file), "libc", 4) != 0;
}

/* Whether a frame is of an installed package or the interpreter, not the user's. */
static bool is_installed(const struct ana_frame *frame)
{
    static const char *const part[] = {"/site-packages/", "/dist-packages/", "/lib/python3.", "<frozen "};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (strstr(frame->file, part[i]))
            return true;
    return false;
}

const struct ana_frame *ana_stack_place(const struct ana_stack *stack)
{
    for (size_t i = 0; i < stack->python_count; i++)
        if (!is_installed(&stack->python[i]))
            return &stack->python[i];
    if (stack->python_count)
        return &stack->python[0];
    for (size_t i = 0; i < stack->native_count; i++)
        if (!is_plumbing(stack->native[i].file) && strcmp(stack->native[i].function, "?") != 0)
            return &stack->native[i];
    return stack->native_count ? &stack->native[0] : NULL;
}

bool ana_stack_in_callback(const struct ana_stack *stack)
{
    const struct ana_frame *end = stack->native + stack->native_count, *place = ana_stack_place(stack);
    bool polls = stack->flags & TRC_STACK_RUNNING && place && strncmp(trc_base_name(place->file), "lib", 3) == 0;
    for (const struct ana_frame *f = stack->python_count || polls ? end : place; f && f < end; f++)
        if (strncmp(f->function, "MPI_", 4) == 0 || strncmp(f->function, "PMPI_", 5) == 0 ||
            strncmp(trc_base_name(f->file), "libmpi", 6) == 0)
            return f > place;
    return false;
}

static const char *state_text(char state)
{
    switch (state) {
    case 'R':
        return "running";
    case 'S':
        return "blocked";
    case 'D':
        return "blocked in the kernel, cannot be interrupted";
    case 'T':
    case 't':
        return "stopped";
    case 'Z':
    case 'X':
        return "ended";
    default:
        return "state unknown";
    }
}

void ana_stack_line(const struct ana_stack *stack, char *out, size_t size)
{
    ana_stack_line_at(stack, NULL, out, size);
}

void ana_stack_line_at(const struct ana_stack *stack, const char *at, char *out, size_t size)
{
    const struct ana_frame *place = ana_stack_place(stack);
    char frame[512] = "";
    if (at)
        snprintf(frame, sizeof frame, "%s", at);
    else if (place)
        ana_frame_line(place, frame, sizeof frame);
    if (stack->python_count && place != stack->python) { /* call of a package that it is in */
        size_t used = strlen(frame);
        snprintf(frame + used, sizeof frame - used, " -> %s (%s)", stack->python->function,
                 trc_base_name(stack->python->file));
    }
    const char *what = *stack->on && strcmp(stack->on, "running") != 0 ? stack->on : stack->call_inside;
    snprintf(out, size, "%s%s%s (%s)", frame, what && *frame ? " <- " : "", what ? what : "", state_text(stack->state));
}

/* ---- equal stacks ------------------------------------------------------------------------------------------------ */

struct frames {
    const struct ana_frame *frame;
    size_t count;
};
static struct frames frames_of(const struct ana_stack *stack)
{
    return stack->python_count ? (struct frames){stack->python, stack->python_count}
                               : (struct frames){stack->native, stack->native_count};
}

static int compare_frames(const struct ana_frame *a, const struct ana_frame *b)
{
    int order = (int)a->python - (int)b->python;
    if (!order)
        order = strcmp(a->function, b->function);
    if (!order)
        order = strcmp(a->file, b->file);
    if (!order)
        order = a->line < b->line ? -1 : a->line > b->line;
    if (!order && !strcmp(a->function, "?"))
        order = a->offset < b->offset ? -1 : a->offset > b->offset;
    return order;
}

/* Orders stacks by their outermost frames first, so that those with a common beginning lie together. */
static int compare_stacks(struct frames x, struct frames y)
{
    for (size_t i = 0; i < x.count && i < y.count; i++) {
        int order = compare_frames(&x.frame[x.count - 1 - i], &y.frame[y.count - 1 - i]);
        if (order)
            return order;
    }
    return x.count < y.count ? -1 : x.count > y.count;
}

static int compare(const struct ana_stack *a, const struct ana_stack *b)
{
    return compare_stacks(frames_of(a), frames_of(b));
}

/* Whether a library that is part of the program itself begins here. */
static bool is_entry(const struct ana_frame *frame)
{
    const char *name = frame->function + (frame->function[0] == 'P');
    return strncmp(name, "MPI_", 4) == 0 && !is_plumbing(frame->file);
}

/* The frames that tell what a thread does: not what a library does meanwhile, below the call that the program makes of
 * it.  Where among sched_yield, poll and the functions that make progress a waiting thread is met is chance. */
static struct frames telling_frames(const struct ana_stack *stack)
{
    struct frames all = frames_of(stack);
    size_t from = 0, entry = all.count;
    while (from < stack->python_count && is_installed(&stack->python[from]))
        from++;
    if (stack->python_count)
        return from < stack->python_count ? (struct frames){all.frame + from, all.count - from} : all;
    if (!all.count)
        return all;
    while (from + 1 < all.count && is_plumbing(all.frame[from].file))
        from++;
    from -= from && !is_plumbing(all.frame[from].file); /* the call that was made of the library */
    while (entry > from && !is_entry(&all.frame[entry - 1]))
        entry--;
    from = entry > from ? entry - 1 : from;
    return (struct frames){all.frame + from, all.count - from};
}

static int compare_telling(const struct ana_stack *a, const struct ana_stack *b)
{
    return compare_stacks(telling_frames(a), telling_frames(b));
}

static size_t shared_frames(const struct ana_stack *a, const struct ana_stack *b)
{
    struct frames x = frames_of(a), y = frames_of(b);
    size_t n = 0;
    while (n < x.count && n < y.count && !compare_frames(&x.frame[x.count - 1 - n], &y.frame[y.count - 1 - n]))
        n++;
    return n;
}

/* The stack that stands for a snapshot's process: the crashed thread's, else the main thread's. */
static const struct ana_stack *chosen_stack(const struct ana_stacks *stacks, const struct ana_snapshot *snapshot)
{
    if (snapshot->count == 0)
        return NULL;
    const struct ana_stack *first = &stacks->stack[snapshot->first];
    for (size_t i = 0; i < snapshot->count; i++)
        if (first[i].flags & TRC_STACK_CRASHED)
            return &first[i];
    return first;
}

const struct ana_stack *ana_stack_of(const struct ana_stacks *stacks, size_t index)
{
    for (size_t i = 0; i < stacks->snapshots; i++)
        if (stacks->snapshot[i].index == index)
            return chosen_stack(stacks, &stacks->snapshot[i]);
    return NULL;
}

void ana_stacks_forget(struct ana_stacks *stacks, size_t index)
{
    for (size_t i = 0; i < stacks->snapshots; i++)
        if (stacks->snapshot[i].index == index)
            stacks->snapshot[i].count = 0;
}

void ana_stacks_choose(struct ana_stacks *stacks, size_t index, uint32_t tid)
{
    for (size_t i = 0; i < stacks->count; i++) {
        const struct ana_stack stack = stacks->stack[i];
        if (stack.index != index || stack.tid != tid)
            continue;
        while (i > 0 && stacks->stack[i - 1].index == index) {
            stacks->stack[i] = stacks->stack[i - 1];
            i--;
        }
        stacks->stack[i] = stack;
        return;
    }
}

/* Orders pointers to chosen stacks as `compare` does, then by rank. */
ANA_COMPARE(by_frames_and_rank, struct ana_stack *const, compare(*x, *y), ANA_ORDER((*x)->index, (*y)->index))
ANA_COMPARE(by_telling_and_rank, struct ana_stack *const, compare_telling(*x, *y), ANA_ORDER((*x)->index, (*y)->index))

static const struct ana_stack **sort_stacks(const struct ana_stacks *stacks, size_t *n,
                                            int (*order)(const void *, const void *))
{
    const struct ana_stack **list = malloc((stacks->snapshots + 1) * sizeof *list);
    *n = 0;
    for (size_t i = 0; list && i < stacks->snapshots; i++)
        if ((list[*n] = chosen_stack(stacks, &stacks->snapshot[i])))
            ++*n;
    if (*n)
        ana_sort(list, *n, sizeof *list, order);
    return list;
}

ANA_COMPARE(smallest_first, struct ana_stack_group, ANA_ORDER(x->count, y->count),
            ANA_ORDER(x->member[0], y->member[0]))

size_t ana_stacks_group(const struct ana_stacks *stacks, struct ana_stack_group **out)
{
    size_t n, count = 0;
    *out = NULL;
    const struct ana_stack **list = sort_stacks(stacks, &n, by_frames_and_rank);
    struct ana_stack_group *group = n ? calloc(n, sizeof *group) : NULL;
    for (size_t i = 0; group && i < n; i++) {
        if (!i || compare(list[i - 1], list[i]) != 0) {
            group[count].member = malloc((n - i) * sizeof *group[count].member);
            if (!group[count].member) {
                ana_stack_groups_free(group, count);
                free(list);
                return 0;
            }
            count++;
        }
        struct ana_stack_group *last = &group[count - 1];
        last->member[last->count++] = (size_t)(list[i] - stacks->stack);
    }
    free(list);
    if (!count)
        return 0;
    ana_sort(group, count, sizeof *group, smallest_first);
    for (size_t i = 0; i < count; i++)
        group[i].shared = shared_frames(&stacks->stack[group[i].member[0]], &stacks->stack[group[count - 1].member[0]]);
    *out = group;
    return count;
}

void ana_stack_groups_free(struct ana_stack_group *group, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(group[i].member);
    free(group);
}

void ana_stack_group_ranks(const struct ana_job *job, const struct ana_stacks *stacks,
                           const struct ana_stack_group *group, char *out, size_t size)
{
    struct ana_ranges ranges;
    ana_ranges_begin(&ranges, out, size, SIZE_MAX, true);
    for (size_t i = 0; i < group->count; i++)
        ana_ranges_add(&ranges, ana_rank_id(ana_job_rank(job, stacks->stack[group->member[i]].index)));
    ana_ranges_end(&ranges);
}

/* ---- the prefix tree --------------------------------------------------------------------------------------------- */

struct span { /* stacks list[begin .. end) share their `depth` outermost frames */
    size_t begin, end;
};

static const struct ana_frame *frame_at(const struct ana_stack *stack, size_t depth)
{
    struct frames frames = telling_frames(stack);
    return depth < frames.count ? &frames.frame[frames.count - 1 - depth] : NULL;
}

ANA_COMPARE(fewest_first, struct span, ANA_ORDER(x->end - x->begin, y->end - y->begin), ANA_ORDER(x->begin, y->begin))

/* Writes the nodes below `span`.  Recursion is as deep as a stack, which the record's size bounds. */
static void grow_tree(const struct ana_stacks *stacks, const struct ana_stack *const *list, struct span span,
                      unsigned depth, struct ana_stack_node *node, size_t *n)
{
    struct span *child = malloc((span.end - span.begin) * sizeof *child);
    size_t children = 0;
    for (size_t i = span.begin; child && i < span.end; i++) {
        const struct ana_frame *frame = frame_at(list[i], depth);
        if (!frame)
            continue;
        const struct ana_frame *before = children ? frame_at(list[child[children - 1].begin], depth) : NULL;
        if (!before || compare_frames(before, frame) != 0)
            child[children++].begin = i;
        child[children - 1].end = i + 1;
    }
    if (children)
        ana_sort(child, children, sizeof *child, fewest_first);
    for (size_t c = 0; c < children; c++) {
        struct ana_stack_node *here = &node[(*n)++];
        const struct ana_stack *first = list[child[c].begin];
        *here = (struct ana_stack_node){.depth = depth,
                                        .frame = frame_at(first, depth),
                                        .group_count = 1,
                                        .ranks = child[c].end - child[c].begin,
                                        .first = (size_t)(first - stacks->stack),
                                        .one_place = true};
        for (size_t i = child[c].begin; i < child[c].end; i++) {
            here->last |= !frame_at(list[i], depth + 1);
            here->group_count += i > child[c].begin && compare_telling(list[i - 1], list[i]) != 0;
            here->one_place &= frame_at(list[i], depth)->in_module == here->frame->in_module;
        }
        grow_tree(stacks, list, child[c], depth + 1, node, n);
    }
    free(child);
}

size_t ana_stacks_tree(const struct ana_stacks *stacks, struct ana_stack_node **out)
{
    size_t n, room = 0, count = 0;
    *out = NULL;
    const struct ana_stack **list = sort_stacks(stacks, &n, by_telling_and_rank);
    for (size_t i = 0; i < n; i++)
        if (!i || compare_telling(list[i - 1], list[i]) != 0)
            room += telling_frames(list[i]).count;
    *out = room ? malloc(room * sizeof **out) : NULL;
    if (*out)
        grow_tree(stacks, list, (struct span){0, n}, 0, *out, &count);
    free(list);
    return count;
}

static bool is_own(const struct ana_stack_node *node)
{
    return node->frame->python || !is_plumbing(node->frame->file);
}

static bool is_leaf(const struct ana_stack_node *node, size_t n, size_t at)
{
    return at + 1 >= n || node[at + 1].depth <= node[at].depth;
}

size_t ana_stacks_divergence(const struct ana_job *job, const struct ana_stacks *stacks,
                             char (**out)[ANA_DIVERGENCE_LINE])
{
    struct ana_stack_node *node;
    size_t n = ana_stacks_tree(stacks, &node), level = 0, lines = 0, owns = 0;
    unsigned *above = malloc((n + 1) * sizeof *above); /* depths of the frames written on the way here */
    *out = n > 1 ? malloc(n * sizeof **out) : NULL;
    for (size_t i = 0; i < n && above && *out; i++) {
        while (level && above[level - 1] >= node[i].depth)
            level--;
        bool own = is_own(&node[i]), chain = i + 1 < n && node[i + 1].ranks == node[i].ranks && !is_leaf(node, n, i);
        if (chain && !node[i].last && !(own && !is_own(&node[i + 1]) && is_leaf(node, n, i + 1)))
            continue;
        if (!own && i && is_leaf(node, n, i) && node[i - 1].depth < node[i].depth && node[i - 1].ranks == node[i].ranks)
            continue; /* the line above names the function that calls it */
        owns += own;
        char *line = (*out)[lines++], who[32];
        snprintf(who, sizeof who, "%zu ranks", node[i].ranks);
        if (node[i].ranks == 1)
            snprintf(who, sizeof who, "rank %d", ana_job_rank(job, stacks->stack[node[i].first].index)->rank);
        int used = snprintf(line, ANA_DIVERGENCE_LINE, "%*s%s  ", (int)(level < 40 ? 2 * level : 80), "", who);
        size_t room = ANA_DIVERGENCE_LINE - (size_t)used;
        if (node[i].one_place)
            ana_frame_words(job, stacks->stack[node[i].first].index, node[i].frame, line + used, room);
        else
            ana_frame_line(node[i].frame, line + used, room);
        above[level++] = node[i].depth;
    }
    free(above);
    free(node);
    if (owns > 1)
        return lines;
    free(*out);
    *out = NULL;
    return 0;
}
