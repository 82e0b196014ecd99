# timeout: 200
# waits
"""hpctop watch: a line a second while a job runs, and one at its end; hpctop metrics: OpenMetrics text, read by the parser of
Prometheus's own client, with the numbers of the report."""
import json
import os
import re
import shutil
import signal
import subprocess

from common import HPCTOP, LONG, check, end, hpctop, mpirun, python_with, report, skip, start, stop, together, traces, wait_for, workload

PARSE = """
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
families = list(text_string_to_metric_families(sys.stdin.read()))
print(json.dumps([[f.name, f.type, f.unit, f.documentation, [[s.name, s.labels, s.value] for s in f.samples]] for f in families]))
"""


def lines_of(out):
    return [json.loads(line) for line in out.splitlines()]


def watched():
    """A job that runs until a file says enough."""
    job = start(2, [workload("stencil"), "300", "-1", "enough"], "live")
    wait_for(lambda: len(traces("live")) == 2 and all(r["calls"] for r in report("live")["ranks"]))
    watch = subprocess.Popen([HPCTOP, "watch", "--json", "--every", "0.2", "live"], stdout=subprocess.PIPE, universal_newlines=True)
    seen = [json.loads(watch.stdout.readline()) for _ in range(4)]  # each comes while the job runs: it was not told to end
    check("watch: lines come while the job runs", all(line["state"] == "running" and line["ranks"] == 2 for line in seen), seen)
    open("enough", "w").close()
    rest, _ = watch.communicate(timeout=LONG)
    job.wait()
    lines = seen + lines_of(rest)
    last = lines[-1]
    check("watch: it ends with the job", watch.returncode == 0 and last["state"] == "finished", last)
    check("watch: no line after the last", all(line["state"] != "finished" for line in lines[:-1]), [line["state"] for line in lines])
    check("watch: time and counts rise", all(a["elapsed_s"] <= b["elapsed_s"] and a["time_unix_s"] < b["time_unix_s"] and a["calls"] <= b["calls"]
                                             for a, b in zip(lines, lines[1:])), lines)
    rep = report("live")
    check("watch: the last line has the counts of the report",
          [last["calls"], last["bytes_sent"], last["bytes_received"]] ==
          [sum(r[k] for r in rep["ranks"]) for k in ("calls", "bytes_sent", "bytes_received")] and
          last["calls"] and last["bytes_sent"] and last["bytes_received"], (last, rep["ranks"]))
    words = [re.sub(r"[\d.]+", "", text) for text in (last["answer"], rep["job"]["answer"])]  # shares of what came late may differ
    check("watch: the last line has its headline", words[0] == words[1], (last["answer"], rep["job"]["answer"]))
    check("watch: states of ranks add up", all(sum(line["ranks_" + s] for s in ("run", "wait", "done", "gone")) <= line["ranks"] for line in lines), lines)


def hung():
    job = start(3, workload("hang_recv"), "hung", HPCTOP_HANG=600)
    wait_for(lambda: len(traces("hung")) == 3 and all(r["calls"] for r in report("hung")["ranks"]))
    watch = subprocess.Popen([HPCTOP, "watch", "--json", "--every", "0.3", "hung"], stdout=subprocess.PIPE, universal_newlines=True)
    found = wait_for(lambda: (lambda line: line if line["verdict"] == "hung" else None)(json.loads(watch.stdout.readline())))
    check("watch: a hang has its verdict and culprits", found and found["class"] and found["culprits"], found)
    taken = hpctop("stacks", "--no-ask", "hung").out
    check("watch: stacks were asked for before it", "MPI_Recv" in taken and "main" in taken, taken)
    stop(job)
    for rank in report("hung")["ranks"]:  # mpirun's death ends them, too, but at its leisure
        try:
            os.kill(rank["pid"], signal.SIGKILL)
        except ProcessLookupError:
            pass
    rest, _ = watch.communicate(timeout=60)
    check("watch: a job that was killed ends it, with 1", watch.returncode == 1 and lines_of(rest)[-1]["state"] in ("hung", "aborted"), (watch.returncode, rest[-500:]))


