/* Modes of check_modes that leave something behind, and windows; each with one that looks alike and is correct. */
#ifndef CHECK_LEFT_H
#define CHECK_LEFT_H

#include <mpi.h>
#include <stdlib.h>

static int me, n;
static int data[64], more[64];
static double reals[64];
static const MPI_Comm world = MPI_COMM_WORLD;
#define NEXT   ((me + 1) % n)
#define BEFORE ((me + n - 1) % n)
#define IGNORE MPI_STATUS_IGNORE

static MPI_Datatype pair_type(int reals_first)
{
    int lengths[] = {1, 1};
    MPI_Aint at[] = {0, 8};
    MPI_Datatype parts[] = {reals_first ? MPI_DOUBLE : MPI_INT, reals_first ? MPI_INT : MPI_DOUBLE}, type;
    MPI_Type_create_struct(2, lengths, at, parts, &type);
    MPI_Type_commit(&type);
    return type;
}

/* ---- leftovers at the end */

static void not_received(void)
{
    if (me == 0)
        MPI_Send(data, 1, MPI_INT, 1, 5, world);
}

static void cancelled(void)
{
    MPI_Request request;
    MPI_Irecv(data, 1, MPI_INT, BEFORE, 5, world, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, IGNORE);
}

static void not_waited(void)
{
    MPI_Request request;
    if (me == 0)
        MPI_Isend(data, 1, MPI_INT, 1, 5, world, &request);
    if (me == 1)
        MPI_Recv(data, 1, MPI_INT, 0, 5, world, IGNORE);
}

static void freed_send(void) /* allowed: a later message says that it has arrived */
{
    MPI_Request request;
    if (me == 0) {
        MPI_Isend(data, 1, MPI_INT, 1, 5, world, &request);
        MPI_Request_free(&request);
        MPI_Recv(more, 1, MPI_INT, 1, 6, world, IGNORE);
    }
    if (me == 1) {
        MPI_Recv(data, 1, MPI_INT, 0, 5, world, IGNORE);
        MPI_Send(data, 1, MPI_INT, 0, 6, world);
    }
}

static void freed_receive(void)
{
    MPI_Request request;
    if (me == 0)
        MPI_Send(data, 1, MPI_INT, 1, 5, world);
    if (me == 1) {
        MPI_Irecv(data, 1, MPI_INT, 0, 5, world, &request);
        MPI_Request_free(&request);
    }
}

static void persistent(int free_it)
{
    MPI_Request request[2];
    MPI_Send_init(data, 1, MPI_INT, NEXT, 1, world, &request[0]);
    MPI_Recv_init(more, 1, MPI_INT, BEFORE, 1, world, &request[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, request);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 2 && free_it; i++)
        MPI_Request_free(&request[i]);
}
static void persistent_left(void)
{
    persistent(0);
}
static void persistent_freed(void)
{
    persistent(1);
}

static void comm_once(void) /* as libraries keep one for as long as the process lives */
{
    MPI_Comm copy;
    MPI_Comm_dup(world, &copy);
    MPI_Barrier(copy);
}

static void comms_once(void)
{
    MPI_Comm copy[3];
    MPI_Comm_dup(world, &copy[0]);
    MPI_Comm_dup(world, &copy[1]);
    MPI_Comm_dup(world, &copy[2]);
}

static void comm_left(void)
{
    comm_once();
    comm_once();
}

static int free_comm(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    MPI_Comm_free(value);
    free(value);
    return MPI_SUCCESS;
}

static void comm_kept(void) /* released by an attribute of MPI_COMM_SELF, in MPI_Finalize, as libraries do */
{
    MPI_Comm *copy = malloc(sizeof *copy);
    int key;
    MPI_Comm_dup(world, copy);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_comm, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, copy);
    MPI_Comm_free_keyval(&key);
}

static void type_left(void)
{
    for (int i = 0; i < 2; i++)
        MPI_Bcast(reals, 1, pair_type(0), 0, world);
}

static void group_left(void)
{
    MPI_Group all, some;
    int ranks[] = {0, 1};
    MPI_Comm_group(world, &all);
    for (int i = 0; i < 2; i++)
        MPI_Group_incl(all, 1, ranks + i, &some);
    MPI_Group_free(&all);
}

static void groups(void) /* the same handle several times, an empty one, one on the way to a communicator */
{
    MPI_Group all, again, none, some;
    MPI_Comm part;
    int ranks[] = {0, 1};
    MPI_Comm_group(world, &all);
    MPI_Comm_group(world, &again);
    MPI_Group_incl(all, 0, NULL, &none);
    MPI_Group_incl(all, 2, ranks, &some);
    MPI_Comm_create(world, some, &part);
    if (part != MPI_COMM_NULL)
        MPI_Comm_free(&part);
    MPI_Group_free(&some);
    MPI_Group_free(&again);
    MPI_Group_free(&all);
}

static void file(int close_it)
{
    MPI_File file;
    MPI_File_open(world, "check_modes.out", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    MPI_File_write_at(file, me * 4, data, 1, MPI_INT, IGNORE);
    if (close_it)
        MPI_File_close(&file);
}
static void file_left(void)
{
    file(0);
}
static void file_closed(void) /* a missing file: its error is the answer */
{
    MPI_File none;
    file(1);
    MPI_File_open(MPI_COMM_SELF, "no such folder/no such file", MPI_MODE_RDONLY, MPI_INFO_NULL, &none);
}

/* ---- windows */

static MPI_Win make_window(void)
{
    MPI_Win window;
    MPI_Win_create(data, sizeof data, sizeof *data, MPI_INFO_NULL, world, &window);
    return window;
}

static void window_left(void)
{
    MPI_Win window = make_window();
    MPI_Win_fence(0, window);
}

static void put_unclosed(void) /* the barrier is no fence */
{
    MPI_Win window = make_window();
    MPI_Win_fence(0, window);
    MPI_Put(more, 1, MPI_INT, NEXT, me, 1, MPI_INT, window);
    MPI_Barrier(world);
    MPI_Win_free(&window);
}

static void put_fenced(void)
{
    MPI_Win window = make_window();
    MPI_Win_fence(0, window);
    MPI_Put(more, 1, MPI_INT, NEXT, me, 1, MPI_INT, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    MPI_Win_lock(MPI_LOCK_SHARED, NEXT, 0, window);
    MPI_Get(more, 1, MPI_INT, NEXT, 0, 1, MPI_INT, window);
    MPI_Win_unlock(NEXT, window);
    MPI_Win_free(&window);
}

static void put_started(void) /* post, start, complete, wait */
{
    MPI_Win window = make_window();
    MPI_Group all, next, before;
    int after = NEXT, prior = BEFORE;
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 1, &after, &next);
    MPI_Group_incl(all, 1, &prior, &before);
    MPI_Win_post(before, 0, window);
    MPI_Win_start(next, 0, window);
    MPI_Put(more, 1, MPI_INT, after, me, 1, MPI_INT, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
    MPI_Group_free(&all);
    MPI_Group_free(&next);
    MPI_Group_free(&before);
    MPI_Win_free(&window);
}

#endif
