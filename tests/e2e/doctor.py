# timeout: 120
"""hpctop doctor: what it says is so.  It exits 0 for commands that hpctop record then has traces of, and 1 for others."""
import atexit
import os
import re
import shutil
import subprocess

from common import HPCTOP, LIBTRACE, TOP, check, end, environment, hpctop, report, run, skip, traces, workload

RING = workload("ring")


def doctor(*command, **env):
    return run([HPCTOP, "doctor"] + (["--"] + list(command) if command else []), environment(preload=False, **env))


def line(r, topic):
    """The last line about a topic: (level, text)."""
    found = [l for l in r.out.splitlines() if l[9:23].strip() == topic]
    return (found[-1].split()[0], found[-1][23:]) if found else ("", "")


def compile_c(name, text, *options, compiler="cc"):
    with open(name + ".c", "w") as f:
        f.write(text)
    return run([compiler, "-o", name, name + ".c", *options]).code == 0


def here():
    r = doctor()
    check("exit 0 here", r.code == 0 and not r.err, r)
    check("each line has a level", r.out and all(l.split()[0] in ("ok", "note", "problem") for l in r.out.splitlines()), r.out)
    for topic in ("libtrace.so", "glibc", "trace folder", "clock", "CUPTI", "NCCL", "launcher", "containers"):
        check("it tells of " + topic, line(r, topic)[1], r.out)
    check("the glibc that libtrace.so needs is the floor or older", "needs 2.17" in line(r, "glibc")[1] or
          "needs 2.1" in line(r, "glibc")[1] and "loads" in line(r, "glibc")[1], line(r, "glibc"))
    with open("/sys/devices/system/clocksource/clocksource0/current_clocksource") as f:
        tsc = f.read().strip() == "tsc"
    check("the clock is the recorder's", line(r, "clock")[1].startswith("TSC" if tsc else "clock_gettime"), line(r, "clock"))
    check("the launcher that is installed", "Open MPI" in r.out or not shutil.which("orterun"), r.out)


def runtimes():
    """Every container runtime in PATH, each once, under whatever names."""
    os.mkdir("runtimes")
    for name in ("apptainer", "podman", "docker", "ch-run", "shifter"):
        with open("runtimes/" + name, "w") as f:
            f.write("#!/bin/sh\necho %s version 1.2\n" % name)
        os.chmod("runtimes/" + name, 0o755)
    os.symlink("apptainer", "runtimes/singularity")
    r = doctor(PATH=os.path.abspath("runtimes") + ":" + os.environ["PATH"])
    found = [l.split("runtimes/")[1].split(":")[0] for l in r.out.splitlines() if l[9:23].strip() == "containers" and "/runtimes/" in l]
    check("every container runtime", sorted(found) == ["apptainer", "ch-run", "docker", "podman", "shifter"], r.out)


def wrong_here():
    r = doctor(HPCTOP_LIBTRACE="/no/such/libtrace.so")
    check("no libtrace.so", r.code == 1 and line(r, "libtrace.so")[0] == "problem", r)
    r = doctor(HPCTOP_DISABLE="1")
    check("HPCTOP_DISABLE=1", r.code == 1 and line(r, "HPCTOP_DISABLE")[0] == "problem", r)
    open("file", "w").close()
    r = doctor(HPCTOP_DIR="file/trace")
    check("a folder that cannot be written", r.code == 1 and line(r, "trace folder")[0] == "problem", r)
    with open("mark", "w") as f:
        f.write("9.9\0")
    if check("a library of another version", run(["objcopy", "--update-section", ".hpctop=mark", LIBTRACE, "other.so"]).code == 0):
        r = doctor(HPCTOP_LIBTRACE=os.path.abspath("other.so"))
        check("another version is told", r.code == 0 and line(r, "libtrace.so")[0] == "note" and "9.9" in line(r, "libtrace.so")[1], r)
    with open("not-elf.so", "w") as f:
        f.write("nothing")
    r = doctor(HPCTOP_LIBTRACE=os.path.abspath("not-elf.so"))
    check("a library that is none", r.code == 1 and line(r, "libtrace.so")[0] == "problem", r)
    r = hpctop("doctor", "--no-such-option")
    check("64 for an unknown option", r.code == 64 and len(r.err.splitlines()) == 1, r)
    for d in ("back", "front"):
        os.mkdir(d)
    if shutil.which("bindfs") and os.path.exists("/dev/fuse") and run(["bindfs", "back", "front"]).code == 0:
        atexit.register(lambda m=os.path.abspath("front"): subprocess.run(["umount", "-l", m], check=False))
        text = line(doctor(HPCTOP_DIR="front/trace"), "trace folder")[1]
        check("a file system that is not local", "not local" in text and "FUSE" in text, text)
    else:
        skip("a file system that is not local", "bindfs cannot mount here")


