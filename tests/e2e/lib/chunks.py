"""The chunks of a trace file (trace/format/format.h), for tests that count bytes."""
import struct

BLOCK, MAGIC, HEAD = 4096, 0x4B4E4843, 72
EVENTS, KEPT = (3,), (2, 3, 4)  # kinds: events; definitions, events and stacks


def committed(path, kinds):
    """Bytes of items in all chunks of these kinds."""
    with open(path, "rb") as f:
        data = f.read()
    at, total = struct.unpack_from("<Q", data, 24)[0], 0
    while at + HEAD <= len(data):
        magic, kind = struct.unpack_from("<IB", data, at)
        blocks, = struct.unpack_from("<I", data, at + 68)
        if magic == MAGIC and kind in kinds:
            total += struct.unpack_from("<I", data, at + 32)[0]
        at += max(blocks, 1) * BLOCK
    return total
