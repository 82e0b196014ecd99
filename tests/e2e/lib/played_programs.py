"""Programs of the yardstick (tests/yardstick) run by real MPIs: their records are those that the simulation writes, and
the verdict is as right on them as on the simulated ones."""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import time

from common import BUILD, LIBTRACE, TOP, check, environment, hpctop, pids, skip, traces

YARDSTICK = os.path.join(BUILD, "tests/yardstick/yardstick")
HANG = 2  # seconds that a hang must have lasted
# name, compiler, launcher, and how many ranks: MPICH spins while it waits
MPIS = (("openmpi", "mpicc.openmpi", "mpirun.openmpi", 6), ("mpich", "mpicc.mpich", "mpirun.mpich", 3))


def build(mpicc, name):
    sources = [os.path.join(TOP, "tests/yardstick/real", s) for s in ("play.c", "play_more.c")]
    subprocess.run([mpicc, "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-w", "-I", TOP, "-o", name] + sources + ["-lpthread"],
                   check=True)
    return os.path.abspath(name)


class Program:
    """A program by its seed: its truth, and the files of its simulated run."""

    def __init__(self, seed):
        self.seed, self.simulated = seed, os.path.abspath("simulated.%d" % seed)
        self.path = os.path.abspath("program.%d" % seed)
        os.mkdir(self.simulated)
        text = subprocess.run([YARDSTICK, "-w", str(seed), "-r", self.simulated], check=True, stdout=subprocess.PIPE,
                              universal_newlines=True).stdout
        with open(self.path, "w") as f:
            f.write(text)
        head = dict(line.split(" ", 1) for line in text.splitlines() if not line.startswith(("comm", "op", "blame")))
        self.ranks = int(head["ranks"].split()[0])
        self.fault, self.end = head["fault"], head["end"]
        self.blame = {int(r) for r in re.search(r"^blame(.*)$", text, re.M).group(1).split()}
        # how often its loops go round depends on time
        self.loops = re.search(r"^op \d+ (spin|send \S+ \d+ \d+ -3) ", text, re.M) is not None
        self.wild = re.search(r"^op \d+ (recv|probe|mprobe|irecv) .* -[23] ", text, re.M) is not None

    def remove(self):
        shutil.rmtree(self.simulated)
        os.unlink(self.path)


def verdict(folder):
    done = hpctop("verdict", "--json", "--hang", str(HANG), folder)
    try:
        return json.loads(done.out)
    except ValueError:
        return {"state": "none", "class": None, "culprits": [], "summary": str(done)}


def is_right(program, said):
    named = set(said["culprits"])
    if program.end == "finishes":
        return said["state"] == "healthy"
    return said["state"] in ("hung", "aborted") and bool(named) and named <= program.blame


def busy(folder):
    """How many calls each rank has made that are no polls: what changes while a program gets on."""
    rep = hpctop("report", "--json", folder) if os.path.isdir(folder) else None
    try:
        return {r["rank"]: (r["bytes_sent"], r["bytes_received"], r["inside"]) for r in json.loads(rep.out)["ranks"]}
    except (AttributeError, KeyError, ValueError):
        return {}


def play(program, mpirun, play_c, folder):
    """Runs it; kills all ranks at once if it does not end.  Its exit code; None: it was killed."""
    os.mkdir(folder + ".out")
    p = subprocess.Popen([mpirun, "-n", str(program.ranks), play_c, program.path, folder + ".out"],
                         env=environment(folder), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, start_new_session=True)
    patience = 120 if program.end == "finishes" else 8
    before, still, limit = None, 0, time.monotonic() + 120
    while p.poll() is None and time.monotonic() < limit and still < patience:
        time.sleep(0.5)
        now = busy(folder)
        still = still + 0.5 if len(now) == program.ranks and now == before else 0
        before = now
    if p.poll() is not None:
        return p.returncode
    for pid in pids(folder):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    time.sleep(0.5)
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    p.wait()
    return None


# Calls that MPI answers at once and that the simulation leaves out, and those whose number depends on time.
LOCAL = {"MPI_Init_thread", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Buffer_attach", "MPI_Finalize", "MPI_Comm_free",
         "MPI_Comm_group", "MPI_Group_incl", "MPI_Group_free"}
