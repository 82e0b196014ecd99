#include "trace/format/opclass.h"
#include "trace/relations/clock.h"
#include "trace/relations/clock_pair.h"
#include "trace/util/hash_map.h"
#include "trace/util/grow.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DRIFT 0.01 /* largest drift between two clocks accepted from saved state */
#define LAST_WALL  4e18 /* ns since 1970: the year 2096 */

struct file {
    size_t domain;
    uint64_t base;   /* ticks at the start anchor */
    int64_t mono_ns; /* the same instant on the host's CLOCK_MONOTONIC */
    double ns_per_tick;
    double error_ticks;
};

/* job = job_ns + (mono - mono_ns) * (1 + rate) */
struct domain {
    char host[64], boot_id[40];
    int64_t wall_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC */
    size_t first_index, files;
    int64_t mono_ns, job_ns;
    double rate;
    double anchor_error_ns; /* the worst of its files */
    double error_ns;
    bool fitted;
};

struct ana_clock {
    struct file *file;
    size_t files;
    struct domain *domain;
    size_t domains;
    struct ana_map pairs; /* (A, B), A < B -> struct ana_clock_pair */
    int64_t valid_from;   /* older job times may be of an earlier fit */
};

struct ana_clock *ana_clock_new(void)
{
    struct ana_clock *clock = calloc(1, sizeof *clock);
    if (clock) {
        ana_map_init(&clock->pairs, sizeof(struct ana_clock_pair));
        clock->valid_from = INT64_MIN;
    }
    return clock;
}

void ana_clock_free(struct ana_clock *clock)
{
    if (!clock)
        return;
    ana_map_free(&clock->pairs);
    free(clock->file);
    free(clock->domain);
    free(clock);
}

/* Limits a number of a file to a time that can be added and subtracted without overflow. */
static int64_t clamp_ns(uint64_t ns, double most)
{
    return ns < (uint64_t)most ? (int64_t)ns : (int64_t)most;
}

static bool shares_clock(const struct domain *domain, const struct trc_head *head, int64_t wall_ns)
{
    if (head->boot_id[0] || domain->boot_id[0]) {
        if (strcmp(domain->boot_id, head->boot_id) != 0)
            return false;
    } else if (!head->host[0] || strcmp(domain->host, head->host) != 0) {
        return false;
    }
    return llabs(domain->wall_ns - wall_ns) <= ANA_CLOCK_NAMESPACE_NS;
}

/* Places a domain by its realtime anchors. */
static void place_by_realtime(struct ana_clock *clock, struct domain *domain)
{
    const struct domain *first = &clock->domain[0];
    domain->mono_ns = clock->file[domain->first_index].mono_ns;
    double apart = (double)domain->mono_ns + (double)domain->wall_ns - (double)first->wall_ns - (double)first->mono_ns;
    domain->job_ns = domain->mono_ns - clock->file[0].mono_ns + (domain->wall_ns - first->wall_ns);
    if (fabs(apart) > 2 * ANA_CLOCK_FAR) /* clocks of nobody */
        domain->job_ns = 0;
    domain->rate = 0;
    domain->error_ns = domain == first ? 0 : ANA_CLOCK_NTP_NS;
    domain->fitted = domain == first;
}

bool ana_clock_add(struct ana_clock *clock, const struct trc_head *head, double ns_per_tick)
{
    if (!ana_grow_alone(&clock->file, clock->files, sizeof *clock->file) ||
        !ana_grow_alone(&clock->domain, clock->domains, sizeof *clock->domain))
        return false;
    size_t index = clock->files;
    struct file *file = &clock->file[index];
    *file = (struct file){.base = head->start.ticks,
                          .mono_ns = clamp_ns(head->start.monotonic_ns, ANA_CLOCK_FAR),
                          .error_ticks = (double)head->start.error_ticks};
    int64_t wall_ns = clamp_ns(head->start.realtime_ns, LAST_WALL) - file->mono_ns;
    size_t d = 0;
    while (d < clock->domains && !shares_clock(&clock->domain[d], head, wall_ns))
        d++;
    struct domain *domain = &clock->domain[d];
    file->domain = d;
    clock->files++;
    if (d == clock->domains) {
        clock->domains++;
        *domain = (struct domain){.wall_ns = wall_ns, .first_index = index};
        memcpy(domain->host, head->host, sizeof domain->host);
        memcpy(domain->boot_id, head->boot_id, sizeof domain->boot_id);
        domain->host[sizeof domain->host - 1] = domain->boot_id[sizeof domain->boot_id - 1] = '\0';
        place_by_realtime(clock, domain);
    }
    domain->files++;
    ana_clock_set_tick(clock, index, ns_per_tick);
    return true;
}

