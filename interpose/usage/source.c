/* Counts of the kernel, as a source of the recorder. */
#include "interpose/core/source.h"
#include "interpose/usage/hardware.h"
#include "interpose/usage/usage.h"

static void count(bool last)
{
    static bool begun;
    if (!begun && !last)
        ipo_hardware_start();
    begun = true;
    if (!ipo_hardware_ask(last))
        ipo_usage_count(last);
}

static const struct ipo_source usage_source = {.name = "usage", .round = count};
IPO_SOURCE(usage_source);
