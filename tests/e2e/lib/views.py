"""The numbers of a job as each view prints them, held against `hpctop report --json`."""
import csv
import html
import json
import os
import re

from shown import ANY, NUMBER, Shown, looks_like, table

EDGES = ("MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Session_init", "MPI_Session_finalize")


def ratio(part, whole):
    return None if part is None or not whole else part / whole


class Job:
    """A report, and the sums that its shares are shares of."""

    def __init__(self, rep, threads=False):
        self.rep = rep
        self.threads = threads  # ranks have several that call MPI: MPI% is of one, and mpi_s of all
        self.seconds = rep["job"]["elapsed_s"]
        self.wall = sum(rank["wall_s"] or 0 for rank in rep["ranks"])
        self.kernels = sum(kernel["time_s"] for kernel in rep["kernels"])


def call_share(c, job):
    share = ratio(c["time_s"], job.wall)
    return None if share is None or share > 1.005 or c["name"] in EDGES else share


def call_size(c, job):
    most, known = max(c["bytes_sent"] or 0, c["bytes_received"] or 0), c["calls"] - c["unknown_bytes"]
    return most / known if most and known > 0 else None


def account(row, name):
    return sum(one["share"] for one in row["accounts"] if one["account"] == name) if row.get("accounts") else None


def key(name, scale=1):
    return lambda row, job: row[name]


def messages(rank, job, end):
    return sum(pair["messages"] for pair in job.rep["pairs"] if (pair[end], pair[end + "_world"]) == (rank["rank"], rank["world"]))


def per_second(name):
    return lambda row, job: ratio(row[name], job.seconds)


def of_wall(name):
    return lambda row, job: ratio(row[name], job.wall)


def by_text(**columns):
    """A row is found by its texts: column=key."""
    return lambda shown, row: all(looks_like(shown.get(column.replace("_", " "), ""), row[name]) for column, name in columns.items())


def by_number(**columns):
    return lambda shown, row: all(shown[column.replace("_", " ")].is_for(row[name]) for column, name in columns.items())


def ends(shown, row):
    """Whether a segment's words have the places of its ends."""
    words = next(shown[title] for title in ("OUTSIDE MPI, FROM -> TO", "from -> to") if title in shown)
    return "all others" not in words and all(cut_has(words, row[end]) for end in ("from", "to"))


def cut_has(words, place):
    return not place or "~" in words or "…" in words or place in words or re.search(r" :%s(?!\d)" % place.rpartition(":")[2], words)


def gpu_share(name):
    return lambda row, job: ratio(row[name], row["wall_s"])


CALLS = {"/s": per_second("calls"), "TIME": call_share, "WAITING": of_wall("waiting_s"), "SIZE": call_size, "p50": key("p50_s"), "p90": key("p90_s"), "p99": key("p99_s"),
         "max": key("max_s"), "min": key("min_s"), "CALLS": key("calls"), "SENT": key("bytes_sent"), "RECEIVED": key("bytes_received")}
LATENCY = dict(CALLS, TIME=key("time_s"), mean=lambda c, job: ratio(c["length_s"], c["calls"]))
RANKS = {"MPI%": lambda r, job: ANY if job.threads else ratio(r["mpi_s"], r["wall_s"]), "SENT/s": per_second("bytes_sent"), "RECV/s": per_second("bytes_received"),
         "CALLS/s": per_second("calls"), "LATE": key("late_share"), "WAITED": key("waiting_s"), "QUEUED": lambda r, job: account(r, "queued"), "PID": key("pid"),
         "CAUSED": lambda r, job: sum(w["lost_s"] for w in job.rep["waits"] if w["culprit"] == r["rank"]),
         "MSG OUT": lambda r, job: messages(r, job, "src"), "MSG IN": lambda r, job: messages(r, job, "dst")}
SITES = {"CALLS": key("calls"), "TIME": key("time_s"), "p50": key("p50_s"), "p99": key("p99_s"), "max": key("max_s"), "SENT": key("bytes_sent"),
         "RECV": key("bytes_received"), "RANKS": key("ranks")}
