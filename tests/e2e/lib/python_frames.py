"""A Python program that stops in known places, and what its stacks must say: which function, which line, by the
interpreter's own account."""
import os
import re
import signal
import subprocess
import time

from common import check, hpctop, traces

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
def reading():  # the worker has got there: it needs the GIL no more
    here = {"x86_64": "0 ", "aarch64": "63 "}.get(os.uname().machine, "?")  # read()
    for task in os.listdir("/proc/self/task"):
        try:
            with open("/proc/self/task/%s/syscall" % task) as f:
                if f.read().startswith(here):
                    return True
        except OSError:
            pass
    return False
for i in range(500):
    time.sleep(0.02)
    if reading():
        break
outer(20)
'''

# Calls by ctypes, from a function, a method, a lambda, a comprehension and the module: which lines, how often.
SITES = r'''
import ctypes, sys
everything = ctypes.CDLL(None)
try:
    everything.MPI_Init
except AttributeError:
    sys.exit(77)
ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
everything.MPI_Init(None, None)
name, n = ctypes.create_string_buffer(8192), ctypes.c_int()
def call():
    return everything.MPI_Get_processor_name(name, ctypes.byref(n))
class Solver:
    def step(self):
        everything.MPI_Get_processor_name(name, ctypes.byref(n))
def main():
    for i in range(20):
        call()
    for i in range(5): Solver().step()
    late = lambda: everything.MPI_Get_processor_name(name, ctypes.byref(n))
    for i in range(3):
        late()
    return [everything.MPI_Get_processor_name(name, ctypes.byref(n)) for i in range(4)]
main()
for i in range(2): everything.MPI_Get_processor_name(name, ctypes.byref(n))
everything.MPI_Finalize()
'''
# Function, its line, calls of MPI_Get_processor_name there.
SITE_CALLS = (("<lambda>", 20, 3), ("<module>", 25, 2), ("call", 12, 20), ("main", 23, 4), ("step", 15, 5))


def judge_sites(version, folder):
    """Holds the places of calls in the trace folder to what SITES calls where."""
    dump = hpctop("dump", folder).out
    lines, first = {}, set(re.findall(r"^path \d+: \w+ place=\d+ (0x\w+)", dump, re.M))
    for site, function, line in re.findall(r"^site (0x\w+): (\S+) \S*sites\.py:(\d+)$", dump, re.M):
        if site in first:
            lines.setdefault(function.split(".")[-1], []).append(int(line))
    called = [function.split(".")[-1] for function in re.findall(r"MPI_Get_processor_name .*site=(\S+)", dump)]
    lines.get("<module>", []).sort()
    # A comprehension is a function of its own up to 3.11; the module initialises and finalises, too.
    own = {"main": "<listcomp>" if "<listcomp>" in called else "main"}
    want = {own.get(name, name): [line] if name != "<module>" else [9, line, 26] for name, line, _ in SITE_CALLS}
    check("%s: lines of calls" % version, lines == want, lines)
    counts = {name: called.count(name) for name in set(called)}
    check("%s: every call at its line" % version, counts == {own.get(name, name): n for name, _, n in SITE_CALLS}, counts)


def python_threads(folder):
    """Lists of (function, line) of the threads of the last snapshot, with their `on` and flags."""
    threads, thread, last = [], None, None
    for line in hpctop("dump", folder).out.splitlines():
        m = re.match(r"stack (\d+): .* flags=(\S+)", line)
        if m:
            if m.group(1) != last:
                threads, last = [], m.group(1)
            thread = {"frames": [], "on": "", "flags": m.group(2).split("+")}
            threads.append(thread)
        elif thread and line.startswith("  python\t"):
            function, _, number = line[9:].split("\t")
            thread["frames"].append((function.split(".")[-1], int(number)))
        elif thread and line.startswith("  on\t"):
            thread["on"] = line[5:]
        elif not line.startswith("  "):
            thread = None
    return threads


def until_stopped(command, env, folder, patience=200):
    """Runs PROGRAM there until a snapshot shows it where it stops, or for so many seconds; then it is killed."""
    p = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, start_new_session=True)
    end = time.monotonic() + patience
    while p.poll() is None and time.monotonic() < end:
        time.sleep(0.3)
        if not os.path.exists(os.path.join(folder, "expected")) or not traces(folder):
            continue
        if any("main" in t["flags"] and t["frames"] and t["frames"][0][0].startswith("h") for t in python_threads(folder)):
            break
        hpctop("stacks", folder)  # asks for one; of its own it takes them once nothing has moved for HPCTOP_HANG, and twice that
    if p.poll() is None:
        os.killpg(p.pid, signal.SIGKILL)
    p.wait()


def judge(version, folder):
    """Holds the stacks in the trace folder to what the program wrote there, just before it stopped, into `expected`."""
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
