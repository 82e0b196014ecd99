/* Names of communicators, windows and files: in a sentence, and in a column, which is short and numbers unnamed
 * ones. */
#include "trace/job/analysis.h"
#include "trace/job/comms.h"
#include "trace/job/site_words.h"
#include "trace/util/hash.h"
#include "trace/util/text.h"
#include <stdio.h>
#include <string.h>

#define FEW 64u /* communicators of a process whose lines are compared, not only the addresses of the calls */

const char *ana_comm_kind(const struct trc_comm *comm)
{
    return !comm || !comm->object ? "communicator" : comm->object->is_file ? "file" : "window";
}

/* Writes the name that MPI or the program has given; false: none. */
static bool write_given(const struct trc_comm *comm, bool column, char *out, size_t size)
{
    const char *prefix = column ? "" : "MPI_COMM_", *name = NULL;
    *out = 0;
    if (comm->def.flags & TRC_COMM_WORLD)
        snprintf(out, size, "%sWORLD", prefix);
    else if (comm->def.flags & TRC_COMM_SELF)
        snprintf(out, size, "%sSELF", prefix);
    else if (comm->object && comm->object->is_file && (name = comm->object->name))
        snprintf(out, size, "file %.100s", column ? name : trc_base_name(name));
    else if (!comm->object && comm->name)
        snprintf(out, size, "%s", comm->name);
    return *out != 0;
}

/* Writes where the communicator was made, "solver.c:88"; "": not known. */
static void write_origin(const struct ana_job *job, const struct trc_comm *comm, char *out, size_t size)
{
    const struct ana_members *members = ana_job_members(job);
    size_t i = 0;
    *out = 0;
    while (comm->site && i < members->count && trc_comm(members->process[i].rank.file, comm->id) != comm)
        i++;
    if (!comm->site || i == members->count || !trc_path_of(members->process[i].rank.file, comm->site))
        return;
    ana_caller_words(job, i, comm->site, out, size);
    out[strcspn(out, " ")] = 0;
}

/* Whether two sites of a rank are on one line: a loop that the compiler has unrolled has several calls. */
static bool is_one_line(const struct ana_job *job, size_t index, uint64_t a, uint64_t b)
{
    char one[ANA_CALLER] = "", other[ANA_CALLER] = "";
    if (a == b || !a || !b)
        return a == b;
    ana_caller_words(job, index, a, one, sizeof one);
    ana_caller_words(job, index, b, other, sizeof other);
    return strcmp(one, other) == 0;
}

/* Returns the number of a communicator that shares its line with others, in the order of first use in the first file
 * that has it, so that all ranks give it the same number; 0: it is alone. */
static size_t number_at_line(const struct ana_job *job, const struct trc_comm *comm)
{
    const struct ana_members *members = ana_job_members(job);
    for (size_t i = 0; i < members->count; i++) {
        const struct trc_file *file = members->process[i].rank.file;
        const struct trc_comm *one = NULL, *other;
        size_t before = 0, all = 0;
        uint64_t created;
        const bool few = !trc_comm_at(file, FEW, &created);
        for (size_t k = 0; !one && (other = trc_comm_at(file, k, &created)); k++)
            one = other->def.identity == comm->def.identity && !other->object == !comm->object ? other : NULL;
        for (size_t k = 0; one && (other = trc_comm_at(file, k, &created)); k++) {
            const bool same = !other->object == !one->object &&
                              (few ? is_one_line(job, i, other->site, one->site) : other->site == one->site);
            all += same;
            before += same && other->id < one->id;
        }
        if (one)
            return all > 1 ? before + 1 : 0;
    }
    return 0;
}

void ana_comm_words(const struct ana_job *job, const struct trc_comm *comm, char *out, size_t size)
{
    char origin[ANA_CALLER];
    if (!comm) {
        snprintf(out, size, "an unknown communicator");
        return;
    }
    if (write_given(comm, false, out, size))
        return;
    write_origin(job, comm, origin, sizeof origin);
    const char **column =
        comm->object || *origin ? NULL : ana_map_find(&ana_job_members(job)->comm_names, comm->def.identity, 0, 0);
    char made[64] = "";
    const size_t number = *origin ? number_at_line(job, comm) : 0;
    if (number)
        snprintf(made, sizeof made, ", number %zu in use of those made at ", number);
    else if (*origin)
        snprintf(made, sizeof made, " made at ");
    if (comm->object && comm->object->is_file)
        snprintf(out, size, "file without a name");
    else if (column && *column)
        snprintf(out, size, "%s", *column);
    else if (comm->def.flags & TRC_COMM_INTER)
        snprintf(out, size, "an intercommunicator of %d and %d%s%s", comm->def.size, comm->def.remote_size, made,
                 origin);
    else
        snprintf(out, size, "a %s of %d%s%s", ana_comm_kind(comm), comm->def.size, made, origin);
}

/* The one copy of a text, which lives as long as the job; NULL: out of memory. */
static const char *intern(struct ana_job *job, const char *text)
{
    for (uint64_t other = 0;; other++) { /* texts of one hash */
        char **slot = ana_map_add(&ana_job_members(job)->texts, ana_hash_text(text), other, 0);
        if (slot && !*slot)
            *slot = strdup(text);
        if (!slot || !*slot)
            return NULL;
        if (strcmp(*slot, text) == 0)
            return *slot;
    }
}

/* Numbers all communicators without a name that there are, by rank and by their making: so a number does not depend on
 * which is asked for first. */
static void number_all(struct ana_job *job)
{
    struct ana_members *members = ana_job_members(job);
    const struct trc_comm *comm;
    uint64_t created;
    char name[128];
    for (size_t i = 0; i < members->count; i++)
        for (size_t k = 0; (comm = trc_comm_at(members->process[i].rank.file, k, &created)); k++)
            if (!write_given(comm, true, name, sizeof name))
                ana_map_add(&members->comm_names, ana_comm_identity(job, i, comm), 0, 0);
}

const char *ana_comm_name(struct ana_job *job, uint64_t identity, const struct trc_comm *comm)
{
    struct ana_members *members = ana_job_members(job);
    if (!ana_map_find(&members->comm_names, identity, 0, 0))
        number_all(job);
    char text[128];
    const char **slot = ana_map_add(&members->comm_names, identity, 0, 0);
    size_t number = slot ? (size_t)(slot - (const char **)members->comm_names.values) + 1 : 0; /* order of naming */
    bool swapped = comm && comm->def.size > comm->def.remote_size; /* both sides give it one name */
    if (!comm)
        snprintf(text, sizeof text, "#%zu", number);
    else if (!write_given(comm, true, text, sizeof text) && comm->object)
        snprintf(text, sizeof text, "%s #%zu of size %d", ana_comm_kind(comm), number, comm->def.size);
    else if (!*text && comm->def.flags & TRC_COMM_INTER)
        snprintf(text, sizeof text, "#%zu of size %d+%d", number, swapped ? comm->def.remote_size : comm->def.size,
                 swapped ? comm->def.size : comm->def.remote_size);
    else if (!*text)
        snprintf(text, sizeof text, "#%zu of size %d", number, comm->def.size);
    const char *name = slot ? intern(job, text) : NULL;
    if (!name)
        return "?";
    members->revision += *slot != name;
    return *slot = name;
}
