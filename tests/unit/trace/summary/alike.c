/* Ranks that behave alike: planted groups are found, whatever the number of ranks and hosts. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/summary/alike.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 90, MS = 1000000 };

static uint64_t random_state = 15;
static int below(int n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int)((random_state >> 33) % (unsigned)n);
}

struct plan {
    int ranks, hosts;
    int host[MOST_RANKS], share[MOST_RANKS]; /* waiting of a rank in percent of its time */
    int late_host, late_rank, spread;        /* -1: none; ranks of all hosts with a share of their own */
};

/* Hosts in turn or one after the other; all wait 30 % but a host, a rank and some ranks here and there. */
static struct plan make_plan(void)
{
    struct plan p = {.ranks = 12 + below(MOST_RANKS - 12), .late_host = -1, .late_rank = -1};
    p.hosts = 1 + below(6);
    bool in_turn = below(2);
    for (int r = 0; r < p.ranks; r++) {
        p.host[r] = in_turn ? r % p.hosts : r * p.hosts / p.ranks;
        p.share[r] = 29 + below(3);
    }
    if (p.hosts > 2 && below(4)) {
        p.late_host = below(p.hosts);
        for (int r = 0; r < p.ranks; r++)
            p.share[r] = p.host[r] == p.late_host ? 14 + below(3) : p.share[r];
    }
    if (p.ranks >= 40 && below(2))
        for (int r = 0; r < p.ranks; r += 7)
            if (p.host[r] != p.late_host) {
                p.share[r] = 50;
                p.spread++;
            }
    p.late_rank = below(p.ranks);
    p.share[p.late_rank] = 0;
    return p;
}

static void write_plan(const struct plan *p)
{
    for (int r = 0; r < p->ranks; r++) {
        struct tb *tb = tb_new(r, p->ranks);
        struct trc_head *head = tb_head(tb);
        snprintf(head->host, sizeof head->host, "n%d", p->host[r]);
        tb_allreduce(tb, 0, (int64_t)(100 - p->share[r]) * MS, 100 * MS + 1000, TB_WORLD, 1, 8);
        folder_write(tb, r);
        tb_free(tb);
    }
}

/* The group that a rank is planned to be in, as a number. */
static int planned(const struct plan *p, int r)
{
    return r == p->late_rank ? 1 : p->share[r] == 50 ? 2 : p->host[r] == p->late_host ? 3 : 0;
}

static void check_plan(const struct plan *p, const struct ana_alike *a)
{
    size_t members = 0;
    for (size_t g = 0; g < a->groups; g++) {
        const struct ana_alike_group *group = &a->group[g];
        int kind = planned(p, (int)a->member[group->first]);
        for (size_t m = group->first; m < group->first + group->count; m++) {
            CHECK(a->group_of[a->member[m]] == g, "rank %zu is in two groups", a->member[m]);
            CHECK(planned(p, (int)a->member[m]) == kind, "%d ranks: rank %zu in a group of kind %d", p->ranks,
                  a->member[m], kind);
            CHECK(m == group->first || a->host[a->member[m - 1]] <= a->host[a->member[m]], "by host");
        }
        members += group->count;
        CHECK(kind != 3 || group->host == UINT32_MAX || a->host[p->late_rank] == UINT32_MAX ||
                  p->host[a->by_host[a->host_begin[group->host]]] == p->late_host,
              "the late host has a name");
        CHECK(group->most == (g + 1 == a->groups), "the last one is the rest");
    }
    CHECK(members == (size_t)p->ranks, "%zu members of %d", members, p->ranks);
    CHECK(a->group[0].blamed && a->member[0] == (size_t)p->late_rank, "whoever is late comes first");
    CHECK(planned(p, (int)a->member[a->group[a->groups - 1].first]) == 0, "%d ranks, %d hosts: the rest", p->ranks,
          p->hosts);
    size_t late = 0, rest = 0;
    for (size_t g = 0; g < a->groups; g++) {
        int kind = planned(p, (int)a->member[a->group[g].first]);
        late += kind == 3;
        rest += kind == 0;
    }
    CHECK(rest == 1, "%zu groups of the others", rest);
    CHECK(late <= 3, "%zu groups of the late host", late);
    for (size_t g = 0; g < a->groups && late == 1; g++) /* all of its ranks are in one: that is its name */
        CHECK(planned(p, (int)a->member[a->group[g].first]) != 3 || a->group[g].host != UINT32_MAX,
              "%d ranks, %d hosts: the late host has no name", p->ranks, p->hosts);
}

static void test_random(void)
{
    struct plan p = make_plan();
    folder_make("alike");
    write_plan(&p);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    size_t blamed[2];
    size_t n = ana_alike_blame(&s, blamed, 2);
    CHECK(n == 1 && blamed[0] == (size_t)p.late_rank, "%zu to blame, first %zu", n, n ? blamed[0] : 0);
    struct ana_alike a;
    CHECK(ana_alike_find(job, &s, blamed, n, &a), "memory");
    CHECK(a.hosts == (size_t)p.hosts, "%zu hosts of %d", a.hosts, p.hosts);
    check_plan(&p, &a);
    ana_alike_free(&a);

    /* Selected ranks alone: the others are in no group. */
    uint8_t some[MOST_RANKS] = {0};
    for (int r = 0; r < p.ranks; r += 2)
        some[r] = 1;
    struct ana_summary part;
    CHECK(ana_summarize(job, (struct ana_selection){.end_ns = INT64_MAX, .ranks = some}, &part) == TRC_OK, "part");
    CHECK(ana_alike_find(job, &part, NULL, 0, &a), "memory");
    for (int r = 0; r < p.ranks; r++)
        CHECK((a.group_of[r] == UINT32_MAX) == !some[r], "rank %d", r);
    ana_alike_free(&a);
    ana_summary_free(&part);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    for (int i = 0; i < 60; i++)
        test_random();
    return check_result();
}
