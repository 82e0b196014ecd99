"""montecarlo_pi buffers|objects [samples]: pi by drawing points, the way courses teach mpi4py.

buffers: a Bcast of the plan (2 doubles), a Scatter of seeds (8 bytes a rank), then ROUNDS times a Reduce of the hits
(8 bytes) and an Allreduce of the worst deviation (8 bytes), a Gather of the times (8 bytes a rank), and a Sendrecv of
40 bytes around the ring.
objects: the same with Python objects.  mpi4py sends an object as its pickle; a collective first tells the size (WORD
bytes), so bcast is two MPI_Bcast, scatter MPI_Scatter and MPI_Scatterv, gather MPI_Gather and MPI_Gatherv.  reduce goes
up a tree in pairs of MPI_Send (size, pickle), allreduce adds a bcast, send is one MPI_Send that is taken by
MPI_Mprobe and MPI_Mrecv.
Rank 0 prints pi; with TRUTH=file it writes the answer as the C workloads do (truth.h)."""
import json
import os
import random
import sys
import time

import mpi4py
from mpi4py import MPI

try:
    from numpy import array as make
except ImportError:
    from array import array

    def make(values, kind):
        return array({"f8": "d", "i8": "q"}[kind], values)

ROUNDS = 10
WORD = 8 if int(mpi4py.__version__.split(".")[0]) >= 4 else 4  # MPI_Count, before mpi4py 4 an int
comm = MPI.COMM_WORLD
me, n = comm.Get_rank(), comm.Get_size()
samples = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
calls, pairs = {}, {}


def truth(rank, name, times, sent, received):
    c = calls.setdefault((rank, name), [0, 0, 0])
    c[0], c[1], c[2] = c[0] + times, c[1] + sent, c[2] + received


def message(source, destination, size, receive="MPI_Recv"):
    truth(source, "MPI_Send", 1, size, 0)
    truth(destination, receive, 1, 0, size)
    pair(source, destination, size)


def pair(source, destination, size):
    p = pairs.setdefault((source, destination), [0, 0])
    p[0], p[1] = p[0] + 1, p[1] + size


def pickled(thing):
    return len(MPI.pickle.dumps(thing))


def draw(generator):
    return sum(generator.random() ** 2 + generator.random() ** 2 <= 1 for _ in range(samples))


def buffers():
    plan = make([samples, ROUNDS] if me == 0 else [0, 0], "f8")
    comm.Bcast(plan, root=0)
    assert plan[0] == samples
    seed, all_seeds = make([0], "i8"), make(list(range(100, 100 + n)), "i8") if me == 0 else None
    comm.Scatter(all_seeds, seed, root=0)
    assert seed[0] == 100 + me
    generator, begin, estimate = random.Random(int(seed[0])), time.monotonic(), 0
    for _ in range(ROUNDS):
        hits, total = make([draw(generator)], "i8"), make([0], "i8")
        comm.Reduce(hits, total, op=MPI.SUM, root=0)
        if me == 0:
            estimate += 4 * int(total[0]) / samples / n / ROUNDS
        mine, worst = make([abs(4 * int(hits[0]) / samples - 3.14159)], "f8"), make([0], "f8")
        comm.Allreduce(mine, worst, op=MPI.MAX)
        assert worst[0] >= mine[0]
    took, all_took = make([time.monotonic() - begin], "f8"), make([0] * n, "f8")
    comm.Gather(took, all_took if me == 0 else None, root=0)
    out, into = make([me] * 5, "i8"), make([0] * 5, "i8")
    comm.Sendrecv(out, dest=(me + 1) % n, recvbuf=into, source=(me - 1) % n)
    assert into[4] == (me - 1) % n
    return estimate


