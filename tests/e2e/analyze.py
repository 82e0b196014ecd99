# timeout: 300
"""hpctop analyze with threads, and with the processes of a job of MPI: what is kept is the same to the byte, however many
they are; where one of them cannot take part, nothing is kept and it is said why."""
import os
import shutil
import signal
import subprocess
import time

from common import BUILD, HPCTOP, check, end, mpirun, run, skip, traces, wait_for, workload

ENV = dict(os.environ, XDG_CACHE_HOME=os.path.abspath("cache"))
LAUNCHERS = [("Open MPI", ["mpirun"])]
if shutil.which("mpirun.mpich"):
    LAUNCHERS.append(("MPICH", ["mpirun.mpich"]))
else:
    skip("MPICH", "no mpirun.mpich here")


turn = 0


def index_of(folder):
    return os.path.join(folder, "index", "analysis")


def kept(folder, command):
    """What a command keeps of the folder; None, and what it said, if that is not as it should be."""
    shutil.rmtree(os.path.join(folder, "index"), ignore_errors=True)
    done = run(command + [folder], ENV, timeout=100)
    if done.code != 0 or done.err or done.out != index_of(folder) + "\n":
        return None, done
    with open(index_of(folder), "rb") as f:
        return f.read(), done


def same(name, folder):
    alone, done = kept(folder, [HPCTOP, "analyze", "-j", "1"])
    if not check(name + ": alone", alone, done):
        return
    ways = [("%d threads" % n, [HPCTOP, "analyze", "-j", str(n)]) for n in (2, 4, 8)]
    global turn
    turn += 1  # each MPI has each number of processes, of one trace or another
    ways += [("%d processes of %s" % (n, mpi), command + ["-n", str(n), HPCTOP, "analyze"])
             for i, (mpi, command) in enumerate(LAUNCHERS) for n in ((1, 3), (2, 7))[(turn + i) % 2]]
    for way, command in ways:
        bytes_, done = kept(folder, command)
        check("%s: %s" % (name, way), bytes_ == alone, done)


def many(folder, *more):
    run([os.path.join(BUILD, "tests/many/many"), *more, folder])
    return folder


def jobs():
    """Jobs that ended in order, on several hosts, with a rank that is missing, with files that end early, and with a ring of
    which the oldest events are gone."""
    mpirun(4, [workload("stencil"), "60"], "stencil")
    same("a real job", "stencil")
    same("two hosts", many("hosts", "--ranks", "16", "--hosts", "2", "--rounds", "700"))
    same("many ranks", many("ranks", "--ranks", "300", "--hosts", "24", "--rounds", "10"))
    shutil.copytree("hosts", "missing")
    os.remove(traces("missing")[5])
    same("a rank is missing", "missing")
    mpirun(2, [workload("pingpong"), "100000"], "ring", HPCTOP_LIMIT="256K")
    check("its oldest events are gone", os.path.getsize(traces("ring")[0]) < 400000, os.path.getsize(traces("ring")[0]))
    same("oldest events are gone", "ring")


