/* Processes of the job: their order and common properties. */
#include "trace/relations/bridge.h"
#include "trace/members/members.h"
#include "trace/util/hash.h"
#include "trace/util/text.h"
#include "trace/util/sort.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world {
    uint64_t identity, began, ended; /* times by the real-time clocks; ended: the last heartbeat so far */
    uint64_t since;                  /* files that ended before are of an earlier run with the same identity */
    bool spawned;
    bool other_job; /* files in folders of its own: it is not shown */
};

/* Orders worlds: started ones before spawned ones, then by their first file. */
ANA_COMPARE(by_begin, struct world, ANA_ORDER(x->spawned, y->spawned), ANA_ORDER(x->began, y->began))

static uint64_t end_of(const struct trc_head *head)
{
    return head->latest.realtime_ns > head->start.realtime_ns ? head->latest.realtime_ns : head->start.realtime_ns;
}

/* The head of file i of the bundle; NULL: it cannot be read. */
static const struct trc_head *head_at(const struct ana_bundle *bundle, size_t i)
{
    return bundle->files[i].file ? trc_head(bundle->files[i].file) : NULL;
}

/* Separates runs with one identity.  Hydra names a run by its port, which a later run in the same folder may get again:
 * then a rank has a file that ended before another of it began.  worlds: struct world by identity. */
static void separate_runs(const struct ana_bundle *bundle, struct ana_map *worlds)
{
    struct rank {
        uint64_t began, ended; /* the last of it, the first of it */
    };
    struct ana_map ranks;
    ana_map_init(&ranks, sizeof(struct rank));
    for (size_t i = 0; i < bundle->count; i++) {
        const struct trc_head *head = head_at(bundle, i);
        if (!head || head->world_identity == 0 || head->rank < 0)
            continue;
        size_t known = ranks.count;
        struct rank *r = ana_map_add(&ranks, head->world_identity, (uint64_t)head->rank, 0);
        if (!r)
            break;
        if (ranks.count > known)
            *r = (struct rank){0, UINT64_MAX};
        r->began = head->start.realtime_ns > r->began ? head->start.realtime_ns : r->began;
        r->ended = end_of(head) < r->ended ? end_of(head) : r->ended;
    }
    for (size_t i = 0; i < ranks.count; i++) {
        const struct rank *r = ana_map_value(&ranks, i);
        struct world *w = ana_map_add(worlds, ana_map_key(&ranks, i)[0], 0, 0);
        if (w && r->ended < r->began && r->began > w->since)
            w->since = r->began;
    }
    ana_map_free(&ranks);
}

/* Lists the worlds of all files, sorted; an identity of 0 is not known yet and makes no world. */
static struct world *list_worlds(const struct ana_bundle *bundle, size_t *count)
{
    struct ana_map map;
    ana_map_init(&map, sizeof(struct world));
    separate_runs(bundle, &map);
    for (size_t i = 0; i < bundle->count; i++) {
        const struct trc_head *head = head_at(bundle, i);
        if (!head || head->world_identity == 0)
            continue;
        struct world *w = ana_map_add(&map, head->world_identity, 0, 0);
        if (!w || end_of(head) < w->since)
            continue;
        if (w->identity == 0)
            *w = (struct world){head->world_identity, UINT64_MAX, 0, w->since, head->flags & TRC_HEAD_SPAWNED, false};
        if (head->start.realtime_ns < w->began)
            w->began = head->start.realtime_ns;
        if (end_of(head) > w->ended)
            w->ended = end_of(head);
    }
    struct world *list = calloc(map.count + 1, sizeof *list);
    *count = list ? map.count : 0;
    for (size_t i = 0; i < *count; i++)
        list[i] = *(struct world *)ana_map_value(&map, i);
    if (list)
        ana_sort(list, *count, sizeof *list, by_begin);
    ana_map_free(&map);
    return list;
}

/* Orders processes by world, rank (unknown ones, -1, last) and path. */
ANA_COMPARE(by_rank, struct ana_process, ANA_ORDER(x->rank.world, y->rank.world),
            ANA_ORDER((uint32_t)x->rank.rank, (uint32_t)y->rank.rank),
            strcmp(trc_path(x->rank.file), trc_path(y->rank.file)))

