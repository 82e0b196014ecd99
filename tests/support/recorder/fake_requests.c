/* Requests and statuses of the fake MPI.  Operations complete when they are waited for; a short send at once,
 * behind the handle that all such share.  A receive from anybody gets a message of rank 0 with tag 0, half as long as
 * there is room for. */
#include "tests/support/recorder/fake_inside.h"

#include <string.h>

static void put_status(char *status, const struct fake_object *request)
{
    memset(status, 0, ipo_abi.status_bytes);
    memcpy(status + ipo_abi.source_at, &request->source, sizeof request->source);
    memcpy(status + ipo_abi.tag_at, &request->tag, sizeof request->tag);
    memcpy(status + ipo_abi.count_at, &request->bytes, sizeof request->bytes);
}

static struct fake_object received(int n, w type, int source, int tag)
{
    const int room = n * fake_object(&fake_types, type)->size;
    const bool any = source == ipo_abi.any_source;
    return (struct fake_object){
        .source = any ? 0 : source, .tag = tag == ipo_abi.any_tag ? 0 : tag, .bytes = any ? room / 2 : room};
}

static int recv(w buffer, int n, w type, int source, int tag, w comm, w status)
{
    (void)buffer, (void)comm;
    ENTER(Recv);
    struct fake_object came = received(n, type, source, tag);
    if (status != ipo_abi.status_ignore)
        put_status((char *)status, &came);
    return 0;
}

static void put_request(void *variable, const struct fake_object *as)
{
    struct fake_object *request = fake_take(&fake_requests);
    request->source = as->source;
    request->tag = as->tag;
    request->bytes = as->bytes;
    fake_mpi_store(variable, fake_handle(&fake_requests, request));
}

static int isend(w buffer, int n, w type, int to, int tag, w comm, void *variable)
{
    (void)buffer, (void)to, (void)tag, (void)comm;
    ENTER(Isend);
    if (n * fake_object(&fake_types, type)->size < FAKE_SHORT)
        fake_mpi_store(variable, ipo_abi.shared);
    else
        put_request(variable, &(struct fake_object){0});
    return 0;
}

static int irecv(w buffer, int n, w type, int source, int tag, w comm, void *variable)
{
    (void)buffer, (void)comm;
    ENTER(Irecv);
    struct fake_object will_come = received(n, type, source, tag);
    put_request(variable, &will_come);
    return 0;
}

static void complete(char *variable, w status)
{
    struct fake_object empty = {.source = ipo_abi.any_source, .tag = ipo_abi.any_tag}, *request = &empty;
    uintptr_t handle = ipo_handle_load((uintptr_t)variable, 0);
    if (handle != ipo_abi.request_null && !ipo_is_shared(handle))
        request = fake_object(&fake_requests, handle);
    if (status)
        put_status((char *)status, request);
    fake_mpi_store(variable, ipo_abi.request_null);
    if (request != &empty)
        fake_give(request);
}

static int wait(void *variable, w status)
{
    ENTER(Wait);
    complete(variable, status == ipo_abi.status_ignore ? 0 : status);
    return 0;
}

static int waitall(int n, char *array, w statuses)
{
    ENTER(Waitall);
    for (int i = 0; i < n; i++)
        complete(array + (unsigned)i * ipo_abi.handle_bytes,
                 statuses == ipo_abi.statuses_ignore ? 0 : statuses + (unsigned)i * ipo_abi.status_bytes);
    return 0;
}

static int request_free(void *variable)
{
    ENTER(Request_free);
    complete(variable, 0);
    return 0;
}

static int get_count(const char *status, w type, int *count)
{
    ENTER(Get_count);
    memcpy(count, status + ipo_abi.count_at, sizeof *count);
    *count /= fake_object(&fake_types, type)->size;
    return 0;
}

void fake_requests_start(void)
{
#define REAL(name, function) ipo_real[IPO_##name] = (ipo_function)(function)
    REAL(Recv, recv);
    REAL(Isend, isend);
    REAL(Irecv, irecv);
    REAL(Wait, wait);
    REAL(Waitall, waitall);
    REAL(Request_free, request_free);
    REAL(Get_count, get_count);
#undef REAL
}
