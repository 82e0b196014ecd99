"""mpi4py as people use it: what goes wrong is the first argument."""
import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
what = sys.argv[1]


def steps(count, seconds=0.005):
    for _ in range(count):
        time.sleep(seconds)
        comm.allreduce(rank)


def raises():
    """An exception on one rank: Python tells of it and goes to MPI_Finalize, the others are in a sum."""
    steps(20)
    if rank == 2:
        {}["weights"]
    steps(20)


def tag():
    steps(20)
    if rank == 0:
        for w in range(1, size):
            comm.send({"model": [0.0] * 10}, dest=w, tag=w if w != 3 else 30)
    else:
        comm.recv(source=0, tag=rank)
    comm.barrier()


def only_root():
    """The classic: a collective under `if rank == 0`."""
    steps(20)
    if rank == 0:
        comm.bcast("parameters", root=0)
        comm.gather(1, root=0)
    steps(20)


def pairs():
    """Objects large enough for no buffer are sent by both before either receives."""
    steps(20)
    data = [0.5] * 1000000
    other = rank ^ 1
    comm.send(data, dest=other)
    comm.recv(source=other)
    comm.barrier()


def sleeps():
    steps(20)
    if rank == 1:
        time.sleep(1000)
    steps(20)


def polls():
    """Waits for an answer that goes to somebody else."""
    steps(20)
    if rank == 3:
        request = comm.irecv(source=0, tag=5)
        while not request.test()[0]:
            time.sleep(0.001)
    if rank == 0:
        comm.send("answer", dest=2, tag=5)
    comm.barrier()


def late():
    for _ in range(200):
        time.sleep(0.05 if rank == 2 else 0.01)
        comm.allreduce(rank)


def farm_ok():
    """A pool with a master that looks for results every 10 ms."""
    if rank == 0:
        left = 60
        for w in range(1, size):
            comm.send(1, dest=w, tag=1)
        while left:
            if not comm.iprobe(source=MPI.ANY_SOURCE, tag=2):
                time.sleep(0.01)
                continue
            status = MPI.Status()
            comm.recv(source=MPI.ANY_SOURCE, tag=2, status=status)
            left -= 1
            comm.send(1, dest=status.Get_source(), tag=1)
        for w in range(1, size):
            comm.send(0, dest=w, tag=1)
    else:
        while comm.recv(source=0, tag=1):
            time.sleep(0.2 * rank)
            comm.send(rank, dest=0, tag=2)


globals()[what]()