def kept(name, want, *command, word=""):
    """Doctor's exit status, and that record then does what it said."""
    r = doctor(*command)
    folder = "trace-" + name.replace(" ", "-")
    if not check(name + ": doctor", r.code == (0 if want else 1) and word in r.out, r):
        return
    done = run([HPCTOP, "record", "-o", folder, "--", *command])
    check(name + ": so it is", bool(traces(folder)) == want, "%s %s" % (done, traces(folder)))


def programs():
    kept("a program with MPI", True, "mpirun", "-n", "2", RING, word="Open MPI v")
    kept("a program alone", True, RING, word="one rank alone")
    kept("no MPI", False, "mpirun", "-n", "1", "true", word="no MPI library")
    if run(["/usr/bin/python3", "-c", "import mpi4py"]).code == 0:
        kept("mpi4py", True, "mpirun", "-n", "1", "/usr/bin/python3", "-c", "from mpi4py import MPI", word="mpi4py")
    else:
        skip("mpi4py", "not installed")
    if run(["/usr/bin/python3", "-m", "venv", "--without-pip", "bare"]).code == 0:
        text = line(doctor("bare/bin/python3", "-c", "print(1)"), "MPI")
        check("a Python that is not in PATH is not run", text[0] == "note" and "not in PATH" in text[1], text)
        before = os.environ["PATH"]
        os.environ["PATH"] = os.path.abspath("bare/bin") + ":" + before
        kept("Python without MPI", False, "python3", "-c", "print(1)", word="neither mpi4py nor Horovod")
        os.environ["PATH"] = before
    else:
        skip("Python without MPI", "no venv here")
    if compile_c("whole", "int main(void){return 0;}", "-static"):
        kept("a static program", False, "./whole", word="statically")
    if compile_c("inside", "int PMPI_Init(void*a,void*b){return a==b;}int main(void){return PMPI_Init(0,0)!=1;}"):
        kept("static MPI", False, "./inside", word="statically")
    kept("a program that is not there", False, "mpirun", "-n", "1", "./nothing", word="not there")
    with open("job.sh", "w") as f:
        f.write("#!/bin/sh\nexec true\n")
    r = doctor("sh", "job.sh")
    check("a script is not seen into", r.code == 0 and line(r, "script")[0] == "note", r)
    r = doctor("mpirun", "-n", "1", "podman", "run", "image", "./app")
    check("an image is not seen into", line(r, "container")[0] == "note", r)


def known_bad():
    """A setting that is known to be bad: by option or variable; record and report say it of the job, with what carried it."""
    openib, said = ["mpirun", "--mca", "btl", "tcp,self,openib", "-n", "2"], "openib does not support MPI_THREAD_MULTIPLE"
    check("known to be bad: an option", line(doctor(*openib, RING), "known")[0] == "note" and said in line(doctor(*openib, RING), "known")[1])
    r = doctor("mpirun", "-n", "2", RING, OMPI_MCA_btl="openib,self")
    check("known to be bad: a variable", said in r.out, r)
    r = doctor("mpirun", "--mca", "btl", "^openib", "-n", "2", RING)
    check("known to be bad: left out", "known " not in r.out, r)
    program = ["/usr/bin/python3", "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"]  # with MPI_THREAD_MULTIPLE
    if run(program).code != 0:
        skip("known to be bad: a job", "mpi4py is not installed")
        return
    done = run([HPCTOP, "record", "-o", "openib", "--", *openib, *program])
    check("known to be bad: record says it", done.code == 0 and "hpctop: known: " in done.err and said in done.err, done)
    text = hpctop("report", "--all", "openib").out
    check("known to be bad: the report says it", said in " ".join(text.split()), text[-800:])
    check("the report says what carried messages", re.search(r"^  over    pml ob1, .*btl tcp.*, OMPI_MCA_btl=tcp,self,openib$", text, re.M), text[-800:])
    job = report("openib")["job"]
    check("the report's JSON says both", any(said in one for one in job["known_bad"]) and "btl tcp" in job["transport"], job)
    done = run([HPCTOP, "record", "-o", "tcp", "--", *openib[:3], "tcp,self", *openib[4:], *program])
    check("known to be bad: not another", done.code == 0 and "known:" not in done.err and report("tcp")["job"]["known_bad"] == [], done)


