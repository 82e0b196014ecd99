/* Neighbourhoods: the neighbours of a topology, and the ones that exist. */
#include "interpose/mpi/abi.h"
#include "interpose/base/arena.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/ranks.h"
#include "interpose/core/state.h"

typedef uintptr_t w;
#define REAL(name, ...) (((int (*)(__VA_ARGS__))ipo_own[IPO_##name]))

#define LISTED 256u /* neighbours at most whose ranks are in the trace */

/* Marks which of n neighbours exist. */
static const uint8_t *mark_real(const int *neighbour, uint32_t n, uint32_t *degree)
{
    uint8_t *real = ipo_arena_get(n ? n : 1);
    *degree = 0;
    for (uint32_t i = 0; real && i < n; i++) {
        real[i] = neighbour[i] != ipo_abi.proc_null;
        *degree += real[i];
    }
    return real;
}

/* Returns the number of the list of existing neighbours; 0: there are too many, or they are not known. */
static uint32_t number_list(const struct ipo_comm *comm, const int *neighbour, uint32_t n)
{
    int32_t world[LISTED];
    uint32_t real = 0;
    for (uint32_t i = 0; n <= LISTED && i < n; i++)
        if (neighbour[i] != ipo_abi.proc_null)
            world[real++] = ipo_world_rank(comm, neighbour[i]);
    return n <= LISTED ? ipo_ranks_number(world, real) : 0;
}

static void define_neighbours(struct ipo_comm *comm, const int *in, const int *out)
{
    uint32_t sources = number_list(comm, in, comm->in_n), destinations = number_list(comm, out, comm->out_n);
    if (sources && destinations)
        trc_writer_define(&ipo_process.writer, TRC_DEF_NEIGHBORS, ipo_comm_id(comm), sources, destinations, NULL, 0,
                          NULL, 0);
}

static void find_cart_neighbours(struct ipo_comm *comm, uintptr_t handle)
{
    int dims = 0;
    if (REAL(Cartdim_get, w, int *)(handle, &dims) || dims <= 0)
        return;
    int *neighbour = ipo_arena_get(2 * (size_t)dims * sizeof *neighbour);
    for (int d = 0; neighbour && d < dims; d++) /* the standard's order: for each dimension -1, then +1 */
        REAL(Cart_shift, w, int, int, int *, int *)(handle, d, 1, &neighbour[2 * d], &neighbour[2 * d + 1]);
    if (!neighbour)
        return;
    comm->in_n = comm->out_n = 2 * (uint32_t)dims;
    comm->in_real = mark_real(neighbour, comm->in_n, &comm->in_degree);
    comm->out_real = comm->in_real;
    comm->out_degree = comm->in_degree;
    define_neighbours(comm, neighbour, neighbour);
    ipo_arena_release(neighbour, 2 * (size_t)dims * sizeof *neighbour);
}

void ipo_comm_topology_free(struct ipo_comm *comm)
{
    ipo_arena_release((void *)(uintptr_t)comm->in_real, comm->in_n ? comm->in_n : 1);
}

static void find_graph_neighbours(struct ipo_comm *comm, uintptr_t handle)
{
    int n = 0, neighbour[LISTED];
    if (REAL(Graph_neighbors_count, w, int, int *)(handle, comm->rank, &n) || n < 0)
        return;
    comm->in_n = comm->out_n = comm->in_degree = comm->out_degree = (uint32_t)n;
    if ((uint32_t)n <= LISTED && !REAL(Graph_neighbors, w, int, int, int *)(handle, comm->rank, n, neighbour))
        define_neighbours(comm, neighbour, neighbour);
}

static void find_dist_graph_neighbours(struct ipo_comm *comm, uintptr_t handle)
{
    int in = 0, out = 0, weighted = 0, source[LISTED], destination[LISTED], weight[2][LISTED];
    if (!ipo_own[IPO_Dist_graph_neighbors_count] ||
        REAL(Dist_graph_neighbors_count, w, int *, int *, int *)(handle, &in, &out, &weighted) || in < 0 || out < 0)
        return;
    comm->in_n = comm->in_degree = (uint32_t)in;
    comm->out_n = comm->out_degree = (uint32_t)out;
    if (comm->in_n <= LISTED && comm->out_n <= LISTED &&
        !REAL(Dist_graph_neighbors, w, int, int *, int *, int, int *, int *)(handle, in, source, weight[0], out,
                                                                             destination, weight[1]))
        define_neighbours(comm, source, destination);
}

void ipo_comm_topology(struct ipo_comm *comm, uintptr_t handle)
{
    if (atomic_load(&comm->topology_known))
        return;
    int kind = ipo_abi.undefined;
    REAL(Topo_test, w, int *)(handle, &kind);
    if (kind == ipo_abi.cart)
        find_cart_neighbours(comm, handle);
    else if (kind == ipo_abi.graph)
        find_graph_neighbours(comm, handle);
    else if (kind != ipo_abi.undefined)
        find_dist_graph_neighbours(comm, handle);
    atomic_store(&comm->topology_known, true);
}
