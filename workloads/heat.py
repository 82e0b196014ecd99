"""heat.py: heat on a plate, in blocks of rows.  Rank 2 reads its rim from a slow source in each step, and every 20
steps rank 0 saves the plate.  Both sleep, so that the answer is the same on few cores.

hpctop demo has a recording of it, which make sample renews."""
import time
from array import array

from mpi4py import MPI

import hpctop

WIDE, HIGH, STEPS = 40, 8, 100
world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size


@hpctop.region("relax")
def relax(rows):
    change = 0.0
    for y in range(1, HIGH - 1):
        for x in range(1, WIDE - 1):
            was = rows[y][x]
            rows[y][x] = 0.25 * (rows[y - 1][x] + rows[y + 1][x] + rows[y][x - 1] + rows[y][x + 1])
            change = max(change, abs(rows[y][x] - was))
    return change


@hpctop.region("read rim")
def read_rim(rows):
    time.sleep(0.01)
    rows[0][0] = 1.0


@hpctop.region("exchange")
def exchange(rows):
    up, down = rank - 1 if rank else MPI.PROC_NULL, rank + 1 if rank + 1 < ranks else MPI.PROC_NULL
    requests = [world.Irecv(rows[0], up, 1), world.Irecv(rows[-1], down, 2)]
    requests += [world.Isend(rows[1], up, 2), world.Isend(rows[-2], down, 1)]
    MPI.Request.Waitall(requests)


@hpctop.region("save")
def save(rows):
    whole = array("d", bytes(8 * WIDE * ranks)) if rank == 0 else None
    world.Gather(rows[1], whole, root=0)
    if rank == 0:
        time.sleep(0.04)


rows = [array("d", [float(rank)] * WIDE) for _ in range(HIGH)]
largest = array("d", [0.0])
for step in range(STEPS):
    exchange(rows)
    if rank == 2:
        read_rim(rows)
    change = relax(rows)
    world.Allreduce(array("d", [change]), largest, MPI.MAX)
    if step % 20 == 19:
        save(rows)
