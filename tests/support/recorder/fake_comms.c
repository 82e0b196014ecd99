/* Communicators and groups of the fake MPI. */
#include "tests/support/recorder/fake_inside.h"

#include <string.h>

static int own_rank;

static uintptr_t make_comm(const int8_t *world, int size, const int8_t *remote, int remote_size)
{
    struct fake_object *comm = fake_take(&fake_comms);
    comm->size = size;
    comm->remote_size = remote_size;
    comm->rank = -1;
    memcpy(comm->world, world, (size_t)size);
    memcpy(comm->remote, remote, (size_t)remote_size);
    for (int i = 0; i < size; i++)
        if (world[i] == own_rank)
            comm->rank = i;
    return fake_handle(&fake_comms, comm);
}

static void narrow(int8_t *out, const int *ranks, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = (int8_t)ranks[i];
}

uintptr_t fake_comm_new(const int *ranks, int size, const int *remote, int remote_size)
{
    int8_t world[FAKE_RANKS], others[FAKE_RANKS];
    narrow(world, ranks, size);
    narrow(others, remote, remote_size);
    return make_comm(world, size, others, remote_size);
}

void fake_comm_free(uintptr_t comm)
{
    fake_give(fake_object(&fake_comms, comm));
}

static int comm_size(w comm, int *size)
{
    ENTER(Comm_size);
    *size = fake_object(&fake_comms, comm)->size;
    return 0;
}

static int comm_rank(w comm, int *rank)
{
    ENTER(Comm_rank);
    *rank = fake_object(&fake_comms, comm)->rank;
    return 0;
}

static int comm_test_inter(w comm, int *flag)
{
    ENTER(Comm_test_inter);
    *flag = fake_object(&fake_comms, comm)->remote_size > 0;
    return 0;
}

static int comm_remote_size(w comm, int *size)
{
    ENTER(Comm_remote_size);
    *size = fake_object(&fake_comms, comm)->remote_size;
    return 0;
}

static int comm_dup(w comm, void *copy)
{
    ENTER(Comm_dup);
    const struct fake_object *from = fake_object(&fake_comms, comm);
    fake_mpi_store(copy, make_comm(from->world, from->size, from->remote, from->remote_size));
    return 0;
}

static int comm_free(void *variable)
{
    ENTER(Comm_free);
    fake_comm_free(ipo_handle_load((uintptr_t)variable, 0));
    fake_mpi_store(variable, ipo_abi.comm_null);
    return 0;
}

static void put_group(void *variable, const int8_t *world, int size)
{
    struct fake_object *group = fake_take(&fake_groups);
    group->size = size;
    memcpy(group->world, world, (size_t)size);
    fake_mpi_store(variable, fake_handle(&fake_groups, group));
}

static int comm_group(w comm, void *group)
{
    ENTER(Comm_group);
    const struct fake_object *of = fake_object(&fake_comms, comm);
    put_group(group, of->world, of->size);
    return 0;
}

static int comm_remote_group(w comm, void *group)
{
    ENTER(Comm_remote_group);
    const struct fake_object *of = fake_object(&fake_comms, comm);
    put_group(group, of->remote, of->remote_size);
    return 0;
}

static int group_size(w group, int *size)
{
    ENTER(Group_size);
    *size = fake_object(&fake_groups, group)->size;
    return 0;
}

static int group_free(void *variable)
{
    ENTER(Group_free);
    fake_give(fake_object(&fake_groups, ipo_handle_load((uintptr_t)variable, 0)));
    return 0;
}

static int translate(w from, int n, const int *ranks, w to, int *out)
{
    ENTER(Group_translate_ranks);
    const struct fake_object *a = fake_object(&fake_groups, from), *b = fake_object(&fake_groups, to);
    for (int i = 0; i < n; i++) {
        out[i] = ipo_abi.undefined;
        for (int j = 0; j < b->size; j++)
            if (b->world[j] == a->world[ranks[i]])
                out[i] = j;
    }
    return 0;
}

void fake_comms_start(int rank, int size)
{
    int8_t world[FAKE_RANKS];
    own_rank = rank;
    for (int i = 0; i < size; i++)
        world[i] = (int8_t)i;
    make_comm(world, size, world, 0);
    make_comm(&world[rank], 1, world, 0);
#define REAL(name, function) ipo_real[IPO_##name] = (ipo_function)(function)
    REAL(Comm_size, comm_size);
    REAL(Comm_rank, comm_rank);
    REAL(Comm_test_inter, comm_test_inter);
    REAL(Comm_remote_size, comm_remote_size);
    REAL(Comm_dup, comm_dup);
    REAL(Comm_free, comm_free);
    REAL(Comm_group, comm_group);
    REAL(Comm_remote_group, comm_remote_group);
    REAL(Group_size, group_size);
    REAL(Group_free, group_free);
    REAL(Group_translate_ranks, translate);
#undef REAL
}
