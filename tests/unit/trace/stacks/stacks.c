/* Stacks: what the writer writes the reader reads, the newest stay when there is no room, and equal ones are found. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/format/opclass.h"
#include "trace/stacks/stacks.h"
#include "trace/writer/writer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t now = 1000;
static uint64_t test_ticks(void)
{
    return now++;
}

static struct trc_stack_place place[TRC_STACK_REASONS];

static void write_snapshot(struct trc_writer *writer, uint32_t number, enum trc_stack_reason reason, const char *text)
{
    struct trc_def_stack def = {.reason = (uint8_t)reason, .state = 'S', .flags = TRC_STACK_MAIN, .call = -1};
    CHECK(trc_writer_stack(writer, &place[reason], number, 7, 0, &def, text, strlen(text)), "no room");
    def.flags = TRC_STACK_CLOSING;
    def.count = 1;
    CHECK(trc_writer_stack(writer, &place[reason], number, 0, 99, &def, "why\tasked\n", 10), "no room");
}

/* A place keeps the newest, whatever is written; another reason's stay; a reader that looks often sees no ghosts. */
static void bounded(void)
{
    static char big[9000];
    char path[] = "/tmp/hpctop-stacks-XXXXXX", error[512];
    close(mkstemp(path));
    unlink(path);
    struct trc_head head = {
        .state = TRC_STATE_RUNNING, .clock_source = TRC_CLOCK_MONOTONIC, .rank = 0, .world_size = 1};
    struct trc_writer *writer = calloc(1, sizeof *writer);
    int failed = trc_writer_open(writer, path, 16 << 20, &head, test_ticks);
    CHECK(!failed, "no file: %d", failed);
    const char fact[] = "mpi\0Open MPI";
    trc_writer_define(writer, TRC_DEF_FACT, 0, 0, 0, NULL, 0, fact, sizeof fact - 1);
    const char other[] = "mpi\0MPICH\x1b";
    trc_writer_define(writer, TRC_DEF_FACT, 0, 0, 0, NULL, 0, other, sizeof other - 1);
    write_snapshot(writer, 1, TRC_STACK_FATAL, "name\tapp\nnative\tmain+0x4\tapp+0x1004\n");
    struct trc_file *file;
    CHECK(trc_open(path, &file, error, sizeof error) == TRC_OK, "%s", error);
    memset(big, 'x', sizeof big - 1);
    uint32_t last = 0;
    for (uint32_t number = 2; number < 300; number++) {
        write_snapshot(writer, number, TRC_STACK_HANG, big);
        last = number;
        if (number % 7)
            continue;
        trc_refresh(file);
        size_t n = trc_stacks(file);
        CHECK(n >= 4 && trc_stack(file, n - 1)->snapshot == number, "snapshot %u is missing", number);
    }
    trc_refresh(file);
    size_t n = trc_stacks(file);
    CHECK(n > 50 && n < 200, "%zu records are kept", n);
    CHECK(trc_stack(file, 0)->snapshot == 1 && trc_stack(file, 0)->def.reason == TRC_STACK_FATAL, "fatal one is gone");
    CHECK(trc_stack(file, n - 1)->snapshot == last, "the newest is %u", trc_stack(file, n - 1)->snapshot);
    CHECK(trc_stack(file, n - 1)->request_ns == 99, "request");
    for (size_t i = 3; i < n; i++)
        CHECK(trc_stack(file, i)->snapshot - trc_stack(file, i - 1)->snapshot <= 1, "a gap at %zu", i);
    CHECK(!trc_damage(file, 0), "damage: %s", trc_damage(file, 0));
    CHECK(trc_fact(file, "mpi") && !strcmp(trc_fact(file, "mpi"), "MPICH?"), "fact %s", trc_fact(file, "mpi"));
    struct ana_stacks stacks;
    CHECK(ana_stacks_of_file(file, 5, &stacks), "memory");
    CHECK(stacks.snapshots > 20 && stacks.snapshot[0].complete && stacks.snapshot[0].threads == 1, "snapshots");
    CHECK(stacks.stack[0].index == 5 && !strcmp(stacks.stack[0].name, "app") && stacks.stack[0].native_count == 1,
          "first stack");
    const struct ana_frame *frame = &stacks.stack[0].native[0];
    CHECK(!strcmp(frame->function, "main") && frame->offset == 4 && !strcmp(frame->file, "app"), "frame");
    ana_stacks_free(&stacks);
    trc_close(file);
    unlink(path);
    free(writer);
}

