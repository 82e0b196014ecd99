/* The files of the jobs that golden screens are drawn of, and their MPI calls. */
#include "tests/support/screen_job.h"
#include "tests/support/trace_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRID = 3 };

static struct screen_job job;

static bool keeps_nothing(void)
{
    return job.unknown && !job.gpu && !job.horovod;
}

static bool is_slow(int64_t step)
{
    return job.slow && step == job.steps / 2;
}

/* A part of a step, as a time. */
static int64_t time_of(int64_t step, double part)
{
    int64_t length = 10 * SCREEN_S / job.steps;
    if (job.slow && (step > job.steps / 2 || (is_slow(step) && part > 16)))
        step += 2;
    return step * length + (int64_t)((double)length * part / 20 + 0.5);
}

/* Node 0 or 1; of the rank after the last: 2. */
static int host_of(int rank)
{
    return rank * 2 / job.ranks;
}

static void write_step(struct tb *tb, int rank, int64_t step)
{
    bool late = rank == (step % 50 == 49 ? 1 : SCREEN_LATE),
         after = step % 100 == 99 && host_of(rank) != host_of(rank + 1);
    int next = (rank + 1) % job.ranks, before = (rank + job.ranks - 1) % job.ranks;
    uint64_t bytes = 4096 * (1 + (uint64_t)(step * 8 / job.steps));
    int64_t begin = time_of(step, late ? 16 : 12);
    if (is_slow(step) && rank == 2)
        begin += 2 * 10 * SCREEN_S / job.steps;
    tb_allreduce(tb, 0, begin, time_of(step, 18), job.hung ? GRID : TB_WORLD, (uint64_t)step,
                 step % 100 == 99 ? 1000 : 8);
    if (!after)
        tb_send(tb, 0, time_of(step, 18), time_of(step, 19), next, 7, bytes);
    tb_recv(tb, 0, time_of(step, after ? 18 : 19), time_of(step, after ? 19 : 20), before, 7, bytes);
    if (after)
        tb_send(tb, 0, time_of(step, 19.5), time_of(step, 20), next, 7, bytes);
}

static void write_definitions(struct tb *tb, int rank)
{
    struct trc_head *head = tb_head(tb);
    struct trc_def_comm grid = {
        .identity = 0x33, .parent = TB_WORLD_IDENTITY, .rank = rank, .size = job.ranks, .flags = TRC_COMM_ALL};
    snprintf(head->host, sizeof head->host, "n0%d", 1 + host_of(rank));
    memcpy(head->boot_id, head->host, 4);
    strcpy(head->command, "./nekbone ex1");
    strcpy(head->mpi, job.hung ? "Open MPI 3.1.3" : "Open MPI 4.1.4");
    if (!job.unknown) /* 0.1% of 10 s */
        head->slow_ticks = SCREEN_S / 100, head->call_cost_q10 = 1;
    tb_define(tb, TRC_DEF_COMM, GRID, 0, 0, &grid, sizeof grid, 0);
    tb_comm_name(tb, GRID, "grid");
    tb_site(tb, 0x1000u + TB_ALLREDUCE, "step+0x4f", "nekbone+0x1234");
    tb_site(tb, 0x1000u + TB_SEND, "exchange+0x1c", "nekbone+0x2345");
    tb_site(tb, 0x1000u + TB_RECV, "exchange+0x60", "nekbone+0x2389");
}

/* Files 1 and 2, each on a communicator of its own. */
static void open_files(struct tb *tb, int rank)
{
    struct trc_def_comm of = {.parent = TB_WORLD_IDENTITY, .rank = rank, .size = job.ranks, .flags = TRC_COMM_ALL};
    for (uint32_t i = 1; i <= 2; i++) {
        of.identity = 0x40 + i;
        tb_define(tb, TRC_DEF_COMM, 20 + i, 0, 0, &of, sizeof of, 0);
        tb_file(tb, i, 20 + i, i == 1 ? "/scratch/run/checkpoint.dat" : "/home/user/input.nml");
    }
}

static void use_files(struct tb *tb, int rank, int64_t begin_ns)
{
    struct trc_sig write = tb_sig(TB_FILE_WRITE_AT), read = tb_sig(TB_FILE_READ_AT);
    write.comm = 21;
    write.object = 1;
    write.sent = 1 << 20;
    read.comm = 22;
    read.object = 2;
    read.received = 4096;
    tb_event(tb, 0, &write, begin_ns, begin_ns + 400000 + 20000 * rank, (struct tb_more){0});
    if (rank == 0)
        tb_event(tb, 0, &read, begin_ns + 500000, begin_ns + 520000, (struct tb_more){0});
}