COLLECTIVES = {"TIMES": key("instances"), "SKEW p50": key("skew_p50_s"), "LOST": of_wall("lost_s"), "p99": key("skew_p99_s"),
               "max": key("skew_max_s"), "WAITED": key("lost_s"), "INCOMPLETE": key("incomplete")}
SEGMENTS = {"TIMES": key("times"), "MEDIAN": key("median_s"), "WORST": key("worst_rank"), "TAKES": key("worst_s"), "LOST": of_wall("costs_s"),
            "p99": key("p99_s"), "LONGEST": key("longest_s"), "RANKS": key("ranks"), "TIME": key("total_s")}
REGIONS = {"TIMES": key("times"), "TIME": key("total_s"), "OWN": key("own_s"), "MPI": key("mpi_s"), "WORST": key("worst_rank"),
           "TAKES": key("worst_s"), "LONGEST": key("longest_s"), "NO END": key("without_end"), "RANKS": key("ranks")}
FILES = {"RANKS": key("ranks"), "TIME": key("time_s"), "READ": key("bytes_read"), "RATE": key("read_bandwidth"), "WRITTEN": key("bytes_written"),
         "RATE2": key("write_bandwidth"), "WORST": key("slowest_rank"), "TAKES": key("slowest_s"), "OPENS": key("opens"), "READS": key("reads"),
         "READING": key("read_s"), "WRITES": key("writes"), "WRITING": key("write_s")}
PAIRS = {"MESSAGES": key("messages"), "BYTES": key("bytes"), "p50": key("latency_p50_s")}
SIZES = {"MESSAGES": key("messages"), "min": key("latency_min_s"), "p50": key("latency_p50_s"), "p99": key("latency_p99_s"), "RATE": key("bandwidth"),
         "BEST": key("bandwidth_best"), "LATE": key("late"), "by p50": key("late_p50_s"), "by max": key("late_max_s")}
NCCL = {"CALLS": key("calls"), "SIZE": lambda n, job: ratio(n["bytes"], n["calls"]), "ALGBW/s": key("algbw"), "BUSBW/s": key("busbw"),
        "TRANSFER": key("transfer_s"), "SKEW": key("skew_p50_s"), "p99": key("skew_p99_s")}
KERNELS = {"CALLS": key("calls"), "TIME": key("time_s"), "OF ALL": lambda k, job: ratio(k["time_s"], job.kernels), "p50": key("p50_s"),
           "max": key("max_s"), "RANKS": key("ranks")}
GPUS = {"COMPUTE": gpu_share("compute_s"), "NCCL": gpu_share("communication_s"), "EXPOSED": gpu_share("exposed_s"), "COPIES": gpu_share("copy_s"),
        "OVERLAP": lambda g, job: ratio(g["overlap_s"], g["communication_s"]), "IDLE": lambda g, job: max(0, 1 - g["busy_s"] / g["wall_s"]),
        "TO GPU": key("bytes_to_device"), "FROM": key("bytes_from_device")}