WAITS = re.compile(r"MPI_(Wait|Test)")
FIELDS = ("comm", "peer", "group", "tag", "source", "rtag", "sent", "received", "flags", "sequence")


def records(path, wild):
    """(rank, the calls of each thread in order, how often each completion is there): without times, and communicators
    by the order in which they are met."""
    calls, completions, comms = collections.defaultdict(list), collections.Counter(), {}
    text = hpctop("dump", path).out
    rank = int(re.search(r"^rank: (\d+)", text, re.M).group(1))
    for line in text.splitlines():
        found = re.match(r"(\d+) +\d+\.\d+ +\d+\.\d+ +(MPI_\w+) ?(.*)$", line)
        if not found:
            continue
        thread, call, rest = found.groups()
        fields = dict(f.split("=", 1) for f in rest.split() if "=" in f)
        flags = set(fields.get("flags", "-").split("+"))
        if call in LOCAL or "poll" in flags:
            continue
        if "comm" in fields:
            fields["comm"] = str(comms.setdefault(fields["comm"], len(comms)))
        if wild:
            fields = {k: v for k, v in fields.items() if k not in ("source", "peer", "received", "rtag", "tag")}
        record = " ".join([call] + ["%s=%s" % (k, fields[k]) for k in FIELDS if k in fields])
        if "complete" in flags:
            completions[record] += 1
        elif not WAITS.match(call):
            calls[thread].append(record)
    return rank, dict(calls), completions


def by_rank(folder, wild):
    return {r[0]: r[1:] for r in (records(t, wild) for t in traces(folder))}


def difference(program, folder):
    """What the first record is that the real run has otherwise than the simulated one; None: all are equal."""
    real, simulated = by_rank(folder, program.wild), by_rank(program.simulated, program.wild)
    for rank in sorted(set(real) | set(simulated)):
        calls, completions = real.get(rank, ({}, {}))
        want, wanted = simulated.get(rank, ({}, {}))
        for thread in sorted(set(calls) | set(want)):
            have, should = calls.get(thread, []), want.get(thread, [])
            for i in range(max(len(have), len(should))):
                one, other = (c[i] if i < len(c) else "nothing" for c in (have, should))
                if one != other:
                    return "rank %d, thread %s, call %d: %s, simulated %s" % (rank, thread, i, one, other)
        if completions != wanted:
            return "rank %d: completed %s, simulated %s" % (rank, completions - wanted, wanted - completions)
    return None


def hold(seeds, how_many, mpi):
    """Plays programs of these seeds until so many were; the checks are made as it goes."""
    name, mpicc, mpirun, most_ranks = mpi
    if not shutil.which(mpicc) or not shutil.which(mpirun):
        skip(name, "not here")
        return
    play_c, played, right, same = build(mpicc, "play." + name), 0, 0, 0
    for seed in seeds:
        if played == how_many:
            break
        program = Program(seed)
        folder = os.path.abspath("%s.%d" % (name, seed))
        if program.ranks <= most_ranks and program.fault != "slow rank":
            code = play(program, mpirun, play_c, folder)
            if code != 77:
                played += 1
                said, simulated = verdict(folder), verdict(program.simulated)
                right += is_right(program, said)
                same += said["class"] == simulated["class"] and said["culprits"] == simulated["culprits"]
                label = "%s, seed %d, %d ranks, %s" % (name, seed, program.ranks, program.fault)
                if program.end == "finishes":
                    why = "exit %s" % code if code else None if program.loops else difference(program, folder)
                    check(label + ": records", why is None, why)
                elif code != 0:  # where it ends well, this MPI keeps more messages than the simulated one
                    worse = is_right(program, simulated) and not is_right(program, said)
                    check(label + ": verdict", not worse, (said["summary"], said["culprits"], simulated["summary"],
                                                           simulated["culprits"], sorted(program.blame)))
        for where in (folder, folder + ".out"):
            shutil.rmtree(where, ignore_errors=True)
        program.remove()
    print("%s: %d programs played, %d verdicts right, %d the same as on the simulated files" % (name, played, right, same))
    check(name + ": programs were played", played == how_many, played)
