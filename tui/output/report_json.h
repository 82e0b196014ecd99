/* The report and the verdict as JSON, for scripts. */
#ifndef TUI_REPORT_JSON_H
#define TUI_REPORT_JSON_H

#include "trace/job/job.h"
#include <cjson/cJSON.h>
#include <stdio.h>

/* Returns the report as one JSON object and a newline, for the caller to free; NULL when out of memory.
 * Strings are UTF-8; control characters, and bytes that are no UTF-8, are '?' (trace/util/text.h).
 * Units are seconds and bytes.  What is not known is null.  Integers are exact, whatever their size.
 *
 *   job         state, ranks (trace files), world_size, hosts, command, mpi, elapsed_s, lost_records,
 *               recycled_records, unknown_requests (seen to start but not to complete, or the reverse),
 *               clock_error_s, overhead_s, analysed (share of the events), answer
 *   calls[]     name, calls, bytes_sent, bytes_received, time_s, min_s, p50_s, p99_s, max_s, waiting_s
 *   ranks[]     rank, world, host, pid, calls, bytes_sent, bytes_received, mpi_s (all threads, without Init and
 *               Finalize), nccl_s (in its calls on the host), wall_s (from Init to Finalize), waiting_s, state, inside,
 *               inside_s; of the NCCL operation that has been under way longest nccl_operation, nccl_state,
 *               nccl_state_s
 *
 *   pairs[]     src, dst (ranks of MPI_COMM_WORLD), messages, bytes
 *
 *   collectives[]  name, communicator, instances, incomplete, skew_p50_s, skew_p99_s, skew_max_s, lost_s, last_rank,
 *               last_share
 *
 *   waits[]     kind (late-sender, late-receiver, late-in-collective, late-in-epoch,
 *               late-on-device), waiter, culprit, count, lost_s
 *
 *   segments[]  what threads do outside MPI between two places that call: from, to ("app.c:17"; null: several
 *               together), region (of the program's own, that most of it lies in; else null), times, median_s (of the
 *               ranks' medians), worst_rank (whose times cost the others most), worst_s (its median), costs_s (waiting
 *               of others that it caused), ranks, total_s, p99_s, longest_s, longest_rank, longest_at_s, direct_s (of
 *               costs_s: waited for the rank itself), by_rank_s[] (medians, in the order of ranks[]), why (the worst rank
 *               takes longer, by what the kernel counted, in words; null: not known)
 *
 *   waits_s     all waiting; delays_s: all that was charged to a cause
 *   path_s      length of the critical path (trace/why/path.h); path_unknown_s: of what is not known of it
 *   prices[]    what can be mended: kind (segment: its ranks[] as fast as the others; transfer, collective: calls that
 *               take no time, the most that can be had; device: NCCL's kernels hidden behind others), from, to, region,
 *               path_share (of path_s), saves_s, why (as in segments[])
 *
 *   iterations  of the loop that the program spends its time in (trace/iter): count, median_s, end (the place whose
 *               call ends one), slowest[] (index from 1, at_s, seconds; rank and from, to, region, segment_s of what took
 *               longer than usual, null: nothing did), loops[] (from the outermost inward: count, median_s, end,
 *               every_few: no loop, but what is done every few iterations)
 *
 *   networks[]  what the kernel of each host counted while the job ran, by other programs, too: host, retransmits (TCP
 *               segments sent again), bytes_sent, bytes_received (on all links but loopback), errors (packets damaged or
 *               dropped), link_waits (ticks in which a port of InfiniBand had data and no credit); empty for a window
 *
 *   clocks[]    host (of its first rank), ranks, offset_s (its CLOCK_MONOTONIC less that of the first), realtime_s (the
 *               same for CLOCK_REALTIME), drift_ppm, error_s, fitted; empty where all ranks share one clock
 *
 *   libraries[] name (MPI, NCCL, copies), calls, bytes_sent, bytes_received
 *
 *   nccl[]      name, communicator, ranks, calls, bytes (as nccl-tests counts them), timed (operations whose kernels
 *               are known on all ranks), algbw, busbw (bytes/s), transfer_s, skew_p50_s, skew_p99_s, kernel_s;
 *               algorithm, protocol ("several": not always the same), channels_min, channels_max, as NCCL told its
 *               profiler plugin
 *
 *   nccl_pairs[] src, dst (as in ranks[]; null where the members of the communicator are not known), sends,
 *               bytes_sent (as src called), receives, bytes_received (as dst called): `pairs` has MPI's messages only
 *
 *   kernels[]   name (mangled), nccl (whether it is NCCL's), calls, time_s, p50_s, max_s, ranks
 *
 *   gpus[]      rank, devices, kernels, copies, bytes_to_device, bytes_from_device, bytes_between_devices, compute_s,
 *               communication_s, overlap_s, exposed_s, copy_s, busy_s, wall_s (of all its devices)
 *
 *   kernels_unmatched (of NCCL, without a call), kernels_unknown (why, in words)
 *
 *   node_gpus[] of the machine where this is asked, while a rank with a GPU runs there: name, busy (0..1),
 *               nvlink_sent_per_s, nvlink_received_per_s, pcie_sent_per_s, pcie_received_per_s (bytes), from NVML
 *
 *   nccl_ras    what NCCL's RAS says, in words, asked there; null where nobody answers
 *
 *   efficiency  parallel, load_balance, communication */
char *tui_report_json(const struct ana_job *job, const struct ana_summary *summary);

struct ana_verdict;

/* Returns a verdict as one JSON object and a newline, for the caller to free; NULL when out of memory.  Keys: state,
 * class, culprits[] (ranks), culprit_worlds[], since_s, summary (the sentence that is given), evidence[] (what each
 * group of ranks does, then why), next, confidence (possible, likely, proven). */
char *tui_verdict_json(const struct ana_job *job, const struct ana_verdict *verdict, const char *summary);

/* Prints what this machine says of its GPUs as lines of the report; waits for that about a second. */
void tui_node_report(const struct ana_job *job, bool utf8, FILE *out);

/* Adds what this machine says of its GPUs as the keys node_gpus and nccl_ras; waits for that about a second. */
void tui_node_json(cJSON *root, const struct ana_job *job);

#endif
