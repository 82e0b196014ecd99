/* Type signatures: compares the data sent with the data received, basic type by basic type.  Counts alone are no
 * error: a receive may have more room than its message. */
#include "trace/check/check_impl.h"
#include <string.h>

#define RUNS  512u   /* runs of equal basic types in one datatype; longer datatypes are not compared */
#define STEPS 65536u /* a text may say: a billion times */

/* A run of elements of one kind of basic type. */
struct run {
    const char *name; /* name of its kind, or of the type if that is not known; `length` characters */
    size_t length;
    uint64_t count;
};
struct runs {
    struct run run[RUNS];
    size_t count;
    uint64_t elements; /* elements in all runs */
    unsigned steps;    /* steps taken to read the text */
    bool unknown;      /* too many, too long, or MPI_PACKED, which is anything */
};

/* Basic types that are represented alike are one kind: programs mix them, and nothing comes of it.  The first word of
 * each row names the kind. */
static const char *const kinds[] = {
    "byte MPI_BYTE MPI_CHAR MPI_SIGNED_CHAR MPI_UNSIGNED_CHAR MPI_INT8_T MPI_UINT8_T MPI_CHARACTER MPI_INTEGER1 ",
    "int16 MPI_SHORT MPI_INT16_T MPI_INTEGER2 ",
    "uint16 MPI_UNSIGNED_SHORT MPI_UINT16_T ",
    "int32 MPI_INT MPI_INT32_T MPI_INTEGER MPI_INTEGER4 ",
    "uint32 MPI_UNSIGNED MPI_UINT32_T ",
    "int64 MPI_LONG MPI_LONG_LONG MPI_LONG_LONG_INT MPI_INT64_T MPI_INTEGER8 MPI_AINT MPI_OFFSET MPI_COUNT ",
    "uint64 MPI_UNSIGNED_LONG MPI_UNSIGNED_LONG_LONG MPI_UINT64_T ",
    "real4 MPI_FLOAT MPI_REAL MPI_REAL4 ",
    "real8 MPI_DOUBLE MPI_DOUBLE_PRECISION MPI_REAL8 ",
    "real16 MPI_LONG_DOUBLE MPI_REAL16 ",
    "complex8 MPI_C_COMPLEX MPI_C_FLOAT_COMPLEX MPI_COMPLEX MPI_COMPLEX8 MPI_CXX_FLOAT_COMPLEX ",
    "complex16 MPI_C_DOUBLE_COMPLEX MPI_DOUBLE_COMPLEX MPI_COMPLEX16 MPI_CXX_DOUBLE_COMPLEX ",
    "bool MPI_C_BOOL MPI_CXX_BOOL MPI_LOGICAL ",
};

/* Pairs for MPI_MINLOC and MPI_MAXLOC. */
static const struct {
    const char *name, *first, *second;
} pairs[] = {
    {"MPI_FLOAT_INT", "MPI_FLOAT", "MPI_INT"},
    {"MPI_DOUBLE_INT", "MPI_DOUBLE", "MPI_INT"},
    {"MPI_LONG_INT", "MPI_LONG", "MPI_INT"},
    {"MPI_SHORT_INT", "MPI_SHORT", "MPI_INT"},
    {"MPI_LONG_DOUBLE_INT", "MPI_LONG_DOUBLE", "MPI_INT"},
    {"MPI_2INT", "MPI_INT", "MPI_INT"},
    {"MPI_2INTEGER", "MPI_INT", "MPI_INT"},
    {"MPI_2REAL", "MPI_FLOAT", "MPI_FLOAT"},
    {"MPI_2DOUBLE_PRECISION", "MPI_DOUBLE", "MPI_DOUBLE"},
};

/* ---- text to runs ----------------------------------------------------------------------------------------------- */

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* The row that has the name as one of its words; its first word is the kind. */
static struct run kind_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (const char *at = strchr(kinds[i], ' ') + 1; *at; at = strchr(at, ' ') + 1)
            if (strcspn(at, " ") == length && memcmp(at, name, length) == 0)
                return (struct run){kinds[i], strcspn(kinds[i], " "), 0};
    return (struct run){name, length, 0};
}

static bool same_kind(const struct run *a, const struct run *b)
{
    return a->length == b->length && memcmp(a->name, b->name, a->length) == 0;
}

static void add_run(struct runs *out, struct run run)
{
    out->unknown |= ++out->steps > STEPS;
    if (out->count > 0 && same_kind(&out->run[out->count - 1], &run))
        out->run[out->count - 1].count += run.count;
    else if (out->count < RUNS)
        out->run[out->count++] = run;
    else
        out->unknown = true;
    out->elements += run.count;
}

