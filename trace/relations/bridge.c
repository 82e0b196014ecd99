#include "trace/relations/bridge.h"
#include "trace/util/hash_map.h"
#include <stdlib.h>
#include <string.h>

#define NOBODY      UINT32_MAX
#define NONE        SIZE_MAX
#define MOST_SIDES  512         /* most sides paired: pairing takes time by the square of their number */
#define TOGETHER_NS 10000000000 /* most time between the two sides of MPI_Comm_accept */
#define LEAST_NS    1000        /* the error of two clocks, at least */

/* One communicator as one world knows it; value of the map by (world, identity). */
struct side {
    struct ana_bridge bridge; /* bridge to the other side's members; valid with a twin */
    const struct trc_comm *comm;
    const char *made_by;
    uint32_t world;
    uint32_t index;   /* index of the rank that made_ns is of */
    int64_t made_ns;  /* the earliest of its ranks */
    int64_t asked_ns; /* begin of the call that made it, the earliest of its ranks; INT64_MIN unknown */
    size_t here;      /* ranks of this world that have files */
    uint32_t *member; /* rank index by rank in it */
    size_t twin;
};

struct ana_bridges {
    struct ana_map sides;
    const struct ana_clock *clock; /* clock, set only while bridges are made */
};

static struct side *side_at(const struct ana_bridges *bridges, size_t i)
{
    return ana_map_value(&bridges->sides, i);
}

void ana_bridges_free(struct ana_bridges *bridges)
{
    for (size_t i = 0; bridges && i < bridges->sides.count; i++)
        free(side_at(bridges, i)->member);
    if (bridges)
        ana_map_free(&bridges->sides);
    free(bridges);
}

/* ---- sides ------------------------------------------------------------------------------------------------------ */

static bool is_inter(const struct side *side)
{
    return side->comm->def.flags & TRC_COMM_INTER;
}

static bool between_worlds(const struct trc_def_comm *def)
{
    /* Members are listed, the other world's as unknown: so room for them is no more than the file has. */
    return def->flags & TRC_COMM_FOREIGN && def->size > 0 && def->rank >= 0 && (uint32_t)def->size <= def->members;
}

#define ASKED "MPI_Comm_get_parent"

/* The call that made a communicator.  Predefined handles are met, not made: a spawned world meets its parent's. */
static const char *made_by(const struct trc_file *file, const struct trc_comm *comm)
{
    bool met = !trc_call_known(file, comm->def.created_by) && comm->def.flags & TRC_COMM_INTER;
    return met && trc_head(file)->flags & TRC_HEAD_SPAWNED ? ASKED : trc_call(file, comm->def.created_by)->name;
}

static bool add_side(struct ana_bridges *bridges, const struct ana_bridge_rank *rank, uint32_t index,
                     const struct trc_comm *comm, int64_t made_ns, int64_t asked_ns)
{
    struct side *side = ana_map_add(&bridges->sides, rank->world, comm->def.identity, 0);
    if (!side)
        return false;
    if (!side->member) {
        size_t bytes = (size_t)comm->def.size * sizeof *side->member;
        uint32_t *member = malloc(bytes);
        if (!member)
            return false;
        memset(member, 0xff, bytes);
        *side = (struct side){.comm = comm,
                              .made_by = made_by(rank->file, comm),
                              .world = rank->world,
                              .index = index,
                              .made_ns = made_ns,
                              .asked_ns = asked_ns,
                              .member = member,
                              .twin = NONE};
    }
    if (comm->def.size != side->comm->def.size || side->member[comm->def.rank] != NOBODY)
        return true; /* an identity that is not one */
    side->member[comm->def.rank] = index;
    side->here++;
    side->asked_ns = asked_ns < side->asked_ns ? asked_ns : side->asked_ns;
    if (made_ns < side->made_ns) {
        side->made_ns = made_ns;
        side->index = index;
    }
    return true;
}

