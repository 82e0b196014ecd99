#pragma once

/* Data of this library, whatever includes it: reached directly, not through the GOT. */
#define IPO_OURS __attribute__((visibility("hidden")))

typedef void (*ipo_function)(void); /* a function as stored; cast to its true type for the call */
