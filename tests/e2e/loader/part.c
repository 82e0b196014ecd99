/* A module that is loaded at run time.  It calls what libtrace.so reaches by GOT slots only (names that MPI has removed
 * and Open MPI still has), and has enough to relocate for another thread to see it half done.
 *
 * WAITS: its constructor waits for the thread that makes a communicator (deadlock.c).  */
/* clang-format off */
#define NAMES(USE) \
    USE(MPI_Address) \
    USE(MPI_Attr_delete) \
    USE(MPI_Attr_get) \
    USE(MPI_Attr_put) \
    USE(MPI_Errhandler_create) \
    USE(MPI_Errhandler_get) \
    USE(MPI_Errhandler_set) \
    USE(MPI_Keyval_create) \
    USE(MPI_Keyval_free) \
    USE(MPI_Type_extent) \
    USE(MPI_Type_hindexed) \
    USE(MPI_Type_hvector) \
    USE(MPI_Type_lb) \
    USE(MPI_Type_struct) \
    USE(MPI_Type_ub)
/* clang-format on */
#define DECLARE(name) extern int name();
#define CALL(name)    sum += name();
#define POINT(name)   name,
NAMES(DECLARE)

int part_never(int sum)
{
    NAMES(CALL)
    return sum;
}

#define FOUR(x) x x x x
int (*const part_points[])() = {FOUR(FOUR(FOUR(FOUR(NAMES(POINT)))))};

int part_address(void *what, void *out)
{
    return MPI_Address(what, out);
}

#ifdef WAITS
void host_constructor(void);
__attribute__((constructor)) static void wait_here(void)
{
    host_constructor();
}
#endif
