/* The part of CUPTI that the workload `profiler` uses: same names and values as the toolkit's header. */
#ifndef GPU_DOUBLE_CUPTI_H
#define GPU_DOUBLE_CUPTI_H

#include <stddef.h>
#include <stdint.h>

typedef int CUptiResult;
typedef struct CUctx_st *CUcontext;
typedef int CUpti_ActivityKind;
enum { CUPTI_SUCCESS = 0, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED = 1 };
typedef struct {
    CUpti_ActivityKind kind;
} CUpti_Activity;
typedef void (*CUpti_BuffersCallbackRequestFunc)(uint8_t **buffer, size_t *size, size_t *records);
typedef void (*CUpti_BuffersCallbackCompleteFunc)(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                                  size_t valid);

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed);
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityFlushAll(uint32_t flag);
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record);
CUptiResult cuptiGetTimestamp(uint64_t *now);

#endif