# Screens: keys that lead there, titles (of texts with a blank before them), list of the report, how a row is found, values.
SCREENS = [
    ("1", [" CALL", "/s", "TIME", "WAITING", "SIZE", "p50", "p99", "max", " LAST RANK", "CALLS", "SENT", "RECEIVED", "min"], "calls",
     by_text(CALL="name"), CALLS),
    ("2", ["RANK", " HOST", " STATE", " INSIDE", "SINCE", "MPI%", "SENT/s", "RECV/s", "CALLS/s", "LATE", "WAITED", "CAUSED", "QUEUED", "MSG OUT",
           "MSG IN", "PID"], "ranks", by_number(RANK="rank"), RANKS),
    ("3", [" CALL", "CALLS", "min", "p50", "p90", "p99", "max", "mean", "TIME"], "calls", by_text(CALL="name"), LATENCY),
    ("Tab", ["BYTES", "MESSAGES", "min", "p50", "p99", "RATE", "BEST", "LATE", "by p50", "by max"], "sizes", by_number(BYTES="from_bytes"), SIZES),
    ("4", ["FROM", "TO", "MESSAGES", "BYTES", "p50"], "pairs", by_number(FROM="src", TO="dst"), PAIRS),
    ("5", [" COLLECTIVE", " CALLED FROM", " COMM", "TIMES", "SKEW p50", "LOST", " LAST RANK", "p99", "max", "WAITED", "INCOMPLETE"], "collectives",
     by_text(COLLECTIVE="name", COMM="communicator"), COLLECTIVES),
    ("7", [" CALL", " CALLED FROM", "CALLS", "TIME", "p50", "p99", "max", "SENT", "RECV", "RANKS", " MODULE"], "sites", by_text(CALL="call"), SITES),
    ("Tab", [" OUTSIDE MPI, FROM -> TO", "TIMES", "MEDIAN", "WORST", "TAKES", "LOST", " BY RANK", "EXCESS", "p99", "LONGEST", "RANKS", "TIME"],
     "segments", ends, SEGMENTS),
    ("Tab", [" REGION", "TIMES", "TIME", "OWN", "MPI", "WORST", "TAKES", "LONGEST", "NO END", "RANKS"], "regions", by_text(REGION="name"), REGIONS),
    ("F", [" FILE", "RANKS", "TIME", "READ", "RATE", "WRITTEN", "RATE", "WORST", "TAKES", "OPENS", "READS", "READING", "WRITES", "WRITING"], "files",
     lambda shown, row: True, FILES),
    ("0", [" OPERATION", " COMM", "CALLS", "SIZE", "ALGBW/s", "BUSBW/s", "TRANSFER", "SKEW", "p99"], "nccl", by_text(OPERATION="name"), NCCL),
    ("K", [" KERNEL", "CALLS", "TIME", "OF ALL", "p50", "p99", "max", "RANKS"], "kernels", lambda shown, row: True, KERNELS),
    ("K", ["RANK", "COMPUTE", "NCCL", "OVERLAP", "EXPOSED", "COPIES", "IDLE", "TO GPU", "FROM"], "gpus", by_number(RANK="rank"), GPUS),
    ("8", None, None, None, None), ("i", None, None, None, None), ("6", None, None, None, None), ("e", None, None, None, None),
]
# Tables of the report: the line before its titles, titles, list, how a row is found, values.
TABLES = [
    ("RANKS", ["rank", " host", " state", "wall", "MPI", "wait", "late", "sent", "received", "calls"], "ranks", by_number(rank="rank"),
     {"wall": key("wall_s"), "MPI": RANKS["MPI%"], "wait": lambda r, job: ratio(r["waiting_s"], r["wall_s"]), "late": key("late_share"), "sent": key("bytes_sent"),
      "received": key("bytes_received"), "calls": key("calls")}),
    ("CALLS", [" call", "calls", "time", "wait", "sent", "received", "p50", "p99", "max"], "calls", by_text(call="name"),
     {"calls": key("calls"), "time": key("time_s"), "wait": lambda c, job: ratio(c["waiting_s"], c["length_s"]), "sent": key("bytes_sent"),
      "received": key("bytes_received"), "p50": key("p50_s"), "p99": key("p99_s"), "max": key("max_s")}),
    ("COLLECTIVES", [" call", " called from", " communicator", "times", "skew p50", "lost", "last", "in"], "collectives",
     by_text(call="name", communicator="communicator"),
     {"times": key("instances"), "skew p50": key("skew_p50_s"), "lost": of_wall("lost_s"), "last": key("last_rank"), "in": key("last_share")}),
    ("WHO WAITS", ["rank", "rank", "times", "lost", "of its time"], "waits", by_number(rank="culprit", rank2="waiter"),
     {"times": key("count"), "lost": key("lost_s"),
      "of its time": lambda w, job: ratio(w["lost_s"], next(r["wall_s"] for r in job.rep["ranks"] if r["rank"] == w["waiter"]))}),
    ("MESSAGES, by", ["from", "to", "messages", "bytes", "latency min", "p50", "bandwidth", "waited"], "pairs", by_number(**{"from": "src", "to": "dst"}),
     {"messages": key("messages"), "bytes": key("bytes"), "p50": key("latency_p50_s"), "bandwidth": key("bandwidth"), "waited": key("waited_s")}),
    ("MESSAGES BY", ["from", "messages", "min", "p50", "p99", "bandwidth", "late", "by p50", "max"], "sizes", by_number(**{"from": "from_bytes"}),
     {"messages": key("messages"), "min": key("latency_min_s"), "p50": key("latency_p50_s"), "p99": key("latency_p99_s"), "bandwidth": key("bandwidth"),
      "late": key("late"), "by p50": key("late_p50_s"), "max": key("late_max_s")}),
    ("BETWEEN", [" from -> to", "times", "median", "worst", "takes", "lost"], "segments", ends,
     {"times": key("times"), "median": key("median_s"), "worst": key("worst_rank"), "takes": key("worst_s"), "lost": of_wall("costs_s")}),
    ("REGIONS", [" region", "times", "time", "own", "in calls", "worst", "takes"], "regions", by_text(region="name"),
     {"times": key("times"), "time": key("total_s"), "own": key("own_s"), "in calls": key("mpi_s"), "worst": key("worst_rank"), "takes": key("worst_s")}),
    ("FILES", [" file", "ranks", "time", "read", "rate", "size", "written", "rate"], "files", lambda shown, row: True,
     {"ranks": key("ranks"), "time": key("time_s"), "read": key("bytes_read"), "rate": key("read_bandwidth"), "written": key("bytes_written"),
      "rate2": key("write_bandwidth")}),
    ("WHERE\n", [" call", "calls", "time", "ranks", " place"], "sites", by_text(call="call"),
     {"calls": key("calls"), "time": key("time_s"), "ranks": key("ranks")}),
]


