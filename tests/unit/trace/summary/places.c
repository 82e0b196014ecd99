/* Places that call: one of several addresses where they are of one source line, and collectives by place.  Random jobs
 * whose last ranks are known by place. */
#include "tests/support/draw.h"
#include "tests/support/planted.h"
#include "trace/job/window.h"
#include <math.h>

enum { RANKS = 4, ADDRESSES = 6, MEETINGS = 60 };

/* Address i is 0x1000 * (i + 1), at app+0x<i>; all but the last two are of a line that they share with another. */
static const char *const line_of_address[ADDRESSES] = {"halo.h:12", "app.c:30", "halo.h:12", "app.c:30", NULL, NULL};

static const char *find_line(void *context, const struct trc_file *file, const char *module)
{
    (void)file;
    return *(const bool *)context ? line_of_address[module[strlen(module) - 1] - '0'] : NULL;
}

static uint64_t address_of(int i)
{
    return 0x1000u * (unsigned)(i + 1);
}

/* Name of a place: its line or else its function. */
static const char *place_of(int i, bool lines)
{
    static const char *const functions[] = {"f0+0x1", "f1+0x1", "f2+0x1", "f3+0x1", "f4+0x1", "f5+0x1"};
    return lines && line_of_address[i] ? line_of_address[i] : functions[i];
}

static uint64_t state = 17;

struct truth {
    int last[MEETINGS], at[MEETINGS][RANKS]; /* last rank; address from which each called */
    int64_t lost_ns[MEETINGS], inside_ns[MEETINGS][RANKS];
};

/* All ranks meet, each called from an address of its own: mostly one of the same line, or the first rank's. */
static void meet(struct planted *p, struct truth *t, int m)
{
    int64_t last_ns = 0;
    for (int r = 0; r < RANKS; r++) {
        t->at[m][r] = r && draw(&state, 3) ? t->at[m][0] : (int)draw(&state, ADDRESSES);
        p->at[r] += (1 + (int64_t)draw(&state, 1000)) * 64 * US + r;
        if (p->at[r] > last_ns) {
            last_ns = p->at[r];
            t->last[m] = r;
        }
    }
    for (int r = 0; r < RANKS; r++) {
        struct trc_sig sig = tb_sig(TB_ALLREDUCE);
        sig.flags = TRC_SIG_COLL;
        sig.comm = TB_WORLD;
        sig.sent = sig.received = 8;
        sig.site = address_of(t->at[m][r]);
        tb_event(p->tb[r], 0, &sig, p->at[r], last_ns + US, (struct tb_more){.sequence = (uint64_t)m + 1});
        t->lost_ns[m] += last_ns - p->at[r];
        t->inside_ns[m][r] = last_ns + US - p->at[r];
        p->at[r] = last_ns + US;
    }
}

static void check_collective(const struct ana_collective *c, const struct truth *t, bool lines)
{
    uint64_t times = 0, last[RANKS] = {0}, most = 0;
    int64_t lost_ns = 0, all_ns = 0;
    for (int m = 0; m < MEETINGS; m++) {
        all_ns += t->lost_ns[m];
        if (strcmp(place_of(t->at[m][0], lines), c->place) != 0)
            continue;
        times++;
        lost_ns += t->lost_ns[m];
        last[t->last[m]]++;
    }
    for (int r = 0; r < RANKS; r++)
        most = last[r] > most ? last[r] : most;
    CHECK(c->instances == times && c->lost_ns == lost_ns && c->call_lost_ns == all_ns, "%s: %llu of %llu", c->place,
          (unsigned long long)c->instances, (unsigned long long)times);
    CHECK(last[c->last_index] == most && fabs(c->last_share * (double)times - (double)most) < 1e-6);
    for (size_t r = 0; r < c->last_index; r++)
        CHECK(last[r] < most, "of two, the rank with the lower number");
}

static const char *name_of(const struct ana_site *site)
{
    return site->line ? site->line : site->function;
}

