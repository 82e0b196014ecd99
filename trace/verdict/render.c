/* Makes a sentence of a fact, by its row of sentences.def.  In a row
 *
 *     {who}              is the value of the term `who` (terms.def)
 *     {who:has|have}     is the first word where it is one rank, or the count is 1, else the second; of a communicator
 *                        the word for a communicator, a window or a file
 *     [more?, and ...]   is only there if the term `more` is not 0 or empty; [!more?...] if it is
 */
#include "trace/verdict/verdict_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum term_kind { RANKS, ABSENT, CIRCLE, CALL, SITE, MESSAGE, COMM, TEXT, COUNT, NS, BYTES, HANDLE, SHARE, FACTOR };
static const struct term {
    const char *name;
    enum term_kind kind;
    size_t offset;
} terms[] = {
#define TERM(name, kind, type) {#name, kind, offsetof(struct ana_fact, name)},
#include "trace/verdict/terms.def"
#undef TERM
};
enum { TERMS = sizeof terms / sizeof *terms };

static const struct {
    const char *id, *words;
} sentences[] = {
#define SENTENCE(id, words) {#id, words},
#include "trace/verdict/sentences.def"
#undef SENTENCE
};

struct text {
    const struct ana_case *c;
    const struct ana_finding *finding;
    const struct ana_fact *fact;
    char *out;
    size_t size, at;
    unsigned told; /* terms that the sentence tells: a bit each */
};

static const struct term *find_term(const char *name, size_t length)
{
    for (size_t i = 0; i < TERMS; i++)
        if (strncmp(terms[i].name, name, length) == 0 && !terms[i].name[length])
            return &terms[i];
    return NULL;
}

static const void *value_of(const struct ana_fact *fact, const struct term *term)
{
    return (const char *)fact + term->offset;
}

static struct ana_ranks ranks_of(const struct ana_fact *fact, const struct term *term,
                                 const struct ana_finding *finding)
{
    struct ana_ranks ranks = *(const struct ana_ranks *)value_of(fact, term);
    return ranks.n == SIZE_MAX ? (struct ana_ranks){.index = finding->culprit, .n = finding->culprits} : ranks;
}

static int64_t count_of(const struct text *t, const struct term *term)
{
    const void *value = value_of(t->fact, term);
    const char *const *name = value;
    switch (term->kind) {
    case RANKS:
    case CIRCLE:
        return (int64_t)ranks_of(t->fact, term, t->finding).n;
    case CALL:
        return ((const struct ana_call *)value)->name != NULL;
    case SITE:
        return ((const struct ana_code_site *)value)->address != 0;
    case MESSAGE:
    case COMM:
        return *(const void *const *)value != NULL;
    case TEXT:
        return *name && **name;
    case COUNT:
    case NS:
        return *(const int64_t *)value;
    case BYTES:
    case HANDLE:
    case ABSENT:
        return *(const uint64_t *)value != 0;
    case SHARE:
    case FACTOR:
        return *(const double *)value > 0;
    }
    return 0;
}

static void put(struct text *t, const char *from, size_t length)
{
    size_t left = t->size - t->at - 1, n = length < left ? length : left;
    memcpy(t->out + t->at, from, n);
    t->at += n;
}

static void put_ranks(struct text *t, struct ana_ranks ranks)
{
    char words[128];
    size_t *all = ranks.index || !ranks.n ? NULL : malloc(ranks.n * sizeof *all);
    for (size_t i = 0; all && i < ranks.n; i++)
        all[i] = ana_rank_at(ranks, i);
    ana_rank_list(t->c->job, ranks.index ? ranks.index : all, ranks.index || all ? ranks.n : 0, words, sizeof words);
    put(t, words, strlen(words));
    free(all);
}

/* Puts the first few of the culprits without a file: "0, 3, 4". */
static void put_absent(struct text *t, size_t n)
{
    char number[32];
    for (size_t i = 0; i < n && i < t->finding->absents; i++) {
        snprintf(number, sizeof number, "%s%d", i ? ", " : "", t->finding->absent[i]);
        put(t, number, strlen(number));
    }
}