/* ---- pairs of sides ---------------------------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* Whether it was made by a call on a communicator that was between the worlds already. */
static bool is_derived(const struct ana_bridges *bridges, const struct side *side)
{
    return ana_map_find(&bridges->sides, side->world, side->comm->def.parent, 0) != NULL;
}

/* Whether two calls make the two sides of one communicator. */
static bool calls_fit(const char *a, const char *b)
{
    static const char *const met[][2] = {{"MPI_Comm_spawn", ASKED}, {"MPI_Comm_accept", "MPI_Comm_connect"}};
    for (size_t i = 0; i < sizeof met / sizeof *met; i++)
        for (int turn = 0; turn < 2; turn++)
            if (starts_with(a, met[i][turn]) && starts_with(b, met[i][1 - turn]))
                return true;
    return strcmp(a, b) == 0 && !starts_with(a, met[0][0]) && !starts_with(a, met[0][1]);
}

static bool groups_fit(const struct side *a, const struct side *b)
{
    const struct trc_def_comm *x = &a->comm->def, *y = &b->comm->def;
    if (a->world == b->world || is_inter(a) != is_inter(b))
        return false;
    if (is_inter(a))
        return x->size == y->remote_size && x->remote_size == y->size;
    if (x->size != y->size)
        return false;
    for (int32_t r = 0; r < x->size; r++)
        if (a->member[r] != NOBODY && b->member[r] != NOBODY)
            return false;
    return true;
}

static bool is_child(const struct side *side)
{
    return starts_with(side->made_by, ASKED);
}

/* Whether a world began while MPI_Comm_spawn was under way, as well as the two clocks tell.  A child asks for its
 * parent at any time, so made_ns of its side is when its world began.  The first rank to call need not have a file. */
static bool began_in(const struct ana_bridges *bridges, const struct side *parent, const struct side *child)
{
    double known = ana_clock_error_ns(bridges->clock, parent->index, child->index);
    int64_t error_ns = (int64_t)(known >= 0 ? known : ANA_CLOCK_NTP_NS) + LEAST_NS;
    bool all_here = parent->here == (size_t)parent->comm->def.size && parent->asked_ns != INT64_MIN;
    return child->made_ns <= parent->made_ns + error_ns && (!all_here || child->made_ns >= parent->asked_ns - error_ns);
}

/* Returns how far apart in time the two sides were made, in ns; UINT64_MAX: they cannot be one communicator. */
static uint64_t distance_ns(const struct ana_bridges *bridges, const struct side *a, const struct side *b)
{
    if (!groups_fit(a, b) || !calls_fit(a->made_by, b->made_by))
        return UINT64_MAX;
    int64_t apart = a->made_ns - b->made_ns;
    uint64_t size = (uint64_t)(apart < 0 ? -apart : apart);
    bool possible = is_child(b) ? began_in(bridges, a, b) : is_child(a) ? began_in(bridges, b, a) : size < TOGETHER_NS;
    return possible ? size : UINT64_MAX;
}

static void join_sides(struct ana_bridges *bridges, size_t i, size_t k)
{
    struct side *a = side_at(bridges, i), *b = side_at(bridges, k);
    const uint64_t *x = ana_map_key(&bridges->sides, i), *y = ana_map_key(&bridges->sides, k);
    uint64_t identity = (x[1] ^ x[0] << 32) + (y[1] ^ y[0] << 32); /* equal whichever of both comes first */
    a->twin = k;
    b->twin = i;
    a->bridge = (struct ana_bridge){identity, (size_t)b->comm->def.size, b->member};
    b->bridge = (struct ana_bridge){identity, (size_t)a->comm->def.size, a->member};
}

static bool is_first(const struct ana_bridges *bridges, size_t i)
{
    const struct side *side = side_at(bridges, i);
    return side->twin == NONE && !is_derived(bridges, side);
}

