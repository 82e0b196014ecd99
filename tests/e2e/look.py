# timeout: 300
# waits
"""hpctop look: jobs that were not recorded, read from outside: who has not come, and where each rank is, in C and in
Python; no healthy one is said to hang, and each goes on as it did."""
import ctypes
import os
import platform
import re
import shutil
import signal
import subprocess

from common import check, end, hpctop, run, skip, start, stop, wait_for, workload
from waiting_program import WAITS

try:  # arguments are known where libdw tells registers of frames (0.188), on x86-64
    KNOWN = platform.machine() == "x86_64" and hasattr(ctypes.CDLL("libdw.so.1"), "dwfl_frame_reg")
except OSError:
    KNOWN = False


def known(arguments):
    return " " + arguments if KNOWN else ""


WORLD = "on MPI_COMM_WORLD of 4 ranks"
# Mode: what is said of it.
HANGS = {
    "tag": r"rank 0 has not come to MPI_Barrier, where 3 of 4 ranks wait: in MPI_Recv" + known("from 1 tag 9 " + WORLD) + r" at hang_modes\.c:\d+ in tag\n",
    "missing": r"rank 2 has not come to MPI_Barrier, where 3 of 4 ranks wait: outside MPI, on a processor 0% of the time, at \S+ in missing\n",
    "missing_spin": r"rank 2 has not come to MPI_Barrier, where 3 of 4 ranks wait: outside MPI, on a processor \d+% of the time, at "
                    r"hang_modes\.c:\d+ in missing_spin\n",
    "comm": r"rank 0 has not come to MPI_Barrier, where 3 of 4 ranks wait: in MPI_Recv" + known("from 1 tag 9 on a communicator of 4 ranks") +
            r" at hang_modes\.c:\d+ in comm\n",
    "recv_cycle": (r"ranks 0-3 wait for each other, 0 -> 3 -> 2 -> 1 -> 0: rank 0 is in MPI_Recv" + known("from 3 tag 3 " + WORLD) +
                   r" at hang_modes\.c:\d+ in recv_cycle\n" if KNOWN else r"all ranks wait in messages, perhaps for each other\n"),
}
ROOTS = r"rank 2 called MPI_Bcast with other arguments than the other 3: rank 2 is in MPI_Bcast root 2 " + WORLD + r" at hang_modes\.c:\d+ in root\n"
WORKS = {"compute": "rank 2 ", "waits": ""}


def processes(program):
    """Processes of a program that were started here, by their working directory."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if (int(pid) != os.getpid() and os.path.basename(os.readlink("/proc/%s/exe" % pid)) == program and
                    os.readlink("/proc/%s/cwd" % pid) == os.getcwd()):
                found.append(int(pid))
        except OSError:
            pass
    return found


def looked_at(name, program, words, n=4, launcher=None):
    """What is said of a job as soon as it is what it will be; it runs on."""
    job = (subprocess.Popen(launcher + words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True) if launcher else
           start(n, words, preload=False))
    pids = wait_for(lambda: (lambda found: found if len(found) == n else None)(processes(program)))
    if check(name + ": runs", pids, processes(program)):
        yield lambda: hpctop("look", str(pids[0]))
        check(name + ": all its processes are still there", sorted(processes(program)) == sorted(pids) and job.poll() is None)
    stop(job)
    for pid in processes(program):  # those of a launcher that was killed stay
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not processes(program))


def hangs():
    for mode, want in HANGS.items():
        for look in looked_at(mode, "hang_modes", [workload("hang_modes"), mode]):
            r = wait_for(lambda: (lambda r: r if re.search(want, r.out) else None)(look())) or look()
            check("%s: who has not come, and where" % mode, r.code == 0 and r.out.startswith("4 ranks of hang_modes, not recorded") and
                  re.search(want, r.out), r)
            check("%s: never more than likely" % mode, re.search(r"^certainty: (likely|possible); ", r.out, re.M), r)
            check("%s: ranks at one place are one group" % mode, mode != "tag" or re.search(r"^ranks 1-3  MPI_Barrier" + known(WORLD) + r"\n    hang_modes\.c:\d+ in main$",
                                                                                        r.out, re.M), r)


def works():
    for mode, want in WORKS.items():
        for look in looked_at(mode, "hang_not", [workload("hang_not"), mode, "1000"]):
            r = wait_for(lambda: (lambda r: r if "MPI_" in r.out and "MPI_Init" not in r.out else None)(look()))
            check("%s: is not said to hang" % mode, r and r.code == 0 and "hung" not in r.out and
                  (want in r.out or "the job moves" in r.out), r)


def is_stopped():
    """A rank that a signal has stopped, which its call hides."""
    for look in looked_at("stopped", "hang_not", [workload("hang_not"), "waits", "1000"]):
        pid = processes("hang_not")[-1]
        os.kill(pid, signal.SIGSTOP)
        r = wait_for(lambda: (lambda r: r if "stopped" in r.out else None)(look())) or look()
        check("the rank that is stopped", re.search(r"^rank \d is stopped by a signal", r.out, re.M), r)
        os.kill(pid, signal.SIGCONT)


def launched_otherwise():
    """MPICH, Fortran's names, and a recorded job."""
    if shutil.which("mpicc.mpich") and shutil.which("mpiexec.hydra"):
        source = os.path.join(os.environ["TOP"], "workloads/hang_modes.c")
        r = run(["mpicc.mpich", "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-I", os.path.dirname(source), "-o", "hang_mpich", source])
        if check("a program of MPICH", r.code == 0, r):
            for mode, want in (("tag", HANGS["tag"]), ("recv_cycle", HANGS["recv_cycle"]), ("root", ROOTS if KNOWN else "MPI_Bcast")):
                for look in looked_at("MPICH", "hang_mpich", ["./hang_mpich", mode], launcher=["mpiexec.hydra", "-n", "4"]):
                    r = wait_for(lambda: (lambda r: r if re.search(want, r.out) else None)(look())) or look()
                    check("MPICH: %s: who has not come, and where" % mode, re.search(want, r.out), r)
    else:
        skip("MPICH", "not installed")
    job = start(2, [workload("stencil"), "100000000"], os.path.abspath("seen"))
    pids = wait_for(lambda: processes("stencil"))
    r = wait_for(lambda: (lambda r: r if "recorded: hpctop stacks" in r.out else None)(hpctop("look", str(pids[0]))))
    check("a recorded job has a better command", r and r.code == 0 and "hpctop stacks " + os.path.abspath("seen") in r.out, r)
    stop(job)