def damaged():
    """What another process finds damaged counts as if the first had found it."""
    shutil.copytree("hosts", "damaged")
    path = traces("damaged")[15]
    size = os.path.getsize(path)
    with open(path, "r+b") as f:
        for at in range(size // 2, size - 4096, 4096):
            f.seek(at + 700)
            f.write(b"\xff" * 64)
    shutil.rmtree("damaged/index", ignore_errors=True)
    alone = run([HPCTOP, "analyze", "damaged"], ENV)
    check("damaged: alone", alone.code == 2 and "damaged" in alone.err, alone)
    for mpi, command in LAUNCHERS:
        done = run(command + ["-n", "3", HPCTOP, "analyze", "damaged"], ENV, timeout=100)
        check("damaged: " + mpi, done.code == 2 and alone.err.strip() in done.err and not done.out, done)
    check("damaged: nothing is kept", not os.path.exists("damaged/index"))


def differing():
    """One process finds no trace, or another one."""
    os.makedirs("elsewhere/none", exist_ok=True)
    os.makedirs("elsewhere/other", exist_ok=True)
    shutil.copytree("ring", "elsewhere/other/hosts")
    shutil.rmtree("hosts/index", ignore_errors=True)
    for where, says in (("none", "hosts: no trace files"), ("other", "other files")):
        script = "if [ $OMPI_COMM_WORLD_RANK = 2 ]; then cd elsewhere/%s; fi; exec %s analyze hosts" % (where, HPCTOP)
        done = run(["mpirun", "-n", "3", "sh", "-c", script], ENV, timeout=60)
        check("process 2 finds %s" % where, done.code == 2 and "process 2, on " in done.err and says in done.err and
              not done.out and not os.path.exists("hosts/index"), done)
    script = "if [ $OMPI_COMM_WORLD_RANK = 0 ]; then cd elsewhere/none; fi; exec %s analyze hosts" % HPCTOP
    done = run(["mpirun", "-n", "3", "sh", "-c", script], ENV, timeout=60)
    check("the first finds none", done.code == 2 and "hosts: no trace files" in done.err, done)


def processes_of(folder):
    found = subprocess.run(["pgrep", "-f", "analyze " + folder + "$"], stdout=subprocess.PIPE).stdout.split()
    return [int(p) for p in found if os.path.realpath("/proc/%d/exe" % int(p)) == os.path.realpath(HPCTOP)]


def killed():
    """A process that dies takes the others with it; no half an index is left."""
    folder = os.path.abspath(many("large", "--ranks", "16", "--hosts", "2", "--rounds", "20000"))
    for mpi, command in LAUNCHERS:
        job = subprocess.Popen(command + ["-n", "3", HPCTOP, "analyze", folder], env=ENV, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
        wait_for(lambda: len(processes_of(folder)) == 3, 20)
        last = sorted(processes_of(folder))[-1:]
        for process in last:
            os.kill(process, signal.SIGSTOP)  # before it has given all it reads
        time.sleep(0.7)
        for process in last:
            os.kill(process, signal.SIGKILL)
        try:
            said = job.communicate(timeout=60)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            job.kill()
            said = "it goes on"
        check("killed: %s ends" % mpi, last and job.returncode not in (0, None, -9) and said, said[-300:])
        check("killed: %s leaves nobody" % mpi, wait_for(lambda: not processes_of(folder), 20), processes_of(folder))
        check("killed: %s keeps nothing" % mpi, not os.path.exists(index_of(folder)))


def without_mpi():
    """A launcher whose MPI is not found, or that has none: the first does it alone, the others say so and end."""
    first, done = kept("hosts", ["env", "SLURM_PROCID=0", HPCTOP, "analyze"])
    check("the first of srun without MPI", first, done)
    other = run(["env", "SLURM_PROCID=1", HPCTOP, "analyze", "hosts"], ENV)
    check("the second of it", other.code == 0 and not other.out and "the first process does it alone" in other.err, other)
    third = run(["env", "SLURM_PROCID=2", HPCTOP, "analyze", "hosts"], ENV)
    check("the third of it", third.code == 0 and not third.out and not third.err, third)
    for library, says in (("/nowhere.so", "no library of MPI is found (/nowhere.so)"), ("libc.so.6", "is no library of MPI")):
        shutil.rmtree("hosts/index", ignore_errors=True)
        done = run(["mpirun", "-n", "3", HPCTOP, "analyze", "--mpi", library, "hosts"], ENV, timeout=60)
        check("--mpi " + library, done.code == 0 and done.out == index_of("hosts") + "\n" and says in done.err and
              done.err.count("alone") == 1, done)
        with open(index_of("hosts"), "rb") as f:
            check("--mpi %s: the same" % library, f.read() == first)


def other_libraries():
    """A native library that knows the standard ABI's query and answers -1, as MPICH 5 and Open MPI 6 do; and none at all, where
    one rank of a job starts it."""
    alone, done = kept("hosts", [HPCTOP, "analyze", "-j", "1"])
    with open("shim.c", "w") as f:
        f.write("int MPI_Abi_get_version(int *a, int *b) { *a = *b = -1; return 0; }\n")
    for (mpi, command), library in zip(LAUNCHERS, ("libmpi.so.40", "libmpich.so.12")):
        shim = os.path.abspath("shim-%s.so" % library)
        made = run(["gcc", "-shared", "-fPIC", "-o", shim, "shim.c", "-Wl,--no-as-needed", "-l:" + library])
        bytes_, done = kept("hosts", command + ["-n", "2", HPCTOP, "analyze", "--mpi", shim])
        check("a library that answers -1: " + mpi, made.code == 0 and alone and bytes_ == alone, done)
        shutil.rmtree("hosts/index", ignore_errors=True)
        script = "[ ${OMPI_COMM_WORLD_RANK-$PMI_RANK} = 1 ] || exit 0; exec %s analyze --mpi none hosts" % HPCTOP
        done = run(command + ["-n", "2", "sh", "-c", script], ENV, timeout=60)
        check("one rank starts it: " + mpi, done.code == 0 and done.out == index_of("hosts") + "\n" and not done.err, done)


jobs()
damaged()
other_libraries()
differing()
killed()
without_mpi()
end()
