/* Latest relations, kept in an index: the newest ones, oldest first. */
#include "trace/index/archive.h"
#include "trace/timeline/over_time.h"
#include <stdlib.h>

/* Returns how many of the newest the index has: when saving at most `newest`, when loading the file's number. */
static size_t count_newest(struct ana_job_archive *k, uint64_t so_far, size_t room, size_t newest)
{
    uint64_t n = ana_store_count(so_far, room);
    if (!k->archive->loads && n > newest)
        n = newest;
    ANA_ARCHIVE(k->archive, n);
    return ana_archive_require(k->archive, n <= room) ? (size_t)n : 0;
}

/* Notes the end of the time that is left out: the stored relations do not cover windows that begin before. */
static void leave_out(struct ana_job_archive *k, int64_t end_ns)
{
    k->analysis->kept_since_ns = end_ns > k->analysis->kept_since_ns ? end_ns : k->analysis->kept_since_ns;
}

/* Rows of a ring, from number `first` on: in two parts, which are the same ones when they are loaded to another
 * place. */
static void archive_ring(struct ana_job_archive *k, void *ring, uint64_t first, size_t n, size_t room, size_t size,
                         ana_archive_strip *strip)
{
    uint64_t part = room - first % room < n ? room - first % room : n;
    ANA_ARCHIVE(k->archive, part);
    uint64_t at = first % room, behind = (first + part) % room;
    if (!ana_archive_require(k->archive, part <= n && at + part <= room && (part == n || behind + n - part <= room)))
        return;
    ana_archive_rows(k->archive, (char *)ring + at * size, (size_t)part, size, strip);
    ana_archive_rows(k->archive, (char *)ring + behind * size, n - (size_t)part, size, strip);
}

static bool is_message_sane(const struct ana_job *job, const struct ana_stored_message *m,
                            const struct ana_stored_places *p)
{
    const struct ana_analysis *analysis = ana_job_analysis(job);
    const struct ana_members *members = ana_job_members(job);
    size_t places = analysis->pass.why.places.count;
    const int64_t all[] = {m->send_begin_ns, m->recv_begin_ns, m->recv_complete_ns},
                  seen[] = {m->send_wait_ns, m->send_complete_ns, m->recv_wait_ns};
    for (int i = 0; i < 3; i++)
        if (!ana_archive_is_time(all[i]) || (seen[i] != INT64_MIN && !ana_archive_is_time(seen[i])))
            return false;
    return m->source < members->count && m->destination < members->count && p->comm <= analysis->store.comms.count &&
           p->send <= places && p->receive <= places;
}

static bool is_wait_sane(const struct ana_job *job, const struct ana_stored_wait *w)
{
    const struct ana_members *members = ana_job_members(job);
    const struct ana_analysis *analysis = ana_job_analysis(job);
    return (unsigned)w->kind < ANA_WAIT_KINDS && w->waiter < members->count && w->culprit < members->count &&
           w->call < members->calls && w->comm <= analysis->store.comms.count &&
           w->place <= analysis->pass.why.places.count && w->segment <= analysis->pass.why.segments.count &&
           ana_archive_is_time(w->begin_ns) && ana_archive_is_time(w->end_ns);
}

static void archive_messages(struct ana_job_archive *k)
{
    struct ana_store *store = &k->analysis->store;
    size_t n = count_newest(k, store->messages, ANA_STORE_MESSAGES, k->newest);
    uint64_t first = k->archive->loads ? 0 : store->messages - n;
    for (size_t i = n; !k->archive->loads && i < ana_store_count(store->messages, ANA_STORE_MESSAGES); i++) {
        const struct ana_stored_message *m = ana_store_message_at(store, i);
        leave_out(k, m->recv_complete_ns > m->send_complete_ns ? m->recv_complete_ns : m->send_complete_ns);
    }
    archive_ring(k, store->message, first, n, ANA_STORE_MESSAGES, sizeof *store->message, NULL);
    archive_ring(k, store->places, first, n, ANA_STORE_MESSAGES, sizeof *store->places, NULL);
    for (size_t i = 0; i < n && k->archive->loads && !k->archive->failed; i++)
        ana_archive_require(k->archive, is_message_sane(k->job, &store->message[i], &store->places[i]));
    if (k->archive->loads)
        store->messages = n;
}

/* The call sites of all ranks, numbered from 1 on for each rank: ranks that run the same code have equal numbers, which
 * take few bytes. */
struct sites {
    uint32_t *number;      /* of a site of the tally, by its place there */
    uint32_t *from, *site; /* site[from[rank] + number - 1]: its place, + 1 */
};

static void free_sites(struct sites *sites)
{
    free(sites->number);
    free(sites->from);
    free(sites->site);
}

/* False: out of memory; free it in any case. */
static bool number_sites(const struct ana_job *job, struct sites *out)
{
    const struct ana_members *members = ana_job_members(job);
    const struct ana_map *all = &ana_job_analysis(job)->pass.tally.sites;
    *out = (struct sites){.number = calloc(all->count + 1, sizeof *out->number),
                          .from = calloc(members->count + 2, sizeof *out->from),
                          .site = calloc(all->count + 1, sizeof *out->site)};
    if (!out->number || !out->from || !out->site)
        return false;
    for (size_t i = 0; i < all->count; i++)
        out->number[i] = ++out->from[ana_map_key(all, i)[0] + 1];
    for (size_t r = 0; r < members->count; r++)
        out->from[r + 1] += out->from[r];
    for (size_t i = 0; i < all->count; i++)
        out->site[out->from[ana_map_key(all, i)[0]] + out->number[i] - 1] = (uint32_t)i + 1;
    return true;
}