void ana_clock_set_tick(struct ana_clock *clock, size_t index, double ns_per_tick)
{
    struct file *file = &clock->file[index];
    file->ns_per_tick = ns_per_tick > 0 && ns_per_tick < 1e9 ? ns_per_tick : 1;
    struct domain *domain = &clock->domain[file->domain];
    domain->anchor_error_ns = fmax(domain->anchor_error_ns, file->error_ticks * file->ns_per_tick);
}

/* ---- conversion ------------------------------------------------------------------------------------------------ */

static int64_t domain_job(const struct domain *domain, int64_t mono_ns)
{
    int64_t since = mono_ns - domain->mono_ns;
    return domain->job_ns + since + llround((double)since * domain->rate);
}

static int64_t domain_mono(const struct domain *domain, int64_t job_ns)
{
    double since = (double)(job_ns - domain->job_ns);
    return domain->mono_ns + (job_ns - domain->job_ns) - llround(since * (domain->rate / (1 + domain->rate)));
}

struct ana_clock_line ana_clock_line(const struct ana_clock *clock, size_t index)
{
    const struct file *file = &clock->file[index];
    const struct domain *domain = &clock->domain[file->domain];
    double rate = file->ns_per_tick * (1 + domain->rate);
    return (struct ana_clock_line){.base = file->base,
                                   .near = rate > 1e-3 ? (uint64_t)(ANA_CLOCK_FAR / 2 / fmax(rate, 1)) : 0,
                                   .job_ns = domain_job(domain, file->mono_ns),
                                   .rate = rate};
}

int64_t ana_clock_job_time(const struct ana_clock *clock, size_t index, uint64_t ticks)
{
    struct ana_clock_line line = ana_clock_line(clock, index);
    return ana_clock_apply(&line, ticks);
}

uint64_t ana_clock_ticks(const struct ana_clock *clock, size_t index, int64_t job_ns)
{
    struct ana_clock_line line = ana_clock_line(clock, index);
    double ticks = ((double)job_ns - (double)line.job_ns) / line.rate;
    if (ticks <= -(double)line.base)
        return 0;
    if (ticks >= ANA_CLOCK_FAR)
        return UINT64_MAX;
    return line.base + (uint64_t)(int64_t)floor(ticks);
}

/* ---- bounds ---------------------------------------------------------------------------------------------------- */

static bool usable(const struct ana_clock *clock, int64_t ns)
{
    return ns >= clock->valid_from && ns > -(int64_t)ANA_CLOCK_FAR && ns < (int64_t)ANA_CLOCK_FAR;
}

void ana_clock_add_order(struct ana_clock *clock, size_t earlier, int64_t earlier_ns, size_t later, int64_t later_ns)
{
    size_t e = clock->file[earlier].domain, l = clock->file[later].domain;
    if (e == l || !usable(clock, earlier_ns) || !usable(clock, later_ns))
        return;
    int64_t mono_e = domain_mono(&clock->domain[e], earlier_ns), mono_l = domain_mono(&clock->domain[l], later_ns);
    struct ana_clock_pair *pair = ana_map_add(&clock->pairs, e < l ? e : l, e < l ? l : e, 0);
    if (!pair)
        return; /* out of memory: a few bounds fewer */
    if (e < l)
        ana_clock_pair_add(pair, mono_e, mono_l - mono_e, true);
    else
        ana_clock_pair_add(pair, mono_l, mono_e - mono_l, false);
}

void ana_clock_add_message(struct ana_clock *clock, const struct ana_message *message)
{
    size_t from = message->source, to = message->destination;
    if (clock->file[from].domain == clock->file[to].domain)
        return;
    ana_clock_add_order(clock, from, message->send_begin_ns, to, message->recv_complete_ns);
    if (message->synchronous && message->send_complete_ns != INT64_MIN)
        ana_clock_add_order(clock, to, message->recv_begin_ns, from, message->send_complete_ns);
}

static bool all_wait_for_all(const struct ana_instance *instance)
{
    return !instance->nonblocking && !instance->mismatched &&
           trc_opclass_shape(instance->call->opclass) == TRC_SHAPE_ALL;
}

/* Bounds are set against one domain only (the first's, if it takes part): so few pairs are kept however many hosts
 * there are. */
