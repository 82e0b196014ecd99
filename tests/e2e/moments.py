# timeout: 120
# alone
"""`hpctop show DIR RANK@TIME`: a call in the middle of it, and the time between two, as workloads with a planted late rank
did them: their sources and the events of all ranks (export csv) say what is right."""
import csv
import json
import os
import re
import shutil
import time

from common import TOP, check, end, hpctop, mpirun, run, workload

BYTES = 8  # of a message of late_sender.c


def lines(name, word):
    """Numbers and texts of the lines of a workload's source that have a word."""
    with open("%s/workloads/%s.c" % (TOP, name)) as f:
        return [(n, text.rstrip("\n").replace("\t", " ")) for n, text in enumerate(f, 1) if word in text]


def events(folder):
    """{(rank, call): [(begin, end)]}, in seconds since the job began."""
    made = hpctop("export", "--format", "csv", "-o", folder + ".csv", folder)
    found = {}
    with open(folder + ".csv/events.csv") as f:
        for row in csv.DictReader(f):
            found.setdefault((int(row["rank"]), row["name"]), []).append((float(row["begin_s"]), float(row["end_s"])))
    return found if made.code == 0 else {}


def moment(folder, rank, at):
    said = hpctop("show", "--json", folder, "%d@%.9f" % (rank, at))
    text = hpctop("show", folder, "%d@%.9f" % (rank, at))
    good = check("%s: rank %d at %.3f s: text and JSON" % (folder, rank, at), said.code == 0 and text.code == 0, (said, text))
    found = json.loads(said.out) if good else None
    if found:
        check("%s: the text says the same" % folder, found["did"] in text.out and
              (not found["in_call"] or found["wait"]["meanwhile"] is None or found["wait"]["meanwhile"] in text.out), text)
    return found


def close(a, b):
    return a is not None and abs(a - b) < 2e-6  # the clocks' fit, and the decimals of the export


def message():
    """A receive that waits for a late sender, and what the sender does meanwhile."""
    done = mpirun(2, workload("late_sender"), "late")
    seen = events("late") if done.code == 0 else {}
    if not check("late_sender can be exported", len(seen.get((1, "MPI_Recv"), ())) == 20, (done, sorted(seen))):
        return
    (begin, stop), (sent, _) = seen[(1, "MPI_Recv")][11], seen[(0, "MPI_Send")][11]
    before = seen[(0, "MPI_Send")][10]
    (recv, text), (send, _) = lines("late_sender", "MPI_Recv(")[-1], lines("late_sender", "MPI_Send(")[-1]
    m = moment("late", 1, (begin + sent) / 2)
    call, wait, source = m["call"], m["wait"], m["source"]
    check("a receive: call, partner, bytes", (m["rank"], m["in_call"], call["name"], call["open"], call["from"], call["to"],
          call["received"], call["sent"], call["communicator"], call["collective"]) ==
          (1, True, "MPI_Recv", False, 0, None, BYTES, 0, "WORLD", None), m)
    check("a receive: its times", close(m["begin_s"], begin) and close(m["end_s"], stop), (m, begin, stop))
    check("a receive: it waited for its sender", close(wait["lost_s"], sent - begin) and (wait["kind"], wait["rank"]) ==
          ("late-sender", 0), (wait, sent - begin))
    check("a receive: what its sender did", re.match(r"outside MPI [\d.]+ ms, after MPI_Send to rank 1, tag 10 at "
          r"late_sender\.c:%d in main$" % send, wait["meanwhile"]), wait)
    check("a receive: the words", re.match(r"in MPI_Recv from rank 0, tag 11, [\d.]+ ms, 8 B at late_sender\.c:%d in main$" % recv,
          m["did"]), m)
    check("a receive: its callers, the innermost first", m["path"][0] == "late_sender.c:%d in main" % recv and len(m["path"]) > 1, m)
    check("a receive: the program's lines", os.path.basename(source["file"]) == "late_sender.c" and source["line"] == recv and
          source["first"] == recv - 3 and len(source["text"]) == 7 and source["text"][3] == text and not source["trouble"], source)
    m = moment("late", 0, (before[1] + sent) / 2)
    check("between two calls", not m["in_call"] and close(m["begin_s"], before[1]) and close(m["end_s"], sent) and
          m["call"]["name"] == "MPI_Send" and m["did"].startswith("outside MPI"), (m, before, sent))
    last = seen[(0, "MPI_Finalize")][0][1]
    for at in (0, begin, stop, last / 2):
        check("no time is without an answer: %.3f s" % at, moment("late", 0, at)["did"])


def collective():
    """A collective that the last rank comes late to, in regions and iterations of the program's."""
    done = mpirun(3, workload("regions"), "regions")
    seen = events("regions") if done.code == 0 else {}
    came = len(seen.get((0, "MPI_Allreduce"), ())) == 20
    if not check("regions can be exported", came, (done, sorted(seen))):
        return
    first = min(range(3), key=lambda rank: seen[(rank, "MPI_Allreduce")][9])
    last = max(range(3), key=lambda rank: seen[(rank, "MPI_Allreduce")][9])
    begin, stop = seen[(first, "MPI_Allreduce")][9]
    late = seen[(last, "MPI_Allreduce")][9][0]
    m = moment("regions", first, (begin + late) / 2)
    check("a collective: who came last", m["call"]["name"] == "MPI_Allreduce" and m["call"]["last_rank"] == last and
          m["call"]["communicator"] == "WORLD" and m["call"]["collective"] == 9, m)
    check("a collective: the wait", close(m["wait"]["lost_s"], late - begin) and
          (m["wait"]["kind"], m["wait"]["rank"]) == ("late-in-collective", last), (m, late - begin))
    check("a collective: what the last did", m["wait"]["meanwhile"].endswith("; in main, step, compute"), m["wait"])
    check("its region and iteration", m["region"] == "main, step, exchange" and m["iteration"] in (10, 11), m)


def unknown():
    """What is not known is said."""
    for where, why in (("7@0.1", "no rank 7"), ("0@1000", "had ended"), ("0@x", "RANK@TIME"), ("0-1@0.1", "RANK@TIME"), ("@0.1", "list of ranks")):
        r = hpctop("show", "late", where)
        check("show %s: an error in one line" % where, r.code == 2 and why in r.err and len(r.err.splitlines()) == 1, r)
    shutil.copy("%s/workloads/late_sender.c" % TOP, "moved.c")
    built = run(["mpicc", "-g", "-I%s/workloads" % TOP, "-o", "moved", "moved.c"])
    done = mpirun(2, os.path.abspath("moved"), "moved-trace")
    if not check("a program of sources here runs", built.code == 0 and done.code == 0, (built, done)):
        return
    at = events("moved-trace")[(1, "MPI_Recv")][3][0]
    for what, change, trouble in (("there", lambda: None, None),
                                  ("changed since", lambda: os.utime("moved.c", (time.time() + 5,) * 2), "changed since the job began"),
                                  ("a FIFO", lambda: (os.remove("moved.c"), os.mkfifo("moved.c")), "not readable on this machine"),
                                  ("gone", lambda: os.remove("moved.c"), "not readable on this machine")):
        change()
        source = moment("moved-trace", 1, at)["source"]
        check("a source that is %s" % what, source["trouble"] == trouble and bool(source["text"]) == (trouble is None), source)


message()
collective()
unknown()
end()
