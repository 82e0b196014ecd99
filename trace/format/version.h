/* The version that libtrace.so and hpctop share.  libtrace.so carries HPCTOP_VERSION in a section of its own, so that
 * a pair that does not belong together can be told without running anything. */
#pragma once

#define HPCTOP_VERSION      "0.1"
#define TRC_VERSION_SECTION ".hpctop"
