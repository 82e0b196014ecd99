/* Rates of the ranks of a summary together, for screens and `hpctop watch` alike. */
#pragma once

#include "trace/summary/summary.h"

struct ana_rates {
    bool now; /* over the last second of a running job, watched for so long; else over the time of the summary */
    double sent, received, calls; /* per second; NAN unknown */
    double mpi_share;             /* time in MPI / time, from the end of MPI_Init to MPI_Finalize; NAN unknown */
};

/* Returns the rates of the ranks of a summary. */
struct ana_rates ana_rates_of(const struct ana_job *job, const struct ana_summary *s);
