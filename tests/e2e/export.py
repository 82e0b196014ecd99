# timeout: 400
"""hpctop export: each format, read back by somebody else's reader, has the counts, bytes and times of hpctop report, for real
jobs and for made ones; parts of a job; names that need escaping; a full disk; exit codes."""
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess

import exported
from common import BUILD, HPCTOP, check, end, environment, hpctop, mpirun, python_with, run, skip, wait_for, workload

FORMATS = {"csv": exported.of_csv}
python = exported.perfetto_python()
if python:
    FORMATS["perfetto"] = lambda path: exported.of_perfetto(path, python)
else:
    skip("perfetto", "no Python here has the package perfetto, and pip cannot get it")
OTF2 = python_with("import otf2") if run(["otf2-print", "--version"]).code == 0 else None
MADE = range(1, 13)  # seeds of programs of the yardstick


def differing(a, b):
    return {k: (a.get(k), b.get(k)) for k in sorted(set(a) | set(b), key=str) if a.get(k) != b.get(k)}


def close(a, b, calls):
    """Times are sums of counters in ticks there and of events in ns here: a few ns a call may be between them."""
    return abs(a - b) <= 1e-5 * max(a, b) + 20e-9 * calls


def without_probes(calls):
    """What MPI_Mrecv receives counts there, but a report of events counts it once more, for the call that found the message:
    so these calls have no bytes here."""
    return {name: call if name not in ("MPI_Mprobe", "MPI_Improbe", "MPI_Mrecv") else call[:1] for name, call in calls.items()}


def compare(name, found, report, complete=True):
    """Whether an export has what the report has."""
    inside = {c: v for c, v in report["calls"].items() if v != [0, 0, 0]}  # others are only being made
    wrong = differing(without_probes(found["calls"]), without_probes(inside))
    check("%s: calls and bytes" % name, not wrong and report["calls"], wrong)
    slow = {c: (t, report["times"].get(c)) for c, t in found.get("times", {}).items()
            if not close(t, report["times"].get(c, 0), report["calls"].get(c, [0])[0])}
    check("%s: times" % name, not slow, slow)
    check("%s: all calls and bytes, as the counters say" % name, not complete or totals(found) == report["totals"], (totals(found), report.get("totals")))
    wrong = differing(found["pairs"], report["pairs"]) if complete else {
        k: (v, report["pairs"].get(k)) for k, v in found["pairs"].items()
        if v[0] > report["pairs"].get(k, [0])[0] or v[1] > report["pairs"].get(k, [0, 0])[1]}
    check("%s: messages" % name, not wrong, wrong)
    wrong = differing(found["collectives"], report["collectives"]) if "collectives" in found else None
    check("%s: collectives" % name, not wrong, wrong)
    check("%s: all that begins ends" % name, not found.get("wrong"), found.get("wrong"))


def export(kind, folder, *options, out=None):
    """Exports; returns where, or None."""
    out = out or "%s.%s" % (folder, kind)
    shutil.rmtree(out, ignore_errors=True)
    r = hpctop("export", "--format", kind, "-o", out, *options, folder)
    good = check("export --format %s %s" % (kind, folder), r.code == 0 and r.out == out + "\n" and not r.err and os.path.exists(out), r)
    check("%s %s: nothing is left of its making" % (kind, folder), not os.path.exists(out + ".part"))
    return out if good else None


