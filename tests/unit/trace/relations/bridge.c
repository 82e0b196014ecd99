/* Communicators between worlds: which two definitions are of one, and when that cannot be told. */
#include "tests/support/check.h"
#include "tests/support/trace_builder.h"
#include "trace/relations/bridge.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 8
static struct tb *tb[MOST];
static struct trc_file *file[MOST];
static struct ana_bridge_rank rank[MOST];
static struct ana_clock *ranks_clock;
static size_t ranks;

/* The next rank: of `world`, whose file was made at `ns`. */
static struct tb *join(uint32_t world, int32_t r, int32_t size, int64_t ns)
{
    struct tb *made = tb[ranks] = tb_new(r, size);
    tb_clock(made, 1000000000u + (uint64_t)ns, 1700000000000000000u + (uint64_t)ns, 1);
    tb_head(made)->world_identity = 100 + world;
    if (world)
        tb_head(made)->flags |= TRC_HEAD_SPAWNED;
    rank[ranks++].world = world;
    return made;
}

static struct ana_bridges *make(void)
{
    ranks_clock = ana_clock_new();
    for (size_t i = 0; i < ranks; i++) {
        char path[64], error[256];
        snprintf(path, sizeof path, "hpctop-bridge-%d-%zu.hpctop", (int)getpid(), i);
        tb_write(tb[i], path);
        CHECK(trc_open(path, &file[i], error, sizeof error) == TRC_OK, "%s", error);
        unlink(path);
        ana_clock_add_file(ranks_clock, file[i]);
        rank[i].file = file[i];
    }
    return ana_bridges_make(rank, ranks, ranks_clock);
}

static void done(struct ana_bridges *bridges)
{
    ana_bridges_free(bridges);
    ana_clock_free(ranks_clock);
    for (size_t i = 0; i < ranks; i++) {
        trc_close(file[i]);
        tb_free(tb[i]);
    }
    ranks = 0;
}

/* Times of tb_between are since the file was made. */
static void spawned(struct tb *t, uint64_t identity, int64_t ns, int32_t r, int32_t here, int32_t beyond)
{
    tb_between(t, (uint32_t)identity,
               &(struct tb_between){identity, 0, TB_COMM_SPAWN, ns, r, here, beyond, true, false, 0});
}
static void met(struct tb *t, uint64_t identity, int32_t r, int32_t here, int32_t beyond)
{
    tb_between(t, (uint32_t)identity,
               &(struct tb_between){identity, 0, TB_CALL_COUNT, 5, r, here, beyond, true, false, 0});
}
static void merged(struct tb *t, uint64_t identity, uint64_t parent, int64_t ns, int32_t r, int32_t here,
                   int32_t beyond, bool last)
{
    tb_between(t, (uint32_t)identity,
               &(struct tb_between){identity, parent, TB_INTERCOMM_MERGE, ns, r, here, beyond, false, last, 0});
}

static bool are_one(const struct ana_bridges *b, uint32_t world, uint64_t identity, uint32_t other,
                    uint64_t other_identity)
{
    const struct ana_bridge *x = ana_bridge_find(b, world, identity), *y = ana_bridge_find(b, other, other_identity);
    return x && y && x->identity == y->identity;
}

/* Two parents spawn one child, twice in a row; each time the intercommunicator is merged, twice. */
static void one_after_the_other(void)
{
    for (int32_t r = 0; r < 2; r++) {
        struct tb *t = join(0, r, 2, 0);
        for (int i = 0; i < 2; i++) {
            uint64_t id = 10 + 10 * (uint64_t)i;
            spawned(t, id, 1000000000 * (i + 1) + r, r, 2, 1);
            merged(t, id + 1, id, 1000000000 * (i + 1) + 100, r, 2, 1, false);
            merged(t, id + 2, id, 1000000000 * (i + 1) + 200, r, 2, 1, false);
        }
    }
    for (uint32_t w = 1; w <= 2; w++) { /* equal identities: both were made in the same way */
        struct tb *t = join(w, 0, 1, 1000000000 * (int64_t)w - 200000000);
        met(t, 30, 0, 1, 2);
        merged(t, 31, 30, 300000000, 2, 1, 2, true);
        merged(t, 32, 30, 400000000, 2, 1, 2, true);
    }
    struct ana_bridges *b = make();
    for (uint32_t w = 1; w <= 2; w++) {
        CHECK(are_one(b, 0, 10 * w, w, 30), "spawn %u", w);
        CHECK(are_one(b, 0, 10 * w + 1, w, 31) && are_one(b, 0, 10 * w + 2, w, 32), "the merged ones of spawn %u", w);
        CHECK(!are_one(b, 0, 10 * w, 3 - w, 30) && !are_one(b, 0, 10 * w + 1, w, 32), "and no others");
        const struct ana_bridge *down = ana_bridge_find(b, 0, 10 * w), *up = ana_bridge_find(b, w, 30);
        CHECK(ana_bridge_partner(down, TRC_PEER_REMOTE) == 1 + w, "the child of spawn %u", w);
        CHECK(ana_bridge_partner(up, TRC_PEER_REMOTE) == 0 && ana_bridge_partner(up, TRC_PEER_REMOTE - 1) == 1,
              "its parents");
        CHECK(ana_bridge_partner(ana_bridge_find(b, 0, 10 * w + 1), TRC_PEER_REMOTE - 2) == 1 + w, "on the merged one");
        CHECK(ana_bridge_partner(ana_bridge_find(b, w, 31), TRC_PEER_REMOTE - 1) == 1, "and back");
        CHECK(ana_bridge_partner(down, TRC_PEER_REMOTE - 1) == UINT32_MAX &&
                  ana_bridge_partner(down, 1) == UINT32_MAX && ana_bridge_partner(down, INT32_MIN) == UINT32_MAX,
              "nobody");
    }
    done(b);
}