static void rank_with(int rank, int size, char state, const char *text)
{
    struct tb *tb = tb_new(rank, size);
    tb_stack(tb, 1, 900, (struct trc_def_stack){.reason = TRC_STACK_DEMAND, .state = 'S', .call = -1},
             "python\told\tx.py\t1\n");
    tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_DEMAND, .flags = TRC_STACK_CLOSING}, "");
    tb_stack(tb, 2, 1000, (struct trc_def_stack){.reason = TRC_STACK_HANG, .state = state, .call = 0},
             "name\tworker\nnative\tpoll+0x1\tlibc.so.6+0x2\n");
    tb_stack(tb, 2, 999,
             (struct trc_def_stack){.reason = TRC_STACK_HANG, .state = state, .flags = TRC_STACK_MAIN, .call = 0},
             text);
    tb_stack(tb, 2, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING, .count = 2},
             "why\tno call completed for 30 s\n");
    tb_stack(tb, 3, 999, (struct trc_def_stack){.reason = TRC_STACK_DEMAND, .flags = TRC_STACK_MAIN},
             "name\tcut off\n");
    folder_write(tb, rank);
    tb_free(tb);
}

static const char in_step[] =
    "name\tpython3\non\tpoll() on 3 files\n"
    "python\tallreduce\t/lib/hvd.py\t9\npython\tstep\t/job/train.py\t63\npython\t<module>\t/job/train.py\t80\n"
    "native\tpoll+0x4f\t/lib/libc.so.6+0x1004f\nnative\t?\t/lib/libmpi.so.40+0x77\n";
static const char in_load[] = "name\tpython3\non\tread() on /data/shard-17\n"
                              "python\tload_batch\t/job/train.py\t57\npython\t<module>\t/job/train.py\t80\n"
                              "native\tread+0xd\t/lib/libc.so.6+0x2000d\n";

static void grouped(void)
{
    folder_make("stacks");
    for (int rank = 0; rank < 8; rank++)
        rank_with(rank, 8, 'S', rank == 5 ? in_load : in_step);
    struct ana_job *job = folder_open();
    struct ana_stacks stacks;
    CHECK(ana_stacks_read(job, &stacks), "memory");
    CHECK(stacks.snapshots == 8 && stacks.count == 16, "%zu snapshots, %zu stacks", stacks.snapshots, stacks.count);
    CHECK(stacks.snapshot[3].number == 2 && stacks.snapshot[3].complete &&
              !strcmp(stacks.snapshot[3].why, "no call completed for 30 s"),
          "not the newest complete snapshot");
    const struct ana_stack *stack = ana_stack_of(&stacks, 5);
    CHECK(stack && stack->tid == 999 && stack->python_count == 2 && stack->native_count == 1, "rank 5");
    char line[256];
    ana_stack_line(stack, line, sizeof line);
    CHECK(!strcmp(line, "train.py:57 in load_batch <- read() on /data/shard-17 (blocked)"), "%s", line);
    struct ana_stack_group *group;
    size_t n = ana_stacks_group(&stacks, &group);
    CHECK(n == 2 && group[0].count == 1 && group[1].count == 7, "%zu groups", n);
    CHECK(stacks.stack[group[0].member[0]].index == 5 && group[0].shared == 1, "the odd one");
    ana_stack_group_ranks(job, &stacks, &group[1], line, sizeof line);
    CHECK(!strcmp(line, "ranks 0-4, 6 and 7"), "%s", line);
    ana_stack_groups_free(group, n);
    struct ana_stack_node *node;
    n = ana_stacks_tree(&stacks, &node);
    const char *const functions[] = {"<module>", "load_batch", "step", "allreduce"};
    const size_t ranks[] = {8, 1, 7, 7};
    CHECK(n == 4, "%zu nodes", n);
    for (size_t i = 0; i < n && i < 4; i++)
        CHECK(!strcmp(node[i].frame->function, functions[i]) && node[i].ranks == ranks[i], "node %zu: %s %zu", i,
              node[i].frame->function, node[i].ranks);
    CHECK(n != 4 || (node[0].group_count == 2 && node[3].depth == 2 && node[3].last && !node[2].last), "tree");
    free(node);
    char(*divergence)[ANA_DIVERGENCE_LINE];
    static const char *const parts[] = {"8 ranks  train.py:80 in <module>", "  rank 5  train.py:57 in load_batch",
                                        "  7 ranks  hvd.py:9 in allreduce"};
    n = ana_stacks_divergence(job, &stacks, &divergence);
    CHECK(n == 3, "%zu lines", n);
    for (size_t i = 0; i < n && i < 3; i++)
        CHECK(!strcmp(divergence[i], parts[i]), "%s", divergence[i]);
    free(divergence);
    ana_stacks_free(&stacks);
    ana_job_close(job);
    folder_remove();
}