void ana_clock_add_instance(struct ana_clock *clock, const struct ana_instance *instance)
{
    if (clock->domains < 2 || instance->arrivals < 2 || !all_wait_for_all(instance))
        return;
    size_t hub = SIZE_MAX;
    for (size_t i = 0; i < instance->arrivals; i++) {
        size_t d = clock->file[instance->arrival[i].index].domain;
        hub = d < hub ? d : hub;
    }
    const struct ana_arrival *last = NULL, *first_out = NULL; /* arrivals of the hub: last to come, first to leave */
    for (size_t i = 0; i < instance->arrivals; i++) {
        const struct ana_arrival *a = &instance->arrival[i];
        if (clock->file[a->index].domain != hub)
            continue;
        last = !last || a->begin_ns > last->begin_ns ? a : last;
        first_out = !first_out || a->end_ns < first_out->end_ns ? a : first_out;
    }
    for (size_t i = 0; i < instance->arrivals; i++) {
        const struct ana_arrival *a = &instance->arrival[i];
        ana_clock_add_order(clock, last->index, last->begin_ns, a->index, a->end_ns);
        ana_clock_add_order(clock, a->index, a->begin_ns, first_out->index, first_out->end_ns);
    }
}

/* ---- fit ------------------------------------------------------------------------------------------------------- */

/* Puts `domain` on job time through its neighbour, as the B (or the A) side of the pair. */
static void place_by_pair(struct domain *domain, const struct domain *from, const struct ana_clock_pair_fit *fit,
                          bool domain_is_b)
{
    int64_t mono_a = fit->at_ns, mono_b = fit->at_ns + fit->theta_ns;
    domain->mono_ns = domain_is_b ? mono_b : mono_a;
    domain->job_ns = domain_job(from, domain_is_b ? mono_a : mono_b);
    double b = fit->drift;
    domain->rate = domain_is_b ? (from->rate - b) / (1 + b) : from->rate + b + from->rate * b;
    domain->error_ns = from->error_ns + fit->error_ns;
    domain->fitted = from->fitted;
}

/* No chain of bounds in both directions leads to the domain: it takes its realtime anchors, within the one-sided bounds
 * against domain 0. */
static void place_alone(struct ana_clock *clock, size_t d)
{
    struct domain *domain = &clock->domain[d];
    place_by_realtime(clock, domain);
    struct ana_clock_pair *pair = ana_map_find(&clock->pairs, 0, d, 0);
    if (!pair)
        return;
    int64_t theta = domain->mono_ns - domain_mono(&clock->domain[0], domain->job_ns);
    domain->job_ns += theta - ana_clock_pair_clamp(pair, theta);
}

/* Places all domains along the shortest ways from domain 0 over pairs that have a fit; the others by realtime. */
static void place_all(struct ana_clock *clock, const struct ana_clock_pair_fit *fit, bool *placed)
{
    for (size_t done = 0; done < clock->domains; done++) {
        size_t best_domain = SIZE_MAX, best_pair = SIZE_MAX;
        double best = INFINITY;
        for (size_t p = 0; p < clock->pairs.count; p++) {
            const uint64_t *key = ana_map_key(&clock->pairs, p);
            if (!fit[p].known || placed[key[0]] == placed[key[1]])
                continue;
            size_t from = placed[key[0]] ? key[0] : key[1];
            double error = clock->domain[from].error_ns + fit[p].error_ns;
            if (error < best) {
                best = error;
                best_pair = p;
                best_domain = key[0] + key[1] - from;
            }
        }
        if (best_pair == SIZE_MAX) {
            for (best_domain = 0; placed[best_domain]; best_domain++)
                ;
            place_alone(clock, best_domain);
        } else {
            const uint64_t *key = ana_map_key(&clock->pairs, best_pair);
            bool is_b = key[1] == best_domain;
            place_by_pair(&clock->domain[best_domain], &clock->domain[key[is_b ? 0 : 1]], &fit[best_pair], is_b);
        }
        placed[best_domain] = true;
    }
}

int64_t ana_clock_fit(struct ana_clock *clock, int64_t now_ns)
{
    clock->valid_from = now_ns;
    if (clock->domains < 2)
        return 0;
    struct ana_clock_pair_fit *fit = calloc(clock->pairs.count + 1, sizeof *fit);
    bool *placed = calloc(clock->domains, sizeof *placed);
    int64_t *before = calloc(clock->domains, sizeof *before), change = 0;
    if (fit && placed && before) {
        for (size_t d = 0; d < clock->domains; d++)
            before[d] = domain_job(&clock->domain[d], clock->file[clock->domain[d].first_index].mono_ns);
        for (size_t p = 0; p < clock->pairs.count; p++) {
            const struct domain *a = &clock->domain[ana_map_key(&clock->pairs, p)[0]];
            fit[p] = ana_clock_pair_fit(ana_map_value(&clock->pairs, p), clock->file[a->first_index].mono_ns);
        }
        place_all(clock, fit, placed);
        for (size_t d = 0; d < clock->domains; d++) {
            int64_t now = domain_job(&clock->domain[d], clock->file[clock->domain[d].first_index].mono_ns);
            int64_t moved = llabs(now - before[d]);
            change = moved > change ? moved : change;
        }
    }
    free(fit);
    free(placed);
    free(before);
    return change;
}

