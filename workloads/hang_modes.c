/* hang_modes MODE: programs that hang on purpose, each in its own way, after a few calls that work.  They end when they
 * are killed, or after 180 seconds.  Ranks sleep outside MPI where they are not waiting in it.
 *
 *   missing          rank 2 never comes to MPI_Barrier: it sleeps
 *   missing_spin     the same, but it computes for ever
 *   op               rank 2 calls MPI_Reduce, the others MPI_Barrier
 *   root             rank 2 gives root 2 to MPI_Bcast of 4 MB, the others root 0
 *   count            rank 2 gives 8 MB to MPI_Bcast, the others 1 MB
 *   count_fatal      rank 2 gives 2000 ints to MPI_Allreduce, the others 1000: MPI ends the job
 *   comms            ranks 0 and 1 call MPI_Barrier on A then B, the others on B then A
 *   tag              rank 0 waits for tag 9 from rank 1, which sent tag 8; all others are in MPI_Barrier
 *   source           rank 0 waits for rank 2, but rank 1 sent; all others are in MPI_Barrier
 *   comm             rank 0 waits on a duplicate, rank 1 sent on MPI_COMM_WORLD
 *   wildcard         rank 0 waits for tag 9 from anyone; rank 1 sent tag 8; all others are in MPI_Barrier
 *   send_cycle       every rank sends 8 MB to the next one before it receives
 *   ssend_cycle      the same with MPI_Ssend of one byte
 *   recv_cycle       every rank receives from the one before it sends
 *   isend_cycle      the same as send_cycle with MPI_Isend and MPI_Waitall, and receives after that
 *   send_barrier     rank 0 sends 8 MB to rank 1, which is in MPI_Barrier with the others
 *   finalize         rank 0 waits for rank 1, the others finalize
 *   fewer            rank 2 does one MPI_Allreduce less and finalizes
 *   lost_request     rank 0 lets a receive of tag 5 go, then waits for tag 5 again
 *   waitall          rank 0 waits in MPI_Waitall for two messages of rank 1, which sends one and goes to MPI_Barrier
 *   test             rank 0 polls MPI_Test for a message that rank 1 does not send before MPI_Barrier
 *   exit             rank 2 leaves by exit(3), the others wait in MPI_Barrier
 *   abort            rank 2 calls MPI_Abort(3), the others wait in MPI_Barrier
 *   die              rank 2 is killed by SIGKILL, the others wait in MPI_Barrier
 *   stop             rank 2 stops itself by SIGSTOP, the others wait in MPI_Barrier
 *   threads          two threads a rank, each in MPI_Recv from the other rank's thread on a communicator of its own
 *   intercomm        one side of an intercommunicator is in MPI_Barrier, rank 0 of the other sleeps */
#include "hang.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BIG = 8 << 20 };
static char *big;

static void missing(void)
{
    if (me == 2)
        sleep_for_ever();
}

static void missing_spin(void)
{
    volatile double x = 1;
    while (me == 2)
        x = x * 1.0000001 + 1e-9;
}

static void op(void)
{
    int one = 1, sum;
    if (me == 2)
        for (int i = 0; i < 100000; i++)
            MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 2, world);
}

static void root(void)
{
    MPI_Bcast(big, BIG / 2, MPI_CHAR, me == 2 ? 2 : 0, world);
}

static void count(void)
{
    MPI_Bcast(big, me == 2 ? BIG : BIG / 8, MPI_CHAR, 0, world);
}

static void count_fatal(void)
{
    static int in[2000], out[2000];
    MPI_Allreduce(in, out, me == 2 ? 2000 : 1000, MPI_INT, MPI_SUM, world);
}

static void comms(void)
{
    MPI_Comm a, b;
    MPI_Comm_dup(world, &a);
    MPI_Comm_dup(world, &b);
    MPI_Comm_set_name(a, "A");
    MPI_Comm_set_name(b, "B");
    MPI_Barrier(me < 2 ? a : b);
    MPI_Barrier(me < 2 ? b : a);
}

static void tag(void)
{
    char byte = 0;
    if (me == 1)
        MPI_Send(&byte, 1, MPI_CHAR, 0, 8, world);
    if (me == 0)
        MPI_Recv(&byte, 1, MPI_CHAR, 1, 9, world, MPI_STATUS_IGNORE);
}

static void source(void)
{
    char byte = 0;
    if (me == 1)
        MPI_Send(&byte, 1, MPI_CHAR, 0, 9, world);
    if (me == 0)
        MPI_Recv(&byte, 1, MPI_CHAR, 2, 9, world, MPI_STATUS_IGNORE);
}

static void comm(void)
{
    MPI_Comm other;
    char byte = 0;
    MPI_Comm_dup(world, &other);
    MPI_Comm_set_name(other, "other");
    if (me == 1)
        MPI_Send(&byte, 1, MPI_CHAR, 0, 9, world);
    if (me == 0)
        MPI_Recv(&byte, 1, MPI_CHAR, 1, 9, other, MPI_STATUS_IGNORE);
}

static void wildcard(void)
{
    char byte = 0;
    if (me == 1)
        MPI_Send(&byte, 1, MPI_CHAR, 0, 8, world);
    if (me == 0)
        MPI_Recv(&byte, 1, MPI_CHAR, MPI_ANY_SOURCE, 9, world, MPI_STATUS_IGNORE);
}

static void send_cycle(void)
{
    MPI_Send(big, BIG, MPI_CHAR, (me + 1) % n, 3, world);
    MPI_Recv(big, BIG, MPI_CHAR, (me + n - 1) % n, 3, world, MPI_STATUS_IGNORE);
}

