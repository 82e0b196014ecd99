/* Matching against a simulated MPI: random sends, receives with and without wildcards, completions seen in any order,
 * cancelled receives.  The simulation knows which message each receive took; the matching has to find the same, and
 * where it looks for messages between two clocks, those alone. */
#include "tests/support/match_events.h"

enum { STEPS = 20000, MAX_ENDS = STEPS + 1, TAGS = 3 };

struct sim_end {
    size_t rank;
    int32_t partner, tag; /* source of a receive: as asked for, then as matched */
    uint64_t number;
    int64_t begin;
    size_t other; /* SIZE_MAX: not matched */
    bool is_open; /* request not completed yet */
    bool gone;    /* cancelled */
};
static struct sim_end sent[MAX_ENDS], posted[MAX_ENDS];
static size_t sends, receives;
static int64_t now;
static uint64_t wrong, reported;

static bool fits(const struct sim_end *receive, const struct sim_end *send)
{
    return receive->rank == (size_t)send->partner &&
           (receive->partner == ANY || (size_t)receive->partner == send->rank) &&
           (receive->tag == TRC_TAG_ANY || receive->tag == send->tag);
}

static void join(struct sim_end *receive, struct sim_end *send)
{
    receive->other = (size_t)(send - sent);
    send->other = (size_t)(receive - posted);
    receive->partner = (int32_t)send->rank;
    receive->tag = send->tag;
}

static void check_message(void *user, const struct ana_message *m)
{
    (void)user;
    /* Begins are unique, and lead back to the ends. */
    size_t s = 0, r = 0;
    while (s < sends && sent[s].begin != m->send_begin_ns)
        s++;
    while (r < receives && posted[r].begin != m->recv_begin_ns)
        r++;
    wrong += s == sends || r == receives || posted[r].other != s;
    reported++;
}

static void do_send(void)
{
    struct sim_end *s = &sent[sends++];
    *s = (struct sim_end){.rank = (size_t)(rand() % 3), .partner = rand() % 3, .tag = rand() % TAGS, .other = SIZE_MAX};
    s->begin = now;
    for (size_t r = 0; r < receives && s->other == SIZE_MAX; r++)
        if (posted[r].other == SIZE_MAX && !posted[r].gone && fits(&posted[r], s))
            join(&posted[r], s);
    s->is_open = rand() % 2;
    if (s->is_open)
        s->number = isend(s->rank, s->partner, s->tag, now);
    else
        send(s->rank, s->partner, s->tag, now, now + 1);
}

/* Posts a receive; a blocking one only if its message is there. */
static void do_post(void)
{
    struct sim_end *r = &posted[receives];
    *r = (struct sim_end){.rank = (size_t)(rand() % 3), .partner = rand() % 3, .tag = rand() % TAGS, .other = SIZE_MAX};
    if (rand() % 4 == 0)
        r->partner = ANY;
    if (rand() % 4 == 0)
        r->tag = TRC_TAG_ANY;
    r->begin = now;
    const struct sim_end asked = *r;
    for (size_t s = 0; s < sends && r->other == SIZE_MAX; s++)
        if (sent[s].other == SIZE_MAX && fits(r, &sent[s]))
            join(r, &sent[s]);
    receives++;
    r->is_open = r->other == SIZE_MAX || rand() % 2;
    if (r->is_open)
        r->number = irecv(r->rank, asked.partner, asked.tag, now);
    else
        recv(r->rank, r->partner, r->tag, now, now + 1);
}

static void complete(struct sim_end *r)
{
    wait_call(r->rank, now, now + 1);
    done_recv(r->rank, r->number, r->partner, r->tag, now, now + 1);
    r->is_open = false;
}

static void do_complete(void)
{
    struct sim_end *r = &posted[receives ? (size_t)rand() % receives : 0];
    if (receives && r->is_open && r->other != SIZE_MAX)
        complete(r);
    struct sim_end *s = &sent[sends ? (size_t)rand() % sends : 0];
    if (sends && s->is_open) {
        done_send(s->rank, s->number, now, now + 1);
        s->is_open = false;
    }
    r = &posted[receives ? (size_t)rand() % receives : 0];
    if (receives && r->is_open && r->other == SIZE_MAX && rand() % 8 == 0) {
        cancelled(r->rank, r->number, now, now + 1);
        r->is_open = false;
        r->gone = true;
    }
}

/* The last of the three ranks has a clock of its own. */
static uint32_t clock_of(size_t rank)
{
    return rank == 2;
}

/* The program waits for everything, in its own order, and cancels receives that nobody sent to. */
static void wait_for_all(void)
{
    for (size_t i = 0; i < receives; i++) {
        now += 10;
        struct sim_end *r = &posted[(i * 7919) % receives];
        if (r->is_open && r->other != SIZE_MAX) {
            complete(r);
        } else if (r->is_open) {
            cancelled(r->rank, r->number, now, now + 1);
            r->is_open = false;
            r->gone = true;
        }
    }
}

static void run(unsigned seed, bool between_clocks)
{
    srand(seed);
    begin_test();
    ana_match_free(match);
    match = ana_match_new((struct ana_match_sink){.on_message = check_message, .between_clocks = between_clocks});
    for (size_t r = 0; r < RANKS; r++) {
        struct ana_match_rank rank = {.rank = (int32_t)r, .finalized = true, .clock = clock_of(r)};
        CHECK(ana_match_set_rank(match, r, &rank), "rank %zu", r);
    }
    sends = receives = 0;
    now = 0;
    wrong = reported = 0;
    for (int i = 0; i < STEPS / 10; i++) {
        now += 10;
        switch (rand() % 4) {
        case 0:
            do_send();
            break;
        case 1:
            do_post();
            break;
        default:
            do_complete();
            break;
        }
    }
    wait_for_all();
    uint64_t pairs = 0, left = 0, taken_back = 0;
    for (size_t i = 0; i < receives; i++) {
        const struct sim_end *r = &posted[i];
        pairs += r->other != SIZE_MAX && (!between_clocks || clock_of(r->rank) != clock_of((size_t)r->partner));
        taken_back += posted[i].gone;
    }
    for (size_t i = 0; i < sends; i++)
        left += sent[i].other == SIZE_MAX;
    ana_match_flush(match);
    struct ana_match_counts c = ana_match_counts(match);
    CHECK(wrong == 0, "seed %u: %llu of %llu messages joined wrongly", seed, (unsigned long long)wrong,
          (unsigned long long)reported);
    CHECK(reported == pairs && c.messages == pairs, "seed %u: %llu of %llu found", seed, (unsigned long long)reported,
          (unsigned long long)pairs);
    CHECK(c.uncertain == 0 && c.unmatched_receives == 0, "seed %u", seed);
    if (between_clocks) {
        ana_match_free(match);
        return;
    }
    CHECK(c.unmatched_sends == left && c.unmatched_receives == 0 && c.uncertain == 0 && c.cancelled == taken_back,
          "seed %u: %llu of %llu sends left, %llu receives, %llu uncertain, %llu of %llu cancelled", seed,
          (unsigned long long)c.unmatched_sends, (unsigned long long)left, (unsigned long long)c.unmatched_receives,
          (unsigned long long)c.uncertain, (unsigned long long)c.cancelled, (unsigned long long)taken_back);
    ana_match_free(match);
}

int main(void)
{
    for (unsigned seed = 1; seed <= 400; seed++)
        run(seed, seed % 2);
    return check_result();
}
