/* The Horovod job of the fixture: six tensors; when it hangs, rank 3 has not submitted three of them. */
#include "tests/support/fixture_job.h"

#include <string.h>

enum { RANKS = 200, TENSORS = 6, LATE = 3 };

static struct ana_hvd_rank rank[RANKS];
static struct ana_hvd_tensor tensor[TENSORS];
static uint8_t submitted[TENSORS][RANKS];
static int64_t submitted_ns[TENSORS][RANKS];
static uint64_t submitted_cycle[TENSORS][RANKS];
static struct ana_hvd_set set;
static struct ana_hvd hvd;

static void fill_rank(const struct fixture *f, size_t m)
{
    bool late = m == LATE;
    rank[m] = (struct ana_hvd_rank){.index = m,
                                    .alive = f->running,
                                    .cycles = 911300,
                                    .cycle_ns = f->elapsed_ns,
                                    .phase = f->hung && !late ? ANA_HVD_ROUND : ANA_HVD_OUTSIDE,
                                    .steps = 4117,
                                    .last = late ? 4000 : 117 / f->ranks,
                                    .late_cycles = late ? 49.8 : 0.5 + (double)m / 100,
                                    .late_ms = late ? 50.2 : 0.6 + (double)m / 100,
                                    .operations = f->unknown ? 0 : 24702,
                                    .operation_bytes = f->unknown ? 0 : 24702ull * 2359296,
                                    .operation_ns = f->unknown ? 0 : 31000000000,
                                    .negotiation_ns = late ? 12000000000 : 218000000000};
    if (f->hung && late) {
        rank[m].main_inside = "MPI_Barrier";
        rank[m].main_since_ns = f->elapsed_ns - 192500000000;
    }
    if (!f->hung && f->running) /* the others are in the operation of what was agreed on last */
        rank[m].phase = late ? ANA_HVD_OUTSIDE : ANA_HVD_OPERATION;
}

static void fill_tensor(const struct fixture *f, size_t i)
{
    static char names[TENSORS][40] = {"layer1.0.conv1.weight", "layer1.0.bn1.bias",     "layer2.0.conv1.weight",
                                      "layer3.0.conv1.weight", "layer3.0.conv2.weight", "metric.val_loss"};
    bool pending = f->hung && i >= 3;
    int64_t since = f->elapsed_ns - (pending ? 192000000000 - (int64_t)i * 2000000 : 192100000000);
    tensor[i] = (struct ana_hvd_tensor){.name = names[i],
                                        .op = i == 5 ? ANA_HVD_ALLGATHER : ANA_HVD_ALLREDUCE,
                                        .dtype = 7,
                                        .elements = 36864 << i,
                                        .done = f->hung && i == 5 ? 0 : 4117,
                                        .agreed_ns = f->hung && i == 5 ? ANA_HVD_NEVER : f->elapsed_ns - 192040000000,
                                        .step = f->hung && i == 5 ? 0 : 4117,
                                        .pending = pending,
                                        .since_ns = since,
                                        .submitted = submitted[i],
                                        .submitted_ns = submitted_ns[i],
                                        .submitted_cycle = submitted_cycle[i]};
    for (size_t m = 0; m < set.ranks; m++) {
        submitted[i][m] = pending && m != LATE ? ANA_HVD_YES : ANA_HVD_NO;
        if (pending && m == 0 && i == 5)
            submitted[i][m] = ANA_HVD_UNKNOWN;
        submitted_ns[i][m] = since + (int64_t)m * 100000 + (m == LATE ? 50000000 : 0);
        submitted_cycle[i][m] = 911300 + m;
    }
}

const struct ana_hvd *fixture_horovod(const struct fixture *f)
{
    hvd = (struct ana_hvd){0};
    if (!f->horovod)
        return &hvd;
    set = (struct ana_hvd_set){.ranks = f->ranks < RANKS ? f->ranks : RANKS,
                               .rank = rank,
                               .tensors = TENSORS,
                               .tensor = tensor,
                               .cycles = 911300,
                               .cycle_rate = 980,
                               .cache = true,
                               .steps = 4117,
                               .library = f->unknown ? ANA_HVD_NOT_MPI : ANA_HVD_MPI,
                               .agreed_ns = f->elapsed_ns - 192040000000,
                               .now_ns = f->elapsed_ns};
    for (size_t m = 0; m < set.ranks; m++)
        fill_rank(f, m);
    for (size_t i = 0; i < TENSORS; i++)
        fill_tensor(f, i);
    return hvd = (struct ana_hvd){1, &set}, &hvd;
}
