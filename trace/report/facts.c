/* The report's lines about facts: what all ranks have in common, and who differs. */
#include "trace/report/page.h"

#include <inttypes.h>
#include <string.h>

/* The keys that explain most; `hpctop dump` shows all. */
static const char *const shown[] = {"python", "horovod", "nccl", "glibc", "affinity", "forks after MPI_Init"};
#define SHOWN (sizeof shown / sizeof *shown)

static const char *value_of(const struct ana_job *job, size_t index, const char *key)
{
    const struct trc_file *file = ana_job_rank(job, index)->file;
    return file ? trc_fact(file, key) : NULL;
}

/* Writes the file names of the communication libraries on rank `index`: "libmpi.so.40.30.4, libpmix.so.2.6.2". */
static void put_libraries(const struct ana_job *job, size_t index, FILE *out)
{
    static const char *const wanted[] = {"file.libmpi", "file.libucp", "file.libpmix", "file.libnccl",
                                         "file.libfabric"};
    const struct trc_file *file = ana_job_rank(job, index)->file;
    const char *key, *value, *between = "  loaded  ";
    for (size_t i = 0; file && trc_fact_at(file, i, &key, &value); i++)
        for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
            if (!strncmp(key, wanted[k], strlen(wanted[k]))) {
                fprintf(out, "%s%s", between, key + 5);
                between = ", ";
            }
    if (*between == ',')
        fputc('\n', out);
}

/* Writes what went wrong on the networks of the hosts. */
static void put_networks(const struct ana_page *page)
{
    size_t told = 0;
    for (size_t i = 0; i < page->s->network_count && told < 4; i++) {
        const struct ana_network *of = &page->s->networks[i];
        if (of->retransmits || of->errors)
            ana_page_line(page, "%s %s: %" PRIu64 " TCP segments sent again, %" PRIu64 " packets damaged or dropped",
                          told++ ? "       " : "network", of->host, of->retransmits, of->errors);
    }
}

void ana_page_facts(const struct ana_page *page)
{
    const struct ana_job *job = page->job;
    FILE *out = page->out;
    size_t ranks = ana_job_info(job).ranks;
    const char *between = "  facts   ";
    for (size_t k = 0; ranks && k < SHOWN; k++) {
        const char *first = value_of(job, 0, shown[k]);
        size_t same = 0;
        for (size_t i = 0; i < ranks; i++) {
            const char *value = value_of(job, i, shown[k]);
            same += first ? value && !strcmp(value, first) : !value;
        }
        if (same == ranks && !first)
            continue;
        fprintf(out, "%s%s %s", between, shown[k], first ? first : "none");
        if (same < ranks)
            fprintf(out, " on rank %d (others differ)", ana_job_rank(job, 0)->rank);
        between = ", ";
    }
    if (*between == ',')
        fputc('\n', out);
    if (ranks)
        put_libraries(job, 0, out);
    put_networks(page);
}