def in_table(what, shown, job, rows, found_by, values):
    """Sentences on the rows of a table that no row of the report looks like."""
    wrong = []
    for line in shown:
        best = None
        for row in rows:
            if found_by(line, row):
                bad = ["%s %s, not %s" % (title, line[title].text, value(row, job)) for title, value in values.items()
                       if title in line and not line[title].is_for(value(row, job))]
                best = bad if best is None or len(bad) < len(best) else best
        if best is None and "all others" not in line["line"]:
            wrong.append("%s: no row looks like %r" % (what, line["line"]))
        elif best:
            wrong.append("%s: %s: %s" % (what, line["line"].split("  ")[0], "; ".join(best)))
    return wrong


# ---- one line, or one value ----------------------------------------------------------------------------------------------------


def differing(what, pairs):
    """Sentences on the (name, text or number that is printed, value of the report) that do not agree."""
    return ["%s: %s is %s, not %r" % (what, name, getattr(shown, "text", shown), value) for name, shown, value in pairs
            if not (shown.is_for(value) if isinstance(shown, Shown) else shown == value)]


SPOKEN = r"unknown|[\d.]+ (?:ns|us|ms|s)|\d+ min \d+ s|\d+ h \d+ min"


def spoken(text):
    """A time as sentences have it: "1.2 s"."""
    return Shown(re.sub(r"(\d+) (min|h) (\d+) (s|min)", lambda m: "%s%s%02d%s" % (m[1], m[2][0], int(m[3]), m[4][0]), text).replace(" ", ""))


def one(pattern, text, kind=Shown):
    found = re.search(pattern, text, re.M | re.S)
    return kind(found.group(1)) if found else None


def of_page(page, job):
    """The lines of the report."""
    rep, flat, e, found = job.rep, " ".join(page.split()), job.rep["efficiency"], []
    if rep["job"]["answer"] not in flat:
        found.append("page: the headline is not %r" % rep["job"]["answer"])
    for name, words in (("parallel", "parallel efficiency"), ("load_balance", "load balance"), ("processor", "x processor"),
                        ("serialisation", "serialisation"), ("transfer", "x transfer"), ("communication", "x communication")):
        shown = one(r"%s (%s)" % (words, NUMBER), flat)
        if shown:
            found += differing("page", [(words, shown, e[name])])
    for row in rep["accounts"]:
        line = re.search(r"^  %s +(%s) +(%s)  " % (row["account"], NUMBER, NUMBER), page, re.M)
        found += differing("page", [(row["account"], Shown(line[1]), row["seconds"]), (row["account"], Shown(line[2]), row["share"])]) \
            if line else ["page: no %s" % row["account"]]
    it = rep["iterations"]
    line = re.search(r"^  (\d+) iterations, median (%s)" % SPOKEN, page, re.M)
    if line or it["count"]:
        found += differing("page", [("iterations", int(line[1]), it["count"]), ("median", spoken(line[2]), it["median_s"])]) if line else ["page: no iterations"]
    prices = re.findall(r"(?:([<\d.]+%%) of the critical path; )?[a-z ]*?(?:saves|saves about|save at most) (%s) of (?:%s) \((\S+%%)\)" % (SPOKEN, SPOKEN),
                        flat.partition("WHAT TO MEND")[2])
    for price, (path, saves, share) in zip(rep["prices"], prices):
        found += differing("page: price of %s" % price["call"], [("saves", spoken(saves), price["saves_s"]), (
            "share", Shown(share), price["saves_s"] / rep["path_s"])] + ([("path", Shown(path), price["path_share"])] if path else []))
    return found


