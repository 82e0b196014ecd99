/* The reason of a refusal, and the value each rank had given: from the error's words and the ranks' requests. */
#include "trace/horovod/horovod_impl.h"
#include "trace/util/text.h"
#include <stdlib.h>
#include <strings.h>

/* Words of Horovod 0.28.1, controller.cc: "One rank <before> A, but another rank <before> B." */
static const struct {
    const char *has, *before;
} words[ANA_HVD_OTHER_REASON] = {
    [ANA_HVD_TYPES] = {"Mismatched data types", "had type "},
    [ANA_HVD_OPERATIONS] = {"operations: One rank did", "did an "},
    [ANA_HVD_SHAPES] = {" tensor shapes", "of shape "},
    [ANA_HVD_ROOTS] = {" root ranks", "root rank "},
    [ANA_HVD_REDUCTIONS] = {"Mismatched reduc", "op "},
    [ANA_HVD_WITH_JOIN] = {"not supported with Join", NULL},
};

static enum ana_hvd_reason reason_of(const char *error)
{
    enum ana_hvd_reason reason = 0;
    while (reason < ANA_HVD_OTHER_REASON && !strstr(error, words[reason].has))
        reason++;
    return reason;
}

/* Writes the two values that an error names, in its order; "" where it names none. */
static void read_values(const char *error, enum ana_hvd_reason reason, char (*value)[ANA_HVD_VALUE])
{
    const char *other = strstr(error, ", but another rank"),
               *before = reason < ANA_HVD_WITH_JOIN ? words[reason].before : NULL;
    const char *first = before ? strstr(error, before) : NULL, *second = before && other ? strstr(other, before) : NULL;
    value[0][0] = value[1][0] = 0;
    if (!first || !second || first > other)
        return;
    first += strlen(before);
    second += strlen(before);
    snprintf(value[0], sizeof *value, "%.*s", (int)(other - first), first);
    snprintf(value[1], sizeof *value, "%.*s", (int)strcspn(second, "."), second);
}

/* Writes the field of a request which an error of this kind is about. */
static void write_value(const struct ana_hvd_form *form, enum ana_hvd_reason reason, char *out)
{
    *out = 0;
    switch (reason) {
    case ANA_HVD_TYPES:
        if ((unsigned)form->dtype < HVD_TYPES)
            snprintf(out, ANA_HVD_VALUE, "%s", hvd_types[form->dtype].name);
        else
            snprintf(out, ANA_HVD_VALUE, "type %d", form->dtype);
        break;
    case ANA_HVD_OPERATIONS:
        snprintf(out, ANA_HVD_VALUE, "%s", ana_hvd_op_name((enum ana_hvd_op)form->op));
        break;
    case ANA_HVD_SHAPES:
        snprintf(out, ANA_HVD_VALUE, "%s", form->shape);
        break;
    case ANA_HVD_ROOTS:
        snprintf(out, ANA_HVD_VALUE, "%d", form->root);
        break;
    case ANA_HVD_REDUCTIONS:
        snprintf(out, ANA_HVD_VALUE, "%d", form->reduction);
        break;
    case ANA_HVD_WITH_JOIN:
    case ANA_HVD_OTHER_REASON:
        break;
    }
}

/* Guesses the value of member 0, whose requests are on no wire.  Where others differ from the usual value, it has the
 * usual one; where all others agree, it is the odd one.  For a new tensor the error names the earliest request first,
 * and among the requests of one cycle that is member 0's own. */
static void guess_root(const struct ana_hvd_set *set, const struct ana_hvd_tensor *t,
                       const char (*value)[ANA_HVD_VALUE], const char *usual, char (*said)[ANA_HVD_VALUE])
{
    bool alike = true, first = !t->done && t->submitted[0] == ANA_HVD_YES, unusual = false;
    const char *other = NULL;
    for (size_t m = 1; m < set->ranks; m++) {
        if (!*said[m])
            continue;
        alike &= !other || strcmp(said[m], other) == 0;
        unusual |= *usual && strcmp(said[m], usual) != 0;
        other = said[m];
        first &= t->submitted_cycle[0] <= t->submitted_cycle[m];
    }
    size_t odd = other && strcasecmp(value[0], other) == 0;
    if (unusual)
        snprintf(said[0], sizeof *said, "%s", usual);
    else if (other && alike)
        snprintf(said[0], sizeof *said, "%s", *value[odd] ? value[odd] : "another");
    for (size_t m = 1; m < set->ranks && !unusual && !alike && first; m++)
        if (strcasecmp(said[m], value[0]) == 0)
            memcpy(said[0], said[m], sizeof *said);
}

void hvd_refuse(struct ana_hvd_set *set, size_t tensor, uint64_t cycle, int64_t ns, const struct ana_hvd_entry *entry)
{
    struct ana_hvd_refusal *f = &set->refusal;
    const struct ana_hvd_tensor *t = &set->tensor[tensor];
    char value[2][ANA_HVD_VALUE];
    if (f->count++)
        return;
    f->said = f->said ? f->said : malloc(set->ranks * sizeof *f->said);
    if (!f->said) {
        f->count = 0;
        return;
    }
    memset(f->said, 0, set->ranks * sizeof *f->said);
    f->tensor = tensor;
    f->cycle = cycle;
    f->ns = ns;
    f->step = set->steps + 1;
    snprintf(f->error, sizeof f->error, "%.*s",
             (int)(entry->error_size < sizeof f->error ? entry->error_size : sizeof f->error),
             entry->error ? entry->error : "");
    trc_clean_text(f->error);
    f->reason = reason_of(f->error);
    read_values(f->error, f->reason, value);
    f->usual[0] = 0;
    if (t->agreed_form)
        write_value(&set->form[t->agreed_form - 1], f->reason, f->usual);
    for (size_t m = 0; m < set->ranks; m++)
        if (t->form[m])
            write_value(&set->form[t->form[m] - 1], f->reason, f->said[m]);
    if (f->reason < ANA_HVD_WITH_JOIN)
        guess_root(set, t, (const char(*)[ANA_HVD_VALUE])value, f->usual, f->said);
}
