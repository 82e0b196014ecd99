/* communicators: every way to make a communicator, with messages and a collective on each.
 * Truth: on each communicator c of m ranks every member sends 10 + k bytes to the next member of c with MPI_Sendrecv (k
 * numbers the kinds below; alone: to itself) and takes part in one MPI_Allreduce of 8 bytes.  Pairs are in world ranks.
 *   0 dup  1 idup  2 split into even and odd, in reverse order  3 create of the lower half  4 create_group of the upper
 *   half  5 split_type shared (all ranks, or each its own: some MPICH on one node)  6 cart  7 dup_with_info  8 merge of
 * the intercommunicator With 2 ranks and more, on the intercommunicator lower half | upper half (l | u ranks): each
 * rank i of the lower half sends 50 bytes to rank i % u of the upper with MPI_Send (MPI_Recv there); MPI_Bcast of 100
 * bytes from rank 0 of the lower half: it sends, all of the upper half receive, MPI_PROC_NULL nothing; MPI_Allreduce of
 * 8 bytes (both ways); MPI_Barrier. */
#include "truth.h"
#include <mpi.h>

enum { DUP, IDUP, SPLIT, CREATE, CREATE_GROUP, SPLIT_TYPE, CART, DUP_WITH_INFO, MERGE, KINDS };
static int me, n, shared; /* shared: ranks in kind 5 */

/* Members, as world ranks, of the communicator of this kind that `rank` belongs to; returns how many (0: none). */
static int members(int kind, int rank, int *out)
{
    int count = 0, half = n / 2;
    for (int i = 0; i < n; i++) {
        int r = kind == SPLIT ? n - 1 - i : i;
        if (kind == SPLIT && r % 2 != rank % 2)
            continue;
        if (kind == CREATE && (r >= half || rank >= half))
            continue;
        if (kind == CREATE_GROUP && (r < half || rank < half))
            continue;
        if (kind == SPLIT_TYPE && shared == 1 && r != rank)
            continue;
        out[count++] = r;
    }
    return count;
}

static void answer_inter(void)
{
    int half = n / 2, upper = n - half;
    for (int r = 0; r < n; r++) {
        truth_call(r, "MPI_Intercomm_create", 1, 0, 0);
        truth_call(r, "MPI_Intercomm_merge", 1, 0, 0);
        truth_call(r, "MPI_Comm_remote_size", 1, 0, 0);
        truth_call(r, "MPI_Bcast", 1, r == 0 ? 100 : 0, r >= half ? 100 : 0);
        truth_call(r, "MPI_Allreduce", 1, 8, 8);
        truth_call(r, "MPI_Barrier", 1, 0, 0);
        truth_call(r, "MPI_Comm_free", 1, 0, 0);
    }
    for (int r = 0; r < half; r++)
        truth_message(r, "MPI_Send", half + r % upper, "MPI_Recv", 1, 50);
}

static void answer(void)
{
    static const char *const maker[KINDS] = {"MPI_Comm_dup",
                                             "MPI_Comm_idup",
                                             "MPI_Comm_split",
                                             "MPI_Comm_create",
                                             NULL,
                                             "MPI_Comm_split_type",
                                             "MPI_Cart_create",
                                             "MPI_Comm_dup_with_info",
                                             NULL};
    int *list = calloc((size_t)n, sizeof *list);
    truth_frame(n);
    for (int r = 0; r < n; r++) {
        for (int k = 0; k < KINDS; k++) {
            if (maker[k])
                truth_call(r, maker[k], 1, 0, 0);
            if (k == MERGE && n < 2)
                continue;
            int count = members(k, r, list), mine = 0;
            if (count == 0)
                continue;
            while (list[mine] != r)
                mine++;
            truth_call(r, "MPI_Comm_rank", 1, 0, 0);
            truth_call(r, "MPI_Comm_size", 1, 0, 0);
            truth_call(r, "MPI_Comm_set_name", 1, 0, 0);
            truth_call(r, "MPI_Sendrecv", 1, 10 + k, 10 + k);
            truth_pair(r, list[(mine + 1) % count], 1, 10 + k);
            truth_call(r, "MPI_Allreduce", 1, 8, 8);
            truth_call(r, "MPI_Comm_free", 1, 0, 0);
        }
        truth_call(r, "MPI_Wait", 1, 0, 0); /* for the idup */
        truth_call(r, "MPI_Comm_group", 1, 0, 0);
        truth_call(r, "MPI_Group_range_incl", 2, 0, 0);
        truth_call(r, "MPI_Group_free", 3, 0, 0);
        if (r >= n / 2)
            truth_call(r, "MPI_Comm_create_group", 1, 0, 0);
    }
    free(list);
    if (n >= 2) {
        truth_each(n, "MPI_Comm_split", 1, 0, 0); /* the halves */
        truth_each(n, "MPI_Comm_free", 1, 0, 0);
        answer_inter();
    }
}

