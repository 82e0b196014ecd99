/* Names of regions, each under one number for as long as the process lives. */
#pragma once

#include "interpose/base/ours.h"
#include "trace/writer/region.h"

#include <stdbool.h>
#include <stdint.h>

/* Writes the definition of a region into the trace, unless it is there already.  Record path: that it is there costs
 * one load.  Only while there is a file; keeps errno. */
void ipo_region_define(uint32_t number);

/* Whether a number can be one of a name. */
static inline bool ipo_region_is_number(uint32_t number)
{
    return number && number < TRC_REGION_MOST;
}
