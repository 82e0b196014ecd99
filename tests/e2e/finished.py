# timeout: 120
"""Verdicts on jobs that are over.  Of a long one that finished well heads and live pages are read, not its events; whoever
reads all events (`hpctop watch`, which ends with the job) comes to the same verdict and ends alike."""
import json
import os
import re
import shutil
import subprocess

from common import BUILD, HPCTOP, check, end, mpirun, report, run, together, traces, workload
from verdicts import verdict

MANY = os.path.join(BUILD, "tests/many/many")
HEADS = 0.01  # of what a trace grows by: heads of chunks, 72 bytes for up to 256 KiB
SENTENCE = r"\d+ ranks? finished after \S+ (s|ms|us|min \d+ s): load balance \S+, \S+% in MPI"


def bytes_read(*command):
    """By the command and all its threads; the shell waits for it, so its own count has them."""
    done = subprocess.run(["sh", "-c", '"$@" >/dev/null; cat /proc/$$/io', "sh", *command], stdout=subprocess.PIPE, check=False)
    return int(re.search(rb"rchar: (\d+)", done.stdout).group(1))


def made(folder, rounds):
    run([MANY, "--ranks", "64", "--hosts", "4", "--rounds", str(rounds), folder])
    return sum(os.path.getsize(path) for path in traces(folder))


def reads():
    """64 ranks: what is read does not grow with the run."""
    sizes = [made("short", 50), made("long", 5000)]
    read = [bytes_read(HPCTOP, "verdict", folder) for folder in ("short", "long")]
    grown = [b - a for a, b in (sizes, read)]
    check("finished well: heads and live pages are read", grown[1] <= HEADS * grown[0], (sizes, read))
    whole = bytes_read(HPCTOP, "report", "--all", "long")
    check("the test sees what a pass over all events reads", whole > 0.5 * grown[0], whole)
    code, said = verdict("long")
    check("finished well: in words", code == 0 and re.fullmatch(SENTENCE, said["summary"]), said)
    rep, share = report("long"), re.search(r"(\S+)% in MPI", said["summary"]).group(1)
    wall, mpi = (sum(r[key] for r in rep["ranks"]) for key in ("wall_s", "mpi_s"))
    check("finished well: the share of the report", abs(100 * mpi / wall - float(share)) < 0.06, (mpi / wall, share))
    shutil.rmtree("long")


def alike(name, ranks, *arguments):
    """A real job: who reads heads and who reads all."""
    def one():
        folder = "-".join((name,) + arguments)
        mpirun(ranks, [workload(name), *arguments], folder)
        if not check(folder + ": there is a trace", traces(folder)):
            return
        code, said = verdict(folder)
        watched = run([HPCTOP, "watch", "--json", folder])
        last = json.loads(watched.out.splitlines()[-1])
        check(folder + ": the same verdict", last["verdict"] == said["state"] and sorted(last["culprits"]) == sorted(said["culprits"]),
              (said, last))
        answer, healthy = report(folder)["job"]["answer"], said["state"] == "healthy"
        check(folder + ": verdict and report have one headline", not healthy or said["summary"].endswith(answer),
              (said["summary"], answer))
        check(folder + ": they end alike", watched.code == code == (said["state"] != "healthy"), (watched.code, code))
    return one


reads()
together([alike("ring", 4), alike("stencil", 2, "2", "1"), alike("planted", 3, "one"), alike("planted", 3, "turns"),
          alike("planted", 3, "spikes"), alike("planted", 3, "one", "0"), alike("imbalance", 4), alike("late_sender", 2),
          alike("late_collective", 4), alike("threads_multiple", 2), alike("collectives_nonblocking", 3), alike("rma", 2),
          alike("spawn", 2), alike("abort", 2), alike("kill_self", 2), alike("exit_no_finalize", 2)], 2)
end()