/* Returns the latest start of a world.  Worlds that ended before are another job: their folder was used again. */
static uint64_t latest_start(const struct world *world, size_t worlds)
{
    uint64_t latest = 0;
    for (size_t w = 0; w < worlds; w++)
        if (!world[w].spawned && world[w].began > latest)
            latest = world[w].began;
    return latest;
}

static size_t world_of(const struct world *world, size_t worlds, uint64_t identity)
{
    size_t w = 0;
    while (w < worlds && world[w].identity != identity)
        w++;
    return w;
}

/* ---- folders given together ------------------------------------------------------------------------------------- */

struct places {
    const struct ana_bundle *bundle;
    struct world *world;
    size_t worlds, latest;
    bool *in;     /* index: world and folder; a file of the world lies there */
    bool *of_job; /* by folder */
};

static bool *in_of(const struct places *places, size_t w)
{
    return places->in + w * places->bundle->folders;
}

/* Whether a world and a set of folders overlap. */
static bool overlaps(const struct places *places, size_t w, const bool *folder)
{
    for (size_t f = 0; f < places->bundle->folders; f++)
        if (in_of(places, w)[f] && folder[f])
            return true;
    return false;
}

static void add_folders(const struct places *places, size_t w, bool *folder)
{
    for (size_t f = 0; f < places->bundle->folders; f++)
        folder[f] |= in_of(places, w)[f];
}

/* Whether a world made a communicator with one of the job (MPI_Comm_accept and the like). */
static bool met_one_of_job(const struct places *places, const struct ana_bridges *bridges, size_t w)
{
    for (size_t other = 0; other < places->worlds; other++)
        if (!places->world[other].other_job && !places->world[other].spawned &&
            ana_bridges_between(bridges, (uint32_t)w, (uint32_t)other))
            return true;
    return false;
}

/* Marks worlds of other jobs and returns their number.  Folders belong to one job when its ranks lie in all of them, or
 * when ranks in one have met ranks in another.  A world that was started with none of its files in a folder of the job
 * is another job, and so are the worlds that it spawned there. */
static size_t mark_worlds(const struct places *places, const struct ana_bridges *bridges)
{
    struct world *world = places->world;
    bool *of_other = calloc(places->bundle->folders + 1, sizeof *of_other), more = true;
    size_t others = 0;
    for (size_t w = 0; w < places->worlds; w++)
        world[w].other_job = w != places->latest && !world[w].spawned;
    add_folders(places, places->latest, places->of_job);
    while (more) {
        more = false;
        for (size_t w = 0; w < places->worlds; w++) {
            if (!world[w].other_job || (!overlaps(places, w, places->of_job) && !met_one_of_job(places, bridges, w)))
                continue;
            world[w].other_job = false;
            more = true;
            add_folders(places, w, places->of_job);
        }
    }
    for (size_t w = 0; of_other && w < places->worlds; w++)
        if (world[w].other_job)
            add_folders(places, w, of_other);
    for (size_t w = 0; of_other && w < places->worlds; w++) {
        if (world[w].spawned)
            world[w].other_job = overlaps(places, w, of_other) && !overlaps(places, w, places->of_job);
        if (world[w].spawned && world[w].other_job)
            add_folders(places, w, of_other);
        others += world[w].other_job;
    }
    free(of_other);
    return others;
}

static bool has_bridge(const struct trc_file *file)
{
    const struct trc_comm *comm;
    uint64_t created;
    for (size_t i = 0; (comm = trc_comm_at(file, i, &created)) != NULL; i++)
        if (comm->def.flags & TRC_COMM_FOREIGN)
            return true;
    return false;
}

/* The communicators between worlds of all folders; worlds by their number in the list. */
static struct ana_bridges *all_bridges(const struct places *places)
{
    const struct ana_bundle *bundle = places->bundle;
    struct ana_bridge_rank *rank = calloc(bundle->count + 1, sizeof *rank);
    struct ana_clock *clock = ana_clock_new();
    size_t n = 0;
    for (size_t i = 0; rank && clock && i < bundle->count; i++) {
        const struct trc_file *file = bundle->files[i].file;
        size_t w = file ? world_of(places->world, places->worlds, trc_head(file)->world_identity) : places->worlds;
        if (w == places->worlds || !has_bridge(file))
            continue;
        if (!ana_clock_add_file(clock, file))
            break;
        rank[n++] = (struct ana_bridge_rank){file, (uint32_t)w};
    }
    struct ana_bridges *bridges = n ? ana_bridges_make(rank, n, clock) : NULL;
    ana_clock_free(clock);
    free(rank);
    return bridges;
}

