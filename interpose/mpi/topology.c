/* Neighbourhoods: which neighbours of a topology exist. */
#include "interpose/base/oldglibc.h"
#include "interpose/mpi/abi.h"
#include "interpose/base/arena.h"
#include "interpose/mpi/comms.h"

typedef uintptr_t w;
#define REAL(name, ...) (((int (*)(__VA_ARGS__))ipo_own[IPO_##name]))

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
    ipo_arena_give(neighbour, 2 * (size_t)dims * sizeof *neighbour);
    comm->out_real = comm->in_real;
    comm->out_degree = comm->in_degree;
}

void ipo_comm_topology_gone(struct ipo_comm *comm)
{
    ipo_arena_give((void *)(uintptr_t)comm->in_real, comm->in_n ? comm->in_n : 1);
}

static void find_graph_neighbours(struct ipo_comm *comm, uintptr_t handle)
{
    int in = 0, out = 0, weighted = 0;
    if (ipo_own[IPO_Dist_graph_neighbors_count] &&
        !REAL(Dist_graph_neighbors_count, w, int *, int *, int *)(handle, &in, &out, &weighted)) {
        comm->in_n = comm->in_degree = (uint32_t)in;
        comm->out_n = comm->out_degree = (uint32_t)out;
    }
}

void ipo_comm_topology(struct ipo_comm *comm, uintptr_t handle)
{
    if (atomic_load(&comm->topology_known))
        return;
    int kind = ipo_abi.undefined;
    REAL(Topo_test, w, int *)(handle, &kind);
    if (kind == ipo_abi.cart) {
        find_cart_neighbours(comm, handle);
    } else if (kind == ipo_abi.graph) {
        int n = 0;
        if (!REAL(Graph_neighbors_count, w, int, int *)(handle, comm->rank, &n))
            comm->in_n = comm->out_n = comm->in_degree = comm->out_degree = (uint32_t)n;
    } else {
        find_graph_neighbours(comm, handle);
    }
    atomic_store(&comm->topology_known, true);
}
