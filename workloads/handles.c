/* Handles of all kinds that a correct program may pass, each in calls that make the recorder ask MPI about it.  Run by
 * 2 ranks as `handles fatal|return|user [FILE]`: with that error handler everywhere.  No call fails, so the handler of
 * the program is never called.  Prints "errors 0, failed 0". */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* MPI_UNWEIGHTED and MPI_STATUSES_IGNORE are addresses that nobody reads; the compiler takes them for arrays. */
#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 11
#pragma GCC diagnostic ignored "-Wstringop-overread"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

static int errors, failed, me, other;
static MPI_Errhandler handler;
static MPI_Comm both; /* the communicator under test */
static char buffer[2][4096];

static void count_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    errors++;
}
#define DO(call) (failed += (call) != MPI_SUCCESS)

/* Moves a datatype in calls that describe their data; the last call completes when the type is freed. */
static void move(MPI_Datatype type, int freed)
{
    MPI_Request requests[2];
    MPI_Status status;
    DO(MPI_Sendrecv(buffer[0], 1, type, other, 1, buffer[1], 1, type, other, 1, both, &status));
    DO(MPI_Bcast(buffer[0], 1, type, 0, both));
    DO(MPI_Irecv(buffer[1], 1, type, other, 2, both, &requests[0]));
    DO(MPI_Isend(buffer[0], 1, type, other, 2, both, &requests[1]));
    if (freed)
        DO(MPI_Type_free(&type));
    DO(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

static void made(MPI_Datatype type)
{
    MPI_Datatype outer[3] = {type, MPI_INT, type}, nested;
    const int lengths[3] = {1, 2, 1};
    const MPI_Aint places[3] = {0, 1024, 2048};
    DO(MPI_Type_commit(&type));
    DO(MPI_Type_create_struct(3, lengths, places, outer, &nested));
    DO(MPI_Type_commit(&nested));
    move(nested, 1);
    move(type, 1);
}

static void types(void)
{
    static const int one = 1, two = 2;
    const MPI_Aint place = 8;
    MPI_Datatype type, basic = MPI_INT;
    const MPI_Datatype predefined[] = {MPI_INT,   MPI_BYTE,       MPI_PACKED,    MPI_C_BOOL,   MPI_FLOAT_INT,
                                       MPI_2INT,  MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_LONG_INT, MPI_LONG_DOUBLE_INT,
                                       MPI_COUNT, MPI_AINT,       MPI_OFFSET,    MPI_WCHAR,    MPI_C_DOUBLE_COMPLEX};
    for (unsigned i = 0; i < sizeof predefined / sizeof *predefined; i++)
        move(predefined[i], 0);
#define MADE(...)                                                                                                      \
    if (__VA_ARGS__ == MPI_SUCCESS)                                                                                    \
        made(type);                                                                                                    \
    else                                                                                                               \
        failed++;
    MADE(MPI_Type_dup(MPI_DOUBLE, &type))
    MADE(MPI_Type_contiguous(3, MPI_DOUBLE, &type))
    MADE(MPI_Type_contiguous(0, MPI_DOUBLE, &type))
    MADE(MPI_Type_vector(2, 1, 3, MPI_INT, &type))
    MADE(MPI_Type_create_hvector(2, 1, 16, MPI_DOUBLE_INT, &type))
    MADE(MPI_Type_indexed(1, &one, &two, MPI_INT, &type))
    MADE(MPI_Type_create_hindexed(1, &two, &place, MPI_INT, &type))
    MADE(MPI_Type_create_indexed_block(1, 2, &one, MPI_INT, &type))
    MADE(MPI_Type_create_hindexed_block(1, 2, &place, MPI_INT, &type))
    MADE(MPI_Type_create_resized(MPI_INT, -4, 32, &type))
    MADE(MPI_Type_create_struct(0, NULL, NULL, NULL, &type))
    MADE(MPI_Type_create_struct(1, &one, &place, &basic, &type))
    MADE(MPI_Type_create_subarray(1, (int[]){4}, (int[]){2}, (int[]){1}, MPI_ORDER_C, MPI_INT, &type))
    MADE(MPI_Type_create_darray(2, 0, 1, (int[]){4}, (int[]){MPI_DISTRIBUTE_BLOCK}, (int[]){MPI_DISTRIBUTE_DFLT_DARG},
                                (int[]){2}, MPI_ORDER_C, MPI_INT, &type))
    if (MPI_Type_create_f90_real(6, MPI_UNDEFINED, &type) == MPI_SUCCESS)
        move(type, 0);
    MADE(MPI_Type_contiguous(2, type, &type))
    if (MPI_Type_create_f90_integer(9, &type) == MPI_SUCCESS)
        move(type, 0);
    MADE(MPI_Type_vector(2, 1, 2, type, &type))
#if MPI_VERSION >= 4
    const MPI_Count large[] = {1, 8};
    MPI_Datatype inner;
    MADE(MPI_Type_contiguous_c(3, MPI_DOUBLE, &type))
    MADE(MPI_Type_vector_c(2, 1, 3, MPI_INT, &type))
    MADE(MPI_Type_create_hvector_c(2, 1, 16, MPI_INT, &type))
    MADE(MPI_Type_indexed_c(1, &large[0], &large[0], MPI_INT, &type))
    MADE(MPI_Type_create_hindexed_c(1, &large[0], &large[1], MPI_INT, &type))
    MADE(MPI_Type_create_resized_c(MPI_INT, 0, 32, &type))
    MADE(MPI_Type_create_struct_c(1, &large[0], &large[1], &basic, &type))
    MADE(MPI_Type_create_subarray_c(1, (MPI_Count[]){4}, (MPI_Count[]){2}, (MPI_Count[]){1}, MPI_ORDER_C, MPI_INT,
                                    &type))
    DO(MPI_Type_contiguous_c(2, MPI_INT, &inner));
    MADE(MPI_Type_vector(2, 1, 2, inner, &type))
    DO(MPI_Type_free(&inner));
    DO(MPI_Type_contiguous_c((MPI_Count)3 << 31, MPI_BYTE, &type)); /* 6 GB, none sent */
    DO(MPI_Type_commit(&type));
    DO(MPI_Send(buffer, 0, type, MPI_PROC_NULL, 1, both));
    DO(MPI_Bcast(buffer, 0, type, 0, both));
    DO(MPI_Type_free(&type));
#endif
}

static void add(void *in, void *out, int *n, MPI_Datatype *type)
{
    (void)in, (void)out, (void)n, (void)type;
}

static void operations(void)
{
    MPI_Op op;
    MPI_Datatype two;
    DO(MPI_Op_create(add, 1, &op));
    DO(MPI_Type_contiguous(2, MPI_INT, &two));
    DO(MPI_Type_commit(&two));
    DO(MPI_Allreduce(buffer[0], buffer[1], 1, two, op, both));
    DO(MPI_Allreduce(buffer[0], buffer[1], 1, MPI_2INT, MPI_MAXLOC, both));
    DO(MPI_Op_free(&op));
    DO(MPI_Type_free(&two));
}

static void groups_and_windows(void)
{
    MPI_Group all, mine, nobody;
    MPI_Win win;
    MPI_Comm self;
    char *memory;
    DO(MPI_Comm_group(both, &all));
    DO(MPI_Group_incl(all, 1, &me, &mine));
    DO(MPI_Group_incl(all, 0, NULL, &nobody));
    DO(MPI_Comm_create_group(both, mine, 1, &self));
    DO(MPI_Barrier(self));
    DO(MPI_Comm_free(&self));
    DO(MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, both, &memory, &win));
    DO(MPI_Win_fence(0, win));
    DO(MPI_Put(buffer, 1, MPI_INT, other, 0, 1, MPI_INT, win));
    DO(MPI_Win_fence(0, win));
    DO(MPI_Win_post(all, 0, win));
    DO(MPI_Win_start(all, 0, win));
    DO(MPI_Win_complete(win));
    DO(MPI_Win_wait(win));
    DO(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
    DO(MPI_Win_start(nobody, 0, win));
    DO(MPI_Win_complete(win));
    DO(MPI_Win_wait(win));
    DO(MPI_Win_free(&win));
    DO(MPI_Win_create_dynamic(MPI_INFO_NULL, both, &win));
    DO(MPI_Win_lock_all(0, win));
    DO(MPI_Win_unlock_all(win));
    DO(MPI_Win_free(&win));
    DO(MPI_Group_free(&all));
    DO(MPI_Group_free(&mine));
    DO(MPI_Group_free(&nobody));
}

static void neighbours(MPI_Comm comm)
{
    DO(MPI_Comm_set_errhandler(comm, handler));
    DO(MPI_Neighbor_allgather(buffer[0], 1, MPI_INT, buffer[1], 1, MPI_INT, comm));
    DO(MPI_Comm_free(&comm));
}

static void topologies(void)
{
    MPI_Comm comm;
    const int ends[] = {1, 2}, edges[] = {1, 0}, none[] = {0};
    DO(MPI_Cart_create(both, 1, (int[]){2}, none, 0, &comm));
    neighbours(comm);
    DO(MPI_Cart_create(both, 0, NULL, NULL, 0, &comm));
    if (comm != MPI_COMM_NULL)
        neighbours(comm);
    DO(MPI_Graph_create(both, 2, ends, edges, 0, &comm));
    neighbours(comm);
    DO(MPI_Dist_graph_create_adjacent(both, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                      &comm));
    neighbours(comm);
    DO(MPI_Dist_graph_create_adjacent(both, 1, &other, &me, 0, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm));
    DO(MPI_Comm_free(&comm));
}

static void communicators(void)
{
    MPI_Comm half, inter, merged;
    DO(MPI_Comm_split(both, me, 0, &half));
    DO(MPI_Intercomm_create(half, 0, both, other, 3, &inter));
    DO(MPI_Comm_set_errhandler(inter, handler));
    DO(MPI_Barrier(inter));
    DO(MPI_Sendrecv(buffer[0], 1, MPI_INT, 0, 1, buffer[1], 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
    DO(MPI_Intercomm_merge(inter, me, &merged));
    DO(MPI_Barrier(merged));
    DO(MPI_Comm_free(&merged));
    DO(MPI_Comm_free(&inter));
    DO(MPI_Comm_free(&half));
}

static void files(const char *path)
{
    MPI_File file;
    MPI_Status status;
    DO(MPI_File_open(both, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    DO(MPI_File_write_at_all(file, 64 * me, buffer[0], 8, MPI_INT, &status));
    DO(MPI_File_read_at(file, 64 * other, buffer[1], 8, MPI_INT, MPI_STATUS_IGNORE));
    DO(MPI_File_close(&file));
}

static void sessions(void)
{
#if MPI_VERSION >= 4
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    if (MPI_Session_init(MPI_INFO_NULL, handler, &session) != MPI_SUCCESS)
        return; /* not all versions can */
    if (MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS) {
        DO(MPI_Comm_create_from_group(group, "handles", MPI_INFO_NULL, handler, &comm));
        DO(MPI_Barrier(comm));
        DO(MPI_Comm_free(&comm));
        DO(MPI_Group_free(&group));
    }
    DO(MPI_Session_finalize(&session));
#endif
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "fatal";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    other = 1 - me;
    handler = strcmp(how, "fatal") == 0 ? MPI_ERRORS_ARE_FATAL : MPI_ERRORS_RETURN;
    if (strcmp(how, "user") == 0)
        MPI_Comm_create_errhandler(count_error, &handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &both);
    MPI_Comm_set_errhandler(both, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    types();
    operations();
    groups_and_windows();
    topologies();
    communicators();
    if (argc > 2)
        files(argv[2]);
    sessions();
    MPI_Comm_free(&both);
    printf("errors %d, failed %d\n", errors, failed);
    MPI_Finalize();
    return 0;
}
