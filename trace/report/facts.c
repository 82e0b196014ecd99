/* The report's lines about facts: what all ranks have in common, and who differs. */
#include "trace/report/page.h"
#include "trace/report/report.h"
#include "trace/verdict/verdict.h"

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

bool ana_transport_write(const struct ana_job *job, size_t index, const char *before, FILE *out)
{
    static const struct {
        const char *key, *word;
        bool begins; /* key: only the begin of one, whose end is the value */
    } wanted[] = {{"file.mca_pml_", "pml ", true},
                  {"file.mca_btl_", "btl ", true},
                  {"env.OMPI_MCA_pml", "OMPI_MCA_pml=", false},
                  {"env.OMPI_MCA_btl", "OMPI_MCA_btl=", false},
                  {"env.UCX_TLS", "UCX_TLS=", false},
                  {"env.FI_PROVIDER", "FI_PROVIDER=", false},
                  {"env.I_MPI_FABRICS", "I_MPI_FABRICS=", false}};
    const struct trc_file *file = ana_job_rank(job, index)->file;
    const char *key, *value, *between = before;
    for (size_t k = 0; file && k < sizeof wanted / sizeof *wanted; k++) {
        const size_t n = strlen(wanted[k].key);
        if (k == 1 && !trc_fact(file, "file.mca_pml_ob1.so"))
            continue; /* other pmls use no btl */
        for (size_t i = 0; trc_fact_at(file, i, &key, &value); i++) {
            if (strncmp(key, wanted[k].key, n) != 0 || (key[n] && !wanted[k].begins))
                continue;
            const char *end = wanted[k].begins ? key + n : value;
            fprintf(out, "%s%s%.*s", between, wanted[k].word, (int)(wanted[k].begins ? strcspn(end, ".") : strlen(end)),
                    end);
            between = ", ";
        }
    }
    return between != before;
}

/* Writes versions and settings that are known to be bad. */
static void put_known_bad(const struct ana_page *page)
{
    const char *text[4];
    for (size_t i = 0, n = ana_known_bad_of(page->job, text, 4); i < n; i++)
        ana_page_line(page, "known   %s", text[i]);
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
    if (ranks) {
        put_libraries(job, 0, out);
        if (ana_transport_write(job, 0, "  over    ", out))
            fputc('\n', out);
    }
    put_known_bad(page);
    put_networks(page);
}
