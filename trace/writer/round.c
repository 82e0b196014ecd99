#include "trace/writer/round.h"

#define FIXED (10u * TRC_VARINT_MAX)

bool trc_stream_add_round(struct trc_stream *stream, uint64_t begin, uint64_t end, const struct trc_round *said)
{
    uint64_t size = (uint64_t)said->size[0] + said->size[1];
    uint32_t kept[2] = {said->size[0], said->size[1]};
    if (kept[0] > TRC_ROUND_BYTES)
        kept[0] = TRC_ROUND_BYTES;
    if (kept[1] > TRC_ROUND_BYTES - kept[0])
        kept[1] = TRC_ROUND_BYTES - kept[0];
    /* The FOLD that follows, with its signature, must be in the same chunk. */
    if (!trc_stream_room_for(stream, FIXED + kept[0] + kept[1] + 4 * TRC_ITEM_MAX))
        return false;
    begin = begin > stream->base ? begin : stream->base;
    end = end > begin ? end : begin;
    unsigned char head[FIXED], *h = head;
    h = trc_put_varint(h, said->kind);
    h = trc_put_varint(h, said->comm);
    h = trc_put_varint(h, said->sequence);
    h = trc_put_varint(h, said->round);
    h = trc_put_varint(h, begin - stream->base);
    h = trc_put_varint(h, end - begin);
    h = trc_put_varint(h, size);
    size_t n = (size_t)(h - head);
    unsigned char *at = trc_put_varint(stream->at, TRC_ITEM_ROUND);
    at = trc_put_varint(at, n + kept[0] + kept[1]);
    memcpy(at, head, n);
    at += n;
    for (int i = 0; i < 2; i++) {
        if (kept[i])
            memcpy(at, said->part[i], kept[i]);
        at += kept[i];
    }
    stream->at = at;
    stream->folds = stream->in_row = 0;
    atomic_store_explicit((_Atomic uint32_t *)&stream->chunk->committed,
                          (uint32_t)(at - (unsigned char *)(stream->chunk + 1)), memory_order_release);
    return true;
}