/* The nearest side in time that has no twin yet; NONE: there is none. */
static size_t nearest_side(const struct ana_bridges *bridges, size_t i)
{
    size_t best = NONE;
    uint64_t least = UINT64_MAX;
    for (size_t k = 0; k < bridges->sides.count; k++) {
        const struct side *b = side_at(bridges, k);
        if (k == i || !is_first(bridges, k))
            continue;
        uint64_t apart = distance_ns(bridges, side_at(bridges, i), b);
        if (apart == UINT64_MAX)
            continue;
        if (apart < least)
            best = k;
        least = apart < least ? apart : least;
    }
    return best;
}

/* Whether the pair could as well be two other pairs. */
static bool is_doubtful(const struct ana_bridges *bridges, size_t i, size_t k)
{
    const struct side *a = side_at(bridges, i), *b = side_at(bridges, k);
    for (size_t p = 0; p < bridges->sides.count; p++) {
        const struct side *x = side_at(bridges, p);
        uint64_t crossed = p == i || p == k || !is_first(bridges, p) ? UINT64_MAX : distance_ns(bridges, x, b);
        for (size_t q = 0; crossed != UINT64_MAX && q < bridges->sides.count; q++) {
            const struct side *y = side_at(bridges, q);
            if (q == i || q == k || q == p || !is_first(bridges, q))
                continue;
            uint64_t other = distance_ns(bridges, a, y), straight = distance_ns(bridges, x, y);
            if (other != UINT64_MAX && straight != UINT64_MAX &&
                (other + crossed) / 2 <= straight + distance_ns(bridges, a, b))
                return true;
        }
    }
    return false;
}

/* The only side that fits; NONE: none fits, or several do. */
static size_t only_side(const struct ana_bridges *bridges, size_t i)
{
    size_t found = NONE;
    for (size_t k = 0; k < bridges->sides.count; k++) {
        if (k == i || !is_first(bridges, k) ||
            distance_ns(bridges, side_at(bridges, i), side_at(bridges, k)) == UINT64_MAX)
            continue;
        if (found != NONE)
            return NONE;
        found = k;
    }
    return found;
}

/* Pairs sides of spawned worlds that have only one possible twin, unless two sides have the same one. */
static bool join_only(struct ana_bridges *bridges)
{
    size_t n = bridges->sides.count, sure[MOST_SIDES], wanted[MOST_SIDES] = {0}; /* number of sides that want each */
    for (size_t i = 0; i < n; i++) {
        sure[i] = is_first(bridges, i) ? only_side(bridges, i) : NONE;
        if (sure[i] != NONE)
            wanted[sure[i]]++;
    }
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        size_t k = is_first(bridges, i) ? sure[i] : NONE;
        if (k == NONE || wanted[k] > 1 || !is_first(bridges, k) ||
            !(is_child(side_at(bridges, i)) || is_child(side_at(bridges, k))))
            continue;
        join_sides(bridges, i, k);
        any = true;
    }
    return any;
}

/* Pairs two sides that are each other's nearest. */
static void join_first(struct ana_bridges *bridges)
{
    bool more = true;
    while (join_only(bridges))
        ;
    while (more) {
        more = false;
        for (size_t i = 0; i < bridges->sides.count; i++) {
            size_t k = is_first(bridges, i) ? nearest_side(bridges, i) : NONE;
            if (k == NONE || nearest_side(bridges, k) != i || is_doubtful(bridges, i, k))
                continue;
            join_sides(bridges, i, k);
            more = true;
        }
    }
}

/* Returns how many alike communicators were made of its parent before it; NONE: it is a part of its parent only. */
static size_t turn_of(const struct ana_bridges *bridges, const struct side *side)
{
    const struct side *parent = ana_map_find(&bridges->sides, side->world, side->comm->def.parent, 0);
    if (!parent || side->here != parent->here)
        return NONE;
    size_t n = 0;
    for (size_t i = 0; i < bridges->sides.count; i++) {
        const struct side *other = side_at(bridges, i);
        n += other != side && other->world == side->world && other->comm->def.parent == side->comm->def.parent &&
             strcmp(other->made_by, side->made_by) == 0 && other->made_ns < side->made_ns;
    }
    return n;
}