/* Two parents spawn a child each at the same time: nothing tells whose is whose. */
static void at_the_same_time(void)
{
    for (int32_t r = 0; r < 2; r++)
        spawned(join(0, r, 2, 0), 10 + (uint64_t)r, 1000000000 + r * 1000000, 0, 1, 1);
    for (uint32_t w = 1; w <= 2; w++)
        met(join(w, 0, 1, 800000000 + (int64_t)w * 1000000), 30, 0, 1, 1);
    struct ana_bridges *b = make();
    for (uint32_t w = 1; w <= 2; w++)
        CHECK(!ana_bridge_find(b, w, 30) && !ana_bridge_find(b, 0, 9 + w), "guessed");
    done(b);
}

/* A parent spawns five children, one each 12 ms: 3 ms until the child's world begins, 1 ms between two spawns. */
static void quickly(void)
{
    struct tb *t = join(0, 0, 1, 0);
    for (int i = 1; i <= 5; i++)
        spawned(t, 10 + (uint64_t)i, 12000000 * i + 11000000, 0, 1, 1);
    for (uint32_t w = 1; w <= 5; w++)
        met(join(w, 0, 1, 12000000 * (int64_t)w + 3000000), 30, 0, 1, 1);
    struct ana_bridges *b = make();
    for (uint32_t w = 1; w <= 5; w++)
        CHECK(are_one(b, 0, 10 + w, w, 30), "spawn %u of five", w);
    done(b);
}

/* Each world spawns the next, whose own is spawned before the call that spawned it has returned everywhere: only by
 * when the calls began can they be told. */
static void overlapping(void)
{
    for (uint32_t w = 0; w < 4; w++) {
        struct tb *t = join(w, 0, 1, 20000000 * (int64_t)w);
        if (w > 0)
            met(t, 30, 0, 1, 1);
        if (w < 3) /* began 15 ms after the world, and lasted for 40 */
            tb_between(t, 10, &(struct tb_between){10, 0, TB_COMM_SPAWN, 55000000, 0, 1, 1, true, false, 15000000});
    }
    struct ana_bridges *b = make();
    for (uint32_t w = 0; w < 3; w++)
        CHECK(are_one(b, w, 10, w + 1, 30), "world %u", w + 1);
    done(b);
}

/* Two that were spawned in the same way have one identity: while it is not known whose they are, they are kept apart.
 */
static void siblings(void)
{
    for (int32_t r = 0; r < 2; r++)
        spawned(join(0, r, 2, 0), 10 + (uint64_t)r, 1000000000 + r * 1000000, 0, 1, 1);
    for (uint32_t w = 1; w <= 2; w++)
        met(join(w, 0, 1, 800000000 + (int64_t)w * 1000000), 30, 0, 1, 1);
    struct ana_bridges *b = make();
    struct trc_def_comm def = {.identity = 30, .flags = TRC_COMM_FOREIGN};
    CHECK(ana_bridge_identity(b, 1, &def) != ana_bridge_identity(b, 2, &def), "siblings are one");
    def.flags = 0;
    CHECK(ana_bridge_identity(b, 1, &def) == 30 && ana_bridge_identity(b, 2, &def) == 30, "of one world");
    done(b);
}

/* Groups that do not mirror each other, a spawn that returned before the world began, and a world whose parents have no
 * files. */
static void what_does_not_fit(void)
{
    struct tb *t = join(0, 0, 1, 0);
    spawned(t, 10, 1000000000, 0, 1, 2);
    spawned(t, 11, 100000000, 0, 1, 1);
    met(join(1, 0, 1, 800000000), 30, 0, 1, 1);
    struct ana_bridges *b = make();
    CHECK(!ana_bridge_find(b, 0, 10) && !ana_bridge_find(b, 0, 11) && !ana_bridge_find(b, 1, 30), "made to fit");
    done(b);
}

static void accepted(void)
{
    struct tb *t = join(0, 0, 1, 0);
    tb_between(t, 10, &(struct tb_between){10, 0, TB_COMM_ACCEPT, 1000000000, 0, 1, 1, true, false, 0});
    tb_between(t, 11, &(struct tb_between){11, 0, TB_COMM_ACCEPT, 3000000000, 0, 1, 1, true, false, 0});
    t = join(1, 0, 1, 500000000);
    tb_between(t, 20, &(struct tb_between){20, 0, TB_COMM_CONNECT, 500010000, 0, 1, 1, true, false, 0});
    tb_between(t, 21, &(struct tb_between){21, 0, TB_COMM_CONNECT, 2500010000, 0, 1, 1, true, false, 0});
    struct ana_bridges *b = make();
    CHECK(are_one(b, 0, 10, 1, 20) && are_one(b, 0, 11, 1, 21) && !are_one(b, 0, 10, 1, 21), "accept and connect");
    CHECK(ana_bridges_reach(b, 0) && ana_bridges_reach(b, 1) && !ana_bridges_reach(b, 2), "which worlds met");
    done(b);
}

int main(void)
{
    one_after_the_other();
    at_the_same_time();
    quickly();
    overlapping();
    siblings();
    what_does_not_fit();
    accepted();
    return check_result();
}