/* Puts "0 -> 2 -> 1 -> 0", of more than a few the first ones. */
static void put_circle(struct text *t, struct ana_ranks ranks)
{
    enum { MOST = 8 };
    for (size_t i = 0; ranks.n && i <= ranks.n; i++) {
        const struct ana_label label = ana_rank_label(t->c->job, ana_rank_at(ranks, i % ranks.n));
        const char *word = i == MOST && i < ranks.n ? "..." : label.text;
        if (i > MOST && i < ranks.n)
            continue;
        put(t, " -> ", i ? 4 : 0);
        put(t, word, strlen(word));
    }
}

static void put_call(struct text *t, const struct ana_call *call)
{
    char words[256] = "";
    if (call->sig)
        ana_call_fact_words(t->c, *call, words, sizeof words);
    else if (call->name)
        snprintf(words, sizeof words, "%s", call->name);
    put(t, words, strlen(words));
}

static void put_value(struct text *t, const struct term *term)
{
    const void *value = value_of(t->fact, term);
    const struct ana_code_site *site;
    char words[256] = "";
    t->told |= 1u << (term - terms);
    switch (term->kind) {
    case RANKS:
        put_ranks(t, ranks_of(t->fact, term, t->finding));
        return;
    case ABSENT:
        put_absent(t, *(const size_t *)value);
        return;
    case CIRCLE:
        put_circle(t, *(const struct ana_ranks *)value);
        return;
    case CALL:
        put_call(t, value);
        return;
    case SITE:
        site = value;
        ana_site_words(t->c->job, site->index, site->address, words, sizeof words);
        break;
    case MESSAGE:
        if (count_of(t, term))
            ana_dependency_words(t->c, *(const struct ana_dependency *const *)value, words, sizeof words);
        break;
    case COMM:
        ana_comm_words(t->c->job, *(const struct trc_comm *const *)value, words, sizeof words);
        break;
    case TEXT:
        snprintf(words, sizeof words, "%s", *(const char *const *)value ? *(const char *const *)value : "?");
        break;
    case COUNT:
        snprintf(words, sizeof words, "%lld", (long long)*(const int64_t *)value);
        break;
    case NS:
        ana_spoken(words, sizeof words, (double)*(const int64_t *)value);
        break;
    case BYTES:
        ana_number(words, sizeof words, ANA_BYTES, (double)*(const uint64_t *)value, false);
        break;
    case SHARE:
        ana_number(words, sizeof words, ANA_SHARE, *(const double *)value, false);
        break;
    case FACTOR:
        snprintf(words, sizeof words, "%.1f", *(const double *)value);
        break;
    case HANDLE:
        snprintf(words, sizeof words, "%#llx", (unsigned long long)*(const uint64_t *)value);
        break;
    }
    put(t, words, strlen(words));
}

/* Puts the word that fits, of "one|two|three". */
static void put_choice(struct text *t, const struct term *term, const char *words, const char *end)
{
    size_t which = count_of(t, term) != 1;
    if (term->kind == COMM) {
        const char *kind = ana_comm_kind(*(const struct trc_comm *const *)value_of(t->fact, term));
        which = strcmp(kind, "window") == 0 ? 1 : strcmp(kind, "file") == 0 ? 2 : 0;
    }
    const char *bar;
    while (which-- && (bar = memchr(words, '|', (size_t)(end - words))))
        words = bar + 1;
    bar = memchr(words, '|', (size_t)(end - words));
    put(t, words, (size_t)((bar ? bar : end) - words));
}

/* The bracket that closes the one before `from`. */
static const char *find_close(const char *from, const char *end)
{
    int depth = 1;
    while (from < end && (depth += (*from == '[') - (*from == ']')) > 0)
        from++;
    return from;
}