static bool join_derived(struct ana_bridges *bridges)
{
    bool any = false;
    for (size_t i = 0; i < bridges->sides.count; i++) {
        const struct side *a = side_at(bridges, i);
        const struct side *parent = ana_map_find(&bridges->sides, a->world, a->comm->def.parent, 0);
        size_t turn = a->twin == NONE && parent && parent->twin != NONE ? turn_of(bridges, a) : NONE;
        for (size_t k = 0; turn != NONE && a->twin == NONE && k < bridges->sides.count; k++) {
            const struct side *b = side_at(bridges, k);
            const uint64_t *twin = ana_map_key(&bridges->sides, parent->twin);
            if (b->twin != NONE || b->world != twin[0] || b->comm->def.parent != twin[1] || !groups_fit(a, b) ||
                strcmp(a->made_by, b->made_by) != 0 || turn_of(bridges, b) != turn)
                continue;
            join_sides(bridges, i, k);
            any = true;
        }
    }
    return any;
}

/* ---- the way in -------------------------------------------------------------------------------------------------- */

struct ana_bridges *ana_bridges_make(const struct ana_bridge_rank *rank, size_t ranks, const struct ana_clock *clock)
{
    struct ana_bridges *bridges = calloc(1, sizeof *bridges);
    if (!bridges)
        return NULL;
    ana_map_init(&bridges->sides, sizeof(struct side));
    bridges->clock = clock;
    bool ok = true;
    for (size_t i = 0; ok && i < ranks; i++) {
        const struct trc_comm *comm;
        uint64_t created;
        for (size_t c = 0; ok && (comm = trc_comm_at(rank[i].file, c, &created)) != NULL; c++)
            if (between_worlds(&comm->def)) {
                if (strcmp(made_by(rank[i].file, comm), ASKED) == 0)
                    created = trc_head(rank[i].file)->start.ticks;
                int64_t asked_ns = comm->asked ? ana_clock_job_time(clock, i, comm->asked) : INT64_MIN;
                ok = add_side(bridges, &rank[i], (uint32_t)i, comm, ana_clock_job_time(clock, i, created), asked_ns);
            }
    }
    if (!ok || bridges->sides.count == 0) {
        ana_bridges_free(bridges);
        return NULL;
    }
    if (bridges->sides.count > MOST_SIDES)
        return bridges;
    join_first(bridges);
    while (join_derived(bridges))
        ;
    bridges->clock = NULL;
    return bridges;
}

bool ana_bridges_between(const struct ana_bridges *bridges, uint32_t a, uint32_t b)
{
    for (size_t i = 0; bridges && i < bridges->sides.count; i++) {
        const struct side *side = side_at(bridges, i);
        if (side->world == a && side->twin != NONE && side_at(bridges, side->twin)->world == b)
            return true;
    }
    return false;
}

bool ana_bridges_reach(const struct ana_bridges *bridges, uint32_t world)
{
    for (size_t i = 0; bridges && i < bridges->sides.count; i++)
        if (side_at(bridges, i)->world == world && side_at(bridges, i)->twin != NONE)
            return true;
    return false;
}

uint64_t ana_bridge_identity(const struct ana_bridges *bridges, uint32_t world, const struct trc_def_comm *def)
{
    if (!bridges || !(def->flags & TRC_COMM_FOREIGN))
        return def->identity;
    const struct ana_bridge *bridge = ana_bridge_find(bridges, world, def->identity);
    return bridge ? bridge->identity : def->identity ^ (world + 1) * 0x9e3779b97f4a7c15u;
}

const struct ana_bridge *ana_bridge_find(const struct ana_bridges *bridges, uint32_t world, uint64_t identity)
{
    const struct side *side = bridges ? ana_map_find(&bridges->sides, world, identity, 0) : NULL;
    return side && side->twin != NONE ? &side->bridge : NULL;
}
