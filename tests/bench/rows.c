/* rows MODE [calls]: one rank makes that many calls of one kind, as workloads/selfcall.c does, for kinds that have a
 * bound and no truth of their own.  The function of a mode has its name; twins of a kind differ in one argument at
 * every call, or pause for 10 us between calls.  Prints calls, median and least time of 50 parts, ns a call. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PARTS 50
#define KINDS 4096 /* sizes and tags */
#define FEW   64   /* communicators and datatypes */

static MPI_Comm self, comms[FEW];
static MPI_Datatype types[FEW];
static MPI_Request pending, both[2];
static MPI_Win window;
static char out[KINDS * 8], in[KINDS * 8];
static void *memory;
static int turn;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void send_call(void)
{
    MPI_Request request;
    MPI_Irecv(in, 8, MPI_CHAR, 0, 5, self, &request);
    MPI_Send(out, 8, MPI_CHAR, 0, 5, self);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void recv_call(void)
{
    MPI_Request request;
    MPI_Isend(out, 8, MPI_CHAR, 0, 5, self, &request);
    MPI_Recv(in, 8, MPI_CHAR, 0, 5, self, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void sendrecv_call(void)
{
    MPI_Sendrecv(out, 8, MPI_CHAR, 0, 5, in, 8, MPI_CHAR, 0, 5, self, MPI_STATUS_IGNORE);
}
static void test_call(void)
{
    MPI_Request r[2];
    int flag;
    MPI_Irecv(in, 8, MPI_CHAR, 0, 5, self, &r[0]);
    MPI_Isend(out, 8, MPI_CHAR, 0, 5, self, &r[1]);
    MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
    MPI_Test(&r[1], &flag, MPI_STATUS_IGNORE);
}
static void not_yet(void)
{
    int flag;
    MPI_Test(&pending, &flag, MPI_STATUS_IGNORE);
}
static void start_call(void)
{
    MPI_Startall(2, both);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}
static void vector_call(void)
{
    int count = 8, place = 0;
    MPI_Allgatherv(out, 8, MPI_CHAR, in, &count, &place, MPI_CHAR, self);
}
static void ireduce_call(void)
{
    MPI_Request request;
    MPI_Iallreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, self, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void put_call(void)
{
    MPI_Put(out, 8, MPI_CHAR, 0, 0, 8, MPI_CHAR, window);
}
static void get_call(void)
{
    MPI_Get(out, 8, MPI_CHAR, 0, 0, 8, MPI_CHAR, window);
}
static void size_twin(void)
{
    MPI_Allreduce(out, in, turn++ % KINDS + 1, MPI_CHAR, MPI_BOR, self);
}
static void tag_twin(void)
{
    int tag = turn++ % KINDS;
    MPI_Request r[2];
    MPI_Irecv(in, 8, MPI_CHAR, 0, tag, self, &r[0]);
    MPI_Isend(out, 8, MPI_CHAR, 0, tag, self, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}
static void comm_twin(void)
{
    int rank;
    MPI_Comm_rank(comms[turn++ % FEW], &rank);
}
static void type_twin(void)
{
    MPI_Bcast(out, 1, types[turn++ % FEW], 0, self);
}
static void pause_twin(void)
{
    int rank;
    MPI_Comm_rank(self, &rank);
}

static const struct mode {
    const char *name;
    void (*body)(void);
    int calls;
} modes[] = {{"send_call", send_call, 3},     {"recv_call", recv_call, 3},       {"sendrecv_call", sendrecv_call, 1},
             {"test_call", test_call, 4},     {"not_yet", not_yet, 1},           {"start_call", start_call, 2},
             {"vector_call", vector_call, 1}, {"ireduce_call", ireduce_call, 2}, {"put_call", put_call, 1},
             {"get_call", get_call, 1},       {"size_twin", size_twin, 1},       {"tag_twin", tag_twin, 3},
             {"comm_twin", comm_twin, 1},     {"type_twin", type_twin, 1},       {"pause_twin", pause_twin, 1}};

static void set_up(void)
{
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    for (int i = 0; i < FEW; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
        MPI_Type_dup(MPI_CHAR, &types[i]);
        MPI_Type_commit(&types[i]);
    }
    MPI_Irecv(in, 8, MPI_CHAR, 0, 9999, self, &pending);
    MPI_Recv_init(in, 8, MPI_CHAR, 0, 6, self, &both[0]);
    MPI_Send_init(out, 8, MPI_CHAR, 0, 6, self, &both[1]);
    MPI_Win_allocate(sizeof in, 1, MPI_INFO_NULL, self, &memory, &window);
    MPI_Win_lock_all(0, window);
}

static void tear_down(void)
{
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    for (int i = 0; i < 2; i++)
        MPI_Request_free(&both[i]);
    MPI_Cancel(&pending);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    for (int i = 0; i < FEW; i++) {
        MPI_Comm_free(&comms[i]);
        MPI_Type_free(&types[i]);
    }
    MPI_Comm_free(&self);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const struct mode *mode = NULL;
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name))
            mode = &modes[i];
    if (!mode) {
        fprintf(stderr, "usage: rows MODE [calls]\n");
        return 64;
    }
    MPI_Init(&argc, &argv);
    set_up();
    long calls = argc > 2 ? atol(argv[2]) : 1000000, each = calls / PARTS / mode->calls;
    double part[PARTS];
    each = each > 0 ? each : 1;
    for (int p = 0; p < PARTS; p++) {
        double begin = now(), paused = 0;
        for (long i = 0; i < each; i++) {
            mode->body();
            if (mode->body != pause_twin)
                continue;
            double pause = now(), end = pause;
            while (end < pause + 10e-6)
                end = now();
            paused += end - pause;
        }
        part[p] = (now() - begin - paused) * 1e9 / (double)(each * mode->calls);
    }
    qsort(part, PARTS, sizeof *part, compare);
    printf("{\"mode\": \"%s\", \"calls\": %ld, \"median_ns\": %.2f, \"min_ns\": %.2f}\n", mode->name,
           each * PARTS * mode->calls, part[PARTS / 2], part[0]);
    tear_down();
    MPI_Finalize();
    return 0;
}
