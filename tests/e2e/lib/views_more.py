"""The numbers of a job in its moments, iterations, list of jobs and answers to agents, held against `hpctop report --json`."""
import csv
import json
import os
import re

from shown import NUMBER, Shown, looks_like, table
from views import SCREENS, SPOKEN, differing, spoken

MOMENT = r"[Rr]ank (\S+) at ([\d.]+) s\n((?: .*\n)+)"


def fields(text):
    """{name: text} of a moment's page; a long text goes on in lines that begin further right."""
    return dict(re.findall(r"^ +([a-z]+) {2,}(\S.*?) *$", re.sub(r" *\n {8,}", " ", text), re.M))


def of_moment(text, said):
    """Lines of one rank at one time, as the Timeline's pane or `show` print them, held against the JSON of it."""
    page = re.search(MOMENT, text)
    if not page:
        return ["moment: none in %r" % text[:200]]
    lines, what = fields(page[3]), "rank %s at %s" % page.groups()[:2]
    time = re.match(r"(-?[\d.]+) s to (-?[\d.]+) s$", lines.get("time", ""))
    found = differing(what, [(name, float(time[i + 1]) if time else None, said[name]) for i, name in enumerate(("begin_s", "end_s"))])
    if not looks_like(lines["did"], said["did"]):
        found.append("%s: did %r, not %r" % (what, lines["did"], said["did"]))
    lost = re.match(SPOKEN, lines.get("waited", ""))
    if lost or said["wait"]["lost_s"]:
        found += differing(what, [("waited", spoken(lost[0]) if lost and lost[0] != "unknown" else None, said["wait"]["lost_s"])])
    if said["iteration"]:
        found += differing(what, [("iteration", lines["iteration"].split()[0], str(said["iteration"]))])
    return found


def of_events(folder, said):
    """A moment's call is an event of the export."""
    if not said["in_call"] or said["call"]["open"]:
        return []
    with open(os.path.join(folder, "events.csv"), newline="") as f:
        near = [row for row in csv.DictReader(f) if row["name"] == said["call"]["name"] and int(row["rank"]) == said["rank"] and
                abs(float(row["begin_s"]) - said["begin_s"]) < 2e-9 and abs(float(row["end_s"]) - said["end_s"]) < 2e-9]
    return [] if near else ["rank %d at %s: no event is %s" % (said["rank"], said["at_s"], said["call"])]


def of_timeline(screen, pane, ask):
    """The moment under the Timeline's cursor: its line, and its pane; `ask` returns the JSON and the text of a moment."""
    page = re.search(MOMENT, pane)
    if not page:
        return []
    said, text = ask("%s@%s" % page.groups()[:2])
    line = re.search(r"^ \S+ rank %s: (.*?) *$" % re.escape(page[1]), screen, re.M)
    found = of_moment(pane, said) + of_moment(text, said)
    return found + ([] if line and looks_like(line[1], said["did"]) else ["Timeline: %r, not %r" % (line and line[1], said["did"])])


def of_iterations(folder, screen, job):
    """Times of each iteration: the export, the slowest ones of the report, the line under the screen's cursor."""
    with open(os.path.join(folder, "iterations.csv"), newline="") as f:
        rows = [row for row in csv.DictReader(f) if row["mean_of"] == "1"]
    longest, found = {}, []
    for row in rows:
        number = int(row["iteration"])
        longest[number] = max(longest.get(number, 0), float(row["time_s"]))
    if longest and max(longest) > job.rep["iterations"]["count"]:
        found.append("iterations.csv: number %d of %d" % (max(longest), job.rep["iterations"]["count"]))
    for slow in job.rep["iterations"]["slowest"]:
        there = longest.get(slow["index"])
        if there is not None and abs(there - slow["seconds"]) > 1e-9 + 1e-7 * there:  # the export has seven digits
            found.append("iteration %d: %g s in the export, %g in the report" % (slow["index"], there, slow["seconds"]))
    line = re.search(r"^ (\d+): (%s), [\d.]+ x; rank (\d+): (unknown|%s) outside calls" % (SPOKEN, SPOKEN), screen, re.M)
    row = next((row for row in rows if line and (row["iteration"], row["rank"]) == (line[1], line[3])), None)
    return found + (differing("Iterations, number %s" % line[1], [
        ("time", spoken(line[2]), longest[int(line[1])]),
        ("outside", Shown("-") if line[4] == "unknown" else spoken(line[4]), float(row["outside_calls_s"]) if row["outside_calls_s"] else None)]) if row else [])


def of_jobs(text, listed, job):
    """The row of a job in a list of jobs."""
    row, prices = json.loads(listed)["jobs"][0], job.rep["prices"]
    want = {"answer": job.rep["job"]["answer"], "state": job.rep["job"]["state"], "elapsed_s": job.seconds, "ranks": len(job.rep["ranks"]),
            "efficiency": job.rep["efficiency"]["parallel"], "saves_s": prices[0]["saves_s"] if prices else None}
    found = ["jobs: %s is %r, not %r" % (name, row[name], value) for name, value in want.items() if row[name] != value]
    cells = re.search(r"(\d+) +(\d+) +(%s) +(%s) +(%s)  " % (NUMBER, NUMBER, NUMBER), text.split("\n")[1])
    return found + differing("jobs", [("ranks", int(cells[1]), want["ranks"]), ("took", Shown(cells[3]), job.seconds), (
        "eff.", Shown(cells[4]), want["efficiency"]), ("saves", Shown(cells[5]), want["saves_s"])])


def of_agent(answer, job):
    """What `hpctop mcp` answers to the question for a report."""
    said = json.loads(json.loads(answer)["result"]["content"][0]["text"])
    return differing("mcp", [("answer", said["answer"], job.rep["job"]["answer"]), ("elapsed", said["elapsed_s"], job.seconds), (
        "accounts", said["accounts"], job.rep["accounts"]), ("saves", [p["saves_s"] for p in said["prices"]], [p["saves_s"] for p in job.rep["prices"]][:3])])


GROWS = ("CALLS", "SENT", "RECEIVED", "RECV", "MESSAGES", "BYTES", "max", "RANKS", "TIMES", "WAITED")


def of_growing(texts, before, after):
    """Sums on the screens of a running job, which only grow, held against two reports; returns what is wrong, and the cells compared."""
    wrong, cells = [], 0
    for (keys, titles, name, found_by, values), screen in zip(SCREENS, texts):
        for line in (table(screen.split("\n"), titles) or []) if titles else []:
            rows = [next((row for row in job.rep[name] if found_by(line, row)), None) for job in (before, after)]
            for title in values if rows[1] else ():
                high = values[title](rows[1], after)
                if title not in GROWS or title not in line or high is None or line[title].low is None:
                    continue
                low, cells = values[title](rows[0], before) if rows[0] else 0, cells + 1
                if not (line[title].low <= high and (low or 0) <= line[title].high):
                    wrong.append("%s: %s of %s is %s, not %s to %s" % (keys, title, line["line"].split("  ")[0], line[title].text, low, high))
    return wrong, cells
