/* collectives_vw: collectives with another count on each rank, and MPI_IN_PLACE, TIMES rounds with root = round % n.
 * Truth: rank r contributes r+1 integers (B(r) = 4(r+1) bytes; T = their sum over all ranks):
 *   Scatterv: root sends T, r receives B(r); Gatherv: r sends B(r), root receives T; Allgatherv: sends B(r), receives
 * T; Alltoallv: r sends to s r+s+1 integers, so both ways 4 x sum over s of (r+s+1); Alltoallw the same with 2-byte
 *   elements for odd s and from odd ranks: every block between r and s has width 4, or 2 if r+s is odd;
 *   Reduce_scatter: sends T, receives B(r); Ialltoallv and Igatherv and Iscatterv and Iallgatherv and Ireduce_scatter
 * as their blocking forms. MPI_IN_PLACE counts like its plain form: Allreduce 8 B both; Reduce at the root 80 B both,
 * elsewhere sends 80 B; Allgather 4 B (sends 4, receives 4n); Gather (4 B, root in place), Scatter (4 B, root in
 * place), Alltoall 4n both, Scan 8 both, Reduce_scatter_block sends 4n, receives 4.  Then TURNS rounds from one place
 * with other counts: the same, the same sum with another share for each rank, twice as many; B and T follow. */
#include "truth.h"
#include <mpi.h>

#define TIMES 6
#define TURNS 4

static int width(int a, int b)
{
    return (a + b) % 2 ? 2 : 4;
}

static void answer(int n)
{
    static const char *const v[2][5] = {
        {"MPI_Scatterv", "MPI_Gatherv", "MPI_Allgatherv", "MPI_Alltoallv", "MPI_Reduce_scatter"},
        {"MPI_Iscatterv", "MPI_Igatherv", "MPI_Iallgatherv", "MPI_Ialltoallv", "MPI_Ireduce_scatter"}};
    truth_frame(n);
    long all = 2L * n * (n + 1);
    for (int r = 0; r < n; r++) {
        long roots = 0, mine = 4 * (r + 1), exchanged = 0, exchanged_w = 0;
        for (int i = 0; i < TIMES; i++)
            roots += i % n == r;
        for (int s = 0; s < n; s++) {
            exchanged += 4 * (r + s + 1);
            exchanged_w += width(r, s) * (r + s + 1);
        }
        long turned = 4 * (2 * (r + 1) + 3 * ((r + 1) % n + 1));
        for (int form = 0; form < 2; form++) {
            long turns = form ? 0 : TURNS, more = form ? 0 : turned, fold = form ? 0 : TURNS + 1;
            truth_call(r, v[form][0], TIMES, roots * all, TIMES * mine);
            truth_call(r, v[form][1], TIMES, TIMES * mine, roots * all);
            truth_call(r, v[form][2], TIMES + turns, TIMES * mine + more, (TIMES + fold) * all);
            truth_call(r, v[form][3], TIMES + turns, (TIMES + turns) * exchanged, (TIMES + turns) * exchanged);
            truth_call(r, v[form][4], TIMES + turns, (TIMES + fold) * all, TIMES * mine + more);
        }
        truth_call(r, "MPI_Alltoallw", TIMES, TIMES * exchanged_w, TIMES * exchanged_w);
        truth_call(r, "MPI_Waitall", TIMES, 0, 0);
        truth_call(r, "MPI_Allreduce", TIMES, TIMES * 8, TIMES * 8);
        truth_call(r, "MPI_Reduce", TIMES, TIMES * 80, roots * 80);
        truth_call(r, "MPI_Allgather", TIMES, TIMES * 4, TIMES * 4 * n);
        truth_call(r, "MPI_Gather", TIMES, TIMES * 4, roots * 4 * n);
        truth_call(r, "MPI_Scatter", TIMES, roots * 4 * n, TIMES * 4);
        truth_call(r, "MPI_Alltoall", TIMES, TIMES * 4 * n, TIMES * 4 * n);
        truth_call(r, "MPI_Scan", TIMES, TIMES * 8, TIMES * 8);
        truth_call(r, "MPI_Reduce_scatter_block", TIMES, TIMES * 4 * n, TIMES * 4);
    }
}

/* Counts and places: by contribution (r+1 each), and by pair (me+s+1 each). */
struct layout {
    int *count, *place, *pair_count, *pair_place, *byte_place;
    MPI_Datatype *type;
};

static int *ints(int n)
{
    return calloc((size_t)n, sizeof(int));
}

