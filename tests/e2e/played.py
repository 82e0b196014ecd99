# timeout: 300
"""Some programs of the yardstick, run by each MPI: the same records as simulated, and no worse a verdict."""
from common import end
from played_programs import MPIS, hold

for mpi in MPIS:
    hold(range(1, 1000), 4, mpi)
end()
