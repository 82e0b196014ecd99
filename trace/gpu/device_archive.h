/* Devices of a job, saved and loaded. */
#pragma once

#include "trace/job/job.h"
#include "trace/util/archive.h"

/* Saves the devices of the pass over all events, or loads them into devices that have seen none.
 * The latest calls and kernels make up time ranges: at most `newest` are saved, unless `newest` is ANA_STORE_MESSAGES
 * or more; ana_analysis.kept_since_ns tells the end of the older ones. */
void ana_devices_archive(struct ana_archive *archive, struct ana_job *job, size_t newest);
/* Once devices were loaded, names their communicators as reading the events would have. */
void ana_devices_name(struct ana_job *job);
