/* Sets of processors, from text as the kernel writes it: "0-3,8". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANA_CPUS 8192u /* numbers of processors are below; others are left out */

struct ana_cpus {
    uint64_t bit[ANA_CPUS / 64];
};

/* Adds the processors of a list; what does not parse ends it. */
void ana_cpus_add(struct ana_cpus *cpus, const char *list);
/* Returns the number of processors in the set. */
size_t ana_cpus_count(const struct ana_cpus *cpus);
/* Whether two sets have a processor in common. */
bool ana_cpus_meet(const struct ana_cpus *a, const struct ana_cpus *b);
