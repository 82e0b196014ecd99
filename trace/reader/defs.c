/* Definitions: communicators, windows, files, call sites. */
#include "trace/reader/file.h"
#include "trace/util/sort.h"

#include <string.h>

/* ---- tables ------------------------------------------------------------------------------------------------------ */

void trc_table_add(struct trc_file *file, struct trc_table *table, uint64_t key, void *value)
{
    if (!trc_file_room(file, &table->entries, &table->room, table->count, sizeof *table->entries)) {
        free(value);
        return;
    }
    table->entries[table->count] = (struct trc_table_entry){key, table->count, value};
    table->count++;
}

ANA_COMPARE(by_key_and_order, struct trc_table_entry, ANA_ORDER(x->key, y->key), ANA_ORDER(x->order, y->order))

static void table_seal(struct trc_table *table)
{
    if (table->sealed == table->count)
        return;
    ana_sort(table->entries, table->count, sizeof *table->entries, by_key_and_order);
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (kept && table->entries[kept - 1].key == table->entries[i].key)
            free(table->entries[i].value); /* the first stays: others may hold pointers to it */
        else
            table->entries[kept++] = table->entries[i];
    }
    for (size_t i = 0; i < kept; i++)
        table->entries[i].order = i;
    table->count = table->sealed = kept;
}

void *trc_table_find(const struct trc_table *table, uint64_t key)
{
    if (key && key <= table->sealed && table->entries[key - 1].key == key) /* numbers 1, 2, 3 ..., as recorders assign
                                                                              them */
        return table->entries[key - 1].value;
    size_t at = ANA_FIRST(i, table->sealed, table->entries[i].key < key);
    return at < table->sealed && table->entries[at].key == key ? table->entries[at].value : NULL;
}

static void table_free(struct trc_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->entries[i].value);
    free(table->entries);
}

/* ---- one definition ---------------------------------------------------------------------------------------------- */

/* A NAME, FREE, DOUBT or NEIGHBORS definition, or the owner of a communicator.  Kept until all communicators of this
 * refresh are in their table. */
struct note {
    uint32_t comm;
    enum trc_def_type type;
    uint32_t object; /* WIN and FILE only */
    uint64_t ticks;
    uint64_t number; /* DOUBT: its number; NEIGHBORS: sources in the high half, destinations in the low one */
    char *text;      /* NAME only; owned */
};
struct notes {
    struct note *note;
    size_t count, room;
};

static char *text_copy(struct trc_file *file, const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    char *copy = trc_file_alloc(file, length + 1);
    if (copy)
        trc_clean_text(memcpy(copy, text, length));
    return copy;
}

/* Checks a communicator's sizes, which are numbers of a file like any others.  They hold if the listed members
 * confirm them or, for one that has all of MPI_COMM_WORLD, if the head does.  Nothing confirms the sizes of others
 * (NCCL's): so nobody walks a communicator by its size (see ana_members). */
static void check_sizes(struct trc_file *file, uint32_t id, struct trc_def_comm *comm)
{
    const uint32_t all = TRC_COMM_WORLD | TRC_COMM_ALL;
    int64_t size = comm->size, remote = comm->remote_size, listed = comm->members, world = file->head.world_size;
    bool possible = size >= 0 && size <= TRC_WORLD_MAX && remote >= 0 && remote <= TRC_WORLD_MAX;
    bool borne_out = size + remote == listed || (remote && (size == listed || remote == listed));
    if (!possible || (listed && !borne_out)) {
        trc_file_damage(file, "communicator %u: %d and %d ranks, of which %u are listed", id, comm->size,
                        comm->remote_size, comm->members);
        comm->size = (int32_t)listed;
        comm->remote_size = 0;
    }
    if (!listed && comm->flags & all && world > 0 && comm->size != world) {
        trc_file_damage(file, "communicator %u: has all ranks, and %d of %d", id, comm->size, (int)world);
        comm->flags &= ~all; /* membership is unknown */
    }
    if (comm->rank < -1 || comm->rank >= comm->size)
        comm->rank = -1;
}

