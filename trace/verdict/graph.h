/* A graph of who waits for whom.  A node moves when all, or any one, of the nodes that it waits for move.  Nodes 0 to
 * ranks - 1 are ranks; others stand between: an operation, a collective, a message that anybody may send.
 *
 *     ana_graph_init(&graph, ranks);
 *     node = ana_graph_node(&graph, ANA_WAITS_ALL);
 *     ana_graph_wait(&graph, rank, node);              the rank waits for the node ...
 *     ana_graph_wait(&graph, node, other);             ... and that for another rank
 *     ana_graph_solve(&graph);
 *     ... ana_graph_moves(&graph, rank), graph.knot[rank] ...
 *     ana_graph_free(&graph);
 *
 * Knows nothing of MPI. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ana_node_kind {
    ANA_WAITS_ANY, /* moves when one that it waits for moves; waiting for nobody, never by itself */
    ANA_WAITS_ALL, /* moves when all do; waiting for nobody, at once */
    ANA_NEVER_MOVES
};

struct ana_graph_node {
    uint8_t kind;    /* enum ana_node_kind */
    uint8_t removed; /* it does not move, and is in no knot */
    uint8_t counts;  /* it makes a knot, as a rank does */
    uint8_t moves;   /* moves by itself, or because of others once the graph is solved */
    uint32_t first;  /* edge; 0: none */
    uint32_t waited; /* first edge in which others wait for it */
    uint32_t open;   /* ANA_WAITS_ALL: number of awaited nodes that do not move */
    uint32_t asked;  /* mark of the last visit by ana_graph_blockers */
};
struct ana_graph_edge {
    uint32_t from, to;
    uint32_t next, next_waited; /* next edge with an equal `from`, and with an equal `to`; 0: none */
};

struct ana_graph {
    size_t ranks, nodes, node_room;
    struct ana_graph_node *node;
    size_t edges, edge_room; /* edge 0 is none */
    struct ana_graph_edge *edge;
    bool solved;
    uint32_t asked;
    uint32_t *knot; /* number of its knot by node, from 1; 0: it moves, or waits for another knot */
    uint32_t knots;
    bool memory; /* memory ran out: answers from the graph are not to be trusted */
};

/* Makes a graph of `ranks` nodes that wait for any, and for nobody yet. */
void ana_graph_init(struct ana_graph *graph, size_t ranks);
/* Frees its contents; the struct is the caller's. */
void ana_graph_free(struct ana_graph *graph);
/* Adds a node and returns its number. */
size_t ana_graph_node(struct ana_graph *graph, enum ana_node_kind kind);
/* Makes a node wait for another one. */
void ana_graph_wait(struct ana_graph *graph, size_t node, size_t other);
/* Marks a node as moving, and all that need no more than that.  Before or after ana_graph_solve. */
void ana_graph_set_moving(struct ana_graph *graph, size_t node);
/* Marks a node that does nothing any more: it neither moves nor is the cause that others do not. */
void ana_graph_remove(struct ana_graph *graph, size_t node);
/* Makes a node count in knots as a rank does: an operation that waits by itself, whatever its rank does. */
void ana_graph_count(struct ana_graph *graph, size_t node);
/* Finds all nodes that can move, in time linear in nodes and edges: a node that waits for all moves when the last
 * one moves. */
void ana_graph_solve(struct ana_graph *graph);
/* Finds the knots of nodes that cannot move: ranks that wait for each other and for nobody else who cannot. They are
 * the strongly connected parts that no edge leaves; a part without a rank, or another node that counts, is nobody. */
void ana_graph_find_knots(struct ana_graph *graph);

/* Whether a node can move. */
static inline bool ana_graph_moves(const struct ana_graph *graph, size_t node)
{
    return node >= graph->nodes || graph->node[node].moves;
}
/* Writes the ranks that cannot move and that a node waits for, itself or through nodes that are no ranks; each once, at
 * most `max`, ascending.  Returns how many. */
size_t ana_graph_blockers(struct ana_graph *graph, size_t node, size_t *out, size_t max);
