#include "trace/util/budget.h"
#include <stdlib.h>
#include <string.h>

void *ana_budget_resize(struct ana_budget *budget, void *at, size_t had, size_t bytes)
{
    if (!ana_charge(budget, bytes - had, 1))
        return NULL;
    char *resized = realloc(at, bytes);
    if (resized)
        memset(resized + had, 0, bytes - had);
    else
        budget->charged -= bytes - had;
    return resized;
}

void ana_budget_free(struct ana_budget *budget, void *at, size_t bytes)
{
    if (at)
        budget->charged -= bytes;
    free(at);
}
