/* hpctop stacks DIR..: asks the running ranks for their stacks and prints them, equal ones together. */
#include "tui/commands/arguments.h"
#include "tui/commands/ask.h"
#include "tui/commands/command.h"
#include "tui/commands/sample.h"
#include "tui/sources/running.h"

#include "trace/members/bundle.h"
#include "trace/stacks/stacks.h"
#include "trace/session/session.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS INT64_C(5000000000)

/* Prints why a rank does not answer, if its process is on this host. */
static const char *explain_silence(const struct ana_rank *rank)
{
    char text[512] = "";
    if (tui_is_this_host(rank->host))
        tui_read_proc((int)rank->pid, "stat", text, sizeof text);
    const char *behind = strrchr(text, ')');
    switch (behind && behind[1] ? behind[2] : 0) {
    case 'T':
    case 't':
        return "the process is stopped";
    case 'D':
        return "the process is blocked in the kernel";
    case 'Z':
        return "the process has ended";
    case 0:
        return "its process cannot be seen from here";
    default:
        return "the process is alive, but HPCTOP_STACKS is 0 or its recorder is stuck";
    }
}

static void print_frames(const struct ana_job *job, const struct ana_stack *stack)
{
    char line[600];
    for (size_t i = 0; i < stack->python_count; i++) {
        ana_frame_line(&stack->python[i], line, sizeof line);
        printf("    %s\n", line);
    }
    if (stack->python_count && stack->native_count)
        puts("    native:");
    for (size_t i = 0; i < stack->native_count; i++) {
        ana_frame_words(job, stack->index, &stack->native[i], line, sizeof line);
        printf("    %s%s\n", stack->python_count ? "  " : "", line);
    }
    if (!stack->python_count && !stack->native_count)
        puts(stack->flags & TRC_STACK_RUNNING ? "    running outside recorded calls: no stack"
                                              : "    its frames could not be read");
}

static const struct ana_snapshot *find_snapshot(const struct ana_stacks *stacks, size_t index)
{
    for (size_t i = 0; i < stacks->snapshots; i++)
        if (stacks->snapshot[i].index == index)
            return &stacks->snapshot[i];
    return NULL;
}

static void print_threads(const struct ana_job *job, const struct ana_stacks *stacks,
                          const struct ana_snapshot *snapshot)
{
    char line[1200];
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct ana_stack *stack = &stacks->stack[snapshot->first + i];
        ana_stack_line(stack, line, sizeof line);
        printf("  thread %u %s%s%s: %s\n", stack->tid, stack->name,
               stack->flags & TRC_STACK_CRASHED ? " (crashed)"
               : stack->flags & TRC_STACK_MAIN  ? " (main)"
                                                : "",
               stack->flags & TRC_STACK_GIL ? " (holds the GIL)" : "", line);
        print_frames(job, stack);
    }
}

static void print_tree(const struct ana_job *job, const struct ana_stacks *stacks)
{
    char(*line)[ANA_DIVERGENCE_LINE];
    size_t n = ana_stacks_divergence(job, stacks, &line);
    if (n)
        puts("\nwhere they part:");
    for (size_t i = 0; i < n; i++)
        printf("  %s\n", line[i]);
    free(line);
}

static void print_groups(const struct ana_job *job, const struct ana_stacks *stacks, bool threads)
{
    struct ana_stack_group *group;
    size_t groups = ana_stacks_group(stacks, &group);
    for (size_t g = 0; g < groups; g++) {
        char line[1200];
        const struct ana_stack *first = &stacks->stack[group[g].member[0]];
        const struct ana_snapshot *snapshot = find_snapshot(stacks, first->index);
        ana_stack_group_ranks(job, stacks, &group[g], line, sizeof line);
        printf("\n%s", line);
        ana_stack_line(first, line, sizeof line);
        printf("  %s\n", line);
        if (*snapshot->why)
            printf("  taken because: %s\n", snapshot->why);
        if (threads)
            print_threads(job, stacks, snapshot);
        else
            print_frames(job, first);
    }
    print_tree(job, stacks);
    ana_stack_groups_free(group, groups);
}

static int print_stacks(struct ana_job *job, uint64_t asked, bool threads)
{
    struct ana_stacks stacks;
    if (!ana_stacks_read(job, &stacks))
        return tui_input_error("out of memory");
    struct ana_job_info info = ana_job_info(job);
    printf("%s: stacks of %zu of %zu ranks\n", info.name, stacks.snapshots, info.ranks);
    for (size_t i = 0; i < info.ranks; i++) {
        const struct ana_rank *rank = ana_job_rank(job, i);
        if (asked && tui_may_answer(rank) && !tui_has_answered(rank->file, asked))
            printf("rank %d did not answer: %s%s\n", rank->rank, explain_silence(rank),
                   find_snapshot(&stacks, i) ? "; its stack below is older" : "");
        else if (!find_snapshot(&stacks, i))
            printf("rank %d: no stack was taken\n", rank->rank);
    }
    print_groups(job, &stacks, threads);
    ana_stacks_free(&stacks);
    return tui_finish(TUI_EXIT_OK);
}

int tui_command_stacks(int argc, char **argv)
{
    bool threads = false, no_ask = false;
    double seconds = 0;
    const char *ranks = NULL;
    struct ana_job *job;
    const struct tui_argument known[] = {{"threads", 0, TUI_FLAG, &threads},
                                         {"no-ask", 0, TUI_FLAG, &no_ask},
                                         {"sample", 0, TUI_SECONDS, &seconds},
                                         {"ranks", 0, TUI_TEXT, &ranks},
                                         {0}};
    int status = tui_arguments_job(argc, argv, known, &job);
    if (status != TUI_EXIT_OK)
        return status;
    if (seconds > 0) {
        status = tui_sample(job, seconds, ranks);
        ana_job_close(job);
        return status;
    }
    bool live = false;
    for (size_t i = 0; i < ana_job_info(job).ranks; i++)
        live |= tui_may_answer(ana_job_rank(job, i));
    uint64_t asked = 0;
    if (!no_ask && live) {
        asked = tui_ask_for_stacks((const char *const *)argv + optind, argc - optind, true);
        tui_wait_for_answers(job, asked, PATIENCE_NS);
    }
    status = print_stacks(job, asked, threads);
    ana_job_close(job);
    return status;
}