static void define_comm(struct trc_file *file, const struct trc_def *def, const char *payload, size_t size)
{
    struct trc_def_comm comm;
    if (size < sizeof comm) {
        trc_file_damage(file, "communicator %u: its definition is too short", def->id);
        return;
    }
    memcpy(&comm, payload, sizeof comm);
    size_t present = (size - sizeof comm) / sizeof(int32_t);
    if (comm.members > present) {
        trc_file_damage(file, "communicator %u: %u members where %zu have room", def->id, comm.members, present);
        comm.members = 0;
        comm.flags &= ~(uint32_t)(TRC_COMM_WORLD | TRC_COMM_ALL); /* members are unknown now */
    }
    check_sizes(file, def->id, &comm);
    struct trc_comm_def *kept = trc_file_alloc(file, sizeof *kept + comm.members * sizeof(int32_t));
    if (!kept)
        return;
    kept->comm.id = def->id;
    kept->comm.def = comm;
    kept->comm.site = def->a ? TRC_SITE_PATH | def->a : 0;
    kept->comm.asked = def->b <= def->ticks ? def->b : 0;
    kept->created = def->ticks;
    if (comm.members) {
        memcpy(kept + 1, payload + sizeof comm, comm.members * sizeof(int32_t));
        kept->comm.members = (const int32_t *)(kept + 1);
    }
    trc_table_add(file, &file->comms, def->id, kept);
}

static void define_object(struct trc_file *file, const struct trc_def *def, const char *text, size_t size)
{
    struct trc_object_def *kept = trc_file_alloc(file, sizeof *kept + size + 1);
    if (!kept)
        return;
    memcpy(kept->name, text, size);
    trc_clean_text(kept->name);
    kept->object = (struct trc_object){
        .id = def->id, .comm = def->a, .is_file = def->type == TRC_DEF_FILE, .name = kept->name[0] ? kept->name : NULL};
    kept->created = def->ticks;
    trc_table_add(file, &file->objects, def->id, kept);
}

/* A kernel or a region: a name for its id. */
static void define_text(struct trc_file *file, struct trc_table *table, const struct trc_def *def, const char *text)
{
    char *name = text_copy(file, text, def->text_bytes);
    if (name)
        trc_table_add(file, table, def->id, name);
}

static void add_note(struct trc_file *file, struct notes *notes, const struct trc_def *def, const char *text)
{
    if (!trc_file_room(file, &notes->note, &notes->room, notes->count, sizeof *notes->note))
        return;
    bool object = def->type == TRC_DEF_WIN || def->type == TRC_DEF_FILE, named = def->type == TRC_DEF_NAME;
    bool around = def->type == TRC_DEF_NEIGHBORS;
    notes->note[notes->count++] = (struct note){object ? def->a : def->id,
                                                (enum trc_def_type)def->type,
                                                object ? def->id : 0,
                                                def->ticks,
                                                around ? (uint64_t)def->a << 32 | (uint32_t)def->b : def->b,
                                                named ? text_copy(file, text, def->text_bytes) : NULL};
}

static void apply_notes(struct trc_file *file, struct notes *notes)
{
    for (size_t i = 0; i < notes->count; i++) {
        struct note *note = &notes->note[i];
        struct trc_comm_def *comm = trc_table_find(&file->comms, note->comm);
        if (!comm && note->object == 0)
            trc_file_damage(file, "communicator %u has a name, an end or neighbours, but was never defined",
                            note->comm);
        else if (note->object) {
            if (comm && !comm->comm.object)
                comm->comm.object = trc_object(file, note->object);
        } else if (note->type == TRC_DEF_FREE) {
            comm->is_freed = true;
            comm->freed = note->ticks;
        } else if (note->type == TRC_DEF_DOUBT) {
            bool first = !comm->comm.in_doubt || note->number < comm->comm.doubt_from;
            comm->comm.in_doubt = true;
            comm->comm.doubt_from = first ? note->number : comm->comm.doubt_from;
        } else if (note->type == TRC_DEF_NEIGHBORS) {
            comm->comm.sources = (uint32_t)(note->number >> 32);
            comm->comm.destinations = (uint32_t)note->number;
        } else {
            char *old = comm->name;
            comm->name = note->text;
            comm->comm.name = comm->name && *comm->name ? comm->name : NULL;
            note->text = old;
        }
        free(note->text);
    }
    ana_budget_free(&file->budget, notes->note, notes->room * sizeof *notes->note);
}

/* ---- chunks of definitions --------------------------------------------------------------------------------------- */

