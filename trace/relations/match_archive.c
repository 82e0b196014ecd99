/* State of a match after a flush: its counts, and the open collectives. */
#include "trace/relations/match_impl.h"
#include <stdlib.h>

/* An open collective, by what one of its ranks defined. */
struct row {
    uint64_t identity, sequence;
    uint32_t index, comm; /* rank; number of the communicator in its file */
    uint64_t call;        /* number of the call there */
};

static struct row row_of(const struct ana_match *match, const struct ana_open_instance *open)
{
    const struct trc_file *file = match->process[open->first_index]->is.file;
    struct row row = {open->identity, open->sequence, open->first_index, 0, 0};
    while (trc_comm_at(file, row.comm, &(uint64_t){0}) && trc_comm_at(file, row.comm, &(uint64_t){0}) != open->comm)
        row.comm++;
    while (row.call < trc_calls(file) && trc_call(file, trc_call_id(file, row.call)) != open->call)
        row.call++;
    return row;
}

/* Opens a collective again; false: there is no such thing. */
static bool open_again(struct ana_match *match, const struct row *row)
{
    bool known = row->index < match->processes && match->process[row->index] && match->process[row->index]->is.file;
    const struct trc_file *file = known ? match->process[row->index]->is.file : NULL;
    const struct trc_comm *comm = known ? trc_comm_at(file, row->comm, &(uint64_t){0}) : NULL;
    if (!comm || row->call >= trc_calls(file) || ana_map_find(&match->instances, row->identity, row->sequence, 0))
        return false;
    struct ana_open_instance like = {.identity = row->identity,
                                     .sequence = row->sequence,
                                     .comm = comm,
                                     .call = trc_call(file, trc_call_id(file, row->call)),
                                     .first_index = row->index,
                                     .root = -1};
    return ana_coll_open(match, &like) != NULL;
}

void ana_match_archive(struct ana_archive *archive, struct ana_match *match)
{
    struct ana_match_counts counts = ana_match_counts(match);
    counts.incomplete -= match->instances.count; /* counted when asked for */
    ANA_ARCHIVE(archive, counts);
    size_t n = match->instances.count, at = 0;
    struct row *row = archive->loads ? NULL : calloc(n + 1, sizeof *row);
    if (!archive->loads && !row) {
        archive->failed = true;
        return;
    }
    for (const struct ana_open_instance *open = match->oldest; open && !archive->loads; open = open->newer)
        row[at++] = row_of(match, open);
    void *rows = row;
    ana_archive_array(archive, &rows, &n, sizeof *row, ANA_MATCH_INSTANCES);
    row = rows;
    for (size_t i = 0; archive->loads && i < n && !archive->failed; i++)
        ana_archive_require(archive, open_again(match, &row[i]));
    free(row);
    if (!archive->loads || archive->failed)
        return;
    match->counts = counts;
    match->begun = match->flushed = true;
}
