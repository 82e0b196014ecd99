# timeout: 120
"""Ranks that die: whatever had returned before is in the file, and the report says how it ended."""
import os
import re
import subprocess

from common import LIBTRACE, TOP, calls, check, end, hpctop, mpirun, report, traces, workload


def ranks(rep):
    return {r["rank"]: r for r in rep["ranks"]}


def records(folder, text):
    """Lines of the dump that name `text`."""
    dump = hpctop("dump", folder)
    return dump.out.count(text) if dump.code == 0 else -1


def kill_9():
    rounds = 2000
    done = mpirun(2, [workload("kill_self"), str(rounds)], "killed")
    check("kill -9: mpirun tells", done.code not in (0, None), done)
    check("kill -9: both files are there", len(traces("killed")) == 2, traces("killed"))
    rep = report("killed")
    if not check("kill -9: the report can be made", rep is not None):
        return
    seen = calls(rep).get("MPI_Sendrecv", {})
    check("kill -9: every call is counted", seen.get("calls") == 2 * rounds, seen)
    check("kill -9: every byte is counted", seen.get("bytes_sent") == 2 * rounds * 32, seen)
    check("kill -9: no record is lost", rep["job"]["lost_records"] == 0, rep["job"])
    events = records("killed", "MPI_Sendrecv")
    check("kill -9: every record can be read", events >= 2 * rounds, "%d records" % events)
    page = hpctop("report", "--all", "killed")
    early = re.search(r"arrive before they leave: (\d+)", page.out)
    check("kill -9: the clocks fit", page.code == 0 and "MPI_Sendrecv" in page.out and
          (not early or int(early.group(1)) < rounds / 10), early and early.group(0) or page)
    check("kill -9: the job is aborted", rep["job"]["state"] in ("aborted", "hung"), rep["job"]["state"])
    check("kill -9: the killed rank is dead", ranks(rep)[1]["state"] == "dead", ranks(rep)[1])
    check("kill -9: the other died in MPI_Ssend", ranks(rep)[0]["inside"] == "MPI_Ssend", ranks(rep)[0])


def aborts():
    plain = mpirun(2, [workload("abort"), "7"], preload=False)
    done = mpirun(2, [workload("abort"), "7"], "aborted")
    check("MPI_Abort: the code is the same", done.code == plain.code == 7, "%s, without %s" % (done.code, plain.code))
    rep = report("aborted")
    if not check("MPI_Abort: the report can be made", rep is not None):
        return
    check("MPI_Abort: every call is counted", calls(rep).get("MPI_Sendrecv", {}).get("calls") == 200, calls(rep))
    check("MPI_Abort: the job is aborted", rep["job"]["state"] == "aborted", rep["job"]["state"])
    check("MPI_Abort: the rank that called it", ranks(rep)[1]["state"] == "abort", ranks(rep)[1])
    text = hpctop("report", "--all", "aborted")
    check("MPI_Abort: the report names rank 1", "rank 1" in text.out and "bort" in text.out, text.out[:400])


def no_finalize():
    plain = mpirun(2, workload("exit_no_finalize"), preload=False)
    done = mpirun(2, workload("exit_no_finalize"), "left")
    check("no MPI_Finalize: the code is the same", done.code == plain.code, "%s, without %s" % (done.code, plain.code))
    rep = report("left")
    if not check("no MPI_Finalize: the report can be made", rep is not None):
        return
    check("no MPI_Finalize: every call is counted", calls(rep)["MPI_Sendrecv"]["calls"] == 200, calls(rep))
    check("no MPI_Finalize: nobody is done", len(rep["ranks"]) == 2 and all(r["state"] != "done" for r in rep["ranks"]), rep["ranks"])


def first_call():
    """No thread of ours has named the place when the process ends."""
    source = TOP + "/tests/e2e/deaths/first_call.c"
    # A glibc older than 2.35 lacks _dl_find_object: one that knows nothing stands for it.
    with open("old.c", "w") as f:
        f.write("int _dl_find_object(void *at, void *found) { (void)at, (void)found; return -1; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", "old.so", "old.c"], check=True)
    subprocess.run(["mpicc", "-g", "-O1", "-o", "first_call", source, "-ldl"], check=True)
    subprocess.run(["mpicc", "-g", "-O1", "-shared", "-fPIC", "-o", "plugin.so", source], check=True)
    lines = {number: text for number, text in enumerate(open(source), 1)}
    for before in (), (os.path.abspath("old.so"),):
        for how, call in (("error", "MPI_Send"), ("kill", "MPI_Comm_rank")):
            for plugin in (), ("./plugin.so",):
                title = " ".join(("first call:", how, *plugin, *map(os.path.basename, before)))
                folder = re.sub(r"\W+", "-", title)
                mpirun(1, ["./first_call", how, *plugin], folder, ":".join((*before, LIBTRACE)))
                sites = [site for site in (report(folder) or {"sites": []})["sites"] if site["call"] == call]
                line = [number for number, text in lines.items() if call + "(" in text]
                check(title, [site["place"] for site in sites] == ["first_call.c:%d" % line[0]] and
                      [re.sub(":.* in", " in", at) for at in sites[0]["path"][:2]] == ["first_call.c in call_once", "first_call.c in main"],
                      sites)


kill_9()
first_call()
aborts()
no_finalize()
end()