static void decode_definition(struct trc_file *file, uint32_t chunk, const struct trc_def *def, size_t size,
                              struct notes *notes)
{
    const char *payload = (const char *)(def + 1);
    switch (def->type) {
    case TRC_DEF_COMM:
        define_comm(file, def, payload, size);
        break;
    case TRC_DEF_WIN:
    case TRC_DEF_FILE:
        define_object(file, def, payload, def->text_bytes);
        add_note(file, notes, def, payload);
        break;
    case TRC_DEF_SITE:
        trc_define_site(file, def, payload, def->text_bytes);
        break;
    case TRC_DEF_MODULE:
        trc_define_module(file, def, payload, size);
        break;
    case TRC_DEF_PATH:
        trc_define_path(file, def, payload, size);
        break;
    case TRC_DEF_CALL:
        trc_define_call(file, def, payload, def->text_bytes);
        break;
    case TRC_DEF_KERNEL:
        define_text(file, &file->kernels, def, payload);
        break;
    case TRC_DEF_REGION:
        define_text(file, &file->regions, def, payload);
        break;
    case TRC_DEF_DATA:
        trc_define_data(file, def, payload, size);
        break;
    case TRC_DEF_LEFT:
        trc_define_left(file, def, payload, def->text_bytes);
        break;
    case TRC_DEF_OFF:
        trc_define_off(file, def);
        break;
    case TRC_DEF_RANKS:
        trc_define_ranks(file, def, payload, size);
        break;
    case TRC_DEF_NAME:
    case TRC_DEF_FREE:
    case TRC_DEF_DOUBT:
    case TRC_DEF_NEIGHBORS:
        add_note(file, notes, def, payload);
        break;
    case TRC_DEF_FACT:
        trc_define_fact(file, def, payload, def->text_bytes);
        break;
    case TRC_DEF_STACK:
        if (file->chunks[chunk].kind == TRC_CHUNK_STACKS)
            trc_define_stack(file, chunk, def, payload, size);
        break;
    default: /* type from a later version: its slots are stepped over */
        break;
    }
}

/* Reads `slots` slots of a chunk, beginning with slot number `first`, and takes the new definitions. */
static bool read_slots(struct trc_file *file, uint32_t chunk, const char *buffer, uint32_t first, uint32_t slots,
                       struct notes *notes)
{
    struct trc_defs_chunk *state = file->defs[chunk];
    bool found = false;
    uint32_t end = first + slots, hole = end;
    for (uint32_t at = first, span; at < end; at += span) {
        const struct trc_def *def = (const void *)(buffer + (size_t)(at - first) * TRC_DEF_SLOT);
        span = def->slots ? def->slots : 1;
        size_t size = (size_t)span * TRC_DEF_SLOT - sizeof *def;
        bool whole = def->slots && span <= end - at && def->text_bytes <= size;
        uint8_t bit = (uint8_t)(1u << at % 8);
        if (!def->type || (!whole && span > end - at && trc_file_growing(file))) {
            hole = at < hole ? at : hole; /* not written, or not visible here yet */
            continue;
        }
        if (!whole) {
            trc_file_damage(file, "chunk %u: definition %u does not fit its slots: left out", chunk, at);
            span = 1;
        } else if (!(state->seen[at / 8] & bit)) {
            decode_definition(file, chunk, def, size, notes);
            found = true;
        }
        state->seen[at / 8] |= bit;
    }
    state->first_hole = hole;
    return found;
}

/* Reads the new slots of one DEFS chunk. */
static bool read_chunk(struct trc_file *file, uint32_t chunk, struct notes *notes)
{
    struct trc_defs_chunk *state = file->defs[chunk];
    uint32_t slots = file->chunks[chunk].committed / TRC_DEF_SLOT, first = state->first_hole;
    if (first >= slots)
        return false;
    size_t size = (size_t)(slots - first) * TRC_DEF_SLOT;
    if (file->defs_bytes + size > TRC_DEFS_MAX)
        return trc_file_damage(file, "chunk %u: definitions past %llu bytes are not read", chunk, TRC_DEFS_MAX);
    char *buffer = trc_file_alloc(file, size);
    if (!buffer)
        return false;
    uint64_t offset = trc_chunk_offset(file, chunk) + TRC_ITEMS_OFFSET + (uint64_t)first * TRC_DEF_SLOT;
    size_t got = trc_file_read(file, offset, buffer, size);
    if (got < size && !trc_file_growing(file))
        trc_file_damage(file, "chunk %u: definitions are cut off", chunk);
    uint32_t whole = (uint32_t)(got / TRC_DEF_SLOT);
    if (first + whole > state->read) { /* slots behind a hole are read again each time, but count once */
        file->defs_bytes += (uint64_t)(first + whole - state->read) * TRC_DEF_SLOT;
        state->read = first + whole;
    }
    /* The bytes must be of the chunk whose head was read: a chunk of stacks may be begun anew at any time. */
    bool same = file->chunks[chunk].kind == TRC_CHUNK_DEFS || trc_chunk_same(file, chunk, &file->chunks[chunk], NULL);
    bool found = same && read_slots(file, chunk, buffer, first, whole, notes);
    ana_budget_free(&file->budget, buffer, size);
    return found;
}

