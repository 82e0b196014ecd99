/* Job-wide numbers of calls, by their names. */
#include "trace/members/members.h"
#include "trace/util/hash.h"
#include "trace/util/grow.h"
#include <stdlib.h>
#include <string.h>

uint32_t ana_call_number(struct ana_members *members, const struct trc_call *call)
{
    uint32_t *known = ana_map_find(&members->call_by_address, (uintptr_t)call, 0, 0);
    if (known)
        return *known;
    if (strcmp(call->name, members->call[0].name) == 0)
        return 0; /* all calls without a name are one call */
    uint64_t hash = ana_hash_text(call->name);
    uint32_t *number;
    for (uint64_t probe = 0;; probe++) {
        number = ana_map_add(&members->call_by_name, hash, probe, 0);
        if (!number)
            return 0;
        if (*number == 0 || strcmp(members->call[*number].name, call->name) == 0)
            break;
    }
    if (*number == 0) {
        if (!ana_grow_alone(&members->call, members->calls, sizeof *members->call))
            return 0;
        *number = (uint32_t)members->calls;
        members->call[members->calls++] = (struct ana_call_name){call->name, call->opclass};
    }
    uint32_t n = *number;
    if ((known = ana_map_add(&members->call_by_address, (uintptr_t)call, 0, 0)))
        *known = n;
    return n;
}

uint32_t ana_call_number_of(const struct ana_members *members, size_t index, uint32_t id)
{
    const struct trc_file *file = members->process[index].rank.file;
    const uint32_t *known = ana_map_find(&members->call_by_address, (uintptr_t)trc_call(file, id), 0, 0);
    return known ? *known : 0;
}

void ana_number_calls(struct ana_members *members)
{
    for (size_t i = 0; i < members->count; i++) {
        struct ana_process *p = &members->process[i];
        const struct trc_file *file = p->rank.file;
        for (; p->numbered < trc_calls(file); p->numbered++)
            ana_call_number(members, trc_call(file, trc_call_id(file, p->numbered)));
    }
}
