/* Two ranks that come to a collective by different calls, every pair of names that the table of MPI's functions has:
 * blocking, started and waited for, persistent.  Also who starts two in the wrong order, and what may meet. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/members/process.h"
#include "trace/verdict/verdict.h"
#include <stdlib.h>
#include <string.h>

#define S   INT64_C(1000000000)
#define END (100 * S)

#define TRC_OP_PASS TRC_OP_OTHER
static const struct trc_call table[] = {
#define CALL(arity, name, vis, result, class, roles) {"MPI_" #name, TRC_OP_##class},
#include "interpose/mpi/mpi_calls.def"
#undef CALL
};
static const char *const roles_of[] = {
#define CALL(arity, name, vis, result, class, roles) roles,
#include "interpose/mpi/mpi_calls.def"
#undef CALL
};
enum { CALLS = sizeof table / sizeof *table };

/* Collectives on a communicator. */
static bool is_collective(const struct trc_call *call)
{
    return (call->opclass >= TRC_OP_BARRIER && call->opclass <= TRC_OP_NEIGHBOR) || call->opclass == TRC_OP_COMM_CREATE;
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static bool is_large(const struct trc_call *call)
{
    return ends_with(call->name, "_c");
}

static bool is_persistent(const struct trc_call *call)
{
    return strstr(call->name, "_init") != NULL;
}

static bool is_started(const struct trc_call *call)
{
    return strchr(roles_of[call - table], 'q') != NULL;
}

static uint32_t id_of(const char *name)
{
    for (uint32_t i = 0; i < CALLS; i++)
        if (strcmp(table[i].name, name) == 0)
            return i;
    CHECK(false, "no %s in the table", name);
    return 0;
}

static struct trc_sig sig_of(uint32_t call, uint64_t sequence)
{
    struct trc_sig sig = tb_sig((enum tb_call)call);
    enum trc_shape shape = trc_opclass_shape(table[call].opclass);
    sig.comm = TB_WORLD;
    sig.flags = TRC_SIG_COLL;
    sig.peer = shape == TRC_SHAPE_FROM_ROOT || shape == TRC_SHAPE_TO_ROOT ? 0 : TRC_PEER_NONE;
    sig.sent = sig.received = 8;
    sig.site = 0x1000 + call + sequence;
    return sig;
}

/* Starts or calls collective `sequence`; of a blocking one the rank does not come out. */
static void come_to(struct tb *tb, uint32_t call, uint64_t sequence, int64_t at)
{
    struct trc_sig sig = sig_of(call, sequence);
    struct tb_more more = {.sequence = sequence};
    if (!is_started(&table[call])) {
        tb_inside(tb, 0, &sig, at, sequence);
        return;
    }
    sig.flags |= TRC_SIG_START;
    if (is_persistent(&table[call])) {
        struct trc_sig start = tb_sig((enum tb_call)id_of("MPI_Start"));
        tb_event(tb, 0, &start, at, at + 1000, (struct tb_more){0});
        tb_sub(tb, 0, &sig, more);
    } else {
        tb_event(tb, 0, &sig, at, at + 1000, more);
    }
}

static void wait_for_all(struct tb *tb, int64_t at)
{
    struct trc_sig wait = tb_sig((enum tb_call)id_of("MPI_Waitall"));
    tb_inside(tb, 0, &wait, at, 0);
}

/* Each of two ranks comes to its calls, one after the other; 0: no more. */
static void expect(const uint32_t *mine, const uint32_t *other, bool differ)
{
    folder_make("pairs");
    for (int r = 0; r < 2; r++) {
        const uint32_t *call = r ? other : mine;
        struct tb *tb = tb_new(r, 2);
        tb_running(tb, END);
        for (uint64_t k = 0; k < 2 && call[k]; k++)
            come_to(tb, call[k], k + 1, (20 + (int64_t)k) * S);
        if (is_started(&table[call[call[1] != 0]]))
            wait_for_all(tb, 25 * S);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v, "out of memory");
    if (v) {
        bool right = v->state == ANA_VERDICT_HUNG && v->id == ANA_CLASS_MISMATCHED && v->culprits == 2;
        bool called = strstr(v->summary.text, table[mine[0]].name) && strstr(v->summary.text, table[other[0]].name);
        called |=
            mine[1] && strstr(v->summary.text, table[mine[1]].name) && strstr(v->summary.text, table[other[1]].name);
        CHECK(differ ? right && called : v->id != ANA_CLASS_MISMATCHED, "%s and %s: %s %s, %zu culprits, %s",
              table[mine[0]].name, table[other[0]].name, ana_verdict_state_name(v->state),
              ana_verdict_class_name(v->id), v->culprits, v->summary.text);
    }
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    size_t pairs = 0, orders = 0;
    tb_use_calls(table, CALLS);
    for (uint32_t a = 1; a < CALLS; a++)
        for (uint32_t b = a; b < CALLS; b++) {
            if (!is_collective(&table[a]) || !is_collective(&table[b]) || is_large(&table[a]))
                continue;
            size_t n = strlen(table[a].name);
            bool large = is_large(&table[b]);
            bool twin = large && strncmp(table[a].name, table[b].name, n) == 0 && strcmp(table[b].name + n, "_c") == 0;
            if (large && !twin) /* they differ as the calls without _c do */
                continue;
            expect((uint32_t[]){a, 0}, (uint32_t[]){b, 0}, a != b && !twin);
            pairs++;
            if (a == b || twin || !is_started(&table[a]) || !is_started(&table[b]))
                continue;
            expect((uint32_t[]){a, b}, (uint32_t[]){b, a}, true);
            orders++;
        }
    printf("%zu pairs of names, %zu of them in either order\n", pairs, orders);
    CHECK(pairs > 1000 && orders > 300, "%zu pairs, %zu orders", pairs, orders);
    return check_result();
}
