# timeout: 240
"""Python stacks of every CPython from 3.7 on that is here, without its GIL: which function, which line, of all threads.
HPCTOP_TEST_PYTHONS may name more of them, separated by colons."""
import glob
import os
import re
import shutil
import subprocess

from common import check, end, environment, hpctop, run, skip, traces
from python_frames import PROGRAM, SITES, judge, judge_sites, until_stopped

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
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=100).stdout.decode().strip()
        except (OSError, subprocess.TimeoutExpired):
            continue
        if re.match(r"3\.\d+\.\d+$", said) and int(said.split(".")[1]) >= 7:
            found.setdefault(said, path)
    return found


def one(version, path, mpi):
    folder = "python-" + version
    os.mkdir(folder)
    with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    env = environment(os.path.abspath(folder), HPCTOP_HANG="1", PYTHONIOENCODING="utf-8")
    for name in ("PYTHONPATH", "PYTHONHOME"):
        env.pop(name, None)
    until_stopped([path, "train.py", mpi], env, folder)
    if run([path, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", mpi], environment(None, False)).code != 0:
        return skip("%s" % version, "it cannot load %s" % mpi)
    if not check("%s: there is a trace" % version, traces(folder), os.listdir(folder)):
        return None
    judge(version, folder)
    with open(os.path.join(folder, "sites.py"), "w", encoding="utf-8") as f:
        f.write(SITES)
    env.update(HPCTOP_DIR=os.path.abspath("sites-" + version))
    done = run([path, "sites.py", mpi], env, cwd=folder)
    if check("%s: a program of calls" % version, done.code == 0, done):
        judge_sites(version, "sites-" + version)


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
    done = run(command, environment("sites"))
    dump = hpctop("dump", "sites").out
    check("call sites: 20 barriers on the one line", done.code == 0 and
          len(re.findall(r"MPI_Barrier .*site=step\b", dump, re.M)) == 40, done)
    check("call sites: file and line", len(re.findall(r"^site 0x[89a-f]\w{15}: step \S*sites.py:5$", dump, re.M)) == 2 and
          len(re.findall(r"^site 0x[89a-f]\w{15}: main \S*sites.py:10$", dump, re.M)) == 2,
          re.findall("^site.*py.*$", dump, re.M))
    shown = hpctop("report", "--all", "sites").out
    check("call sites: the report shows them", re.search(r"MPI_Barrier +40 .* sites.py:5 in step", shown), shown[-900:])
    run(command, environment("plain", HPCTOP_PYTHON="0"))
    shown = hpctop("report", "--all", "plain").out
    check("call sites: not with HPCTOP_PYTHON=0", "sites.py:" not in shown and "MPI_Barrier" in shown, shown[-900:])
    check("facts: the report names Python's version", re.search(r"^  facts .*python 3\.", shown, re.M), shown[:600])
end()
