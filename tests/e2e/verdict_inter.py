# timeout: 300
"""Two groups that do not meet in an intercommunicator, calls that a callback of MPI makes, and ends by the library."""
import os
import shutil
import subprocess

from common import TOP, check, end, hpctop, wait_for, workload
from verdicts import aborted, count, hang, healthy, hung, kill_group, start

PROGRAM = "hang_inter"


def says(want, words):
    return dict(want, says=words)


hang("tags", 4, says(hung("mismatched-collective", [0, 2]), "gave tag 7 to MPI_Intercomm_create where rank 2"),
     program=PROGRAM)
hang("leader", 4, says(hung("mismatched-collective", [2]), "rank 2 named rank 1"), program=PROGRAM)
hang("root", 4, says(hung("mismatched-collective", [1]), "no MPI_ROOT"), program=PROGRAM)
hang("handler", 4, says(hung("missing-in-collective", [1]), "MPI_Barrier on rank 1, at hang_inter.c:"), program=PROGRAM)
hang("handler", 4, says(hung("missing-in-collective", [1]), "rank 1 called MPI_Send at hang_inter.c:"), program=PROGRAM)
hang("finalizer", 3, says(hung("inside-operation", [0]), "MPI_Recv on rank 0, at hang_inter.c:"), program=PROGRAM)
hang("group", 4, says(hung("mismatched-collective", [2]), "rank 2 gave tag 5 to MPI_Comm_create_group on MPI_COMM_WORLD where the other 2 gave tag 4"),
     program=PROGRAM)
hang("member", 4, says(hung("missing-in-collective", [1]), "rank 1 has not come to MPI_Comm_create_group on MPI_COMM_WORLD, where 2 of 3 wait"),
     program=PROGRAM)
hang("signal", 4, says(hung("mismatched-collective", [0]), "before that rank 0 called MPI_Barrier at hang_inter.c:"), program=PROGRAM)
hang("listener", 3, says(hung("missing-in-collective", [1]), "rank 1 has not come to MPI_Barrier"), program=PROGRAM)
hang("offset", 4, says(hung("mismatched-collective", [3]), "MPI_File_write_at_all on file offset.dat failed on rank 3, which went on"),
     program=PROGRAM, OMPI_MCA_io="romio321")
hang("win_test", 4, says(hung("wait-cycle", [2]), "rank 2 has not called MPI_Win_complete"), program=PROGRAM)
hang("line", 3, says(hung("missing-in-collective", [2]), "number 3 in use of those made at hang_inter.c:"), program=PROGRAM)
hang("models", 4, says(hung("missing-in-collective", [1]), "rank 1 has left out MPI_Reduce on an intercommunicator of"), program=PROGRAM)
healthy("late", 4, ("healthy", "waiting"), program=PROGRAM)
hang("itself", 3, says(aborted("dead-rank", [1]), "ended itself by SIGTERM"), live=False, program=PROGRAM)
hang("refused", 3, says(aborted("early-exit", [1]), "MPI_ERR_TAG"), live=False, program=PROGRAM)
if shutil.which("mpicc.mpich") and shutil.which("mpirun.mpich"):
    subprocess.run(["mpicc.mpich", "-std=c11", "-D_GNU_SOURCE", "-g", "-w", "-o", "inter.mpich",
                    os.path.join(TOP, "workloads", "hang_inter.c")], check=True)
    hang("refused by MPICH", 3, says(aborted("early-exit", [1]), "Invalid tag, value is -7"), live=False,
         command=[os.path.abspath("inter.mpich"), "refused"], launcher="mpirun.mpich")


def looks(program, mode, words):
    """The verdict of a running job asks for stacks before they are due, and looks where a rank runs that has none."""
    folder, seen = "l-" + mode, []
    p = start(4, [workload(program), mode, "60"], folder)

    def named():
        seen[:] = [hpctop("verdict", "--hang", "2", folder).out]
        return words in seen[0]

    check("%s: where it is" % mode, wait_for(named, 20), seen)
    kill_group(p)


looks(PROGRAM, "late", "rank 2 is at hang_inter.c:")
looks("hang_modes", "missing", "<- pause() (blocked)")
count.show()
end()
