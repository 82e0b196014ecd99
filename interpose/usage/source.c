/* What the kernel counts, as a source of the recorder. */
#include "interpose/core/source.h"
#include "interpose/usage/hardware.h"
#include "interpose/usage/usage.h"

static void count(enum ipo_round round)
{
    static bool begun;
    if (round == IPO_ROUND_OVER)
        return;
    if (!begun && round == IPO_ROUND)
        ipo_hardware_start();
    begun = true;
    if (!ipo_hardware_ask(round == IPO_ROUND_LAST))
        ipo_usage_count(round == IPO_ROUND_LAST);
}

static const struct ipo_source usage_source = {.name = "usage", .round = count, .over = ipo_hardware_over};
IPO_SOURCE(usage_source);
