/* Messages of Gloo: a buffer sends or posts a receive, and a thread waits for it.  The collectives of Gloo do the same
 * inside their own calls, which are not recorded. */
#include "interpose/gloo/gloo.h"
#include "interpose/base/safe_read.h"
#include "interpose/base/table.h"

/* Places of members in Gloo's objects, equal in its releases of 2019 to 2026. */
#define BUFFER_SIZE       16 /* after the table of virtual functions and the address */
#define BUFFER_TRANSPORT  24
#define CONTEXT_TRANSPORT 40
#define POSTED            4096u /* buffers with a message that nobody has waited for yet */

static struct posted {
    uintptr_t buffer;
    struct ipo_gloo_message message;
} messages[POSTED];
static atomic_uint posted;
static struct ipo_table by_buffer; /* address of a buffer -> its last message */

void ipo_gloo_connected(uintptr_t context)
{
    struct ipo_comm *comm = ipo_gloo_comm(context);
    struct {
        uint64_t table;
        int32_t rank, size;
    } transport;
    uint64_t address;
    if (comm && ipo_safe_read(context + CONTEXT_TRANSPORT, &address, sizeof address) && address &&
        ipo_safe_read(address, &transport, sizeof transport) && transport.rank == comm->rank &&
        transport.size == comm->size)
        ipo_gloo_context_is(address, comm);
}

static struct ipo_comm *group_of(uintptr_t buffer)
{
    uintptr_t transport;
    memcpy(&transport, (const char *)buffer + BUFFER_TRANSPORT, sizeof transport);
    return ipo_gloo_comm(transport);
}

/* Bytes of a message: `bytes`, or what the buffer has behind `offset`. */
static uint64_t size_of(uintptr_t buffer, uint64_t offset, uint64_t bytes)
{
    uint64_t size;
    memcpy(&size, (const char *)buffer + BUFFER_SIZE, sizeof size);
    return bytes != UINT64_MAX ? bytes : size > offset ? size - offset : 0;
}

const struct ipo_gloo_message *ipo_gloo_post(uintptr_t buffer, int partner, uint64_t slot, uint64_t offset,
                                             uint64_t bytes)
{
    struct ipo_comm *comm = *ipo_gloo_armed && !ipo_gloo_inside.frame ? group_of(buffer) : NULL;
    if (!comm)
        return NULL;
    struct posted *p = &messages[atomic_fetch_add(&posted, 1) % POSTED];
    *p = (struct posted){buffer, {comm, partner, (int32_t)(slot & INT32_MAX), size_of(buffer, offset, bytes)}};
    ipo_table_put(&by_buffer, buffer, p);
    return &p->message;
}

const struct ipo_gloo_message *ipo_gloo_posted(uintptr_t buffer)
{
    struct posted *p = *ipo_gloo_armed && !ipo_gloo_inside.frame ? ipo_table_get(&by_buffer, buffer) : NULL;
    return p && p->buffer == buffer ? &p->message : NULL;
}
