# timeout: 180
"""A part of a job: `hpctop report --from --to --ranks` counts what the dump has in it, parts add up to the whole, and what
stands out in one is that which was planted there."""
import os
import re

from common import TOP, calls, check, end, hpctop, mpirun, report, traces, workload

TIMES = 60  # of planted.c
LATE = 0.15  # of traffic.c; a rank that comes late to wait waits for less


def line(mark):
    with open(TOP + "/workloads/planted.c") as f:
        return next("planted.c:%d" % n for n, text in enumerate(f, 1) if "/* line: %s */" % mark in text)


def part(begin, stop, *more):
    return report("--from", "%.9f" % begin, "--to", "%.9f" % stop, *more, "spikes")


def counts(rep):
    return {name: call["calls"] for name, call in calls(rep).items() if call["calls"]}


def added(reports, of):
    return sum(of(rep) for rep in reports)


def add_up(whole, at):
    """The parts of a run add up to the run: calls, bytes, waiting; and each part's costs to its waiting."""
    edges = [0, *at, whole["job"]["elapsed_s"] + 1]
    reports = [part(begin, stop) for begin, stop in zip(edges, edges[1:])]
    if not check("all parts can be reported", all(reports)):
        return
    for key in ("calls", "bytes_sent", "bytes_received"):
        of = lambda rep: sum(rank[key] for rank in rep["ranks"])
        check("parts add up: " + key, added(reports, of) == of(whole), (added(reports, of), of(whole)))
    check("parts add up: waiting", abs(added(reports, lambda r: r["waits_s"]) - whole["waits_s"]) < 1e-6 * len(edges),
          (added(reports, lambda r: r["waits_s"]), whole["waits_s"]))
    ns = lambda rows, name=None: sum(round(one["seconds"] * 1e9) for one in rows if name in (None, one["account"]))
    together = ns(part(edges[0], edges[-1])["accounts"])  # ranks may have begun before the first one
    check("parts add up: accounts, to the nanosecond", added(reports, lambda r: ns(r["accounts"])) == together,
          (added(reports, lambda r: ns(r["accounts"])), together))
    for name in ("wait", "io"):
        of = lambda rep: ns(rep["accounts"], name)
        check("parts add up: account " + name, abs(added(reports, of) - of(whole)) < 1000 * len(edges), (added(reports, of), of(whole)))
    many = added(reports, lambda r: r["iterations"]["count"])
    check("parts add up: iterations", abs(many - TIMES) <= len(reports), many)
    for rep in reports:
        window, waits = rep["window"], rep["waits_s"]
        length = window["to_s"] - window["from_s"]
        name = "%.3f to %.3f s" % (window["from_s"], window["to_s"])
        if rep not in (reports[0], reports[-1]):  # where all ranks live
            check(name + ": accounts of all of it", abs(len(rep["ranks"]) * length * 1e9 - ns(rep["accounts"])) < 10, rep["accounts"])
        check(name + ": the path is as long", abs(rep["path_s"] - length) <= 0.001 * length, (rep["path_s"], length))
        check(name + ": costs add up to the waits", abs(rep["delays_s"] - waits) <= 0.001 * waits + 1e-6, (rep["delays_s"], waits))


def like_the_dump(begin, stop):
    """Rank 0's calls of which a part lies in the window, by the dump, whose times of rank 0 are job time."""
    truth, ended, cut = {}, 0, 0
    dump = next(text for text in (hpctop("dump", path).out for path in traces("spikes")) if "\nrank: 0 of" in text)
    for row in dump.splitlines():
        call = re.match(r"0 +([\d.]+) ([\d.]+) (MPI_\w+) ", row)
        first, last = (float(call.group(1)), float(call.group(1)) + float(call.group(2))) if call else (0, 0)
        if call and first < stop and last >= begin:
            truth[call.group(3)] = truth.get(call.group(3), 0) + 1
            ended += last < stop
            cut += first < begin or last >= stop
    rep = part(begin, stop, "--ranks", "0")
    check("rank 0's calls in a window are those of the dump", truth and counts(rep) == truth, (counts(rep), truth))
    check("those that end in it, and those that are cut", (rep["ranks"][0]["calls"], rep["window"]["cut_calls"]) == (ended, cut),
          (rep["ranks"][0]["calls"], rep["window"]["cut_calls"], ended, cut))
    check("one rank is reported", [r["rank"] for r in rep["ranks"]] == [0] and rep["window"]["ranks"] == [0], rep["window"])