def otf2(folder, report, complete):
    """Counts by call, messages at both ends, and all bytes: OTF2 has them with the records of messages and collectives."""
    out = export("otf2", folder)
    if not out:
        return
    r = run(["otf2-print", out + "/traces.otf2"])
    check("otf2 of %s: otf2-print reads it" % folder, r.code == 0 and not r.err and "LEAVE" in r.out, r)
    found = exported.of_otf2(out, OTF2)
    counts = {name: call[0] for name, call in found["calls"].items()}
    wrong = differing(counts, {name: call[0] for name, call in report["calls"].items() if call[0]})
    check("otf2 of %s: calls" % folder, not wrong, wrong)
    slow = {c: (t, report["times"][c]) for c, t in found["times"].items()
            if c in report["times"] and c not in found["polled"] and not close(t, report["times"][c], counts[c])}
    check("otf2 of %s: times" % folder, not slow, slow)
    check("otf2 of %s: all that begins ends, in order" % folder, not found["wrong"], found["wrong"])
    check("otf2 of %s: each send that was begun is completed" % folder, not complete or found["begun"] == found["completed"],
          (found["begun"], found["completed"]))
    if complete:
        check("otf2 of %s: messages sent" % folder, found["pairs"] == report["pairs"], differing(found["pairs"], report["pairs"]))
        check("otf2 of %s: messages received" % folder, found["received_pairs"] == report["pairs"], differing(found["received_pairs"], report["pairs"]))
        want = report["totals"][1:]
        check("otf2 of %s: bytes" % folder, [found["sent"], found["received"]] == want, (found["sent"], found["received"], want))


def totals(found):
    return [sum(call[i] for call in found["calls"].values()) for i in range(3)]


def all_formats(folder, complete=True):
    report = exported.of_report("--to", "1e6", folder)  # from the events, as exports are
    if complete:
        counters = exported.of_report(folder)
        report["totals"] = totals(counters)
        check("%s: messages, as the counters say" % folder, report["pairs"] == counters["pairs"], differing(report["pairs"], counters["pairs"]))
    for kind, read in FORMATS.items():
        out = export(kind, folder)
        if out:
            compare("%s of %s" % (kind, folder), read(out), report, complete)
    if OTF2:
        otf2(folder, report, complete)


def real():
    for name, ranks, program in (("random", 4, "random_mix"), ("many", 2, "pingpong"), ("polls", 2, "polling"), ("persistent", 2, "p2p_persistent"),
                                 ("threads", 2, "threads_multiple"), ("regions", 2, "regions")):
        r = mpirun(ranks, [workload(program)] + ["10000"] * (program == "pingpong"), name)
        if check("the job %s" % name, r.code == 0, r):
            all_formats(name)


def made():
    for seed in MADE:
        folder = "made-%d" % seed
        os.makedirs(folder, exist_ok=True)
        r = run([os.path.join(BUILD, "tests/yardstick/yardstick"), "-w", str(seed), "-r", folder])
        if check("a made job, %d" % seed, r.code == 0, r):
            all_formats(folder, complete=False)


def gpu():
    """Streams of a GPU (its double) are tracks of their own, and what ran there is nowhere among MPI's calls."""
    program, double = os.path.join(BUILD, "workloads/nccl/overlap"), os.path.join(BUILD, "gpu_double")
    if not os.path.exists(program):
        skip("gpu", "the workloads of NCCL are not built: make nccl")
        return
    r = run(["mpirun", "-n", "2", program], environment("gpu", LD_LIBRARY_PATH=double))
    if not check("a job with GPUs", r.code == 0, r):
        return
    all_formats("gpu", complete=False)
    report = exported.of_report("gpu")["report"]
    ran = sum(k["calls"] for k in report["kernels"]) + sum(g["copies"] for g in report["gpus"])
    device = [e for e in exported.rows("gpu.csv", "events") if e["what"] == "device"]
    check("csv: kernels and copies", len(device) == ran > 0, (len(device), ran))
    streams = {(e["rank"], e["thread"]) for e in device}
    if OTF2:
        found = exported.of_otf2("gpu.otf2", OTF2)
        check("otf2: streams are a group of an accelerator", found["streams"] == len(streams), (found["streams"], streams))


