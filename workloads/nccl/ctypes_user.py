"""ctypes_user.py FOLDER LIBNCCL...: NCCL loaded by the program itself, as JAX, CuPy and XGBoost do.  Each library
given is a copy of its own, with a communicator of its own; ids go through FOLDER, rank and size come from RANK and WORLD_SIZE.
Truth, on each rank and for each library: one ncclCommInitRank and ncclCommDestroy, TIMES ncclAllReduce of 64 B,
TIMES ncclBroadcast of 12 B from rank 0, in one ncclGroupStart and ncclGroupEnd."""
import ctypes
import json
import os
import sys
import time

TIMES = 5
INT32, FLOAT32, SUM = 2, 7, 0


class Id(ctypes.Structure):  # 128 bytes, handed over by value
    _fields_ = [("internal", ctypes.c_char * 128)]


def share(nccl, path, rank):
    unique = Id()
    if rank == 0:
        assert nccl.ncclGetUniqueId(ctypes.byref(unique)) == 0
        with open(path + ".part", "wb") as f:
            f.write(bytes(unique))
        os.rename(path + ".part", path)
    while not os.path.exists(path):
        time.sleep(0.001)
    with open(path, "rb") as f:
        return Id.from_buffer_copy(f.read())


def use(nccl, cuda, path, rank, size):
    comm, stream = ctypes.c_void_p(), ctypes.c_void_p()
    assert nccl.ncclCommInitRank(ctypes.byref(comm), size, share(nccl, path, rank), rank) == 0
    assert cuda.cudaStreamCreate(ctypes.byref(stream)) == 0
    device = ctypes.c_void_p()
    assert cuda.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(64)) == 0
    host = (ctypes.c_int32 * 16)(*([rank + 1] * 16))
    cuda.cudaMemcpy(device, host, ctypes.c_size_t(64), 1)
    call = [ctypes.c_size_t(16), INT32, SUM, comm, stream]
    for _ in range(TIMES):
        assert nccl.ncclAllReduce(device, device, *call) == 0
    cuda.cudaStreamSynchronize(stream)
    cuda.cudaMemcpy(host, device, ctypes.c_size_t(64), 2)
    assert host[15] == sum(range(1, size + 1)) * size ** (TIMES - 1), list(host)
    nccl.ncclGroupStart()
    for _ in range(TIMES):
        assert nccl.ncclBroadcast(device, device, ctypes.c_size_t(3), FLOAT32, 0, comm, stream) == 0
    assert nccl.ncclGroupEnd() == 0
    cuda.cudaStreamSynchronize(stream)
    assert nccl.ncclCommDestroy(comm) == 0


def truth(path, size, libraries):
    each = lambda calls, sent=0, received=0: {"calls": calls, "bytes_sent": sent, "bytes_received": received}
    n, count = size * libraries, TIMES * libraries
    with open(path, "w") as f:
        json.dump({"ranks": size, "pairs": [], "waits": [], "calls": {
            "ncclCommInitRank": each(n), "ncclCommDestroy": each(n), "ncclGroupStart": each(n), "ncclGroupEnd": each(n),
            "ncclAllReduce": each(n * TIMES, n * TIMES * 64, n * TIMES * 64),
            "ncclBroadcast": each(n * TIMES, count * 12, (size - 1) * count * 12)},
            "ranks_detail": [{"rank": r, "calls": libraries * (4 + 2 * TIMES), "bytes_sent": count * (64 + (12 if r == 0 else 0)),
                              "bytes_received": count * (64 + (0 if r == 0 else 12))} for r in range(size)]}, f)


folder, libraries = sys.argv[1], sys.argv[2:]
me, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
runtime = ctypes.CDLL(os.environ.get("LIBCUDART", "libcudart.so.13"))
for i, library in enumerate(libraries):
    use(ctypes.CDLL(library), runtime, "%s/id%d" % (folder, i), me, ranks)
if me == 0 and os.environ.get("TRUTH"):
    truth(os.environ["TRUTH"], ranks, len(libraries))
