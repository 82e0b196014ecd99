/* The calls of MPI that workloads/hvd_standin.c makes, by a controller of Horovod's over Gloo (controller.cc): so the
 * same program has the same faults without MPI. */
#ifndef STANDIN_MPI_H
#define STANDIN_MPI_H
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef int MPI_Comm;
enum { MPI_INT, MPI_BYTE, MPI_FLOAT, MPI_LONG_LONG_INT };
enum { MPI_SUM, MPI_BAND, MPI_BOR, MPI_COMM_WORLD, MPI_INFO_NULL, MPI_THREAD_MULTIPLE, MPI_COMM_TYPE_SHARED };
#define MPI_IN_PLACE ((void *)-1)

struct standin {
    int rank, size;
    void (*bits)(long long *words, int n, int is_or);
    void (*hear)(int *lengths);              /* rank 0: lengths of the others' lists of requests */
    void (*heard)(void *lists);              /* rank 0: the lists, one behind the other */
    void (*ask)(const void *list, int n);    /* the others */
    void (*answer)(const void *list, int n); /* rank 0 */
    int (*answered)(void);                   /* the others: length of the answer */
    void (*copy)(void *list);                /* the others: the answer */
    void (*reduce)(float *data, int n);
    void (*barrier)(void); /* not Horovod's */
};
static const struct standin *standin;

static inline void MPI_Init_thread(void *argc, void *argv, int level, int *provided)
{
    void *library = dlopen("./libstandin.so", RTLD_NOW | RTLD_LOCAL);
    const struct standin *(*begin)(void) = NULL;
    if (library)
        *(void **)&begin = dlsym(library, "horovod_init");
    if (!begin)
        exit(65);
    standin = begin();
}
static inline void MPI_Finalize(void) {}
static inline void MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy) {}
static inline void MPI_Comm_split_type(MPI_Comm comm, int type, int key, int info, MPI_Comm *part) {}
static inline void MPI_Comm_free(MPI_Comm *comm) {}
static inline void MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    *rank = standin->rank;
}
static inline void MPI_Comm_size(MPI_Comm comm, int *size)
{
    *size = standin->size;
}
static inline void MPI_Barrier(MPI_Comm comm)
{
    standin->barrier();
}
static inline void MPI_Allreduce(const void *in, void *data, int n, int type, int operation, MPI_Comm comm)
{
    if (type == MPI_FLOAT)
        standin->reduce((float *)data, n);
    else
        standin->bits((long long *)data, n, operation == MPI_BOR);
}
static inline void MPI_Gather(const void *in, int n, int type, int *lengths, int m, int to, int root, MPI_Comm comm)
{
    if (lengths)
        standin->hear(lengths);
}
static inline void MPI_Gatherv(const void *list, int n, int type, void *all, const int *lengths, const int *places,
                               int to, int root, MPI_Comm comm)
{
    if (all)
        standin->heard(all);
    else
        standin->ask(list, n);
}
static inline void MPI_Bcast(void *data, int n, int type, int root, MPI_Comm comm)
{
    if (standin->rank > 0 && type == MPI_INT)
        *(int *)data = standin->answered();
    else if (standin->rank > 0)
        standin->copy(data);
    else if (type == MPI_BYTE)
        standin->answer(data, n);
}
#endif
