#!/usr/bin/env python3
"""Runs every test and prints one line for each; the last line is `N passed, N failed, N skipped`, the one before it the
release, compiler and MPIs that they ran on.

  tests/run.py [-b BUILD] [-j JOBS] [-l] [-v] [--once] [--ci] [PATTERN..]

A test is a program: exit 0 passed, 77 skipped (its last line says why), anything else failed.  It runs in a folder of
its own that is removed afterwards, after the processes that it has left behind were killed, with these in its
environment: TOP (the source tree), BUILD (the build folder),
LIBTRACE, HPCTOP, WORKLOADS.  A test of many parts prints `ok NAME`, `not ok NAME: why` or `skip NAME: why` for each
part; then each part counts.  In the head of a script (its first 10 lines):

  # timeout: 120      seconds that are enough on any quiet machine (default 60); after BUSY times
                    that (at most PATIENCE) it counts as failed
  # alone             runs when nothing else does
  # waits             mostly waits, for limits and launchers: runs beside those that compute, one a core more
  # long              only with -l (make check-long)
  # cases: NAME ..    as many tests as names, each run with one as its argument

A test of kind e2e that fails runs once more when nothing else does: real launchers, terminals and file systems on a
machine that others use.  What it says then counts; what it said first is printed as it fails and again before the last
line, and it counts as flaky: it has a bug to be found, in itself or in hpctop.  More than FLAKY of them fail the run.
--once: no second try.

What may be skipped in CI is in tests/skips, with the reason; a complete run names what else was skipped, and with --ci
that is a failure.

Kinds: unit (tests/unit/**/*.c, as built in BUILD), static (tests/static/*, tests/check-*.py), fuzz (tests/fuzz/*.c over
tests/fuzz/corpus), e2e (tests/e2e/*.sh, *.py).  -k KIND runs those of tests/KIND/ instead, one after the other: what needs
more than a bare machine has, or longer.  PATTERN: only tests whose `kind/name` contains one of them.
"""
import argparse
import fnmatch
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PART = re.compile(r"^(ok|not ok|skip) ([^:\n]+)(?:: (.*))?$")
DROP = ("TRUTH", "LD_PRELOAD", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
SLOWEST = 25  # tests that are named at the end with the time that they took
BUSY, PATIENCE = 4, 1200  # a machine that others use is so many times slower; but no more than so many seconds for that
FLAKY = 3  # so many may need their second try
KEEP = ("HPCTOP_TEST_ROOTS", "HPCTOP_GPU")


class Test:
    def __init__(self, kind, name, command, head=""):
        self.kind, self.name, self.command = kind, name, command
        self.timeout, self.alone, self.waits, self.long = 60, False, False, False
        if head:
            found = re.search(r"^# timeout: (\d+)", head, re.M)
            self.timeout = int(found.group(1)) if found else self.timeout
            self.alone = bool(re.search(r"^# alone", head, re.M))
            self.waits = bool(re.search(r"^# waits", head, re.M))
            self.long = bool(re.search(r"^# long", head, re.M))
        self.timeout = max(self.timeout, min(self.timeout * BUSY, PATIENCE))

    def label(self):
        return "%s/%s" % (self.kind, self.name)


def programs(build, pattern):
    """Unit tests by their sources: one that was not built fails, one whose source is gone does not run."""
    sources = sorted(glob.glob(os.path.join(TOP, pattern), recursive=True))
    return [os.path.join(build, os.path.relpath(os.path.splitext(s)[0], TOP)) for s in sources]


def script_tests(kind, pattern):
    tests = []
    for path in sorted(glob.glob(os.path.join(TOP, pattern))):
        name = os.path.splitext(os.path.basename(path))[0]
        command = ["python3" if path.endswith(".py") else "bash", path]
        with open(path, errors="replace") as f:
            head = "".join(f.readlines()[:10])
        cases = " ".join(re.findall(r"^# cases: (.*)", head, re.M)).split()
        tests += [Test(kind, name + "-" + case, command + [case], head) for case in cases]
        if not cases:
            tests.append(Test(kind, name, command, head))
    return tests


def discover(build, kind=None):
    if kind:
        return script_tests(kind, "tests/%s/*.sh" % kind) + script_tests(kind, "tests/%s/*.py" % kind)
    tests = []
    for path in programs(build, "tests/unit/**/*.c"):
        tests.append(Test("unit", os.path.basename(path), [path]))
    scripts = [("static", "tests/static/*.sh"), ("static", "tests/static/*.py"), ("static", "tests/check-*.py"),
               ("e2e", "tests/e2e/*.sh"), ("e2e", "tests/e2e/*.py")]
    for kind, pattern in scripts:
        tests += script_tests(kind, pattern)
    corpus = os.path.join(TOP, "tests/fuzz/corpus/**")
    files = sorted(p for p in glob.glob(corpus, recursive=True) if os.path.isfile(p))
    for path in programs(build, "tests/fuzz/*.c"):
        tests.append(Test("fuzz", os.path.basename(path), [path] + files))
    labels = [t.label() for t in tests]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        sys.exit("tests with the same name: " + " ".join(twice))
    return tests


def environment(build, kind=None):
    env = {k: v for k, v in os.environ.items() if k not in DROP and (k in KEEP or not k.startswith("HPCTOP_"))}
    plain = os.path.realpath(build) == os.path.realpath(os.path.join(TOP, "build/plain"))
    own = os.path.join(build, "libtrace.so")
    products = build if not plain and os.path.exists(own) else TOP
    env.update(TOP=TOP, BUILD=build, LIBTRACE=os.path.join(products, "libtrace.so"),
               HPCTOP=os.path.join(products, "hpctop"), WORKLOADS=os.path.join(build, "workloads"),
               LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1",
               PYTHONPATH=os.pathsep.join(os.path.join(TOP, "tests", k, "lib") for k in ("e2e", kind) if k))
    started = subprocess.run([os.path.join(TOP, "tests/start"), "env", "-0"], env=env, stdout=subprocess.PIPE, check=True)
    return dict(line.split("=", 1) for line in started.stdout.decode(errors="surrogateescape").split("\0") if line)


def belongs(pid, folder):
    """Whether the process has this folder in its environment, or for its working folder."""
    try:
        with open("/proc/%s/environ" % pid, "rb") as f:
            return os.fsencode(folder) in f.read() or os.readlink("/proc/%s/cwd" % pid).startswith(folder)
    except OSError:
        return False  # it has ended, or is another user's


def kill_left(folder):
    """Kills what a test has left in sessions of its own: daemons, and the jobs that they started."""
    for _ in range(20):  # what is killed may have started another meanwhile
        left = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and belongs(pid, folder)]
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        if not left:
            return
        time.sleep(0.05)