/* Replaces the sites of the latest n waits by their numbers, or numbers by sites.  False: out of memory. */
static bool change_sites(struct ana_job *job, size_t n, bool to_numbers)
{
    struct ana_store *store = &ana_job_analysis(job)->store;
    struct sites sites;
    const bool ok = number_sites(job, &sites);
    for (size_t i = 0; ok && i < n; i++) {
        struct ana_stored_wait *w = &store->wait[(store->waits - n + i) % ANA_STORE_WAITS];
        const uint32_t *from = &sites.from[w->waiter];
        if (to_numbers)
            w->site = w->site ? sites.number[w->site - 1] : 0;
        else
            w->site = w->site - 1 < from[1] - from[0] ? sites.site[from[0] + w->site - 1] : 0;
    }
    free_sites(&sites);
    return ok;
}

bool ana_store_find_sites(struct ana_job *job)
{
    return change_sites(job, ana_store_count(ana_job_analysis(job)->store.waits, ANA_STORE_WAITS), false);
}

ANA_ARCHIVE_STRIP(strip_wait, struct ana_stored_wait, before)

/* Waits have numbers, by which one leads to the one before: so they keep these, and the ways are found again.  All are
 * saved of a job that has so few events that its timelines are read from these: what waits is not in them. */
static void archive_waits(struct ana_job_archive *k)
{
    struct ana_store *store = &k->analysis->store;
    bool all = !k->archive->loads && ana_timelines_decode(k->job);
    size_t n = count_newest(k, store->waits, ANA_STORE_WAITS, all ? SIZE_MAX : k->newest);
    uint64_t first = store->waits - n;
    int64_t since_ns = store->waits_since_ns;
    for (size_t i = n; !k->archive->loads && i < ana_store_count(store->waits, ANA_STORE_WAITS); i++)
        leave_out(k, ana_store_wait_at(store, i)->end_ns);
    ANA_ARCHIVE(k->archive, since_ns);
    ANA_ARCHIVE(k->archive, first);
    if (!ana_archive_require(k->archive, first < UINT64_MAX / 2))
        return;
    const bool changed = !k->archive->loads && change_sites(k->job, n, true);
    k->archive->failed |= !k->archive->loads && !changed;
    archive_ring(k, store->wait, first, n, ANA_STORE_WAITS, sizeof *store->wait, strip_wait);
    if (changed)
        k->archive->failed |= !change_sites(k->job, n, false);
    if (!k->archive->loads)
        return;
    store->waits = first;
    store->waits_since_ns = since_ns;
    for (size_t i = 0; i < n && !k->archive->failed; i++) {
        struct ana_stored_wait *w = &store->wait[(first + i) % ANA_STORE_WAITS];
        if (ana_archive_require(k->archive, is_wait_sane(k->job, w))) {
            w->before = store->last_wait[w->waiter];
            store->last_wait[w->waiter] = ++store->waits;
        }
    }
}

static void strip_instance(void *row)
{
    struct ana_stored_instance *instance = row;
    instance->comm = NULL;
    instance->next = 0;
}

static bool is_instance_sane(const struct ana_job *job, const struct ana_stored_instance *is)
{
    const struct ana_members *members = ana_job_members(job);
    return is->arrivals && is->call < members->calls && is->last_index < members->count &&
           ana_archive_is_bool(&is->mismatched) && ana_archive_is_time(is->first_ns) &&
           ana_archive_is_time(is->last_ns) && is->place <= ana_job_analysis(job)->pass.why.places.count;
}

/* The newest n instances, oldest first, in a row of their own; when loading, an empty one.  NULL: out of memory. */
static struct ana_stored_instance *row_of_instances(struct ana_job_archive *k, size_t n)
{
    const struct ana_store *store = &k->analysis->store;
    struct ana_stored_instance *row = calloc(n + 1, sizeof *row);
    for (size_t i = 0; row && !k->archive->loads && i < n; i++)
        row[i] = *ana_store_instance_at(store, n - 1 - i);
    for (size_t i = n; !k->archive->loads && i < ana_store_count(store->instances, ANA_STORE_INSTANCES); i++)
        leave_out(k, ana_store_instance_at(store, i)->last_ns);
    return row;
}

static void archive_instances(struct ana_job_archive *k)
{
    struct ana_store *store = &k->analysis->store;
    size_t n = count_newest(k, store->instances, ANA_STORE_INSTANCES, k->newest);
    struct ana_stored_instance *row = k->archive->failed ? NULL : row_of_instances(k, n);
    const struct trc_comm **comm = row ? calloc(n + 1, sizeof *comm) : NULL;
    k->archive->failed |= !comm;
    for (size_t i = 0; comm && i < n && !k->archive->failed; i++) {
        comm[i] = row[i].comm;
        ana_comm_archive(k, &comm[i]);
    }
    if (comm && !k->archive->failed)
        ana_archive_rows(k->archive, row, n, sizeof *row, strip_instance);
    for (size_t i = 0; i < n && k->archive->loads && !k->archive->failed; i++) {
        row[i].comm = comm[i];
        if (ana_archive_require(k->archive, is_instance_sane(k->job, &row[i])))
            ana_store_put_instance(store, &row[i]);
    }
    free(comm);
    free(row);
}

void ana_store_archive(struct ana_job_archive *k)
{
    k->analysis->kept_since_ns = INT64_MIN;
    ana_archive_map(k->archive, &k->analysis->store.comms, NULL);
    for (size_t i = 0; i < k->analysis->store.comms.count && !k->archive->failed; i++)
        ana_archive_require(k->archive, *(uint32_t *)ana_map_value(&k->analysis->store.comms, i) == i + 1);
    archive_messages(k);
    if (!k->archive->failed)
        archive_waits(k);
    if (!k->archive->failed)
        archive_instances(k);
    ANA_ARCHIVE(k->archive, k->analysis->kept_since_ns);
}
