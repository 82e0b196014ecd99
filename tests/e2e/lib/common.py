"""What the end-to-end tests share: start a job under libtrace.so, read its trace with hpctop, say how it went.

The runner (tests/run.py) sets the environment: TOP, BUILD, LIBTRACE, HPCTOP, WORKLOADS; the working folder is the
test's own and is removed afterwards."""
import atexit
import collections
import concurrent.futures
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import sys
import threading
import time

TOP = os.environ["TOP"]
BUILD = os.environ["BUILD"]
LIBTRACE = os.environ["LIBTRACE"]
HPCTOP = os.environ["HPCTOP"]
WORKLOADS = os.environ["WORKLOADS"]
LONG = 200  # seconds that nothing here takes on a machine with other things to do; only so that a test ends

_failed = _parts = 0
_saying = threading.Lock()  # parts that run together say one line at a time
_place = threading.local()  # and have each a folder for its launchers: one that ends takes away what another is about to use


def workload(name):
    return os.path.join(WORKLOADS, name)


def check(name, good, why=""):
    """One part of the test: prints `ok NAME` or `not ok NAME: why`.  Returns `good`."""
    global _failed, _parts
    with _saying:
        _parts += 1
        if good:
            print("ok " + name, flush=True)
        else:
            _failed += 1
            print("not ok %s: %s" % (name, str(why).replace("\n", " | ")[:600]), flush=True)
    return bool(good)


def skip(name, why):
    global _parts
    with _saying:
        _parts += 1
        print("skip %s: %s" % (name, why), flush=True)


def together(cases, at_once=3):
    """Calls each of these, so many at a time, in their order: parts of a test that mostly wait, each in a folder of its own.
    An error of one is raised when all have ended."""
    def alone(case):
        _place.of_launchers = tempfile.mkdtemp(prefix="t-")
        case()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for done in [pool.submit(alone, case) for case in cases]:
            done.result()


def skip_all(why):
    """Ends the test: nothing of it can run here."""
    print(why)
    sys.exit(77)


def failures():
    return _failed


def end():
    """A test that checked nothing has failed, too."""
    if not _parts:
        print("nothing was checked")
    sys.exit(1 if _failed or not _parts else 0)


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __str__(self):
        return "exit %s, stdout %r, stderr %r" % (self.code, self.out[-300:], self.err[-300:])


def environment(folder=None, preload=True, **more):
    env = dict(os.environ)
    if preload:
        env["LD_PRELOAD"] = LIBTRACE if preload is True else preload
    if folder:
        env["HPCTOP_DIR"] = folder
    if hasattr(_place, "of_launchers"):
        env["TMPDIR"] = env["OMPI_MCA_orte_tmpdir_base"] = _place.of_launchers
    env.update({k: str(v) for k, v in more.items()})
    return env


def run(command, env=None, timeout=LONG, cwd=None, stdin=subprocess.DEVNULL):
    """Runs to the end; code is None when it had to be killed."""
    p = subprocess.Popen(command, env=env, cwd=cwd, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         start_new_session=True)
    try:
        out, err = p.communicate(timeout=timeout)
        code = p.returncode
    except subprocess.TimeoutExpired:
        below = descendants(p.pid)  # a launcher's ranks have groups of their own
        os.killpg(p.pid, signal.SIGKILL)
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        out, err = p.communicate()
        code = None
    return Result(code, out.decode(errors="replace"), err.decode(errors="replace"))


def make(*targets, timeout=900):
    """make in the source tree, for one test at a time: of two in one build folder, one runs programs and reads lists of
    dependencies that the other has half written."""
    return run(["flock", TOP, "make", "-s", "-C", TOP, *targets], timeout=timeout)


def mpirun(ranks, command, folder=None, preload=True, timeout=LONG, cwd=None, **env):
    """LD_PRELOAD=libtrace.so mpirun -n RANKS COMMAND, as a user would type it."""
    if isinstance(command, str):
        command = [command]
    return run(["mpirun", "-n", str(ranks)] + command, environment(folder, preload, **env), timeout, cwd)


def tried(launch, ranks, command, folder=None, times=3):
    """launch(..) of what an MPI sometimes loses by itself (worlds that are spawned, on a busy machine), again until it has not.
    Without a folder it runs without libtrace.so and may fail; with one it may hang, and what it left is removed."""
    for left in reversed(range(times)):
        done = launch(ranks, command, folder, folder is not None)
        if done.code == 0 or (folder and done.code is not None):
            break
        print("# %s libtrace.so, %d more tries: %s" % ("with" if folder else "without", left, done), flush=True)
        if folder and left:
            shutil.rmtree(folder, ignore_errors=True)
    return done


