/* The calls of a mark in another pass over the events. */
#include "trace/iter/iter.h"

struct ana_iter_again ana_iter_again(const struct ana_iter *iter, uint32_t mark)
{
    const uint32_t kind = (mark & ~ANA_ITER_KIND) - 1;
    return (struct ana_iter_again){.mark = mark,
                                   .place = mark & ANA_ITER_KIND ? (uint32_t)ana_map_key(&iter->kinds, kind)[0] : mark};
}

bool ana_iter_is_again(struct ana_iter_again *again, const struct ana_iter *iter, uint32_t at, uint32_t thread,
                       uint32_t size)
{
    if (!again->place || !at || thread != ana_iter_place_at(iter, again->place)->thread)
        return false;
    again->calls += ana_iter_place_at(iter, at)->symbol;
    if (at != again->place)
        return false;
    const uint64_t turn = again->calls - again->before;
    const bool turns = turn != again->turn, sizes = size != again->size, is_first = again->count++ == 0;
    again->before = again->calls;
    again->turn = turn;
    again->size = size;
    if (!(again->mark & ANA_ITER_KIND))
        return true;
    const struct ana_iter_kind *kind = ana_iter_kind_at(iter, again->mark);
    return !is_first && (kind->sort == ANA_ITER_TURN ? turns && turn == kind->key : sizes && size == kind->key);
}