def planted(slowest):
    """Windows around slow iterations, until in one rank 2's work causes most of what is waited there: what else runs on
    this machine makes ranks late, too, but not in all of them."""
    work = (2, line("barrier"), line("meet"))
    found = []
    for slow in (s for s in slowest if (s["rank"], s["from"], s["to"]) == work):
        begin, stop = slow["at_s"], slow["at_s"] + slow["seconds"] * 1.01
        rep = part(begin, stop)
        worst = rep["segments"][0]
        found.append((worst, rep["waits_s"]))
        caused = (worst["worst_rank"], worst["from"], worst["to"]) == work and worst["costs_s"] >= 0.6 * rep["waits_s"] > 0.1
        if caused:
            break
    if not check("around a slow iteration: who caused it", found and caused, found or slowest):
        return
    text = hpctop("report", "--all", "--from", "%.9f" % begin, "--to", "%.9f" % stop, "--ranks", "1-2", "spikes")
    check("the page says what it counts", "IN THIS WINDOW" in text.out and ", ranks 1 and 2" in text.out and
          "are cut at its edges" in text.out, text.out[:2000])


def refused():
    for arguments, code, words in ((["--from", "x"], 64, "seconds"), (["--from", "2", "--to", "1"], 64, "later"),
                                   (["--to", "0"], 64, "later"), (["--ranks", "1-"], 2, "no list of ranks"),
                                   (["--ranks", "7"], 2, "no rank 7"),
                                   (["--from", "99999"], 2, "ended")):
        r = hpctop("report", "--all", *arguments, "spikes")
        check("refused: " + " ".join(arguments), r.code == code and words in r.err and not r.out and r.err.count("\n") == 1, r)


def sized(whole):
    """Of traffic: 256 KiB are quick once they are sent, and late; the list of a window says who, and where."""
    sizes = {s["from_bytes"]: s for s in whole["sizes"]}
    check("sizes of messages", {k: s["messages"] for k, s in sizes.items()} == {1024: 120, 262144: 4}, sizes)
    large, small = sizes[262144], sizes[1024]
    check("large ones come late, all of them", large["late"] == 4 and large["late_p50_s"] >= LATE / 2 and
          large["late_s"] >= 4 * LATE / 2 and small["late_p50_s"] < LATE / 2, sizes)
    check("a late sender is no slow message", large["latency_min_s"] < 0.5 * large["late_p50_s"], large)
    rates = {(p["src"], p["dst"]): p["bandwidth"] for p in whole["pairs"]}
    each = {k: s["bytes"] / s["bandwidth"] / s["messages"] for k, s in sizes.items()}
    check("bandwidth of sizes and pairs", all(r > 0 for r in rates.values()) and
          all(0.99 * s["latency_min_s"] <= each[k] <= 1.01 * s["latency_max_s"] for k, s in sizes.items()), (rates, sizes))
    rep = report("--from", "0", "--to", "1000", "traffic")
    late = [s for s in rep["outliers"] if s["from_bytes"] == 262144]
    with open(TOP + "/workloads/traffic.c") as f:
        send = next("traffic.c:%d" % n for n, text in enumerate(f, 1) if "/* line: send */" in text)
    check("the list has the late sender", len(late) == 1 and (late[0]["rank"], late[0]["times"], late[0]["waiters"],
                                                              late[0]["from"]) == (1, 4, 1, send), rep["outliers"])
    slow = rep["slowest_messages"][0]
    check("the slowest message is one of them", (slow["src"], slow["dst"], slow["bytes"]) == (1, 0, 262144) and
          slow["late_s"] >= LATE / 2 and slow["time_s"] >= slow["late_s"], rep["slowest_messages"])
    text = hpctop("report", "--all", "--from", "0", "--to", "1000", "traffic").out
    check("the page says so", "stand out:" in text and "late sender" in text and "262 kB to rank 0" in text and
          "MESSAGES BY SIZE" in text, text[:3000])


