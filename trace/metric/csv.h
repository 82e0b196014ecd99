/* Tables as CSV (RFC 4180), for scripts: the keys and values of `hpctop report --json`, one line a row. */
#pragma once

#include "trace/metric/table.h"
#include <stdio.h>

/* Writes a line with the keys of all metrics of a kind, then `count` rows of `size` bytes.  Times are in seconds, ranks
 * are their numbers, and a field is empty where the value is not known. */
void ana_csv_rows(FILE *out, enum ana_metric_kind kind, const void *rows, size_t size, size_t count,
                  const struct ana_whole *whole);