def families():
    source = os.path.join(TOP, "workloads/ring.c")
    if not shutil.which("mpicc.mpich") or not shutil.which("mpiexec.hydra"):
        skip("another MPI's launcher", "MPICH is not installed")
        return
    run(["mpicc.mpich", "-std=c11", "-D_GNU_SOURCE", "-o", "ring-mpich", source])
    kept("MPICH", True, "mpiexec.hydra", "-n", "2", "./ring-mpich", word="MPICH ")
    r = doctor("mpirun.openmpi", "-n", "2", "./ring-mpich")
    check("another MPI's launcher", line(r, "started by")[0] == "note" and "alone" in line(r, "started by")[1], r)


def nccl():
    use = "int ncclAllReduce(void);int MPI_Initialized(int*);int main(void){int f;return ncclAllReduce()+MPI_Initialized(&f);}"
    compile_c("libnccl.so.2", "int ncclAllReduce(void){return 0;}", "-shared", "-fPIC", "-Wl,-soname,libnccl.so.2")
    if check("programs with NCCL", compile_c("shared", use, "./libnccl.so.2", "-Wl,-rpath,$ORIGIN", compiler="mpicc") and
             compile_c("static", use + "int ncclAllReduce(void){return 0;}", compiler="mpicc")):
        text = line(doctor("./shared"), "NCCL")
        check("NCCL shared", text[1].startswith("shared: ") and "libnccl.so.2" in text[1], text)
        text = line(doctor("./static"), "NCCL")
        check("NCCL static inside", text[0] == "note" and text[1].startswith("static, inside"), text)


def runs_nothing():
    """Whatever the command names: programs that would tell when they are run, or something of them is."""
    tells = "#!/bin/sh\ntouch '%s'\n" % os.path.abspath("ran")
    for name in ("tell", "python3-tells"):
        with open(name, "w") as f:
            f.write(tells)
        os.chmod(name, 0o755)
    made = "__attribute__((constructor)) static void made(void){creat(\"%s\",0600);}" % os.path.abspath("ran")
    mpi = "int MPI_Init(void*a,void*b){return a!=b;}int MPI_Get_library_version(char*t,int*n){*t=0;*n=0;return 0;}"
    use = "int MPI_Init(void*,void*);int main(void){return MPI_Init(0,0);}"
    auditor = "unsigned la_version(unsigned v){return v;}"
    built = (compile_c("libmpi.so.40", "#include <fcntl.h>\n" + made + mpi, "-shared", "-fPIC", "-Wl,-soname,libmpi.so.40") and
             compile_c("auditor.so", "#include <fcntl.h>\n" + made + auditor, "-shared", "-fPIC") and
             compile_c("its_mpi", use, "./libmpi.so.40", "-Wl,-rpath,$ORIGIN") and
             compile_c("its_loader", use, "./libmpi.so.40", "-Wl,-rpath,$ORIGIN", "-Wl,--dynamic-linker=" + os.path.abspath("tell")) and
             compile_c("its_auditor", use, "./libmpi.so.40", "-Wl,-rpath,$ORIGIN", "-Wl,--audit=" + os.path.abspath("auditor.so")))
    if not check("programs that tell", built):
        return
    with open("its_script", "w") as f:
        f.write("#!%s\n" % os.path.abspath("python3-tells"))
    os.chmod("its_script", 0o755)
    with open("mpi4py.py", "w") as f:
        f.write("open('ran', 'w')\n")
    for command in (["./its_mpi"], ["./its_loader"], ["./its_auditor"], ["./python3-tells", "x.py"], ["./its_script"], ["./tell"],
                    ["mpirun", "-n", "2", "./its_loader"], ["/usr/bin/python3", "x.py"]):
        r = doctor(*command)
        check("doctor runs nothing of: " + " ".join(command), r.code in (0, 1) and not os.path.exists("ran"), r)
        if os.path.exists("ran"):
            os.remove("ran")
    os.remove("mpi4py.py")


here()
runtimes()
wrong_here()
programs()
families()
known_bad()
nccl()
runs_nothing()
end()