static void put_words(struct text *t, const char *from, const char *end)
{
    while (from < end) {
        size_t plain = strcspn(from, "{[");
        plain = plain < (size_t)(end - from) ? plain : (size_t)(end - from);
        put(t, from, plain);
        from += plain;
        if (from >= end)
            break;
        bool condition = *from == '[', negated = condition && from[1] == '!';
        const char *name = from + 1 + negated;
        size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz_");
        const struct term *term = find_term(name, length);
        const char *rest = name + length, *close = condition ? find_close(rest, end) : rest + strcspn(rest, "}");
        if (term && condition && (count_of(t, term) != 0) != negated)
            put_words(t, rest + 1, close);
        else if (term && !condition && *rest == ':')
            put_choice(t, term, rest + 1, close);
        else if (term && !condition)
            put_value(t, term);
        from = close + 1;
    }
}

static struct text render(const struct ana_case *c, const struct ana_finding *finding, const struct ana_fact *fact,
                          char *out, size_t size)
{
    struct text t = {c, finding, fact, out, size, 0, 0};
    const char *words = sentences[fact->id].words;
    put_words(&t, words, words + strlen(words));
    out[t.at] = 0;
    return t;
}

void ana_render(const struct ana_case *c, const struct ana_finding *finding, const struct ana_fact *fact, char *out,
                size_t size)
{
    render(c, finding, fact, out, size);
}

/* ---- facts that outlive the case -------------------------------------------------------------------------------- */

static bool copy_ranks(struct ana_ranks ranks, struct ana_verdict_value *out)
{
    out->rank = malloc((ranks.n + 1) * sizeof *out->rank);
    for (size_t i = 0; out->rank && i < ranks.n; i++)
        out->rank[i] = ana_rank_at(ranks, i);
    out->ranks = ranks.n;
    return out->rank != NULL;
}

static bool copy_value(struct text *t, const struct term *term, struct ana_verdict_value *out)
{
    char words[256];
    struct text one = {t->c, t->finding, t->fact, words, sizeof words, 0, 0};
    out->name = term->name;
    if (term->kind == RANKS || term->kind == CIRCLE) {
        out->kind = ANA_VALUE_RANKS;
        return copy_ranks(ranks_of(t->fact, term, t->finding), out);
    }
    if (term->kind == COUNT || term->kind == NS || term->kind == BYTES) {
        out->kind = term->kind == NS ? ANA_VALUE_NS : ANA_VALUE_COUNT;
        out->number = term->kind == BYTES ? (int64_t)t->fact->size : *(const int64_t *)value_of(t->fact, term);
        return true;
    }
    if (term->kind == SHARE || term->kind == FACTOR) {
        out->kind = ANA_VALUE_REAL;
        out->real = *(const double *)value_of(t->fact, term);
        return true;
    }
    put_value(&one, term);
    words[one.at] = 0;
    out->kind = ANA_VALUE_TEXT;
    return (out->text = strdup(words)) != NULL;
}

bool ana_render_fact(const struct ana_case *c, const struct ana_finding *finding, const struct ana_fact *fact,
                     struct ana_verdict_fact *out)
{
    char words[512];
    struct text t = render(c, finding, fact, words, sizeof words);
    *out = (struct ana_verdict_fact){.id = sentences[fact->id].id, .text = strdup(words)};
    out->value = calloc(TERMS, sizeof *out->value);
    bool done = out->text && out->value;
    for (size_t i = 0; done && i < TERMS; i++)
        if (t.told & 1u << i)
            done = copy_value(&t, &terms[i], &out->value[out->values++]);
    if (!done)
        ana_verdict_fact_free(out);
    return done;
}

void ana_verdict_fact_free(struct ana_verdict_fact *fact)
{
    for (size_t i = 0; i < fact->values; i++) {
        free(fact->value[i].text);
        free(fact->value[i].rank);
    }
    free(fact->value);
    free(fact->text);
    *fact = (struct ana_verdict_fact){0};
}