static struct layout layout(int me, int n)
{
    struct layout l = {ints(n), ints(n), ints(n), ints(n), ints(n), calloc((size_t)n, sizeof(MPI_Datatype))};
    for (int s = 0; s < n; s++) {
        l.count[s] = s + 1;
        l.place[s] = s ? l.place[s - 1] + s : 0;
        l.pair_count[s] = me + s + 1;
        l.pair_place[s] = s ? l.pair_place[s - 1] + me + s : 0;
        l.byte_place[s] = 4 * l.pair_place[s];
        l.type[s] = width(me, s) == 2 ? MPI_SHORT : MPI_INT;
    }
    return l;
}

static void vectors(int root, int me, const struct layout *l, int *a, int *b, int *const *space)
{
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request r[5];
    MPI_Scatterv(a, l->count, l->place, MPI_INT, b, me + 1, MPI_INT, root, w);
    MPI_Gatherv(a, me + 1, MPI_INT, b, l->count, l->place, MPI_INT, root, w);
    MPI_Allgatherv(a, me + 1, MPI_INT, b, l->count, l->place, MPI_INT, w);
    MPI_Alltoallv(a, l->pair_count, l->pair_place, MPI_INT, b, l->pair_count, l->pair_place, MPI_INT, w);
    MPI_Alltoallw(a, l->pair_count, l->byte_place, l->type, b, l->pair_count, l->byte_place, l->type, w);
    MPI_Reduce_scatter(a, b, l->count, MPI_INT, MPI_SUM, w);

    MPI_Iscatterv(a, l->count, l->place, MPI_INT, space[0], me + 1, MPI_INT, root, w, &r[0]);
    MPI_Igatherv(a, me + 1, MPI_INT, space[1], l->count, l->place, MPI_INT, root, w, &r[1]);
    MPI_Iallgatherv(a, me + 1, MPI_INT, space[2], l->count, l->place, MPI_INT, w, &r[2]);
    MPI_Ialltoallv(a, l->pair_count, l->pair_place, MPI_INT, space[3], l->pair_count, l->pair_place, MPI_INT, w, &r[3]);
    MPI_Ireduce_scatter(a, space[4], l->count, MPI_INT, MPI_SUM, w, &r[4]);
    MPI_Waitall(5, r, MPI_STATUSES_IGNORE);
}

static void in_place(int root, int me, int *b)
{
    MPI_Comm w = MPI_COMM_WORLD;
    double tens[10] = {0}, sums[10];
    MPI_Allreduce(MPI_IN_PLACE, tens, 1, MPI_DOUBLE, MPI_SUM, w);
    MPI_Reduce(me == root ? MPI_IN_PLACE : tens, me == root ? tens : sums, 10, MPI_DOUBLE, MPI_SUM, root, w);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 1, MPI_INT, w);
    if (me == root) {
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 1, MPI_INT, root, w);
        MPI_Scatter(b, 1, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, w);
    } else {
        MPI_Gather(b, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, w);
        MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, b, 1, MPI_INT, root, w);
    }
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 1, MPI_INT, w);
    MPI_Scan(MPI_IN_PLACE, tens, 1, MPI_DOUBLE, MPI_SUM, w);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, w);
}

/* Collectives of one place whose counts change, each rank's share among them. */
static void turns(int me, int n, struct layout *l, int *a, int *b)
{
    MPI_Comm w = MPI_COMM_WORLD;
    for (int j = 0; j < TURNS; j++) {
        for (int s = 0; s < n; s++) {
            l->count[s] = ((s + j / 2) % n + 1) * (j == TURNS - 1 ? 2 : 1);
            l->place[s] = s ? l->place[s - 1] + l->count[s - 1] : 0;
        }
        MPI_Allgatherv(j % 2 ? MPI_IN_PLACE : a, l->count[me], MPI_INT, b, l->count, l->place, MPI_INT, w);
        MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, b, l->pair_count, l->pair_place, MPI_INT, w);
        MPI_Reduce_scatter(a, b, l->count, MPI_INT, MPI_SUM, w);
    }
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    struct layout l = layout(me, n);
    int room = 2 * n * (n + 1), *space[5];
    int *a = ints(room), *b = ints(room);
    for (int i = 0; i < 5; i++)
        space[i] = ints(room);
    for (int i = 0; i < TIMES; i++) {
        vectors(i % n, me, &l, a, b, space);
        in_place(i % n, me, b);
    }
    turns(me, n, &l, a, b);
    if (me == 0) {
        answer(n);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