PYTHON = """from mpi4py import MPI
def lose_time():
    while True: sum(range(1000))
def step(comm):
    if comm.rank == 1:
        lose_time()
    comm.Barrier()
step(MPI.COMM_WORLD)
"""


def python():
    """Python's own functions and lines stand where the interpreter's would."""
    if subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"], stderr=subprocess.DEVNULL).returncode:
        return skip("Python", "no mpi4py for /usr/bin/python3")
    with open("job.py", "w") as out:
        out.write(PYTHON)
    interpreter = os.path.realpath("/usr/bin/python3")
    want = r"rank 1 has not come to MPI_Barrier, where 2 of 3 ranks wait: outside MPI, on a processor \d+% of the time, at job\.py:3 in lose_time\n"
    for look in looked_at("Python", os.path.basename(interpreter), [interpreter, "job.py"], 3):
        r = wait_for(lambda: (lambda r: r if re.search(want, r.out) else None)(look())) or look()
        check("Python: who has not come, and where", re.search(want, r.out), r)
        for ranks, lines in ((r"ranks 0 and 2  MPI_Barrier" + known("on MPI_COMM_WORLD of 3 ranks"), (7, 8)), (r"rank 1  outside MPI, .*", (3, 6, 8))):
            path = "".join(r"    job\.py:%d in \S+\n" % line for line in lines)
            check("Python: the path of " + ranks, re.search("^" + ranks + r"\n(?:    \S+\n)*" + path + "(?:\n|$)", r.out, re.M), r)
        check("Python: no function of the interpreter", "PyEval" not in r.out and "_Py" not in r.out, r)


ASKS = r"""
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int me, in[2] = {1, 2}, out[2] = {0};
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    alarm(100);
    if (me == 0)
        MPI_Send(in, 2, MPI_INT, 1, 22, MPI_COMM_WORLD);
    while (me == 1)
        pause();
    if (me == 2) {
        MPI_Irecv(in, 2, MPI_INT, 1, 77, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (me == 3)
        MPI_Probe(1, 4321, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 4)
        MPI_Ssend(in, 2, MPI_INT, 1, 5, MPI_COMM_WORLD);
    if (me == 5)
        MPI_Recv(in, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 6)
        MPI_Reduce(in, out, 2, MPI_INT, MPI_SUM, 6, MPI_COMM_WORLD);
    MPI_Allreduce(in, out, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return out[0];
}
"""
ASKED = {  # rank: call, arguments with Open MPI, arguments with MPICH; "": the library does not show them
    0: ("MPI_Allreduce", WORLD, WORLD),
    2: ("MPI_Wait", "with 1 tag 77 " + WORLD, ""),
    3: ("MPI_Probe", "from 1 tag 4321 " + WORLD, ""),
    4: ("MPI_Ssend", "to 1 tag 5 " + WORLD, "to 1 tag 5 " + WORLD),
    5: ("MPI_Recv", "from any rank any tag " + WORLD, "from any rank any tag " + WORLD),
    6: ("MPI_Reduce", WORLD, "root 6 " + WORLD),
}