static void use(MPI_Comm comm, int kind)
{
    static const char *const name[KINDS] = {"dup",        "idup", "split",         "create", "create_group",
                                            "split_type", "cart", "dup_with_info", "merge"};
    char out[64] = {0}, in[64];
    double one = 1, sum;
    int r, m;
    MPI_Comm_rank(comm, &r);
    MPI_Comm_size(comm, &m);
    if (kind == SPLIT_TYPE)
        shared = m;
    MPI_Comm_set_name(comm, name[kind]);
    MPI_Sendrecv(out, 10 + kind, MPI_CHAR, (r + 1) % m, kind, in, 64, MPI_CHAR, (r + m - 1) % m, kind, comm,
                 MPI_STATUS_IGNORE);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    if (sum != (double)m)
        fprintf(stderr, "communicators: %s has %g ranks, not %d\n", name[kind], sum, m);
    MPI_Comm_free(&comm);
}

static void groups(void)
{
    MPI_Group world, lower, upper;
    MPI_Comm comm;
    int half = n / 2;
    int low[1][3] = {{0, half - 1, 1}}, high[1][3] = {{half, n - 1, 1}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, half > 0, low, &lower);
    MPI_Group_range_incl(world, 1, high, &upper);
    MPI_Comm_create(MPI_COMM_WORLD, lower, &comm);
    if (comm != MPI_COMM_NULL)
        use(comm, CREATE);
    if (me >= half) {
        MPI_Comm_create_group(MPI_COMM_WORLD, upper, 17, &comm);
        use(comm, CREATE_GROUP);
    }
    MPI_Group_free(&lower);
    MPI_Group_free(&upper);
    MPI_Group_free(&world);
}

static void intercommunicator(void)
{
    int half = n / 2, low = me < half, remote;
    char data[100] = {0};
    double one = 1, sum;
    MPI_Comm part, inter, both;
    MPI_Comm_split(MPI_COMM_WORLD, low, me, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, low ? half : 0, 5, &inter);
    MPI_Comm_remote_size(inter, &remote);
    if (low)
        MPI_Send(data, 50, MPI_CHAR, me % remote, 6, inter);
    else
        for (int i = me - half; i < half; i += n - half)
            MPI_Recv(data, 100, MPI_CHAR, i, 6, inter, MPI_STATUS_IGNORE);
    int root = !low ? 0 : me == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(data, 100, MPI_CHAR, root, inter);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, inter);
    MPI_Barrier(inter);
    MPI_Intercomm_merge(inter, !low, &both);
    use(both, MERGE);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
}

int main(int argc, char **argv)
{
    int bad = 0, periodic = 1;
    MPI_Comm comm;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    use(comm, DUP);
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(comm, IDUP);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &comm);
    use(comm, SPLIT);
    groups();
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    use(comm, SPLIT_TYPE);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &comm);
    use(comm, CART);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm);
    use(comm, DUP_WITH_INFO);
    if (n >= 2)
        intercommunicator();
    if (me == 0) {
        answer();
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