class Runner:
    def __init__(self, build, verbose, kind=None):
        self.env, self.verbose = environment(build, kind), verbose
        self.counts = {"ok": 0, "not ok": 0, "skip": 0}
        self.failed, self.skipped, self.again, self.lock = [], [], [], threading.Lock()
        self.took = []  # seconds and label of each test that was run

    def say(self, result, label, why, seconds=None):
        self.counts[result] += 1
        word = {"ok": "passed ", "not ok": "FAILED ", "skip": "skipped"}[result]
        line = "%s %s" % (word, label)
        if why:
            line += ": " + why
        if seconds is not None and seconds >= 1:
            line += " (%.0f s)" % seconds
        if result == "not ok":
            self.failed.append(line)
        if result == "skip":
            self.skipped.append((label, line))
        print(line, flush=True)

    def run(self, test, last_try=True):
        started, folders = time.monotonic(), []
        try:
            code, text = self.perform(test, folders)
        except OSError as e:  # no room, no descriptor, no process: a test that could not run must not vanish
            with self.lock:
                self.say("not ok", test.label(), "could not be run: %s" % e)
            return
        finally:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)
        self.report(test, code, text, time.monotonic() - started, last_try)

    def perform(self, test, folders):
        """Returns the exit code (None after the timeout) and the output.  The caller removes what is then in `folders`."""
        folder = tempfile.mkdtemp(prefix="hpct-")
        folders.append(folder)
        out_path = os.path.join(folder, ".output")
        env = dict(self.env, TMPDIR=folder)
        if test.kind == "e2e":
            # Open MPI names its segments by the launcher's pid: in pid namespaces those of two runs have one name, and a
            # killed job leaves its own behind.
            try:
                folders.append(tempfile.mkdtemp(prefix="hpct-", dir="/dev/shm"))
                env["OMPI_MCA_btl_vader_backing_directory"] = env["OMPI_MCA_btl_sm_backing_directory"] = folders[-1]
            except OSError:
                pass  # then the place that Open MPI chooses has to do
        with open(out_path, "wb") as out:
            process = subprocess.Popen(test.command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = process.wait(test.timeout)
            except subprocess.TimeoutExpired:
                code = None
            try:  # whatever the test left behind, and all of it on a timeout
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            kill_left(folder)
        with open(out_path, errors="replace") as f:
            return code, f.read()

    def report(self, test, code, text, seconds, last_try):
        self.took.append((seconds, test.label()))
        lines = [l for l in text.splitlines() if l.strip()]
        last = lines[-1][:300] if lines else ""
        parts = [m for m in map(PART.match, lines) if m]
        with self.lock:
            if code not in (0, 77) and not last_try:
                why = [m.group(0) for m in parts if m.group(1) == "not ok"] or [
                    "no end after %d s" % test.timeout if code is None else "exit %d: %s" % (code, last)]
                self.again.append((test, why))
                print("\n".join("again   %s: %s" % (test.label(), w) for w in why), flush=True)
                return
            bad = False
            for part in parts:
                result, name, why = part.groups()
                bad = bad or result == "not ok"
                self.say(result, "%s %s" % (test.label(), name), why)
            if code == 0 and not parts:
                self.say("ok", test.label(), None, seconds)
            elif code == 77 and not parts:
                self.say("skip", test.label(), last or "no reason given")
            elif code is None:
                self.say("not ok", test.label(), "no end after %d s" % test.timeout)
            elif code not in (0, 77) and not (bad and code == 1):
                self.say("not ok", test.label(), "exit %d: %s" % (code, last))
            if self.verbose or code not in (0, 77):
                for line in lines[-60:]:
                    if not PART.match(line):
                        print("    | " + line)
                sys.stdout.flush()


def in_lanes(tests, jobs, perform):
    """Runs tests, the longest first, in `jobs` lanes; those that mostly wait in as many more, which have no others."""
    todo, lock = sorted(tests, key=lambda t: -t.timeout), threading.Lock()

    def taken(waits):
        with lock:
            test = next((t for t in todo if t.waits == waits), todo[0] if todo and not waits else None)
            if test:
                todo.remove(test)
            return test

    def work(waits):
        for test in iter(lambda: taken(waits), None):
            perform(test)

    lanes = [threading.Thread(target=work, args=(waits,)) for waits in (False, True)[:1 + (jobs > 1)] for _ in range(jobs)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()


def second_tries(runner):
    """Runs failed tests again, and says which of them pass now."""
    lines, flaky = [], 0
    for test, why in runner.again:
        failed = len(runner.failed)
        runner.run(test)
        passed = len(runner.failed) == failed
        flaky += passed
        lines += ["  %s: %s (%s)" % (test.label(), w, "passed then" if passed else "failed then too") for w in why]
    if lines:
        print("\nwhat failed at its first try:\n" + "\n".join(lines))
        print("flaky: %d, of at most %d" % (flaky, FLAKY), flush=True)
    if flaky > FLAKY:
        runner.say("not ok", "second tries", "%d tests needed one, and %d may" % (flaky, FLAKY))


def allowed_skips(path=os.path.join(TOP, "tests/skips")):
    """The rows of tests/skips: how many, of which label, why."""
    with open(path) as f:
        lines = [line for line in f.read().splitlines() if line and not line.startswith("#")]
    return [(int(n), pattern, why) for n, pattern, why in (re.match(r"(\d+) ([^:]+): (.+)$", line).groups() for line in lines)]


def count_skips(runner, tests, strict):
    """Compares what was skipped with tests/skips, and that with the tests that exist."""
    rows, labels, wrong = allowed_skips(), {t.label() for t in tests}, []
    left = [n for n, _, _ in rows]
    for label, line in runner.skipped:
        row = next((i for i, (_, pattern, _) in enumerate(rows) if left[i] and fnmatch.fnmatchcase(label, pattern)), None)
        if row is None:
            wrong.append(line)
        else:
            left[row] -= 1
    wrong += ["%s: there is no such test" % pattern for _, pattern, _ in rows if pattern.split(" ")[0] not in labels]
    print("\nskipped: %d; tests/skips allows %d in CI" % (len(runner.skipped), sum(n for n, _, _ in rows)))
    if wrong:
        print("not in tests/skips:\n" + "\n".join("  " + line for line in wrong), flush=True)
    if strict and wrong:
        runner.say("not ok", "skips", "%d are not in tests/skips, see above" % len(wrong))


def main():
    parser = argparse.ArgumentParser(description="run the tests")
    parser.add_argument("-b", "--build", default="build/plain")
    parser.add_argument("-j", "--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("-k", "--kind", help="only the tests of this kind, which are not run otherwise")
    parser.add_argument("-l", "--long", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--once", action="store_true", help="no second try for what fails")
    parser.add_argument("--ci", action="store_true", help="only what tests/skips names may be skipped")
    parser.add_argument("--build-failed", action="store_true", help="not everything could be built: that is a failure too")
    parser.add_argument("pattern", nargs="*")
    options = parser.parse_args()
    build = os.path.join(TOP, options.build)

    there = discover(build, options.kind)
    for pattern in options.pattern:
        if not any(pattern in t.label() for t in there):
            parser.error("no test has %r in its name; a unit test's is unit/NAME, without its folders" % pattern)
    tests = [t for t in there if not options.pattern or any(p in t.label() for p in options.pattern)]
    tests = [t for t in tests if options.long or options.pattern or options.kind or not t.long]
    if os.path.basename(build) in ("asan", "tsan"):  # many times slower by nature
        for test in tests:
            test.timeout *= 4
    runner = Runner(build, options.verbose, options.kind)
    if options.build_failed:
        runner.say("not ok", "build", "make could not build everything, see above")

    def last_try(test):
        return options.once or test.kind != "e2e"

    in_lanes([t for t in tests if not t.alone], 1 if options.kind else max(1, options.jobs),
             lambda test: runner.run(test, last_try(test)))
    for test in (t for t in tests if t.alone):
        runner.run(test, last_try(test))
    second_tries(runner)
    if not options.pattern and not options.kind:
        count_skips(runner, tests, options.ci)
    slowest = sorted(runner.took, reverse=True)[:SLOWEST]
    print("\nslowest: " + ", ".join("%s %.0f s" % (label, seconds) for seconds, label in slowest))
    if runner.failed:
        print("\nwhat failed:")
        for line in runner.failed:
            print("  " + line)
    summary = "%d passed, %d failed, %d skipped" % (runner.counts["ok"], runner.counts["not ok"], runner.counts["skip"])
    os.makedirs(os.path.join(TOP, "build"), exist_ok=True)
    with open(os.path.join(TOP, "build/%s.summary" % (options.kind or "check")), "w") as f:
        f.write(summary + "\n")
    print("on " + describe_machine())
    print(summary)
    return 1 if runner.failed else 0


def first_line(*command):
    """The first line that a command prints; "": it is not there, or fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=60,
                              check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else ""


def describe_machine():
    """The release, compiler and MPIs that the tests ran on."""
    try:
        with open("/etc/os-release", encoding="utf-8") as f:
            release = re.search(r'^PRETTY_NAME="?([^"\n]*)', f.read(), re.M)
    except OSError:
        release = None
    said = [first_line("gcc", "-dumpfullversion"), first_line("mpirun.openmpi", "--version") or first_line("mpirun", "--version"),
            first_line("mpichversion") or first_line("mpirun.mpich", "--version")]
    version = [re.search(r"\d+(\.\d+)+", text) for text in said]
    names = [name + " " + found.group() for name, found in zip(("gcc", "Open MPI", "MPICH"), version) if found]
    return ", ".join([release.group(1) if release else "an unknown release"] + names)


if __name__ == "__main__":
    sys.exit(main())
