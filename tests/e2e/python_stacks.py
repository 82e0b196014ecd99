# timeout: 240
"""Python stacks of every CPython from 3.7 on that is here, without its GIL: which function, which line, of all threads.
HPCTOP_TEST_PYTHONS may name more of them, separated by colons."""
import glob
import os
import re
import shutil
import subprocess

from common import check, end, environment, hpctop, run, skip, traces

PROGRAM = r'''
import ctypes, os, sys, threading, time

everything = ctypes.CDLL(None)
try:
    everything.MPI_Init
except AttributeError:
    sys.exit(77)
ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
if everything.MPI_Init(None, None):
    sys.exit(1)

frames = []
def note(frame):  # what the interpreter itself says of this moment
    while frame:
        frames.append((frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back

class Loader:
    def load_batch(self):
        note(sys._getframe()); self.file = os.open("shard-17", os.O_RDWR); os.read(self.file, 1)

def worker():
    Loader().load_batch()

def batches():
    """A generator with a doc string that takes

    a few lines."""
    for i in range(3):
        yield (i +
               1)

def höld():
    note(sys._getframe()); show(); ctypes.PyDLL(None).sleep(100)  # with the GIL

def show():
    with open("expected", "w", encoding="utf-8") as f:
        for name, line in frames:
            f.write("%s %d\n" % (name, line))

def outer(n):
    if n:

        return outer(n - 1)
    for batch in batches():
        list(map(lambda x: höld(), [batch]))

os.mkfifo("shard-17")
t = threading.Thread(target=worker, daemon=True)
t.start()
time.sleep(0.3)
outer(20)
'''

MPI = r"""
import ctypes.util, glob, sys
for name in ("libmpi.so.40", "libmpich.so.12", "libmpi.so.12"):
    try:
        ctypes.CDLL(name)
        print(name)
        break
    except OSError:
        pass
"""


def interpreters():
    """Paths by version, each version once."""
    found = {}
    wanted = ["/usr/bin/python3"] + [p for p in os.environ.get("HPCTOP_TEST_PYTHONS", "").split(":") if p]
    wanted += [shutil.which("python3.%d" % minor) for minor in range(7, 15)]
    for root in (os.environ.get("PYENV_ROOT"), os.path.expanduser("~/.pyenv")):
        if root:
            wanted += glob.glob(os.path.join(root, "versions", "3.*", "bin", "python3"))
    for path in wanted:
        if not path or not os.access(path, os.X_OK):
            continue
        try:
            said = subprocess.run([path, "-c", "import sys, ctypes; print('%d.%d.%d' % sys.version_info[:3])"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=30).stdout.decode().strip()
        except (OSError, subprocess.TimeoutExpired):
            continue
        if re.match(r"3\.\d+\.\d+$", said) and int(said.split(".")[1]) >= 7:
            found.setdefault(said, path)
    return found


def python_threads(folder):
    """Lists of (function, line) of the threads of the first snapshot, with their `on` and flags."""
    threads, thread = [], None
    for line in hpctop("dump", folder).out.splitlines():
        m = re.match(r"stack (\d+): .* flags=(\S+)", line)
        if m:
            thread = {"frames": [], "on": "", "flags": m.group(2).split("+")} if m.group(1) == "1" else None
            if thread:
                threads.append(thread)
        elif thread and line.startswith("  python\t"):
            function, _, number = line[9:].split("\t")
            thread["frames"].append((function.split(".")[-1], int(number)))
        elif thread and line.startswith("  on\t"):
            thread["on"] = line[5:]
        elif not line.startswith("  "):
            thread = None
    return threads


def one(version, path, mpi):
    folder = "python-" + version
    os.mkdir(folder)
    with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    env = environment(os.path.abspath(folder), HPCTOP_HANG="1", PYTHONIOENCODING="utf-8")
    for name in ("PYTHONPATH", "PYTHONHOME"):
        env.pop(name, None)
    run([path, "train.py", mpi], env, 6, folder)  # killed: there is no other way out
    if not traces(folder):
        return skip("%s" % version, "it cannot load %s" % mpi)
    with open(os.path.join(folder, "expected"), encoding="utf-8") as f:
        said = [(line.split()[0], int(line.split()[1])) for line in f]
    split = next(i for i, (name, _) in enumerate(said) if name.startswith("h"))
    worker, main = said[:split], said[split:]
    threads = python_threads(folder)
    seen = [t for t in threads if "main" in t["flags"]]
    check("%s: the main thread, frame by frame" % version, seen and seen[0]["frames"] == main,
          "%s, the interpreter says %s" % (seen and seen[0]["frames"], main))
    check("%s: it holds the GIL" % version, seen and "gil" in seen[0]["flags"], seen and seen[0]["flags"])
    loader = [t for t in threads if t["frames"] and t["frames"][0][0] == "load_batch"]
    check("%s: the thread that loads, frame by frame" % version, loader and loader[0]["frames"] == worker,
          "%s, the interpreter says %s" % (loader and loader[0]["frames"], worker))
    check("%s: what it reads" % version, loader and re.match(r"read\(\) on /.*/shard-17$", loader[0]["on"]) and
          "gil" not in loader[0]["flags"], loader)
    shown = hpctop("stacks", folder)
    check("%s: hpctop stacks says where" % version, shown.code == 0 and " in h\u00f6ld" in shown.out, shown)


mpi = subprocess.run(["/usr/bin/python3", "-c", MPI], stdout=subprocess.PIPE).stdout.decode().strip()
for version, path in sorted(interpreters().items(), key=lambda x: [int(n) for n in x[0].split(".")]):
    one(version, path, mpi)


# Call sites: the lines that call, all of them and no others.
SITES = r'''
from mpi4py import MPI
comm = MPI.COMM_WORLD
def step(n):
    comm.Barrier()
    return comm.allreduce(n)
def main():
    for i in range(20):
        step(i)
    for i in range(3): comm.Barrier()
main()
'''
with open("sites.py", "w") as f:
    f.write(SITES)
if subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"], stderr=subprocess.DEVNULL).returncode:
    skip("call sites", "no mpi4py for /usr/bin/python3")
else:
    command = ["mpirun", "-n", "2", "/usr/bin/python3", "sites.py"]
    done = run(command, environment("sites", HPCTOP_PYTHON="1"), 60)
    dump = hpctop("dump", "sites").out
    check("call sites: 20 barriers on the one line", done.code == 0 and
          len(re.findall(r"MPI_Barrier .*site=step\b", dump, re.M)) == 40, done)
    check("call sites: file and line", len(re.findall(r"^site 0x[89a-f]\w{15}: step \S*sites.py:5$", dump, re.M)) == 2 and
          len(re.findall(r"^site 0x[89a-f]\w{15}: main \S*sites.py:10$", dump, re.M)) == 2,
          re.findall("^site.*py.*$", dump, re.M))
    shown = hpctop("report", "sites").out
    check("call sites: the report shows them", re.search(r"MPI_Barrier +40 .* sites.py:5 in step", shown), shown[-900:])
    run(command, environment("plain"), 60)
    shown = hpctop("report", "plain").out
    check("call sites: only when asked for", "sites.py:" not in shown and "MPI_Barrier" in shown, shown[-900:])
    check("facts: the report names Python's version", re.search(r"^  facts .*python 3\.", shown, re.M), shown[:600])
end()