bool trc_defs_refresh(struct trc_file *file)
{
    struct notes notes = {0};
    bool moved = false;
    if (!trc_file_grow(file, &file->defs, &file->defs_room, file->chunk_room, sizeof *file->defs))
        return false;
    for (uint32_t i = 0; i < file->chunk_count; i++) {
        const struct trc_chunk *head = &file->chunks[i];
        size_t size = sizeof **file->defs + trc_chunk_room(file, head) / TRC_DEF_SLOT / 8 + 1;
        bool stacks = head->magic && head->kind == TRC_CHUNK_STACKS;
        if (file->defs[i] && file->defs[i]->stacks && (!stacks || file->defs[i]->sequence != head->sequence)) {
            trc_forget_stacks(file, i);
            memset(file->defs[i], 0, size);
        }
        if (!stacks && (!head->magic || head->kind != TRC_CHUNK_DEFS))
            continue;
        if (!file->defs[i])
            file->defs[i] = trc_file_alloc(file, size);
        if (!file->defs[i])
            continue;
        file->defs[i]->sequence = head->sequence;
        file->defs[i]->stacks = stacks;
        moved |= read_chunk(file, i, &notes);
    }
    for (size_t i = 0; i < sizeof file->tables / sizeof *file->tables; i++)
        table_seal(&file->tables[i]);
    if (moved)
        trc_guess_sites(file);
    table_seal(&file->guessed);
    trc_facts_seal(file);
    apply_notes(file, &notes);
    return moved;
}

void trc_defs_free(struct trc_file *file)
{
    for (size_t i = 0; i < file->comms.count; i++)
        free(((struct trc_comm_def *)file->comms.entries[i].value)->name);
    for (size_t i = 0; i < sizeof file->tables / sizeof *file->tables; i++)
        table_free(&file->tables[i]);
    trc_facts_free(file);
    for (size_t i = 0; i < file->defs_room; i++)
        free(file->defs[i]);
    free(file->defs);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

bool trc_comm_freed(const struct trc_file *file, uint32_t id)
{
    const struct trc_comm_def *def = trc_table_find(&file->comms, id);
    return def && def->is_freed;
}
const struct trc_comm *trc_comm(const struct trc_file *file, uint32_t id)
{
    const struct trc_comm_def *def = trc_table_find(&file->comms, id);
    return def ? &def->comm : NULL;
}

const struct trc_comm *trc_comm_at(const struct trc_file *file, size_t i, uint64_t *created)
{
    if (i >= file->comms.sealed)
        return NULL;
    const struct trc_comm_def *def = file->comms.entries[i].value;
    *created = def->created;
    return &def->comm;
}

int32_t trc_comm_world_rank(const struct trc_comm *comm, int32_t r, bool remote)
{
    const struct trc_def_comm *def = &comm->def;
    if (r < 0 || r >= (remote ? def->remote_size : def->size))
        return TRC_PEER_UNKNOWN;
    if (!comm->members)
        return def->flags & (TRC_COMM_WORLD | TRC_COMM_ALL) && !remote ? r : TRC_PEER_UNKNOWN;
    bool one_side = def->remote_size > 0 && def->members == (uint32_t)def->remote_size; /* the remote group alone */
    if (one_side && !remote)
        return TRC_PEER_UNKNOWN;
    uint64_t at = (uint64_t)r + (remote && !one_side ? (uint64_t)def->size : 0);
    return at < def->members && comm->members[at] >= 0 ? comm->members[at] : TRC_PEER_UNKNOWN;
}

const struct trc_object *trc_object(const struct trc_file *file, uint32_t id)
{
    const struct trc_object_def *def = trc_table_find(&file->objects, id);
    return def ? &def->object : NULL;
}

const char *trc_kernel(const struct trc_file *file, uint32_t id)
{
    return trc_table_find(&file->kernels, id);
}

const char *trc_region(const struct trc_file *file, uint32_t id)
{
    return trc_table_find(&file->regions, id);
}