static void mark_other_jobs(struct ana_members *members, struct world *world, size_t worlds)
{
    const struct ana_bundle *bundle = &members->bundle;
    struct places places = {.bundle = bundle, .world = world, .worlds = worlds, .latest = worlds};
    for (size_t w = 0; w < worlds; w++)
        if (!world[w].spawned && (places.latest == worlds || world[w].began > world[places.latest].began))
            places.latest = w;
    if (places.latest == worlds)
        return;
    places.in = calloc(worlds * bundle->folders + 1, sizeof *places.in);
    places.of_job = calloc(bundle->folders + 1, sizeof *places.of_job);
    if (places.in && places.of_job) {
        for (size_t i = 0; i < bundle->count; i++) {
            const struct trc_file *file = bundle->files[i].file;
            size_t w = file ? world_of(world, worlds, trc_head(file)->world_identity) : worlds;
            if (w < worlds)
                in_of(&places, w)[bundle->files[i].folder] = true;
        }
        if (mark_worlds(&places, NULL) > 0) {
            struct ana_bridges *bridges = all_bridges(&places);
            if (bridges)
                mark_worlds(&places, bridges);
            ana_bridges_free(bridges);
        }
        for (size_t f = 0; f < bundle->folders; f++)
            if (in_of(&places, places.latest)[f]) {
                members->shown_folder = f;
                break;
            }
    }
    free(places.in);
    free(places.of_job);
}

/* Lists the processes of all readable files that belong to the job, sorted.  NULL: out of memory. */
static struct ana_process *list_processes(struct ana_members *members, size_t *count)
{
    struct ana_process *list = calloc(members->bundle.count + 1, sizeof *list);
    size_t n = 0, all;
    struct world *every = list_worlds(&members->bundle, &all), *world = every;
    uint64_t latest = latest_start(every, all);
    size_t worlds = 0;
    if (every)
        mark_other_jobs(members, every, all);
    members->left_out = members->other_jobs = 0;
    for (size_t i = 0; i < members->bundle.count; i++) {
        const struct ana_bundle_file *f = &members->bundle.files[i];
        size_t w = f->file ? world_of(every, all, trc_head(f->file)->world_identity) : all;
        if (w < all && every[w].other_job) {
            members->other_jobs++;
            members->other_folder = f->folder;
        } else if (w < all && (every[w].ended < latest || end_of(trc_head(f->file)) < every[w].since)) {
            members->left_out++;
        }
    }
    for (size_t w = 0; w < all; w++)
        if (every[w].ended >= latest && !every[w].other_job)
            world[worlds++] = every[w];
    for (size_t i = 0; list && i < members->bundle.count; i++) {
        struct trc_file *file = members->bundle.files[i].file;
        if (!file)
            continue;
        const struct trc_head *head = trc_head(file);
        size_t w = head->world_identity ? world_of(world, worlds, head->world_identity) : 0;
        if ((w == worlds && w > 0) || (w < worlds && head->world_identity && end_of(head) < world[w].since))
            continue;
        struct ana_process *p = &list[n++];
        p->rank.file = file;
        p->rank.rank = head->rank;
        p->rank.world = (uint32_t)w;
        snprintf(p->host, sizeof p->host, "%s", head->host);
    }
    free(every);
    if (list)
        ana_sort(list, n, sizeof *list, by_rank);
    *count = n;
    return list;
}

static bool same_processes(const struct ana_members *members, const struct ana_process *list, size_t n)
{
    if (n != members->count)
        return false;
    for (size_t i = 0; i < n; i++)
        if (members->process[i].rank.file != list[i].rank.file || members->process[i].rank.rank != list[i].rank.rank ||
            members->process[i].rank.world != list[i].rank.world)
            return false;
    return true;
}