static void add_basic(struct runs *out, const char *name, size_t length, uint64_t count)
{
    struct run run = kind_of(name, length);
    out->unknown |= is_word(name, length, "MPI_PACKED");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (is_word(name, length, pairs[i].name)) {
            for (; count > 0 && !out->unknown; count--) {
                add_basic(out, pairs[i].first, strlen(pairs[i].first), 1);
                add_basic(out, pairs[i].second, strlen(pairs[i].second), 1);
            }
            return;
        }
    run.count = count;
    add_run(out, run);
}

/* Adds what a text says, up to its end or a closing bracket.  Returns where it stopped. */
static const char *add_text(struct runs *out, const char *at)
{
    while (*at && *at != ')' && !out->unknown) {
        uint64_t times = 1;
        size_t digits = strspn(at, "0123456789");
        if (digits > 0 && at[digits] == '*') {
            times = 0;
            for (size_t i = 0; i < digits; i++)
                times = times * 10 + (uint64_t)(at[i] - '0');
            at += digits + 1;
        }
        if (*at == '(') {
            const char *inside = at + 1, *end = inside;
            for (; times > 0 && !out->unknown; times--) {
                end = add_text(out, inside);
                out->unknown |= ++out->steps > STEPS;
            }
            at = end + (*end == ')');
        } else {
            size_t length = strcspn(at, " )");
            add_basic(out, at, length, times);
            at += length;
        }
        at += *at == ' ';
    }
    return at;
}

/* ---- comparing -------------------------------------------------------------------------------------------------- */

/* The part of a data definition that an act sends (0) or receives (1); equal for a call with one datatype. */
static const char *signature_of(const struct trc_data *data, unsigned which, uint64_t *size)
{
    unsigned there = *data->signature[which] ? which : 1 - which;
    *size = data->size[there];
    return data->signature[there];
}

static const struct trc_data *data_of(const struct ana_check *c, const struct ana_act *act)
{
    return act->sig.object ? trc_data(ana_job_rank(c->job, act->rank)->file, act->sig.object) : NULL;
}

/* Compares `n` basic types of two sequences that go on for ever. */
static bool same_sequence(const struct runs *a, const struct runs *b, uint64_t n)
{
    size_t i = 0, k = 0;
    uint64_t in_a = 0, in_b = 0; /* taken of the run */
    uint64_t both = a->elements > b->elements ? a->elements : b->elements;
    n = n < both * 2 ? n : both * 2; /* differences show early, or hardly ever */
    while (n > 0) {
        const struct run *x = &a->run[i], *y = &b->run[k];
        if (!same_kind(x, y))
            return false;
        uint64_t step = x->count - in_a < y->count - in_b ? x->count - in_a : y->count - in_b;
        step = step < n ? step : n;
        n -= step;
        in_a += step;
        in_b += step;
        if (in_a == x->count) {
            i = (i + 1) % a->count;
            in_a = 0;
        }
        if (in_b == y->count) {
            k = (k + 1) % b->count;
            in_b = 0;
        }
    }
    return true;
}

/* Number of basic types in a number of bytes; a part of a datatype counts at least the first. */
static uint64_t count_basic(const struct runs *runs, uint64_t bytes, uint64_t size)
{
    return bytes / size * runs->elements + (bytes % size > 0);
}

bool ana_same_types(struct ana_check *c, const struct ana_act *a, unsigned which_a, uint64_t bytes_a,
                    const struct ana_act *b, unsigned which_b, uint64_t bytes_b, const char **text)
{
    static const struct runs none;
    const struct trc_data *data_a = data_of(c, a), *data_b = data_of(c, b);
    uint64_t size_a, size_b;
    if (!data_a || !data_b || bytes_a == TRC_BYTES_UNKNOWN || bytes_b == TRC_BYTES_UNKNOWN)
        return true;
    text[0] = signature_of(data_a, which_a, &size_a);
    text[1] = signature_of(data_b, which_b, &size_b);
    if (!*text[0] || !*text[1] || !size_a || !size_b || strcmp(text[0], text[1]) == 0)
        return true;
    struct runs runs_a = none, runs_b = none;
    add_text(&runs_a, text[0]);
    add_text(&runs_b, text[1]);
    if (runs_a.unknown || runs_b.unknown || !runs_a.elements || !runs_b.elements)
        return true;
    uint64_t n = count_basic(&runs_a, bytes_a, size_a), m = count_basic(&runs_b, bytes_b, size_b);
    return same_sequence(&runs_a, &runs_b, n < m ? n : m);
}

enum trc_reduction ana_operation_of(const struct ana_check *c, const struct ana_act *act)
{
    const struct trc_data *data = data_of(c, act);
    return data ? data->operation : TRC_REDUCTION_NONE;
}

void ana_check_message(struct ana_check *c, const struct ana_act *send, const struct ana_act *receive)
{
    const struct ana_act *both[] = {send, receive};
    const char *text[2];
    if (!ana_same_types(c, send, 0, send->sig.sent, receive, 1, receive->sig.received, text))
        ana_found_add(c, ANA_CHECK_TYPE, both, 2, "%s is sent, %s received", text[0], text[1]);
}