def of_overview(screen, job):
    """What the Overview has beside its table."""
    e, found, rep = job.rep["efficiency"], [], job.rep
    sums = {"sent": "bytes_sent", "recv": "bytes_received", "calls": "calls"}
    for label, name in sums.items():
        shown = one(r"^ %s +(%s) " % (label, NUMBER), screen)
        if shown and not any(rank[name] is None for rank in rep["ranks"]):
            found += differing("Overview", [(label, shown, sum(rank[name] for rank in rep["ranks"]) / job.seconds)])
    for name, words in (("parallel", "parallel eff."), ("load_balance", "load balance"), ("communication", "communication"), ("processor", "processor")):
        shown = one(r" %s {2,}(%s)( |$)" % (re.escape(words), NUMBER), screen)
        if shown or (name == "processor") < (e[name] is not None) or e["processor"] is not None:
            found += differing("Overview", [(words, shown, e[name])])
    line = one(r"^ TIME   (.*)$", screen, str)
    for name, share in re.findall(r"(\w+) (\S+%)", line or ""):
        found += differing("Overview", [(name, Shown(share), account(rep, name))])
    shown = re.search(r"others lost (\S+) waiting for rank (\S+)", screen)
    if shown:
        lost = sum(wait["lost_s"] for wait in rep["waits"] if str(wait["culprit"]) == shown[2])
        found += differing("Overview", [("others lost", Shown(shown[1]), lost)])
    return found


def of_prices(screen, job):
    found, run = [], one(r"SAVES OF (%s)" % SPOKEN, screen, spoken)
    if run:
        found += differing("Why", [("SAVES OF", run, job.rep["path_s"])])
        lines = re.findall(r" (–|<0\.1%%|[\d.]+%%)   (?:at most |about )?(%s) *$" % SPOKEN, screen.split("SAVES OF")[1], re.M)
        for price, (path, saves) in zip(job.rep["prices"], lines):
            found += differing("Why", [("path of %s" % price["call"], Shown(path), price["path_share"]), ("saves", spoken(saves), price["saves_s"])])
    return found


def of_iterations(screen, job):
    line, it = re.search(r"^ (\d+) iterations, median (%s)" % SPOKEN, screen, re.M), job.rep["iterations"]
    return differing("Iterations", [("count", int(line[1]), it["count"]), ("median", spoken(line[2]), it["median_s"])]) if line else []


def of_matrix(screen, job):
    """The line of the pair under the cursor."""
    line = re.search(r"^ (\S+) → (\S+)  (\S+) messages, (%s), p50 (%s), (%s)$" % (NUMBER, NUMBER, NUMBER), screen, re.M)
    pair = next((p for p in job.rep["pairs"] if line and (str(p["src"]), str(p["dst"])) == (line[1], line[2])), None)
    return differing("Matrix %s to %s" % line.groups()[:2], [("messages", Shown(line[3]), pair["messages"]), ("bytes", Shown(line[4]), pair["bytes"]), (
        "p50", Shown(line[5]), pair["latency_p50_s"]), ("rate", Shown(line[6]), pair["bandwidth"])]) if pair else []


MORE = {"1": of_overview, "4": of_matrix, "8": of_prices, "i": of_iterations}


def starts_with(head, answer):
    """Whether the text under the first line begins with the answer, or with as much as two lines have room for."""
    return head.startswith(answer) or len(answer) > 120 and head[:120] == answer[:120]