def schemas():
    python = python_with("import jsonschema; jsonschema.Draft202012Validator")
    if not python:
        skip("a line of watch is as its schema", "no Python here has a validator of JSON Schema")
        return
    code = "import json, jsonschema, sys; jsonschema.Draft202012Validator(json.load(open(sys.argv[1]))).validate(json.load(sys.stdin))"
    p = subprocess.run([python, "-c", code, os.path.join(os.environ["TOP"], "docs/schema/watch.json")], input=hpctop("watch", "--json", "live").out,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    check("a line of watch is as its schema", p.returncode == 0, p.stdout[-300:])


def families_of(python, text):
    p = subprocess.run([python, "-c", PARSE], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if not check("metrics: the parser takes it", p.returncode == 0, p.stderr[-400:]):
        return {}
    return {name: (kind, unit, about, samples) for name, kind, unit, about, samples in json.loads(p.stdout)}


def metrics(folder):
    python = python_with("import prometheus_client.openmetrics.parser")
    if not python:
        skip("metrics", "no Python here has prometheus_client (Debian: python3-prometheus-client)")
        return
    r = hpctop("metrics", folder)
    families = families_of(python, r.out)
    if not families:
        return
    rep = report(folder)
    ranks = {s[1]["rank"]: s[2] for s in families["hpctop_rank_calls"][3]}
    check("metrics: calls by rank", ranks == {str(x["rank"]): x["calls"] for x in rep["ranks"]}, ranks)
    for key, family in (("bytes_sent", "sent_bytes"), ("bytes_received", "received_bytes"), ("mpi_s", "mpi_seconds")):
        found = {s[1]["rank"]: s[2] for s in families["hpctop_rank_" + family][3]}
        check("metrics: %s by rank" % family, all(abs(found[str(x["rank"])] - x[key]) <= 1e-9 * x[key] for x in rep["ranks"]), found)
    calls = {s[1]["call"]: s[2] for s in families["hpctop_calls"][3]}
    check("metrics: calls by name", calls == {c["name"]: c["calls"] for c in rep["calls"]}, calls)
    state = [s[1]["hpctop_job_state"] for s in families["hpctop_job_state"][3] if s[2]]
    check("metrics: one state holds", state == [rep["job"]["state"]], state)
    check("metrics: all are explained", all(about for _, _, about, _ in families.values()))
    info = families["hpctop_job"][3][0][1]
    check("metrics: the command is whole", info["command"] == rep["job"]["command"], info)
    r = hpctop("metrics", "-o", "job.prom", folder)
    with open("job.prom") as f:
        check("metrics -o: the file ends as it should", r.code == 0 and not r.out and f.read().endswith("# EOF\n"), r)
    check("metrics -o: nothing else is left", not os.path.exists("job.prom.part"))
    r = hpctop("metrics", "-o", "no/such/place", folder)
    check("metrics -o: a place that there is not", r.code == 2 and len(r.err.splitlines()) == 1, r)


def odd_name():
    program = os.path.join("a\"b\\c\nd", "ring")
    os.makedirs(os.path.dirname(program))
    shutil.copy(workload("ring"), program)
    r = mpirun(2, os.path.abspath(program), "odd")
    if check("a job with an odd name", r.code == 0, r):
        metrics("odd")


def slow():
    """Who is late is in the events, not in the counters: the metrics have the same verdict as hpctop verdict."""
    r = mpirun(3, [workload("planted"), "one"], "slow")
    said = json.loads(hpctop("verdict", "--json", "slow").out or "{}").get("state")
    held = re.findall(r'hpctop_job_verdict="(\w+)"\} 1$', hpctop("metrics", "slow").out, re.M)
    check("metrics: a job with a late rank is slow there, too", r.code == 0 and said == "slow" and held == [said], (r, said, held))


together([watched, hung, slow])
schemas()
metrics("live")
odd_name()
for command in ("watch", "metrics"):
    r = hpctop(command, "nowhere")
    check("%s: 2 for a folder that there is not" % command, r.code == 2 and len(r.err.splitlines()) == 1 and not r.out, r)
    r = hpctop(command)
    check("%s: 64 without a folder" % command, r.code == 64, r)
end()