def files(whole):
    """Of traffic: what went to which file, in pieces of which size."""
    rows = {os.path.basename(f["name"]): f for f in whole["files"]}
    if not check("its files", sorted(rows) == ["own.0", "own.1", "own.2", "shared"], rows):
        return
    shared, own = rows["shared"], rows["own.1"]
    check("the file that all write", (shared["ranks"], shared["opens"], shared["writes"], shared["bytes_written"],
                                      shared["reads"], shared["bytes_read"]) == (3, 3, 24, 24 * 65536, 3, 3 * 65536), shared)
    check("its accesses", shared["write_sizes"] == [{"from_bytes": 65536, "accesses": 24}] and
          shared["read_sizes"] == [{"from_bytes": 65536, "accesses": 3}] and shared["write_size"] == 65536, shared)
    check("its bandwidth is bytes / time of the calls", abs(shared["write_bandwidth"] * shared["write_s"] - 24 * 65536) < 1 and
          shared["time_s"] >= shared["write_s"] + shared["read_s"], shared)
    check("a rank's own file", (own["ranks"], own["opens"], own["writes"], own["bytes_written"], own["slowest_rank"],
                                own["write_sizes"]) == (1, 1, 1, 100, 1, [{"from_bytes": 64, "accesses": 1}]), own)
    check("a file that was opened by one rank alone is not in view of another",
          sorted(os.path.basename(f["name"]) for f in report("--ranks", "2", "traffic")["files"]) == ["own.2", "shared"], rows)
    done = mpirun(2, [workload("io"), os.path.join(os.getcwd(), "io.dat")], "io")
    io = report("io")["files"] if done.code == 0 else []
    check("every kind of access", len(io) == 1 and (io[0]["reads"], io[0]["bytes_read"], io[0]["writes"],
                                                     io[0]["bytes_written"]) == (14, 680, 12, 620), io)
    check("of nonblocking ones no bandwidth is told", io and io[0]["write_bandwidth"] is None, io)
    check("the page has the files", "FILES, used by MPI-IO" in hpctop("report", "--all", "traffic").out, "")


def filtered():
    """workloads/traffic.c: what is on each of its communicators."""
    traffic = mpirun(3, [workload("traffic"), os.getcwd()], "traffic")
    whole = report("traffic")
    if not check("the traffic can be reported", whole is not None, traffic):
        return
    ring, bulk = report("--comm", "ring", "traffic"), report("--comm", "bulk", "traffic")
    moved = {name: (c["calls"], c["bytes_sent"], c["bytes_received"]) for name, c in calls(ring).items() if c["bytes_sent"]}
    check("ring: what its calls moved", moved == {"MPI_Sendrecv": (120, 120 * 1024, 120 * 1024)}, moved)
    check("ring: pairs", sorted((p["src"], p["dst"], p["messages"]) for p in ring["pairs"]) == [(0, 1, 40), (1, 2, 40), (2, 0, 40)],
          ring["pairs"])
    check("bulk: one late pair", [(p["src"], p["dst"], p["messages"], p["bytes"]) for p in bulk["pairs"]] == [(1, 0, 4, 4 * 262144)],
          bulk["pairs"])
    late = [w for w in bulk["waits"] if w["lost_s"] > LATE]
    check("bulk: rank 0 waits for rank 1 as planned", len(late) == 1 and (late[0]["waiter"], late[0]["culprit"]) == (0, 1) and
          late[0]["lost_s"] >= 4 * LATE / 2, bulk["waits"])
    names = {c["name"] for c in report("--call", "allreduce", "--ranks", "1", "traffic")["calls"]}
    check("one call of one rank", names == {"MPI_Allreduce"}, names)
    parts = [report("--comm", c["communicator"], "traffic") for c in {c["communicator"]: c for c in whole["collectives"]}.values()]
    check("communicators are found by the report's own names", all(parts) and all(p["window"]["words"] for p in parts), parts)
    sized(whole)
    files(whole)
    for arguments, words in ((["--comm", "nothing"], "no communicator nothing"), (["--comm", "#99"], "no communicator #99"),
                             (["--call", "MPI_Never"], "no call named MPI_Never")):
        r = hpctop("report", "--all", *arguments, "traffic")
        check("refused: " + " ".join(arguments), r.code == 2 and words in r.err and not r.out, r)


done = mpirun(3, [workload("planted"), "spikes"], "spikes")
whole = report("spikes") if done.code == 0 else None
if check("the job can be reported", whole is not None, done):
    length = whole["job"]["elapsed_s"]
    check("the whole run has no window", whole["window"] is None, whole["window"])
    add_up(whole, [0.31 * length, 0.62 * length])
    like_the_dump(0.4 * length, 0.8 * length)
    planted(whole["iterations"]["slowest"])
refused()
filtered()
end()