def of_screens(shown, size, job):
    """What screens show, one for each row of SCREENS."""
    found, cells = [], 0
    texts = shown.split("---- %s\n" % size)[1:]
    for (keys, titles, name, found_by, values), screen in zip(SCREENS, texts):
        what = "screen %s at %s" % (name or keys, size)
        head = " ".join(" ".join(screen.split("\n")[1:4]).split())
        if screen.startswith(" hpctop ") and not starts_with(head[2:], job.rep["job"]["answer"]):
            found.append("%s: the headline is %r" % (what, head))
        if keys in MORE:
            found += MORE[keys](screen, job)
        lines = screen.split("\n")
        rows_here = table([line[:114] for line in lines] if keys == "1" else lines, titles) if titles else None
        if rows_here:
            cells += len(rows_here)
            found += in_table(what, rows_here, job, job.rep[name], found_by, values)
    return found, cells


def of_tables(page, job):
    found, cells = [], 0
    for head, titles, name, found_by, values in TABLES:
        part = re.split("^" + head, page, maxsplit=1, flags=re.M)
        if len(part) < 2:
            found += ["page: no %s" % head] * bool(job.rep[name] and name not in ("segments", "pairs", "collectives", "waits"))
            continue
        shown = table(part[1].split("\n"), titles)
        if shown is None:
            found.append("page: %s has other titles" % head)
            continue
        cells += len(shown)
        found += in_table("page, " + head, shown, job, job.rep[name], found_by, values)
    return found, cells


# ---- for scripts -------------------------------------------------------------------------------------------------------------


def of_csv(folder, job):
    """Tables of the export have the rows of the report, digit by digit."""
    found = []
    for name in ("calls", "ranks", "pairs", "sizes", "sites", "waits", "segments", "regions", "prices", "files", "collective_sums"):
        with open(os.path.join(folder, name + ".csv"), newline="") as f:
            rows_there = list(csv.DictReader(f))
        here = job.rep[name.partition("_")[0] + "s" if name == "collective_sums" else name]
        if len(rows_there) != len(here):
            found.append("csv: %d rows of %s, not %d" % (len(rows_there), name, len(here)))
        for row, want in zip(rows_there, here):
            for title, text in row.items():
                value = want[title]
                same = text == ("" if value is None else str(value).lower() if isinstance(value, bool) else value) if not isinstance(
                    value, (int, float)) or isinstance(value, bool) else text != "" and float(text) == value
                if not same:
                    found.append("csv: %s of %s is %r, not %r" % (title, name, text, value))
    return found


def of_html(text, job):
    data = json.loads(html.unescape(text.split('id="data">', 1)[1].split("</script>", 1)[0]))
    pairs = sum(cell[2] for cell in data["matrix"]["cells"]), sum(cell[3] for cell in data["matrix"]["cells"])
    found = ["html: %s differs" % name for name in job.rep if name != "pairs" and data["report"].get(name) != job.rep[name]]
    return found + differing("html", [("matrix", pairs, (sum(p["bytes"] for p in job.rep["pairs"]), sum(p["messages"] for p in job.rep["pairs"])))])


def of_metrics(text, job):
    """The families of hpctop metrics."""
    found, rep, e = [], job.rep, job.rep["efficiency"]
    samples = {}
    for name, labels, value in re.findall(r"^(hpctop_\w+)\{(.*)\} (\S+)$", text, re.M):
        labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
        samples[name, labels.get("call"), labels.get("rank"), labels.get("world")] = float(value)
    want = {("hpctop_job_elapsed_seconds", None, None, None): rep["job"]["elapsed_s"], ("hpctop_job_parallel_efficiency_ratio", None, None, None):
            e["parallel"], ("hpctop_job_load_balance_ratio", None, None, None): e["load_balance"],
            ("hpctop_job_communication_efficiency_ratio", None, None, None): e["communication"], ("hpctop_job_processor_ratio", None, None, None): e["processor"]}
    for r in rep["ranks"]:
        for name, key_there in (("calls_total", "calls"), ("sent_bytes_total", "bytes_sent"), ("received_bytes_total", "bytes_received"),
                                ("mpi_seconds_total", "mpi_s"), ("wall_seconds_total", "wall_s")):
            want["hpctop_rank_" + name, None, str(r["rank"]), str(r["world"])] = r[key_there]
    for c in rep["calls"]:
        for name, key_there in (("hpctop_calls_total", "calls"), ("hpctop_call_seconds_total", "length_s"), ("hpctop_call_sent_bytes_total", "bytes_sent"),
                                ("hpctop_call_received_bytes_total", "bytes_received")):
            want[name, c["name"], None, None] = c[key_there]
    for name, value in want.items():
        if samples.get(name) != value and not (samples.get(name) is None and lower_bound(name, rep)):
            found.append("metrics: %s is %s, not %s" % (name, samples.get(name), value))
    return found


