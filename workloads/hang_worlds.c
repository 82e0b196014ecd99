/* hang_worlds MODE: two ranks start two more (MPI_Comm_spawn), and what then hangs needs both worlds to be seen.  They
 * end when they are killed, or after 180 seconds.
 *
 *   first     child 1 sleeps before it has used the intercommunicator, on which all others are in MPI_Intercomm_merge
 *   send      parent 0 waits for a message from child 1, which never sends: it sleeps outside MPI
 *   tag       parent 0 waits for tag 9 from child 1, which sent tag 8; all others are in MPI_Barrier on both worlds
 *   merged    child 1 never comes to MPI_Barrier on the merged communicator: it sleeps
 *   inter     child 1 never comes to MPI_Barrier on the intercommunicator: it sleeps
 *   split     the same, on a communicator that MPI_Comm_dup makes of the merged one
 *   cycle     parent 0 and child 0 wait for a message from each other
 *   op        child 1 calls MPI_Reduce on the merged communicator, the others MPI_Barrier
 *   die       child 1 is killed by SIGKILL, the others wait for it in MPI_Barrier on the merged communicator
 *   slow      no hang: child 1 comes a second late to each MPI_Barrier on the merged communicator
 *   accept    no child: the parents wait in MPI_Comm_accept for somebody who never comes
 *   client PORT_FILE, server PORT_FILE
 *             two jobs of their own meet by MPI_Comm_accept; then as `send`, the client being the child */
#include "meet.h"
#include <signal.h>
#include <string.h>

#define CHILDREN 2

static int me, parent;
static MPI_Comm inter, all;

static void sleep_for_ever(void)
{
    for (;;)
        pause();
}

static bool is_child(int rank)
{
    return !parent && me == rank;
}

static void run_send(void)
{
    int one;
    if (parent && me == 0)
        MPI_Recv(&one, 1, MPI_INT, 1, 5, inter, MPI_STATUS_IGNORE);
    sleep_for_ever();
}

static void run_tag(void)
{
    int one = 1;
    if (parent && me == 0)
        MPI_Recv(&one, 1, MPI_INT, 1, 9, inter, MPI_STATUS_IGNORE);
    if (is_child(1))
        MPI_Send(&one, 1, MPI_INT, 0, 8, inter);
    MPI_Barrier(all);
}

static void run_merged(void)
{
    if (is_child(1))
        sleep_for_ever();
    MPI_Barrier(all);
}

static void run_inter(void)
{
    if (is_child(1))
        sleep_for_ever();
    MPI_Barrier(inter);
}

static void run_split(void)
{
    MPI_Comm again;
    MPI_Comm_dup(all, &again);
    if (is_child(1))
        sleep_for_ever();
    MPI_Barrier(again);
}

static void run_cycle(void)
{
    int one;
    if (me == 0)
        MPI_Recv(&one, 1, MPI_INT, 0, 5, inter, MPI_STATUS_IGNORE);
    MPI_Barrier(all);
}

static void run_op(void)
{
    int one = 1, sum;
    for (int i = 0; is_child(1) && i < 100000; i++)
        MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 3, all);
    MPI_Barrier(all);
}

static void run_die(void)
{
    if (is_child(1))
        raise(SIGKILL);
    MPI_Barrier(all);
}

static void run_slow(void)
{
    for (int i = 0; i < 60; i++) {
        if (is_child(1))
            sleep(1);
        MPI_Barrier(all);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"first", sleep_for_ever}, {"send", run_send},   {"tag", run_tag},     {"merged", run_merged},
             {"inter", run_inter},      {"split", run_split}, {"cycle", run_cycle}, {"op", run_op},
             {"die", run_die},          {"slow", run_slow},   {"accept", run_send}, {"server", run_send},
             {"client", run_send}};

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    size_t m = 0, count = sizeof modes / sizeof *modes;
    MPI_Comm up;
    alarm(180);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    while (m < count && strcmp(modes[m].name, mode) != 0)
        m++;
    if (m == count) {
        fprintf(stderr, "hang_worlds: no such mode\n");
        MPI_Abort(MPI_COMM_WORLD, 64);
    }
    MPI_Comm_get_parent(&up);
    parent = up == MPI_COMM_NULL && strcmp(mode, "client") != 0;
    if (up != MPI_COMM_NULL)
        inter = up;
    else if (strcmp(mode, "accept") == 0 || argc > 2)
        inter = meet_by_port(parent, argc > 2 ? argv[2] : NULL);
    else
        MPI_Comm_spawn(argv[0], &argv[1], CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    if (is_child(1) && strcmp(mode, "first") == 0)
        sleep_for_ever();
    MPI_Intercomm_merge(inter, !parent, &all);
    for (int i = 0; i < 3; i++)
        MPI_Barrier(all);
    modes[m].run();
    MPI_Barrier(all);
    sleep_for_ever();
}
