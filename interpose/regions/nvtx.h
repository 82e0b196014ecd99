/* NVTX: its interface between annotated programs and a reader, and ranges as regions of the program's own.  NVTX is a
 * header; it finds and asks interpose/nccl/nvtx.c.
 * Layouts: nvtxTypes.h and nvToolsExt.h of NVTX 3. */
#pragma once

#include "interpose/base/ours.h"
#include <stddef.h>
#include <stdint.h>

struct ipo_nvtx_payload {
    uint64_t schema;
    size_t size;
    const void *bytes;
};

/* Name of a range, and more. */
struct ipo_nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t payloads;
    const struct ipo_nvtx_payload *payload;
    int32_t message_type;
    const void *message;
};
enum { IPO_NVTX_ASCII = 1, IPO_NVTX_WIDE = 2, IPO_NVTX_REGISTERED = 3 };

/* Handle of a registered string; any thread. */
const void *ipo_nvtx_string(const char *text);
/* The calling thread enters a range; returns how many are around it. */
int ipo_nvtx_push(const struct ipo_nvtx_attributes *with);
/* It leaves the innermost one; returns how many are around that. */
int ipo_nvtx_pop(void);
/* Enters a range that need not be left in order; returns the handle that leaves it. */
uint64_t ipo_nvtx_start(const struct ipo_nvtx_attributes *with);
/* A range that was started ends, if it is one of the calling thread. */
void ipo_nvtx_end(uint64_t range);

/* Fills the slots of the default domain's ranges in, of a table with `size` entries. */
void ipo_nvtx_hook_default(ipo_function **table, unsigned size);