def lower_bound(name, rep):
    """Bytes that are a lower bound have no sample."""
    unknown = any(c["unknown_bytes"] for c in rep["calls"]) or rep["job"]["unknown_requests"]
    return "bytes" in name[0] and unknown


def of_talp(path, job):
    with open(path) as f:
        pop = json.load(f, parse_float=lambda text: "%.12f" % float(text) if "e" in text else text)["Application"]["Global"]
    e = job.rep["efficiency"]
    return differing("talp", [(key_there, Shown(str(pop[key_there])) if float(pop[key_there]) else None, e[name]) for key_there, name in (
        ("mpiLoadBalance", "load_balance"), ("mpiCommunicationEfficiency", "communication"))]) + differing(
            "talp", [("calls", pop["numMpiCalls"], sum(r["calls"] or 0 for r in job.rep["ranks"]))])


def of_watch(line, job):
    """The last line of hpctop watch on a job that is over."""
    said, ranks = json.loads(line), job.rep["ranks"]
    want = {"answer": job.rep["job"]["answer"], "elapsed_s": job.seconds, "state": job.rep["job"]["state"]}
    if not any(r["calls"] is None for r in ranks):
        want["calls"] = sum(r["calls"] for r in ranks)
        want["calls_per_s"] = want["calls"] / job.seconds
    return ["watch: %s is %r, not %r" % (name, said[name], value) for name, value in want.items()
            if not (said[name] == value or isinstance(value, float) and abs(said[name] - value) <= 1e-9 * abs(value))]


def of_diff(text, job):
    """Of a job with itself nothing differs, and its iterations are those of the report."""
    said, it, found = json.loads(text), job.rep["iterations"], []
    if said["findings"] or said["answer"] == "slower" or said["before"] != said["after"]:
        found.append("diff: %s" % said)
    if said["before"]["iterations"] > max(it["count"] - 1, 0):
        found.append("diff: %d iterations, not %d" % (said["before"]["iterations"], it["count"] - 1))
    return found + differing("diff", [("elapsed", said["before"]["elapsed_s"], job.seconds)])


def of_show(text, job):
    said = json.loads(text)
    return differing("show", [("answer", said["answer"], job.rep["job"]["answer"]), ("elapsed", said["elapsed_s"], job.seconds), (
        "accounts", said["accounts"], job.rep["accounts"]), ("prices", [p["saves_s"] for p in said["prices"]], [p["saves_s"] for p in job.rep["prices"]][:3])])


def of_window(text, job):
    """A window of the whole run, which is summed up from the events, has what the counters have."""
    there, found = json.loads(text), []
    for name, rows_of, keys in (("calls", lambda c: c["name"], ("calls", "bytes_sent", "bytes_received", "open_s", "waiting_s")), ("ranks", lambda r: (r["world"], r["rank"]), (
            "calls", "bytes_sent", "bytes_received", "mpi_s")), ("pairs", lambda p: (p["src_world"], p["src"], p["dst_world"], p["dst"]), ("messages", "bytes", "bandwidth"))):
        rows_there = {rows_of(row): row for row in there[name]}
        for row in job.rep[name]:
            other = rows_there.get(rows_of(row))
            for key_there in keys if other else ():
                a, b = row[key_there], other[key_there]
                if (a is None) != (b is None) or a is not None and abs(a - b) > 1e-6 * max(abs(a), abs(b), key_there.endswith("_s")):
                    found.append("window: %s of %s is %s, not %s" % (key_there, rows_of(row), b, a))
            if not other and row[keys[0]]:
                found.append("window: no %s" % (rows_of(row),))
    return found