def no_library():
    """Without the OTF2 library otf2 says so, and nothing else changes."""
    with open("no_otf2.c", "w") as f:
        f.write("""#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
void *dlopen(const char *name, int flags)
{
    void *(*real)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return name && (strstr(name, "otf2") || strstr(name, "open-trace")) ? NULL : real(name, flags);
}
""")
    r = run(["gcc", "-shared", "-fPIC", "-o", "no_otf2.so", "no_otf2.c", "-ldl"])
    if check("a machine without the library", r.code == 0, r):
        env = dict(os.environ, LD_PRELOAD=os.path.abspath("no_otf2.so"))
        r = hpctop("export", "--format", "otf2", "-o", "none.otf2", "random", env=env)
        left = [f for f in os.listdir(".") if f.startswith("none.otf2")]
        check("no OTF2 library: it is said", r.code == 2 and "OTF2 library" in r.err and len(r.err.splitlines()) == 1 and not left, (r, left))
        r = hpctop("export", "--format", "csv", "-o", "none.csv", "random", env=env)
        check("no OTF2 library: others need none", r.code == 0, r)


def parts():
    """Of a part there is what overlaps it, and of some ranks their calls and the messages from and to them."""
    whole = exported.rows(export("csv", "random"), "events")
    middle = sorted(float(r["begin_s"]) for r in whole)[len(whole) // 2]
    part = exported.rows(export("csv", "random", "--from", "%.9f" % middle, "--to", "%.9f" % (middle + 0.01), out="part"), "events")
    want = [r for r in whole if float(r["end_s"]) >= middle and float(r["begin_s"]) < middle + 0.01]
    check("a part: what overlaps it", part == want and 0 < len(part) < len(whole), (len(part), len(want), len(whole)))
    export("csv", "random", "--ranks", "1", out="one")
    one = exported.rows("one", "events")
    check("one rank: its events", one == [r for r in whole if r["rank"] == "1"])
    messages = exported.rows("random.csv", "messages")
    check("one rank: its messages", exported.rows("one", "messages") == [m for m in messages if "1" in (m["src"], m["dst"])])


def drawn_parts():
    """Parts in the drawn formats: what begins ends, no message lacks an end, and there are the calls of the table."""
    for name, options in (("middle", ("--from", "0.0", "--to", "%.9f" % exported.of_report("random")["report"]["job"]["elapsed_s"])),
                          ("ranks", ("--ranks", "1,2")), ("both", ("--ranks", "0-2", "--from", "0.001"))):
        table = exported.of_csv(export("csv", "random", *options, out="part-%s.csv" % name))
        for kind, read in FORMATS.items():
            if kind == "csv":
                continue
            found = read(export(kind, "random", *options, out="part-%s.%s" % (name, kind)))
            wrong = differing(found["calls"], table["calls"])
            check("%s of a part, %s: calls" % (kind, name), not wrong and not found.get("wrong"), (wrong, found.get("wrong")))
            check("%s of a part, %s: messages" % (kind, name), sum(p[0] for p in found["pairs"].values()) <= sum(p[0] for p in table["pairs"].values())
                  and found["pairs"], found["pairs"])
        if OTF2:
            found = exported.of_otf2(export("otf2", "random", *options, out="part-%s.otf2" % name), OTF2)
            counts = {c: n[0] for c, n in table["calls"].items() if n[0]}
            check("otf2 of a part, %s" % name, not found["wrong"] and {c: n[0] for c, n in found["calls"].items()} == counts, found["wrong"])


def talp():
    """POP's metrics, as the report has them; TALP-Pages, where it is here, reads them."""
    out = export("talp", "random")
    if not out:
        return
    with open(out) as f:
        found = json.load(f)["Application"]["Global"]
    report = exported.of_report("random")["report"]
    efficiency = report["efficiency"]
    for key, value in (("parallelEfficiency", efficiency["load_balance"] * efficiency["communication"]),  # TALP knows no queueing
                       ("mpiLoadBalance", efficiency["load_balance"]), ("mpiCommunicationEfficiency", efficiency["communication"])):
        check("talp: %s" % key, abs(found[key] - value) < 1e-9, (found[key], efficiency))
    check("talp: load balance is that in nodes and between them",
          abs(found["mpiLoadBalanceIn"] * found["mpiLoadBalanceOut"] - found["mpiLoadBalance"]) < 1e-9, found)
    check("talp: calls", found["numMpiCalls"] == sum(r["calls"] for r in report["ranks"]), found)
    check("talp: times", abs(found["usefulTime"] + found["mpiTime"] - sum(r["wall_s"] for r in report["ranks"]) * 1e9) < 10, found)
    code = "import sys, pathlib; from talp_pages.io.dataframe_handling import load_talp_json_df as load; print(load(pathlib.Path(sys.argv[1]))['parallelEfficiency'][0])"
    reader = python_with("import talp_pages")
    if not reader:
        skip("talp by TALP-Pages", "no Python here has talp-pages")
        return
    r = run([reader, "-c", code, out])
    check("talp by TALP-Pages", r.code == 0 and abs(float(r.out) - found["parallelEfficiency"]) < 1e-9, r)


def parquet():
    """What docs/export.md says of DuckDB is so: a table of csv becomes Parquet with as many rows and bytes."""
    python = exported.pip_python("duckdb", "import duckdb", ["duckdb"])
    if not python:
        skip("parquet", "no Python here has duckdb, and pip cannot get it")
        return
    with open(os.path.join(os.environ["TOP"], "docs/export.md")) as f:
        line = re.search(r'duckdb -c "(.*)"', f.read()).group(1)
    line = line.replace("hpctop-1.csv", "random.csv")
    code = ("import duckdb, sys; c = duckdb.connect(); c.execute(sys.argv[1]); "
            "print(tuple(c.execute(\"SELECT count(*), sum(bytes_sent) FROM 'events.parquet'\").fetchall()[0]))")
    r = run([python, "-c", code, line])
    rows = exported.rows("random.csv", "events")
    check("parquet by DuckDB", r.code == 0 and r.out.strip() == "(%d, %d)" % (len(rows), sum(int(row["bytes_sent"] or 0) for row in rows)), r)


def uncertainty():
    error = exported.of_report("random")["report"]["job"]["clock_error_s"]
    found = [float(exported.rows("random.csv", "job")[0]["clock_error_s"])]
    if "perfetto" in FORMATS:
        found.append(FORMATS["perfetto"]("random.perfetto")["job"]["clock_error_s"])
    check("the clock's uncertainty is in it", error is not None and all(abs(e - error) < 1e-6 * error for e in found), (error, found))


def escaped():
    """Names that have quotes, commas and escapes in them."""
    program = os.path.join("a,\"b\" \\ \x1b[31m \u00fc", "ring, 2")
    os.makedirs(os.path.dirname(program))
    shutil.copy(workload("ring"), program)
    r = mpirun(2, os.path.abspath(program), "odd")
    if not check("a job with an odd name", r.code == 0, r):
        return
    all_formats("odd")
    command = exported.rows("odd.csv", "job")[0]["command"]
    check("its name is whole", "ring, 2" in command and '"b" \\ ?[31m \u00fc' in command, command)
    sites = {r["module"] for r in exported.rows("odd.csv", "sites")}
    check("nothing of it breaks a row", all("ring, 2+0x" in s for s in sites), sites)


def small_files():
    """No file may have more than so many bytes: as on a full disk, the end of a file is missing."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))


def full_disk():
    for kind in list(FORMATS) + (["otf2"] if OTF2 else []):
        out = "full." + kind
        r = subprocess.run([HPCTOP, "export", "--format", kind, "-o", out, "random"], preexec_fn=small_files, restore_signals=False,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        left = [f for f in os.listdir(".") if f.startswith(out)]
        check("%s, no space: an error, and nothing is left" % kind, r.returncode == 2 and len(r.stderr.splitlines()) == 1 and not r.stdout
              and not left, (r, left))


def interrupted():
    """Nothing is left of an export that is interrupted.  One that was done before that is there."""
    r = mpirun(2, [workload("pingpong"), "150000"], "long")
    if not check("a longer job", r.code == 0, r):
        return
    seen = 0
    for i in range(10):
        p = subprocess.Popen([HPCTOP, "export", "--format", "perfetto", "-o", "stopped.pftrace", "long"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: p.poll() is not None or os.path.exists("stopped.pftrace.part") and os.path.getsize("stopped.pftrace.part"), step=0.001)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate()
        seen += p.returncode == 2
        left = [f for f in os.listdir(".") if f.startswith("stopped.pftrace")]
        if not check("interrupted, %d: nothing is left, or all is there" % i, p.returncode == 2 and not left and b"interrupted" in err or
                     p.returncode == 0 and left == ["stopped.pftrace"] or p.returncode == -signal.SIGINT and not seen, (p.returncode, err, left)):
            break
        for f in left:
            os.remove(f)
    check("an export was interrupted", seen)


def left_over():
    """What a killed export has left does not keep the next one out; what others lay there is not followed, nor removed."""
    os.mkdir("again.csv.part")
    with open("again.csv.part/events.csv", "w") as f:
        f.write("half")
    export("csv", "random", out="again.csv")
    with open("victim", "w") as f:
        f.write("mine")
    for kind, name in (("perfetto", "link.pftrace.part"), ("csv", "link.csv.part")):
        os.symlink("victim", name)
        export(kind, "random", out=name[:-len(".part")])
    with open("victim") as f:
        check("a link that lies there leads nowhere", f.read() == "mine")
    os.mkdir("own.csv.part")
    with open("own.csv.part/thesis.tex", "w") as f:
        f.write("mine")
    r = hpctop("export", "--format", "csv", "-o", "own.csv", "random")
    check("a folder that is somebody's own stays", r.code == 2 and len(r.err.splitlines()) == 1 and os.path.exists("own.csv.part/thesis.tex"), r)
    for command in (["export", "--format", "perfetto"], ["report", "--json"]):
        os.mkfifo("pipe")
        r = hpctop(*command, "-o", "pipe", "random")
        check("%s: what is no file is not replaced" % command[0], r.code == 2 and len(r.err.splitlines()) == 1 and stat.S_ISFIFO(os.stat("pipe").st_mode), r)
        os.remove("pipe")


def manners():
    for name, code, arguments in (("no format", 64, ["random"]), ("a format that there is not", 64, ["--format", "xlsx", "random"]),
                                  ("no folder", 64, ["--format", "csv"]), ("a time backwards", 64, ["--format", "csv", "--from", "2", "--to", "1", "random"]),
                                  ("a folder that there is not", 2, ["--format", "csv", "nowhere"]),
                                  ("a rank that there is not", 2, ["--format", "csv", "--ranks", "77", "random"]),
                                  ("a time after the end", 2, ["--format", "csv", "--from", "1e6", "random"]),
                                  ("a place that there is not", 2, ["--format", "perfetto", "-o", "no/such/place", "random"]),
                                  ("a folder that is there", 2, ["--format", "csv", "-o", "random", "random"])):
        before = sorted(os.listdir("random"))
        r = hpctop("export", *arguments)
        check("%d for: %s" % (code, name), r.code == code and len(r.err.splitlines()) == 1 and not r.out and sorted(os.listdir("random")) == before, r)
    check("each format is explained", all("  %s " % kind in hpctop("help", "export").out for kind in FORMATS), hpctop("help", "export"))
    r = hpctop("export", "--format", "perfetto", os.path.abspath("random"), cwd="random.csv")
    check("without -o it is named after the job", r.code == 0 and os.path.exists("random.csv/hpctop-random.pftrace"), r)


if not OTF2:
    skip("otf2", "otf2-print or its Python module is not here (Debian: otf2-tools, python3-otf2)")
real()
made()
gpu()
no_library()
parts()
drawn_parts()
talp()
parquet()
uncertainty()
escaped()
full_disk()
interrupted()
left_over()
manners()
end()
