/* neighborhood: neighbourhood collectives on a ring, an open line and a directed graph, TIMES rounds.
 * Truth: on the periodic ring each rank has 2 neighbours in and out; on the open line (not periodic) the end ranks have
 * one less, since MPI_PROC_NULL moves nothing; in the graph rank 0 sends to all others and nobody else sends.
 *   Neighbor_allgather 12 B on the ring: sends 12, receives 2 x 12; Neighbor_alltoall 8 B: out x 8, in x 8 on ring and
 *   line; Neighbor_allgatherv (r+1 ints) and Neighbor_alltoallv (4 B each) on the graph; Neighbor_alltoallw 2 B on the
 *   ring; Ineighbor_alltoall 8 B and Ineighbor_allgather 12 B on the ring. */
#include "truth.h"
#include <mpi.h>

#define TIMES 10

/* MPI_UNWEIGHTED is an address that nobody reads; the compiler takes it for an array. */
#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 11
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif

static void answer(int n)
{
    truth_frame(n);
    for (int r = 0; r < n; r++) {
        int line = (r > 0) + (r < n - 1);
        int graph_in = r > 0, graph_out = r == 0 ? n - 1 : 0;
        truth_call(r, "MPI_Cart_create", 2, 0, 0);
        truth_call(r, "MPI_Dist_graph_create_adjacent", 1, 0, 0);
        truth_call(r, "MPI_Comm_free", 3, 0, 0);
        truth_call(r, "MPI_Neighbor_allgather", TIMES, TIMES * 12, TIMES * 24);
        truth_call(r, "MPI_Neighbor_alltoall", 2 * TIMES, TIMES * (2 + line) * 8, TIMES * (2 + line) * 8);
        truth_call(r, "MPI_Neighbor_alltoallw", TIMES, TIMES * 4, TIMES * 4);
        truth_call(r, "MPI_Neighbor_allgatherv", TIMES, graph_out ? TIMES * 4 * (r + 1) : 0, TIMES * graph_in * 4);
        truth_call(r, "MPI_Neighbor_alltoallv", TIMES, TIMES * graph_out * 4, TIMES * graph_in * 4);
        truth_call(r, "MPI_Ineighbor_alltoall", TIMES, TIMES * 16, TIMES * 16);
        truth_call(r, "MPI_Ineighbor_allgather", TIMES, TIMES * 12, TIMES * 24);
        truth_call(r, "MPI_Waitall", TIMES, 0, 0);
    }
}

static void on_ring(MPI_Comm ring)
{
    int a[8] = {0}, b[8], c[8], d[8];
    int ones[2] = {1, 1};
    MPI_Aint places[2] = {0, 4};
    MPI_Datatype shorts[2] = {MPI_SHORT, MPI_SHORT};
    MPI_Request r[2];
    MPI_Neighbor_allgather(a, 3, MPI_INT, b, 3, MPI_INT, ring);
    MPI_Neighbor_alltoall(a, 2, MPI_INT, b, 2, MPI_INT, ring);
    MPI_Neighbor_alltoallw(a, ones, places, shorts, b, ones, places, shorts, ring);
    MPI_Ineighbor_alltoall(a, 2, MPI_INT, c, 2, MPI_INT, ring, &r[0]);
    MPI_Ineighbor_allgather(a, 3, MPI_INT, d, 3, MPI_INT, ring, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void on_graph(MPI_Comm graph, int me, int n)
{
    int *a = calloc((size_t)n + 1, sizeof *a), *b = calloc((size_t)n + 1, sizeof *b);
    int *ones = calloc((size_t)n + 1, sizeof *ones), *places = calloc((size_t)n + 1, sizeof *places);
    for (int i = 0; i < n; i++) {
        ones[i] = 1;
        places[i] = i;
    }
    MPI_Neighbor_allgatherv(a, me + 1, MPI_INT, b, ones, places, MPI_INT, graph);
    MPI_Neighbor_alltoallv(a, ones, places, MPI_INT, b, ones, places, MPI_INT, graph);
    free(a);
    free(b);
    free(ones);
    free(places);
}

int main(int argc, char **argv)
{
    int me, n, bad = 0, periodic = 1, open = 0, a[4] = {0}, b[4];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm ring, line, graph;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &ring);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &open, 0, &line);
    int zero = 0, *others = calloc((size_t)n, sizeof *others);
    for (int i = 1; i < n; i++)
        others[i - 1] = i;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, me > 0, &zero, MPI_UNWEIGHTED, me == 0 ? n - 1 : 0, others,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    for (int i = 0; i < TIMES; i++) {
        on_ring(ring);
        MPI_Neighbor_alltoall(a, 2, MPI_INT, b, 2, MPI_INT, line);
        on_graph(graph, me, n);
    }
    MPI_Comm_free(&ring);
    MPI_Comm_free(&line);
    MPI_Comm_free(&graph);
    free(others);
    if (me == 0) {
        answer(n);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