/* Frames of a thread that waits for others, innermost last: any part may be met. */
static const char *const progress[] = {"PMPI_Barrier", "ompi_request_wait", "opal_progress", "sched_yield"};

/* Adds the native stack of a rank at app.c:30 that waits there in MPI, which is a library or part of the program. */
static void waits_in_mpi(char *text, size_t size, size_t depth, bool is_static)
{
    size_t used = (size_t)snprintf(text, size, "name\tapp\n");
    for (size_t i = depth + 1; i-- > 0;) {
        const char *module = is_static ? "/job/app" : i == 3 ? "/lib/libc.so.6" : "/lib/libmpi.so.40";
        used += (size_t)snprintf(text + used, size - used, "native\t%s+0x%zx\t%s+0x%zx00\n", progress[i], depth, module,
                                 depth + i);
    }
    snprintf(text + used, size - used,
             "native\tmain+0x9\t/job/app+0x30\nnative\t__libc_start_main+0x80\t/lib/libc.so.6+0x20\n");
}

/* Ranks that part inside a package: named by lines of the program. */
static void packages(void)
{
    static const char *const text[] = {
        "name\tpython3\non\tpoll() on 3 files\npython\tselect\t/usr/lib/python3.11/selectors.py\t415\n"
        "python\tepoch\t/job/train.py\t28\npython\t<module>\t/job/train.py\t80\n",
        "name\tpython3\npython\trecv\t/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py\t1202\n"
        "python\tstage\t/job/train.py\t13\npython\t<module>\t/job/train.py\t80\n"};
    static const char *const parts[] = {"2 ranks  train.py:80 in <module>", "  rank 0  train.py:28 in epoch",
                                        "  rank 1  train.py:13 in stage"};
    folder_make("packages");
    for (int rank = 0; rank < 2; rank++)
        rank_with(rank, 2, 'S', text[rank]);
    struct ana_job *job = folder_open();
    struct ana_stacks stacks;
    char(*line)[ANA_DIVERGENCE_LINE];
    CHECK(ana_stacks_read(job, &stacks), "memory");
    size_t n = ana_stacks_divergence(job, &stacks, &line);
    CHECK(n == 3, "%zu lines", n);
    for (size_t i = 0; i < n && i < 3; i++)
        CHECK(!strcmp(line[i], parts[i]), "%s", line[i]);
    free(line);
    ana_stacks_free(&stacks);
    ana_job_close(job);
    folder_remove();
}

static const char *line_of(void *context, const struct trc_file *file, const char *module)
{
    (void)context, (void)file;
    return !strcmp(module, "/job/app+0x30") ? "app.c:30" : !strcmp(module, "/job/app+0x57") ? "load.c:57" : NULL;
}

