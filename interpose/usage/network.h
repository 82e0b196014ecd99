/* Counts of the kernel for the node's network, as far as this process may see it.  Our own thread only. */
#pragma once

#include "trace/format/format_usage.h"

/* Adds what /proc/net/snmp, /proc/net/dev and /sys/class/infiniband say.  What cannot be read is left out. */
void ipo_network_read(struct trc_usage *now);