def truth_of_buffers():
    for r in range(n):
        root = r == 0
        truth(r, "MPI_Bcast", 1, 16 * root, 16 * (not root))
        truth(r, "MPI_Scatter", 1, 8 * n * root, 8)
        truth(r, "MPI_Reduce", ROUNDS, 8 * ROUNDS, 8 * ROUNDS * root)
        truth(r, "MPI_Allreduce", ROUNDS, 8 * ROUNDS, 8 * ROUNDS)
        truth(r, "MPI_Gather", 1, 8, 8 * n * root)
        truth(r, "MPI_Sendrecv", 1, 40, 40)
        pair(r, (r + 1) % n, 40)


def objects():
    plan = comm.bcast({"samples": samples, "rounds": ROUNDS} if me == 0 else None, root=0)
    assert plan["samples"] == samples
    seed = comm.scatter(list(range(100, 100 + n)) if me == 0 else None, root=0)
    assert seed == 100 + me
    generator, begin, estimate = random.Random(seed), time.monotonic(), 0
    for _ in range(ROUNDS):
        share = draw(generator) / samples
        total = comm.reduce(share, op=MPI.SUM, root=0)
        if me == 0:
            estimate += 4 * total / n / ROUNDS
        assert comm.allreduce(share, op=MPI.MAX) >= share
    everyone = comm.gather(time.monotonic() - begin, root=0)
    assert (everyone is not None) == (me == 0)
    if n > 1 and me == 0:
        comm.send({"done": True}, dest=1, tag=7)
    if me == 1:
        assert comm.recv(source=0, tag=7) == {"done": True}
    return estimate


def truth_of_tree(size):
    """A reduce of objects of one size to rank 0.  At each level all take part, also those whose part has gone up."""
    bit = 1
    while bit < n:
        for r in range(n):
            if r & bit:
                message(r, r & ~bit, WORD)
                message(r, r & ~bit, size)
        bit *= 2


def truth_of_bcast(size):
    for r in range(n):
        truth(r, "MPI_Bcast", 2, (WORD + size) * (r == 0), (WORD + size) * (r != 0))


def truth_of_objects():
    number = pickled(0.5)  # every float is as long
    truth_of_bcast(pickled({"samples": samples, "rounds": ROUNDS}))
    seeds = [pickled(100 + r) for r in range(n)]
    for r in range(n):
        root = r == 0
        truth(r, "MPI_Scatter", 1, WORD * n * root, WORD)
        truth(r, "MPI_Scatterv", 1, sum(seeds) * root, seeds[r])
        truth(r, "MPI_Gather", 1, WORD, WORD * n * root)
        truth(r, "MPI_Gatherv", 1, number, number * n * root)
    for _ in range(ROUNDS):
        truth_of_tree(number)
        truth_of_tree(number)
        truth_of_bcast(number)
    if n > 1:
        message(0, 1, pickled({"done": True}), "MPI_Mrecv")
        truth(1, "MPI_Mprobe", 1, 0, 0)


def write_truth(path):
    by_name = {}
    for (_, name), c in calls.items():
        s = by_name.setdefault(name, [0, 0, 0])
        by_name[name] = [a + b for a, b in zip(s, c)]
    keys = ("calls", "bytes_sent", "bytes_received")
    ranks = [{"rank": r, "bytes_sent": sum(c[1] for (k, _), c in calls.items() if k == r),
              "bytes_received": sum(c[2] for (k, _), c in calls.items() if k == r)} for r in range(n)]
    with open(path, "w") as f:
        json.dump({"ranks": n, "calls": {name: dict(zip(keys, c)) for name, c in by_name.items()}, "ranks_detail": ranks,
                   "pairs": [{"src": s, "dst": d, "messages": p[0], "bytes": p[1]} for (s, d), p in sorted(pairs.items())],
                   "waits": []}, f)


kind = sys.argv[1]
pi = {"buffers": buffers, "objects": objects}[kind]()
if me == 0:
    print("pi is %.2f" % pi)
    if os.environ.get("TRUTH"):
        {"buffers": truth_of_buffers, "objects": truth_of_objects}[kind]()
        write_truth(os.environ["TRUTH"])