/* The point where waiting ranks part does not depend on MPI's frames when they were sampled. */
static void waiting(void)
{
    static const char loads[] = "name\tapp\nnative\tread+0xd\t/lib/libc.so.6+0x2000d\n"
                                "native\tload_batch+0x7\t/job/app+0x57\nnative\tmain+0x5\t/job/app+0x31\n"
                                "native\t__libc_start_main+0x80\t/lib/libc.so.6+0x20\n";
    static const char *const parts[] = {"8 ranks  main (app)", "  rank 5  load.c:57 in load_batch",
                                        "  7 ranks  PMPI_Barrier (libmpi.so.40)"};
    for (int i = 0; i < 3; i++) { /* all wait; rank 5 does not; the same with MPI in the program */
        folder_make("waiting");
        for (int rank = 0; rank < 8; rank++) {
            char text[1024];
            waits_in_mpi(text, sizeof text, (size_t)(rank * 3 + i) % 4, i == 2);
            rank_with(rank, 8, 'S', i && rank == 5 ? loads : text);
        }
        struct ana_job *job = folder_open();
        struct ana_stacks stacks;
        char(*line)[ANA_DIVERGENCE_LINE], frame[256];
        ana_job_set_line_finder(job, line_of, NULL);
        CHECK(ana_stacks_read(job, &stacks), "memory");
        size_t n = ana_stacks_divergence(job, &stacks, &line);
        CHECK(n == (i ? 3 : 0), "%d: %zu lines", i, n);
        for (size_t k = 0; k < n && k < 3; k++)
            CHECK(!strcmp(line[k], i == 2 && k == 2 ? "  7 ranks  PMPI_Barrier (app)" : parts[k]), "%d: %s", i,
                  line[k]);
        free(line);
        const struct ana_stack *stack = ana_stack_of(&stacks, 5);
        ana_frame_words(job, 5, &stack->native[stack->native_count - 2], frame, sizeof frame);
        CHECK(!strcmp(frame, i ? "main (app)" : "app.c:30 in main"), "%s", frame);
        ana_frame_words(job, 5, &stack->native[1], frame, sizeof frame);
        CHECK(!i || !strcmp(frame, "load.c:57 in load_batch"), "%s", frame);
        ana_stacks_free(&stacks);
        ana_job_close(job);
        folder_remove();
    }
}

/* Text that is no stack gives none, and nothing worse. */
static void odd_text(void)
{
    static const char *const texts[] = {"",
                                        "\n\n\n",
                                        "native",
                                        "python\t\n",
                                        "native\t\t\t\t\n",
                                        "python\tf\tx\t-99999999999999\n",
                                        "native\tmain+0xzz\tapp+0x\n",
                                        "\tx\n",
                                        "name"};
    struct tb *tb = tb_new(0, 1);
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        tb_stack(tb, 1, i + 1, (struct trc_def_stack){.reason = TRC_STACK_HANG, .state = 1}, texts[i]);
    tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING}, "");
    tb_define(tb, TRC_DEF_STACK, 1, 1, 0, "x", 1, 0); /* defined in a chunk where it does not belong */
    folder_make("odd");
    folder_write(tb, 0);
    tb_free(tb);
    struct ana_job *job = folder_open();
    struct ana_stacks stacks;
    CHECK(ana_stacks_read(job, &stacks) && stacks.count == sizeof texts / sizeof *texts, "%zu stacks", stacks.count);
    char line[64];
    for (size_t i = 0; i < stacks.count; i++) {
        ana_stack_line(&stacks.stack[i], line, sizeof line);
        CHECK(stacks.stack[i].state == '?', "state");
    }
    ana_stacks_free(&stacks);
    ana_job_close(job);
    folder_remove();
}

/* A thread exits after a snapshot of a hang: one of a library leaves the hang's stack, one of the program does not. */
static void exits(const char *native, int tid)
{
    folder_make("exits");
    struct tb *tb = tb_new(0, 1);
    tb_stack(tb, 1, 999, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_MAIN}, in_load);
    tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING}, "");
    tb_stack(tb, 2, 1000, (struct trc_def_stack){.reason = TRC_STACK_EXIT, .flags = TRC_STACK_CRASHED}, native);
    tb_stack(tb, 2, 0, (struct trc_def_stack){.reason = TRC_STACK_EXIT, .flags = TRC_STACK_CLOSING}, "");
    folder_write(tb, 0);
    tb_free(tb);
    struct ana_job *job = folder_open();
    struct ana_stacks stacks;
    CHECK(ana_stacks_read(job, &stacks), "memory");
    const struct ana_stack *stack = ana_stack_of(&stacks, 0);
    CHECK(stack && (int)stack->tid == tid && stack->left == (tid == 999), "%s: %d", native,
          stack ? (int)stack->tid : 0);
    ana_stacks_free(&stacks);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    bounded();
    grouped();
    exits("native\tabort_job+0x1\t/lib/mca_ess_pmi.so+0x2487\nnative\tloop+0x1\t/lib/libopen-pal.so.40+0x35\n", 999);
    exits("native\tfail+0x1\t/job/app+0x2487\nnative\tclone+0x1\t/lib/libc.so.6+0x35\n", 1000);
    waiting();
    packages();
    odd_text();
    return check_result();
}
