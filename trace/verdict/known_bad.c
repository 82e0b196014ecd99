/* Versions and settings that are known to be bad: a line of evidence where they match. */
#include "trace/verdict/verdict_impl.h"
#include <string.h>

static bool in_container(const struct ana_case *c)
{
    return ana_case_head(c, 0)->container[0] != 0;
}

static bool duplicates(const struct ana_waiting *p)
{
    return p->blocked && strstr(p->call->name, "Comm_dup");
}

/* Whether two threads of one rank duplicate communicators. */
static bool threads_duplicate(const struct ana_case *c)
{
    for (size_t i = 1; i < c->waiting_count; i++)
        if (duplicates(&c->waiting[i]) && duplicates(&c->waiting[i - 1]) &&
            c->waiting[i].index == c->waiting[i - 1].index)
            return true;
    return false;
}

static bool python_duplicates(const struct ana_case *c)
{
    for (struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++)
        if (duplicates(p) && p->keeps_lock)
            return true;
    return false;
}

/* Whether a culprit, or any rank where there is none, has a fact that begins so. */
static bool has_fact(const struct ana_case *c, const char *key, const char *value)
{
    for (size_t i = 0; i < c->count; i++) {
        bool asked = c->out->culprits == 0 || ana_is_culprit(c->out, i);
        const char *fact = asked ? trc_fact(ana_case_file(c, i), key) : NULL;
        if (fact && strncmp(fact, value, strlen(value)) == 0)
            return true;
    }
    return false;
}

static bool has_forked(const struct ana_case *c)
{
    return has_fact(c, "forks after MPI_Init", "");
}

static const struct {
    const char *mpi;                           /* prefix of the MPI's name and version; NULL: any */
    enum ana_verdict_class id;                 /* only verdicts of this class; ANA_CLASS_NONE: any */
    bool (*applies)(const struct ana_case *c); /* NULL: always */
    enum ana_sentence say;                     /* sentence, with its source */
} known[] = {
    {"Open MPI", ANA_CLASS_INSIDE, in_container, ANA_SENTENCE_KNOWN_CONTAINER},
    {NULL, ANA_CLASS_CYCLE, python_duplicates, ANA_SENTENCE_KNOWN_PYTHON_DUP},
    {"Open MPI", ANA_CLASS_NONE, threads_duplicate, ANA_SENTENCE_KNOWN_THREADS_DUP},
    {NULL, ANA_CLASS_NONE, has_forked, ANA_SENTENCE_KNOWN_FORK},
};

static const struct bad {
    enum ana_verdict_class id;
    const char *mpi, *nccl, *setting, *value;
    bool threads;
    const char *text;
} bad[] = {
#define KNOWN_BAD(id, ...) {ANA_CLASS_##id, __VA_ARGS__},
#include "trace/verdict/known_bad.def"
#undef KNOWN_BAD
};

/* Whether a comma separated list selects a word; a list with ^ in front excludes its words. */
static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; n && *list != '^' && at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, n) == 0 && (at[n] == 0 || at[n] == ','))
            return true;
    return n == 0;
}

static bool fits(const struct bad *row, const struct trc_file *file)
{
    const char *nccl = trc_fact(file, "nccl"), *setting = row->setting[0] ? trc_fact(file, row->setting) : "";
    return strncmp(trc_head(file)->mpi, row->mpi, strlen(row->mpi)) == 0 &&
           strncmp(nccl ? nccl : "", row->nccl, strlen(row->nccl)) == 0 && setting && has_word(setting, row->value) &&
           (!row->threads || trc_head(file)->thread_level == 3);
}

static bool fits_job(const struct bad *row, const struct ana_job *job)
{
    for (size_t i = 0; i < ana_job_ranks(job); i++)
        if (ana_job_rank(job, i)->file && fits(row, ana_job_rank(job, i)->file))
            return true;
    return false;
}

size_t ana_known_bad_of(const struct ana_job *job, const char *text[], size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad && n < most; i++)
        if (fits_job(&bad[i], job))
            text[n++] = bad[i].text;
    return n;
}

void ana_known_bad(struct ana_case *c)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if ((bad[i].id == ANA_CLASS_NONE || bad[i].id == c->out->id) && fits_job(&bad[i], c->job))
            ANA_FACT(c, ANA_SENTENCE_KNOWN, .name = bad[i].text);
    for (size_t i = 0; i < sizeof known / sizeof *known && c->count; i++) {
        bool version = !known[i].mpi || strncmp(c->members->mpi, known[i].mpi, strlen(known[i].mpi)) == 0;
        bool id = known[i].id == ANA_CLASS_NONE || known[i].id == c->out->id;
        if (version && id && (!known[i].applies || known[i].applies(c)))
            ANA_FACT(c, known[i].say);
    }
}