static void check_site(const struct ana_site *site, const struct truth *t, bool lines)
{
    uint64_t times = 0;
    int64_t inside_ns = 0;
    size_t ranks = 0, seen = 0;
    for (int m = 0; m < MEETINGS; m++)
        for (int r = 0; r < RANKS; r++)
            if (strcmp(place_of(t->at[m][r], lines), name_of(site)) == 0) {
                times++;
                inside_ns += t->inside_ns[m][r];
                ranks += !(seen >> r & 1);
                seen |= (size_t)1 << r;
            }
    CHECK(site->times.count == times && site->time_ns == inside_ns && site->ranks == ranks && site->sent == 8 * times,
          "%s: %llu of %llu, %zu ranks of %zu", name_of(site), (unsigned long long)site->times.count,
          (unsigned long long)times, site->ranks, ranks);
}

/* Each name is there once, and nothing is missing. */
static void check_all(const struct ana_summary *s, const struct truth *t, bool lines)
{
    uint64_t instances = 0, calls = 0;
    for (size_t i = 0; i < s->collective_count; i++) {
        check_collective(&s->collectives[i], t, lines);
        instances += s->collectives[i].instances;
        CHECK(s->collectives[i].places == s->collective_count);
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(s->collectives[i].place, s->collectives[k].place) != 0 &&
                  s->collectives[i].identity != s->collectives[k].identity);
    }
    for (size_t i = 0; i < s->site_count; i++) {
        if (strcmp(s->sites[i].call, "MPI_Allreduce") != 0)
            continue;
        check_site(&s->sites[i], t, lines);
        calls += s->sites[i].times.count;
        for (size_t k = 0; k < i; k++)
            CHECK(s->sites[i].identity != s->sites[k].identity);
    }
    CHECK(instances == MEETINGS && calls == MEETINGS * RANKS);
    for (size_t i = 0; i < s->segment_count; i++)
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(s->segments[i].from.place, s->segments[k].from.place) != 0 ||
                      strcmp(s->segments[i].to.place, s->segments[k].to.place) != 0,
                  "%s -> %s twice", s->segments[i].from.place, s->segments[i].to.place);
}

/* A filter of one place takes all of its addresses, also when it was chosen before its lines were known. */
static void check_filter(struct ana_job *job, const struct ana_site *site, uint64_t identity, uint64_t least)
{
    struct ana_selection one = {.begin_ns = 0, .end_ns = INT64_MAX, .site = identity};
    struct ana_summary s;
    CHECK(ana_summarize(job, one, &s) == TRC_OK);
    ana_summary_free(&s);
    while (ana_job_advance(job, 0) < 1)
        ;
    CHECK(ana_summarize(job, one, &s) == TRC_OK && s.site_count == 1);
    CHECK(s.sites[0].times.count >= least && s.sites[0].times.count <= site->times.count);
    ana_summary_free(&s);
}

static void check_filters(struct ana_job *job, const struct ana_summary *before, const struct ana_summary *s)
{
    for (size_t i = 0; i < s->site_count; i++)
        check_filter(job, &s->sites[i], s->sites[i].identity, s->sites[i].times.count);
    for (size_t i = 0; i < before->site_count; i++)
        for (size_t k = 0; k < s->site_count && before->sites[i].function; k++)
            if (s->sites[k].function && strcmp(before->sites[i].function, s->sites[k].function) == 0)
                check_filter(job, &s->sites[k], before->sites[i].identity, before->sites[i].times.count);
}

static void one_job(bool lines)
{
    struct planted p = planted_begin("places", RANKS);
    struct truth t = {0};
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < ADDRESSES; i++) {
            char module[] = "app+0x0";
            module[6] = (char)('0' + i);
            tb_site(p.tb[r], address_of(i), place_of(i, false), module);
        }
    for (int m = 0; m < MEETINGS; m++)
        meet(&p, &t, m);
    struct ana_job *job = planted_open(&p);
    bool known = false;
    ana_job_set_line_finder(job, find_line, &known);
    struct ana_summary before = folder_summary(job);
    check_all(&before, &t, false);
    known = lines;
    struct ana_summary s = folder_summary(job);
    check_all(&s, &t, lines);
    check_filters(job, &before, &s);
    ana_summary_free(&before);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    for (int i = 0; i < 40; i++)
        one_job(i % 2);
    return check_result();
}