static void write_stacks(struct tb *tb, int rank)
{
    struct trc_def_stack stack = {.reason = TRC_STACK_HANG, .state = 'S', .flags = TRC_STACK_MAIN, .call = -1};
    tb_stack(tb, 1, 1000u + (uint32_t)rank, stack,
             rank == SCREEN_LATE ? "name\tapp\non\tread() on /data/shard-17\nnative\tread+0x12\tlibc.so.6+0x11a0\n"
                                   "python\tload_batch\tload.py\t57\npython\tmain\tmain.py\t12\n"
                                 : "name\tapp\npython\tstep\tstep.py\t88\npython\tmain\tmain.py\t12\n");
    tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING, .count = 1}, "");
}

/* Counts of the kernel, each second: all compute for as long, but one waits for a processor in between. */
static void write_usage(struct tb *tb, int rank)
{
    struct trc_usage usage = {.whose = TRC_USAGE_THREAD};
    tb_usage(tb, 0, 0, &usage, 1);
    usage.fields = 1u << TRC_USAGE_CPU | 1u << TRC_USAGE_QUEUED;
    usage.value[TRC_USAGE_CPU] = rank == SCREEN_LATE ? 750000 : 1000000;
    usage.value[TRC_USAGE_QUEUED] = 1000000 - usage.value[TRC_USAGE_CPU];
    for (int64_t s = 0; s < 10; s++)
        tb_usage(tb, s * SCREEN_S, (s + 1) * SCREEN_S, &usage, 1);
}

/* A rank's file as it is at `now_ns`. */
static void write_rank(int rank, int64_t now_ns)
{
    int64_t steps = job.hung ? job.steps : now_ns * job.steps / (10 * SCREEN_S) - (job.slow ? 2 : 0);
    struct trc_sig init = tb_sig(TB_INIT), reduce = tb_sig(TB_ALLREDUCE), barrier = tb_sig(TB_BARRIER);
    struct tb *tb = tb_new(rank, job.ranks);
    init.site = 0x7f0000001000; /* address of no known module */
    reduce.flags = barrier.flags = TRC_SIG_COLL;
    barrier.comm = TB_WORLD;
    reduce.comm = job.hung ? GRID : TB_WORLD;
    reduce.sent = reduce.received = 8;
    reduce.site = 0x1000u + TB_ALLREDUCE;
    write_definitions(tb, rank);
    tb_event(tb, 0, &init, 0, 120000, (struct tb_more){0});
    if (job.files)
        open_files(tb, rank);
    for (int64_t step = 0; step < steps; step++) {
        write_step(tb, rank, step);
        if (job.files && step % 10 == 9)
            use_files(tb, rank, time_of(step + 1, 1));
    }
    if (job.queued)
        write_usage(tb, rank);
    if (job.gpu)
        screen_gpu(tb, &job, rank);
    if (job.horovod)
        screen_horovod(tb, &job, rank, now_ns);
    if (job.running || job.hung) {
        tb_running(tb, now_ns);
        if (rank != SCREEN_LATE)
            tb_inside(tb, 0, &reduce, time_of(steps, 12), (uint64_t)steps);
        else if (job.barrier)
            tb_inside(tb, 0, &barrier, time_of(steps, 12), 0);
    }
    if (job.hung)
        write_stacks(tb, rank);
    if (keeps_nothing())
        tb_forget(tb);
    folder_write(tb, rank);
    tb_free(tb);
}

static void write_all(int64_t now_ns)
{
    for (int rank = 0; rank < job.ranks; rank++)
        write_rank(rank, now_ns);
}

struct ana_job *screen_job_open(const struct screen_job *what, int64_t *clock_ns)
{
    char last[600];
    job = *what;
    *clock_ns =
        job.hung ? time_of(job.steps, 12) + SCREEN_HUNG_S * SCREEN_S : time_of(job.steps, job.running ? 15.6 : 0);
    snprintf(last, sizeof last, "%s/%d.hpctop", folder_make("nekbone-4711"), job.ranks - 1);
    write_all(*clock_ns);
    if (keeps_nothing() && truncate(last, 3000) != 0)
        exit(1);
    return folder_open();
}

void screen_job_tick(int64_t *clock_ns)
{
    *clock_ns += SCREEN_S / 2;
    if (job.running || job.hung)
        write_all(*clock_ns);
}
