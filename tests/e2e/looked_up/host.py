"""host.c in Python: host.py LIBRARY."""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL)
try:
    world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, "ompi_mpi_comm_world")))
except ValueError:
    world = ctypes.c_int(0x44000000)
rank = ctypes.c_int(-1)
library.MPI_Init(None, None)
for i in range(10):
    library.MPI_Comm_rank(world, ctypes.byref(rank))
for i in range(3):
    library.MPI_Barrier(world)
print("rank", rank.value)
library.MPI_Finalize()
