"""What `hpctop export` wrote, read back by others' readers into one form, and the same of `hpctop report --json`.

    {"calls": {name: [calls, bytes sent, bytes received]}, "pairs": {(src, dst): [messages, bytes]},
     "collectives": {name: instances}, "times": {name: seconds}}

Of what MPI does inside its calls, and of GPUs, nothing counts."""
import collections
import csv
import json
import os
import sys

from common import hpctop, python_with, run


def empty():
    return {"calls": collections.defaultdict(lambda: [0, 0, 0]), "pairs": collections.defaultdict(lambda: [0, 0]),
            "collectives": collections.Counter(), "times": collections.Counter()}


def plain(found):
    return {key: dict(value) for key, value in found.items()}


def add_call(found, name, calls, sent, received, seconds):
    for i, value in enumerate((calls, sent, received)):
        found["calls"][name][i] += value
    found["times"][name] += seconds


def add_message(found, source, destination, size):
    found["pairs"][source, destination][0] += 1
    found["pairs"][source, destination][1] += size


def of_report(*arguments):
    rep = json.loads(hpctop("report", "--json", *arguments).out)
    found = empty()
    for c in rep["calls"]:
        add_call(found, c["name"], c["calls"], c["bytes_sent"] or 0, c["bytes_received"] or 0, c["length_s"] or 0)
    for p in rep["pairs"]:
        found["pairs"][p["src"], p["dst"]] = [p["messages"], p["bytes"]]
    for c in rep["collectives"]:
        if c["instances"]:
            found["collectives"][c["name"]] += c["instances"]
    found = plain(found)
    found["report"] = rep
    return found


def rows(folder, table):
    with open(os.path.join(folder, table + ".csv"), newline="") as f:
        return list(csv.DictReader(f))


def of_csv(folder):
    found = empty()
    for r in rows(folder, "events"):
        if r["what"] in ("call", "poll", "part"):
            add_call(found, r["name"], int(r["calls"]), int(r["bytes_sent"] or 0), int(r["bytes_received"] or 0),
                     float(r["busy_s"]) if r["what"] != "part" else 0)
    for r in rows(folder, "messages"):
        add_message(found, int(r["src"]), int(r["dst"]), int(r["bytes"]))
    instances = collections.defaultdict(list)
    for r in rows(folder, "collectives"):
        instances[r["instance"]].append(r)
    for arrivals in instances.values():
        if len(arrivals) > 1 and arrivals[0]["mismatched"] == "false":
            found["collectives"][arrivals[0]["name"]] += 1
    return plain(found)


def pip_python(name, code, packages):
    """A Python in which this code runs, if need be with these packages in an environment made here; None: it cannot be had."""
    python = os.path.abspath("venv-%s/bin/python" % name)
    found = python_with(code, python)
    if not found and run([sys.executable, "-m", "venv", "venv-" + name]).code == 0:
        run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:"] + packages, timeout=600)
        found = python_with(code, python)
    return found


def perfetto_python():
    """A Python that has the package `perfetto`."""
    return pip_python("perfetto", "from perfetto.protos.perfetto.trace import perfetto_trace_pb2", ["perfetto", "protobuf"])


def of_perfetto(path, python):
    r = run([python, os.path.join(os.path.dirname(__file__), "exported_perfetto.py"), path])
    if r.code != 0:
        raise RuntimeError(str(r))
    found = json.loads(r.out)
    found["pairs"] = {tuple(int(n) for n in pair.split()): value for pair, value in found["pairs"].items()}
    return found


def of_otf2(path, python):
    r = run([python, os.path.join(os.path.dirname(__file__), "exported_otf2.py"), os.path.join(path, "traces.otf2")])
    if r.code != 0 or r.err:
        raise RuntimeError(str(r))
    found = json.loads(r.out)
    for pairs in ("pairs", "received_pairs"):
        found[pairs] = {tuple(int(n) for n in pair.split()): value for pair, value in found[pairs].items()}
    return found