/* ---- results --------------------------------------------------------------------------------------------------- */

size_t ana_clock_domains(const struct ana_clock *clock)
{
    return clock->domains;
}

size_t ana_clock_domain_of(const struct ana_clock *clock, size_t index)
{
    return clock->file[index].domain;
}

struct ana_clock_domain ana_clock_domain(const struct ana_clock *clock, size_t d)
{
    const struct domain *domain = &clock->domain[d], *first = &clock->domain[0];
    int64_t mono = clock->file[domain->first_index].mono_ns;
    int64_t offset = mono - domain_mono(first, domain_job(domain, mono));
    return (struct ana_clock_domain){.first_index = domain->first_index,
                                     .files = domain->files,
                                     .offset_ns = offset,
                                     .realtime_ns = offset + (domain->wall_ns - first->wall_ns),
                                     .drift_ppm = -domain->rate / (1 + domain->rate) * 1e6,
                                     .error_ns = domain->error_ns,
                                     .fitted = domain->fitted};
}

static double anchor_error(const struct ana_clock *clock, size_t index)
{
    return clock->file[index].error_ticks * clock->file[index].ns_per_tick;
}

double ana_clock_error_ns(const struct ana_clock *clock, size_t a, size_t b)
{
    if (a == b)
        return 0;
    size_t da = clock->file[a].domain, db = clock->file[b].domain;
    double anchors = anchor_error(clock, a) + anchor_error(clock, b);
    return da == db ? anchors : anchors + clock->domain[da].error_ns + clock->domain[db].error_ns;
}

double ana_clock_worst_error_ns(const struct ana_clock *clock)
{
    if (clock->files == 0)
        return NAN;
    /* Every domain's error includes its worst anchor; the two worst domains are the worst pair. */
    double worst = 0, second = 0;
    for (size_t d = 0; d < clock->domains; d++) {
        double error = clock->domain[d].error_ns + clock->domain[d].anchor_error_ns;
        second = fmax(second, fmin(worst, error));
        worst = fmax(worst, error);
    }
    return clock->domains > 1 ? worst + second : clock->files > 1 ? 2 * worst : 0;
}

struct ana_clock_fitted ana_clock_fitted(const struct ana_clock *clock, size_t domain)
{
    const struct domain *d = &clock->domain[domain];
    return (struct ana_clock_fitted){d->mono_ns, d->job_ns, d->rate, d->error_ns, d->fitted};
}

void ana_clock_set_fitted(struct ana_clock *clock, size_t domain, const struct ana_clock_fitted *fitted)
{
    struct domain *d = &clock->domain[domain];
    d->mono_ns = fitted->mono_ns;
    d->job_ns = fitted->job_ns;
    d->rate = fitted->rate;
    d->error_ns = fitted->error_ns;
    d->fitted = fitted->fitted;
}

void ana_clock_archive(struct ana_archive *archive, struct ana_clock *clock)
{
    uint64_t domains = clock->domains;
    ANA_ARCHIVE(archive, domains);
    if (!ana_archive_require(archive, domains == clock->domains))
        return;
    for (size_t i = 0; i < clock->domains && !archive->failed; i++) {
        struct ana_clock_fitted fit = ana_clock_fitted(clock, i);
        ANA_ARCHIVE(archive, fit);
        bool sane = fabs((double)fit.mono_ns) + fabs((double)fit.job_ns) <= 2 * ANA_CLOCK_FAR &&
                    fabs(fit.rate) <= MOST_DRIFT && fit.error_ns >= 0 && fit.error_ns < ANA_CLOCK_FAR;
        if (ana_archive_require(archive, sane) && archive->loads)
            ana_clock_set_fitted(clock, i, &fit);
    }
}

void ana_clock_again(struct ana_clock *clock)
{
    for (size_t i = 0; i < clock->domains; i++)
        place_by_realtime(clock, &clock->domain[i]);
    ana_map_free(&clock->pairs);
    clock->valid_from = INT64_MIN;
}
