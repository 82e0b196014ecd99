/* An attribute's delete callback frees a datatype and a communicator and makes others, whose handles may be the same
 * words.  Known answer on 2 ranks: before, one message of 8 bytes to the other rank; after, one of 800 bytes to itself.
 */
#include <mpi.h>

static MPI_Datatype type;
static MPI_Comm inner;

static int renew(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    MPI_Type_free(&type);
    MPI_Type_contiguous(800, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Comm_free(&inner);
    MPI_Comm_dup(MPI_COMM_SELF, &inner);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static char out[800], in[800];
    int key, me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Type_contiguous(8, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Comm_dup(MPI_COMM_WORLD, &inner);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, renew, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL);
    MPI_Sendrecv(out, 1, type, 1 - me, 1, in, 1, type, 1 - me, 1, inner, MPI_STATUS_IGNORE);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Sendrecv(out, 1, type, 0, 2, in, 1, type, 0, 2, inner, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
