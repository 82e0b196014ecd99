#include "trace/account/account.h"
#include "trace/util/times.h"
#include <math.h>

static const struct {
    const char *key, *words, *help;
} names[] = {
#define ACCOUNT(id, key, words, help) [ANA_ACCOUNT_##id] = {key, words, help},
#include "trace/account/accounts.def"
#undef ACCOUNT
};
#define ACCOUNT(id, key, words, help) _Static_assert(sizeof(help) <= 54, "it fits into a line of 80 columns");
#include "trace/account/accounts.def"
#undef ACCOUNT
_Static_assert(sizeof names / sizeof *names == ANA_ACCOUNTS, "an account has a name");

const char *ana_account_key(enum ana_account_id id)
{
    return names[id].key;
}

const char *ana_account_words(enum ana_account_id id)
{
    return names[id].words;
}

const char *ana_account_help(enum ana_account_id id)
{
    return names[id].help;
}

enum ana_account_id ana_account_of_call(enum trc_opclass opclass)
{
    switch (trc_opclass_category(opclass)) {
    case TRC_CAT_P2P:
    case TRC_CAT_WAIT:
    case TRC_CAT_COLLECTIVE:
    case TRC_CAT_RMA:
        return ANA_ACCOUNT_TRANSFER;
    case TRC_CAT_IO:
        return ANA_ACCOUNT_IO;
    case TRC_CAT_NCCL:
        return ANA_ACCOUNT_DEVICE;
    default:
        return ANA_ACCOUNT_LIBRARY;
    }
}

bool ana_account_is_local(enum trc_opclass opclass)
{
    const enum ana_account_id id = ana_account_of_call(opclass);
    return (id == ANA_ACCOUNT_IO || id == ANA_ACCOUNT_LIBRARY) && !trc_opclass_is(opclass, TRC_FACT_EDGE);
}

void ana_account_add(struct ana_account *to, const struct ana_account *more)
{
    for (size_t i = 0; i < ANA_ACCOUNTS; i++)
        to->ns[i] = ana_plus(to->ns[i], more->ns[i]);
}

int64_t ana_account_total(const struct ana_account *account)
{
    int64_t sum = 0;
    for (size_t i = 0; i < ANA_ACCOUNTS; i++)
        sum = ana_plus(sum, account->ns[i]);
    return sum;
}

double ana_account_share(const struct ana_account *account, enum ana_account_id id)
{
    int64_t total = ana_account_total(account);
    return total > 0 ? (double)account->ns[id] / (double)total : NAN;
}

static int64_t within(double ns, int64_t most)
{
    return !(ns > 0) ? 0 : ns >= (double)most ? most : (int64_t)ns;
}

/* The part of `whole` that falls to `part` of `of`; all >= 0. */
static int64_t portion(int64_t whole, int64_t part, int64_t of)
{
    return of > 0 ? within((double)whole * ((double)part / (double)of), whole) : 0;
}

struct ana_account ana_account_part(const struct ana_account *whole, int64_t begin_ns, int64_t end_ns, int64_t of)
{
    struct ana_account part;
    for (size_t i = 0; i < ANA_ACCOUNTS; i++)
        part.ns[i] = portion(whole->ns[i], end_ns, of) - portion(whole->ns[i], begin_ns, of);
    return part;
}

/* Moves up to `ns` from one account to another. */
static void move(struct ana_account *account, enum ana_account_id from, enum ana_account_id to, int64_t ns)
{
    ns = ns < account->ns[from] ? ns : account->ns[from];
    ns = ns > 0 ? ns : 0;
    account->ns[from] -= ns;
    account->ns[to] += ns;
}

/* Cuts the calls of one group; `queued_ns` in them without a processor.  A rank that waits for another would wait with
 * a processor, too: that part of queued_ns stays in WAIT. */
static struct ana_account cut_group(const struct ana_account_group *group, int64_t queued_ns)
{
    struct ana_account cut = {0};
    cut.ns[group->id] = group->inside_ns;
    int64_t wait_ns = group->wait_ns < group->inside_ns ? group->wait_ns : group->inside_ns;
    move(&cut, group->id, ANA_ACCOUNT_WAIT, wait_ns);
    move(&cut, group->id, ANA_ACCOUNT_QUEUED, portion(queued_ns, group->inside_ns - wait_ns, group->inside_ns));
    return cut;
}

void ana_account_cut(const struct ana_account_rank *rank, const struct ana_account_group *group, size_t n,
                     struct ana_account *of_group, struct ana_account *outside)
{
    const struct ana_account_usage *usage = &rank->usage;
    int64_t inside_ns = 0, until_ns = 0, queued_ns = 0;
    for (size_t i = 0; i < n; i++)
        inside_ns = ana_plus(inside_ns, group[i].inside_ns);
    const int64_t queued_in_ns = within(usage->queued_in_ns, inside_ns);
    for (size_t i = 0; i < n; i++) { /* running sums: so the parts add up */
        until_ns = ana_plus(until_ns, group[i].inside_ns);
        const int64_t queued_until_ns = portion(queued_in_ns, until_ns, inside_ns);
        of_group[i] = cut_group(&group[i], queued_until_ns - queued_ns);
        queued_ns = queued_until_ns;
    }
    const int64_t rest_ns = rank->elapsed_ns > inside_ns ? rank->elapsed_ns - inside_ns : 0;
    *outside = (struct ana_account){.ns[ANA_ACCOUNT_COMPUTE] = rest_ns};
    move(outside, ANA_ACCOUNT_COMPUTE, ANA_ACCOUNT_OPEN, rank->open_ns);
    move(outside, ANA_ACCOUNT_COMPUTE, ANA_ACCOUNT_UNKNOWN, rank->unknown_ns);
    /* Spans in which records were lost count calls that are not known as time outside. */
    const double part = fmin((double)outside->ns[ANA_ACCOUNT_COMPUTE] / usage->outside_ns, 1);
    move(outside, ANA_ACCOUNT_COMPUTE, ANA_ACCOUNT_OFF_CPU, within(part * usage->off_cpu_ns, INT64_MAX));
    move(outside, ANA_ACCOUNT_COMPUTE, ANA_ACCOUNT_QUEUED, within(part * usage->queued_outside_ns, INT64_MAX));
}
