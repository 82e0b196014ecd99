"""Two threads a rank, each reduces Python objects on a communicator of its own: mpi4py duplicates a communicator the
first time, and holds Python's lock meanwhile.  Rank 0 begins with A, rank 1 with B, and the other thread of each cannot
come to its call, since the lock is taken.  Hangs with mpi4py before #789 (mpi4py/mpi4py#784); ends by alarm."""
import signal
import threading
import time

import mpi4py

mpi4py.rc.thread_level = "multiple"
from mpi4py import MPI  # noqa: E402

signal.alarm(180)
world = MPI.COMM_WORLD
rank = world.Get_rank()
a, b = world.Dup(), world.Dup()
a.Set_name("A")
b.Set_name("B")
world.Barrier()


def one(comm, late):
    if late:
        time.sleep(0.5)
    comm.allreduce("x")


first, second = (a, b) if rank == 0 else (b, a)
other = threading.Thread(target=one, args=(second, True))
other.start()
one(first, False)
other.join()
print("rank %d came through" % rank, flush=True)
while True:
    time.sleep(1)
