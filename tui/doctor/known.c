/* Versions and settings that are known to be bad, as far as the machine and the command tell them. */
#include "tui/doctor/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the value that the command or the environment gives a variable; NULL: none.  Open MPI's are options, too:
 * --mca btl tcp,self. */
static const char *setting_of(const struct tui_doctor *doctor, const char *name)
{
    const struct tui_words *words = &doctor->plan.words;
    const size_t n = strlen(name), mca = strlen("OMPI_MCA_");
    for (size_t i = 0; doctor->command && i < words->count; i++) {
        const char *word = words->word[i], *before = i ? words->word[i - 1] : "";
        if (strncmp(word, name, n) == 0 && word[n] == '=')
            return word + n + 1;
        if (strncmp(name, "OMPI_MCA_", mca) == 0 && strcmp(word, name + mca) == 0 && strstr(before, "mca") &&
            i + 1 < words->count)
            return words->word[i + 1];
    }
    return getenv(name);
}

static bool is_of(const char *version, const char *begin)
{
    return strncmp(version, begin, strlen(begin)) == 0;
}

static bool has_word(const char *list, const char *word)
{
    const char *at = list && *list != '^' ? strstr(list, word) : NULL;
    return at && (at == list || at[-1] == ',') && (at[strlen(word)] == 0 || at[strlen(word)] == ',');
}

void tui_doctor_known(struct tui_doctor *doctor)
{
    static const struct {
        const char *mpi, *nccl, *setting, *value, *text;
    } rows[] = {
#define KNOWN_BAD(id, mpi, nccl, setting, value, threads, text) {mpi, nccl, setting, value, text},
#include "trace/verdict/known_bad.def"
#undef KNOWN_BAD
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const bool is_set = is_of(rows[i].setting, "env.");
        if (is_of(doctor->mpi_version, rows[i].mpi) && is_of(doctor->nccl_version, rows[i].nccl) &&
            (!rows[i].setting[0] ||
             (is_set && has_word(setting_of(doctor, rows[i].setting + strlen("env.")), rows[i].value))))
            SAY_NOTE("known", "%s", rows[i].text);
    }
}