def arguments():
    """Partner, tag, root and communicator of calls in which ranks wait for rank 1, by two MPIs, as far as each shows them."""
    if not KNOWN:
        return skip("arguments", "not on x86-64 with libdw 0.188")
    with open("asks.c", "w") as out:
        out.write(ASKS)
    for name, compiler, launcher, column in (("Open MPI", "mpicc.openmpi", None, 1),
                                             ("MPICH", "mpicc.mpich", ["mpiexec.hydra", "-n", "7"], 2)):
        if not shutil.which(compiler) or not shutil.which("mpiexec.hydra" if launcher else "mpirun.openmpi"):
            skip("arguments, " + name, "not installed")
            continue
        program = "asks" + compiler[-5:]
        r = run([compiler, "-g", "-O1", "-o", program, "asks.c"])
        check(name + ": the program", r.code == 0, r)
        want = {rank: "^rank %d  %s%s\n    asks\\.c:\\d+ in main$" % (rank, asked[0], asked[column] and " " + asked[column].replace("of 4", "of 7"))
                for rank, asked in ASKED.items()}
        for look in looked_at(name, program, ["./" + program], 7, launcher):
            r = wait_for(lambda: (lambda r: r if all(re.search(one, r.out, re.M) for one in want.values()) else None)(look()), 60) or look()
            for rank, one in want.items():
                check("%s: arguments of %s" % (name, ASKED[rank][0]), re.search(one, r.out, re.M), r.out)


TABLE = r"""
__asm__(".text\n.balign 16\n.type spins,@function\nspins:\n.cfi_startproc\n"
        ".cfi_escape 0x0f,0x0b,0x77,0x08,0x80,0x00,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22\njmp spins\n.cfi_endproc\n.size spins,.-spins\n");
void spins(void);
__attribute__((noinline)) int MPI_Barrier(int comm)
{
    spins();
    return comm;
}
int main(void)
{
    return MPI_Barrier(0);
}
"""


def linkage_table():
    """A thread inside an entry of a procedure linkage table, whose rule for the caller needs the program counter."""
    if platform.machine() != "x86_64":
        return skip("linkage table", "not on x86-64")
    with open("table.c", "w") as out:
        out.write(TABLE)
    r = run(["gcc", "-g", "-O1", "-o", "table", "table.c"])
    check("the program with such a rule", r.code == 0, r)
    jobs = [subprocess.Popen(["./table"], env=dict(os.environ, RANK=str(i), MASTER_PORT=str(os.getpid() * 100 + 1))) for i in range(2)]
    wait_for(lambda: len(processes("table")) == 2)
    r = hpctop("look", str(jobs[0].pid))
    check("the callers of a linkage table are found", re.search(r"^ranks 0 and 1  MPI_Barrier\n    table\.c:\d+ in main$", r.out, re.M), r)
    for job in jobs:
        job.kill()
        job.wait()


def many():
    """64 processes: four looks in a second, and what is read of each is no more than of one among eight."""
    if not shutil.which("strace"):
        return skip("64 processes", "no strace")
    with open("waits.c", "w") as out:
        out.write(WAITS)
    run(["gcc", "-g", "-O1", "-o", "waits", "waits.c"])
    opened = {}
    for n in (8, 64):
        jobs = [subprocess.Popen(["./waits"], env=dict(os.environ, RANK=str(i), MASTER_PORT=str(os.getpid() * 100 + n))) for i in range(n)]
        wait_for(lambda: len(processes("waits")) == n)
        words = ["strace", "-f", "-e", "trace=openat,process_vm_readv", "-o", "calls", os.environ["HPCTOP"], "look", str(jobs[0].pid)]
        r = wait_for(lambda: (lambda r: r if "all %d ranks wait in MPI_Barrier" % n in r.out else None)(run(words)))
        check("%d processes: all are read" % n, r)
        with open("calls") as f:
            calls = f.read()
        check("%d processes: four looks, and a read of memory for each" % n, calls.count("process_vm_readv(") == 4 * n, calls[-300:])
        opened[n] = max(calls.count('"/proc/%d/' % job.pid) for job in jobs)
        for job in jobs:
            job.kill()
            job.wait()
    check("64 processes: as many files of each as of one among 8", 0 < opened[64] <= opened[8], opened)


def nothing():
    r = hpctop("look", "1")
    check("no job", r.code == 2 and "no such job" in r.err and not r.out, r)
    r = hpctop("look", "--all", "1")
    check("wrong usage", r.code == 64 and r.err, r)


hangs()
works()
is_stopped()
launched_otherwise()
python()
arguments()
linkage_table()
many()
nothing()
end()