/* Shortens "Open MPI v4.1.4, package: ..." to "Open MPI 4.1.4", and "MPICH Version:\t4.0.2" to "MPICH 4.0.2". */
static void short_mpi_name(char *out, size_t size, const char *text)
{
    size_t n = 0;
    for (const char *c = text; *c && *c != ',' && *c != '\n' && n + 1 < size; c++) {
        if (strncmp(c, "Version:", 8) == 0)
            c += 8;
        if ((*c == 'v' || *c == 'V') && c > text && c[-1] == ' ' && c[1] >= '0' && c[1] <= '9')
            continue;
        bool blank = *c == ' ' || *c == '\t';
        if (!blank || (n && out[n - 1] != ' '))
            out[n++] = blank ? ' ' : *c;
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = 0;
}

void ana_members_name(struct ana_members *members)
{
    char place[PATH_MAX];
    const char *shown = members->other_jobs ? members->bundle.folder[members->shown_folder] : members->bundle.place[0];
    if (!realpath(shown, place))
        snprintf(place, sizeof place, "%s", shown);
    size_t n = strlen(place);
    if (n > strlen(ANA_SUFFIX) && strcmp(place + n - strlen(ANA_SUFFIX), ANA_SUFFIX) == 0) {
        char *slash = strrchr(place, '/');
        if (slash)
            *slash = 0;
    }
    for (n = strlen(place); n > 1 && place[n - 1] == '/'; n--)
        place[n - 1] = 0;
    const char *name = strrchr(place, '/') ? strrchr(place, '/') + 1 : place;
    snprintf(members->name, sizeof members->name, "%s", strncmp(name, "hpctop-", 7) == 0 && name[7] ? name + 7 : name);
    trc_clean_text(members->name);
}

/* Numbers the hosts, in the order of their first ranks.  False: out of memory. */
static bool number_hosts(struct ana_members *members)
{
    struct ana_map known; /* uint32_t by the hash of the name: its number + 1 */
    ana_map_init(&known, sizeof(uint32_t));
    free(members->host);
    members->hosts = 0;
    members->host = calloc(members->count + 1, sizeof *members->host);
    bool ok = members->host;
    for (size_t i = 0; ok && i < members->count; i++) {
        struct ana_process *p = &members->process[i];
        uint32_t *number = ana_map_add(&known, ana_hash_text(p->host), 0, 0);
        ok = number;
        if (ok && !*number) {
            members->host[members->hosts++] = p->host;
            *number = (uint32_t)members->hosts;
        }
        p->rank.host = p->host;
        p->rank.host_index = ok ? *number - 1 : 0;
    }
    ana_map_free(&known);
    return ok;
}

/* Fills what does not change while the processes stay the same. */
static bool fill_constants(struct ana_members *members)
{
    if (!number_hosts(members))
        return false;
    members->world_size = 0;
    for (size_t i = 0; i < members->count; i++) {
        struct ana_process *p = &members->process[i];
        const struct trc_head *head = trc_head(p->rank.file);
        p->rank.runtime = head->runtime;
        p->rank.image = head->container;
        const bool same = i && p->rank.world == p[-1].rank.world && p->rank.rank == p[-1].rank.rank;
        p->rank.shared = same;
        if (same)
            p[-1].rank.shared = true;
        if (i == 0 || p->rank.world != p[-1].rank.world)
            members->world_size += head->world_size > 0 ? (size_t)head->world_size : 0;
    }
    if (members->world_size < members->count)
        members->world_size = members->count;
    short_mpi_name(members->mpi, sizeof members->mpi, trc_head(members->process[0].rank.file)->mpi);
    return true;
}

bool ana_members_set(struct ana_members *members, struct ana_process *list, size_t n)
{
    ana_members_forget(members);
    members->process = list;
    members->count = n;
    members->generation++;
    members->clock = ana_clock_new();
    bool ok = members->clock != NULL;
    ana_number_calls(members);
    for (size_t i = 0; ok && i < n; i++)
        ok = ana_clock_add_file(members->clock, list[i].rank.file);
    return ok && fill_constants(members);
}

struct ana_process *ana_members_changed(struct ana_members *members, size_t *n)
{
    struct ana_process *list = list_processes(members, n);
    if (list && *n > 0 && !same_processes(members, list, *n))
        return list;
    free(list);
    return NULL;
}