static void ssend_cycle(void)
{
    MPI_Ssend(big, 1, MPI_CHAR, (me + 1) % n, 3, world);
    MPI_Recv(big, 1, MPI_CHAR, (me + n - 1) % n, 3, world, MPI_STATUS_IGNORE);
}

static void recv_cycle(void)
{
    MPI_Recv(big, 1, MPI_CHAR, (me + n - 1) % n, 3, world, MPI_STATUS_IGNORE);
    MPI_Send(big, 1, MPI_CHAR, (me + 1) % n, 3, world);
}

static void isend_cycle(void)
{
    MPI_Request request[2];
    MPI_Isend(big, BIG, MPI_CHAR, (me + 1) % n, 3, world, &request[0]);
    MPI_Isend(big, BIG, MPI_CHAR, (me + 1) % n, 4, world, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_Recv(big, BIG, MPI_CHAR, (me + n - 1) % n, 3, world, MPI_STATUS_IGNORE);
    MPI_Recv(big, BIG, MPI_CHAR, (me + n - 1) % n, 4, world, MPI_STATUS_IGNORE);
}

static void send_barrier(void)
{
    if (me == 0)
        MPI_Send(big, BIG, MPI_CHAR, 1, 3, world);
}

static void finalize(void)
{
    char byte;
    if (me == 0)
        MPI_Recv(&byte, 1, MPI_CHAR, 1, 3, world, MPI_STATUS_IGNORE);
    MPI_Finalize();
    exit(0);
}

static void fewer(void)
{
    int one = 1, sum;
    for (int i = 0; i < (me == 2 ? 9 : 10); i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
    MPI_Finalize();
    exit(0);
}

static void lost_request(void)
{
    static char lost, byte;
    MPI_Request request;
    if (me == 0)
        MPI_Irecv(&lost, 1, MPI_CHAR, 1, 5, world, &request);
    MPI_Barrier(world);
    if (me == 1)
        MPI_Send(&byte, 1, MPI_CHAR, 0, 5, world);
    if (me == 0)
        MPI_Recv(&byte, 1, MPI_CHAR, 1, 5, world, MPI_STATUS_IGNORE);
}

static void waitall(void)
{
    char in[2], byte = 0;
    MPI_Request request[2];
    if (me == 1)
        MPI_Send(&byte, 1, MPI_CHAR, 0, 5, world);
    if (me == 0) {
        MPI_Irecv(&in[0], 1, MPI_CHAR, 1, 5, world, &request[0]);
        MPI_Irecv(&in[1], 1, MPI_CHAR, 1, 6, world, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
}

static void test(void)
{
    char byte;
    int done = 0;
    MPI_Request request;
    if (me != 0)
        return;
    MPI_Irecv(&byte, 1, MPI_CHAR, 1, 5, world, &request);
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

static void leave(void)
{
    sleep(1);
    if (me == 2)
        exit(3);
}

static void abort_all(void)
{
    if (me == 2)
        MPI_Abort(world, 3);
}

static void die(void)
{
    sleep(1);
    if (me == 2)
        raise(SIGKILL);
}

static void stop(void)
{
    if (me == 2)
        raise(SIGSTOP);
}

static void *blocked(void *comm_of_thread)
{
    char byte;
    MPI_Recv(&byte, 1, MPI_CHAR, me ^ 1, 7, *(MPI_Comm *)comm_of_thread, MPI_STATUS_IGNORE);
    return NULL;
}

static void threads(void)
{
    MPI_Comm a, b;
    pthread_t other[2];
    MPI_Comm_dup(world, &a);
    MPI_Comm_dup(world, &b);
    if (pthread_create(&other[0], NULL, blocked, &a) || pthread_create(&other[1], NULL, blocked, &b))
        MPI_Abort(world, 99);
    pthread_join(other[0], NULL);
    pthread_join(other[1], NULL);
}

static void intercomm(void)
{
    MPI_Comm half, both;
    MPI_Comm_split(world, me % 2, me, &half);
    MPI_Intercomm_create(half, 0, world, 1 - me % 2, 11, &both);
    if (me == 0)
        sleep_for_ever();
    MPI_Barrier(both);
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"missing", missing},
    {"missing_spin", missing_spin},
    {"op", op},
    {"root", root},
    {"count", count},
    {"count_fatal", count_fatal},
    {"comms", comms},
    {"tag", tag},
    {"source", source},
    {"comm", comm},
    {"wildcard", wildcard},
    {"send_cycle", send_cycle},
    {"ssend_cycle", ssend_cycle},
    {"recv_cycle", recv_cycle},
    {"isend_cycle", isend_cycle},
    {"finalize", finalize},
    {"send_barrier", send_barrier},
    {"fewer", fewer},
    {"lost_request", lost_request},
    {"waitall", waitall},
    {"test", test},
    {"exit", leave},
    {"abort", abort_all},
    {"die", die},
    {"stop", stop},
    {"threads", threads},
    {"intercomm", intercomm},
};

int main(int argc, char **argv)
{
    int level;
    size_t mode = 0, count_of = sizeof modes / sizeof *modes;
    alarm(180);
    MPI_Init_thread(&argc, &argv, argc > 1 && strcmp(argv[1], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &level);
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &n);
    big = calloc(1, BIG);
    while (mode < count_of && (argc < 2 || strcmp(modes[mode].name, argv[1]) != 0))
        mode++;
    if (mode == count_of || !big) {
        fprintf(stderr, "hang_modes: no such mode\n");
        MPI_Abort(world, 64);
    }
    warm_up();
    modes[mode].run();
    MPI_Barrier(world);
    sleep_for_ever();
}
