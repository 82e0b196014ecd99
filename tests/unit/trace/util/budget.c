/* A budget: charges never exceed it, however large the numbers are and whoever charges. */
#include "trace/util/budget.h"
#include "tests/support/check.h"
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, TIMES = 100000, ROOM = ANA_BUDGET_LEAST };

static struct ana_budget shared;
static _Atomic uint64_t fitted;

static void *charge(void *arg)
{
    for (int i = 0; i < TIMES; i++)
        fitted += ana_charge(&shared, 3, 7);
    return arg;
}

int main(void)
{
    struct ana_budget budget = {0};
    ana_budget_set(&budget, 1000, 10);
    CHECK(budget.most == ROOM + 10000);
    CHECK(!ana_charge(&budget, UINT64_MAX, 2) && !ana_charge(&budget, UINT64_MAX, 1) && budget.charged == 0,
          "overflow");
    CHECK(ana_charge(&budget, ROOM / 2 + 5000, 2) && !ana_charge(&budget, 1, 1), "all of it, and no more");
    ana_budget_set(&budget, UINT64_MAX, 10);
    CHECK(budget.most == UINT64_MAX / 2 && ana_charge(&budget, 1, 1), "a file that grew");

    budget = (struct ana_budget){.most = 100};
    char *at = ana_budget_resize(&budget, NULL, 0, 40), *more;
    CHECK(at && !at[0] && !at[39] && budget.charged == 40);
    CHECK(!ana_budget_resize(&budget, at, 40, 101) && budget.charged == 40, "what does not fit");
    CHECK((more = ana_budget_resize(&budget, at, 40, 100)) && !more[99] && budget.charged == 100);
    ana_budget_free(&budget, more, 100);
    ana_budget_free(&budget, NULL, 7);
    CHECK(budget.charged == 0);

    pthread_t thread[THREADS];
    ana_budget_set(&shared, 0, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, charge, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    CHECK(shared.charged == 21 * fitted && fitted > 0 && fitted <= ROOM / 21, "%llu", (unsigned long long)fitted);
    return check_result();
}
