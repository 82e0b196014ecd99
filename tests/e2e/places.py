# timeout: 120
"""Where the trace goes when things are not as usual: a relative LD_PRELOAD, ranks in folders of their own, read-only
mounts, umasks, jobs side by side.  The program runs as ever, and what is recorded can be found and read."""
import glob
import os
import shutil
import stat
import subprocess
import tempfile

from common import LIBTRACE, calls, check, end, environment, hpctop, mpirun, report, run, skip, traces, workload

RING = workload("ring")
MESSAGES = 100  # of ring, a rank


def fine(label, done, folders, ranks=2):
    """The program ended well and said nothing; the folders together are the whole job."""
    if check(label + ": runs", (done.code, done.out, done.err) == (0, "", ""), done):
        rep = report(*folders) if folders else None
        check(label + ": recorded", rep is not None and rep["job"]["ranks"] == ranks and
              rep["job"]["state"] == "finished" and calls(rep)["MPI_Send"]["calls"] == MESSAGES * ranks, rep and rep["job"])


def within(name):
    os.mkdir(name)
    return os.path.abspath(name)


def relative():
    cwd = within("relative")
    shutil.copy(LIBTRACE, cwd)
    fine("relative LD_PRELOAD", mpirun(2, RING, "t", "./libtrace.so", cwd=cwd), [cwd + "/t"])


def own_folders():
    """Each rank works in a folder of its own: so lie the traces, under one name, and are one job."""
    cwd = within("own")
    done = mpirun(2, ["sh", "-c", "mkdir r$OMPI_COMM_WORLD_RANK; cd r$OMPI_COMM_WORLD_RANK; exec " + RING], cwd=cwd)
    made = sorted(glob.glob(cwd + "/r?/hpctop-*"))
    check("own folders: one name", len(made) == 2 and len({os.path.basename(m) for m in made}) == 1, made)
    fine("own folders", done, made)
    cwd = within("own2")
    done = mpirun(2, ["sh", "-c", "mkdir r$OMPI_COMM_WORLD_RANK; cd r$OMPI_COMM_WORLD_RANK; exec " + RING], cwd + "/t", cwd=cwd)
    fine("own folders, absolute HPCTOP_DIR", done, [cwd + "/t"])


def gone():
    """The working folder is removed before MPI_Init: nothing can be written, and nothing is said."""
    cwd = within("gone")
    done = mpirun(2, ["sh", "-c", "mkdir r$OMPI_COMM_WORLD_RANK; cd r$OMPI_COMM_WORLD_RANK; rmdir ../r$OMPI_COMM_WORLD_RANK; exec " + RING],
                  cwd=cwd)
    plain = mpirun(2, ["sh", "-c", "mkdir r$OMPI_COMM_WORLD_RANK; cd r$OMPI_COMM_WORLD_RANK; rmdir ../r$OMPI_COMM_WORLD_RANK; exec " + RING],
                   preload=False, cwd=cwd)
    check("a working folder that is gone: the same", (done.code, done.out) == (plain.code, plain.out) and
          len(done.err.splitlines()) == len(plain.err.splitlines()), (done, plain))


def read_only():
    if run(["unshare", "--mount", "true"]).code != 0:
        skip("read-only mount", "mounting is not permitted")
        return
    os.mkdir("ro")
    script = "mount -t tmpfs -o ro none ro && exec mpirun -n 2 " + RING
    silent = run(["unshare", "--mount", "sh", "-c", script], environment(os.path.abspath("ro/t")))
    check("read-only mount: runs and is silent", (silent.code, silent.out, silent.err) == (0, "", ""), silent)
    told = run(["unshare", "--mount", "sh", "-c", script], environment(os.path.abspath("ro/t"), HPCTOP_VERBOSE="1"))
    check("read-only mount: told when asked", told.code == 0 and told.err.count("not recording") == 2 and "EROFS" in told.err, told)


def umasks():
    cwd = within("umask")
    done = run(["sh", "-c", "umask 077; exec mpirun -n 2 " + RING], environment("t"), cwd=cwd)
    fine("umask 077", done, [cwd + "/t"])
    modes = {stat.S_IMODE(os.stat(p).st_mode) for p in traces(cwd + "/t")} | {stat.S_IMODE(os.stat(cwd + "/t").st_mode)}
    check("umask 077: nobody else may read", all(m & 0o077 == 0 for m in modes), [oct(m) for m in modes])
    base = tempfile.mkdtemp(prefix="hpct-")  # Open MPI's folder in it shall be nobody else's: who comes later could not enter
    done = run(["sh", "-c", "umask 0777; exec %s" % RING], environment("t0", OMPI_MCA_orte_tmpdir_base=base), cwd=cwd)
    plain = run(["sh", "-c", "umask 0777; exec %s" % RING], environment(None, False, OMPI_MCA_orte_tmpdir_base=base), cwd=cwd)
    check("umask 777: the same", (done.code, done.out) == (plain.code, plain.out), (done, plain))
    run(["chmod", "-R", "u+rwX", cwd, base])


def side_by_side():
    cwd = within("two")
    bases = [within("two-tmp%d" % i) for i in range(2)]  # of their own: two mpiruns that make one at once stop each other
    jobs = [subprocess.Popen(["mpirun", "-n", "2", RING], env=environment(None, OMPI_MCA_orte_tmpdir_base=base), cwd=cwd,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for base in bases]
    said = [j.communicate()[0] for j in jobs]
    made = sorted(glob.glob(cwd + "/hpctop-*"))
    if check("two jobs at once: a folder each", [j.returncode for j in jobs] == [0, 0] and said == [b"", b""] and len(made) == 2,
             (said, os.listdir(cwd))):
        for folder in made:
            rep = report(folder)
            check("two jobs at once: " + ("first", "second")[made.index(folder)],
                  rep and rep["job"]["ranks"] == 2 and calls(rep)["MPI_Send"]["calls"] == 2 * MESSAGES, rep and rep["job"])
    # In one folder, since the user named it: that is said.
    cwd = within("shared")
    jobs = [subprocess.Popen(["mpirun", "-n", "2", workload("stencil"), "2", "-1"], env=environment("t", OMPI_MCA_orte_tmpdir_base=base),
                             cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for base in bases]
    [j.wait() for j in jobs]
    text = hpctop("report", "--all", cwd + "/t")
    check("two jobs in one folder: both are there, and it is said",
          [j.returncode for j in jobs] == [0, 0] and len(traces(cwd + "/t")) == 4 and text.code == 0 and
          "another run of MPI" in " ".join(text.out.split()), text.out[-600:])


def long_names():
    cwd = within("long")
    deep = "/".join(["d" * 100] * 12)
    fine("a path of 1200 bytes", mpirun(2, RING, deep, cwd=cwd), [os.path.join(cwd, deep)])
    done = mpirun(2, RING, "x" * 5000, cwd=cwd)
    check("a path that is too long: runs and is silent", (done.code, done.out, done.err) == (0, "", ""), done)
    fine("odd names", mpirun(2, RING, "a b/\u00fc'\"$x", cwd=cwd), [os.path.join(cwd, "a b/\u00fc'\"$x")])
    with open(os.path.join(cwd, "file"), "w"):
        pass
    done = mpirun(2, RING, "file", cwd=cwd)
    check("a file where the folder should be: runs and is silent", (done.code, done.out, done.err) == (0, "", ""), done)


relative()
own_folders()
gone()
read_only()
umasks()
side_by_side()
long_names()
end()