def start(ranks, command, folder=None, preload=True, launcher=("mpirun",), **env):
    """The same in the background; it is killed when the test ends.  What it says is kept in `said`, a file."""
    if isinstance(command, str):
        command = [command]
    said = tempfile.TemporaryFile()
    p = subprocess.Popen([*launcher, "-n", str(ranks)] + command, env=environment(folder, preload, **env),
                         stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, start_new_session=True)
    p.said = said
    atexit.register(stop, p)
    return p


def stop(p):
    if p.poll() is None:
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()


def descendants(pid):
    """Processes below this one, by what /proc says of parents."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/%s/stat" % entry, errors="replace") as f:
                    parents[int(entry)] = int(f.read().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                pass  # it has ended
    found = [pid]
    for above in found:
        found += [p for p, parent in parents.items() if parent == above]
    return found[1:]


def hpctop(*arguments, timeout=LONG, env=None, cwd=None):
    return run([HPCTOP] + list(arguments), env, timeout, cwd)


def accounts_hold(rep):
    """Whether the accounts of ranks, of nodes, and of call sites with the time outside calls add up to those of the job."""
    def sums(rows):
        sums = collections.Counter()
        for row in rows:
            for one in row["accounts"]:
                sums[one["account"]] += round(one["seconds"] * 1e9)
        return {k: v for k, v in sums.items() if v}
    if "accounts" not in rep:
        return True
    parts = {"job": sums([rep]), "ranks": sums(rep["ranks"]), "nodes": sums(rep["nodes"]),
             "sites": sums(rep["sites"] + [rep["outside_calls"]])}
    same = all(part == parts["job"] for part in parts.values())
    if not same:
        check("the accounts add up", False, parts)
    return same


def report(*folders):
    """`hpctop report --json` as a dict, or None (what went wrong is printed)."""
    r = hpctop("report", "--json", *folders)
    try:
        if r.code == 0:
            rep = json.loads(r.out)
            return rep if accounts_hold(rep) else None
    except ValueError as e:
        print("report --json is not JSON: %s" % e)
    print("hpctop report --json %s: %s" % (" ".join(folders), r))
    return None


def calls(rep):
    """Calls of a report by name."""
    return {c["name"]: c for c in rep["calls"]}


def traces(folder):
    return sorted(glob.glob(os.path.join(folder, "*.hpctop")))


def pids(folder):
    """Of the processes on this host that left these traces: HOST.PID.START[.NAMESPACE].hpctop."""
    return [int(os.path.basename(t)[len(os.uname().nodename) + 1:].split(".")[0]) for t in traces(folder)]


def readme_commands(kind):
    """The command lines of README's ```sh KIND blocks."""
    with open(os.path.join(TOP, "README.md")) as f:
        blocks = re.findall(r"^```sh %s\n(.*?)^```" % kind, f.read(), re.M | re.S)
    return [line.split("  #")[0].strip() for block in blocks for line in block.splitlines() if line.strip()]


def release():
    """Of the system that this test runs in: "bookworm"."""
    with open("/etc/os-release") as f:
        facts = dict(line.rstrip().split("=", 1) for line in f if "=" in line)
    return facts.get("VERSION_CODENAME", facts.get("ID", "")).strip('"')


def python_with(code, *others):
    """A Python, one of these others included, in which this code runs: "import otf2"; None: there is none."""
    for python in (sys.executable, "/usr/bin/python3", *others):
        if os.path.exists(python) and run([python, "-c", code]).code == 0:
            return python
    return None


def python_with_torch(cuda=False):
    """A Python that has PyTorch (and, if asked, with a GPU that it sees), $TORCH_PYTHON first; None: there is none."""
    code = "import torch, torch.distributed as d; import sys; sys.exit(0 if d.is_available() and (%s or torch.cuda.is_available()) else 1)" % (not cuda)
    for python in (os.environ.get("TORCH_PYTHON", "python3"), "python3", "/usr/bin/python3"):
        if run([python, "-c", code], timeout=120).code == 0:
            return python
    return None


def wait_for(what, timeout=LONG, step=0.2):
    """Asks `what` until it gives something true, and returns that; None when it never did, which fails a wait without a
    timeout of its own."""
    limit = time.monotonic() + timeout
    while True:
        found = what()
        if found:
            return found
        if time.monotonic() > limit:
            if timeout == LONG:
                caller = sys._getframe(1)
                check("the wait at %s:%d ends" % (os.path.basename(caller.f_code.co_filename), caller.f_lineno), False)
            return found
        time.sleep(step)
