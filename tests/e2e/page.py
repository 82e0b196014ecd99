# timeout: 240
"""`hpctop report --html`: one file that needs nothing else, has the numbers of the JSON, and in which no text of the trace is
markup; in a real browser it draws, sorts and zooms without an error."""
import html.parser
import json
import os
import re
import shutil
import subprocess

from common import BUILD, check, end, hpctop, mpirun, report, run, skip, workload

EVIL = "</script ><img src=x onerror=document.title='hit'><!--<script >&lt;"
MANY = os.path.join(BUILD, "tests/many/many")
DRAWN = {"html", "head", "meta", "title", "style", "body", "header", "p", "b", "span", "button", "h1", "h2", "nav", "main", "section",
         "kbd", "canvas", "footer", "noscript", "code", "script"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.data, self.inside = [], [], "", None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]
        self.inside = dict(attributes).get("id") if tag == "script" else None

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "data":
            self.data += data


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def page_of(folder, *more):
    done = hpctop("report", "--html", *more, "-o", folder + ".html", folder)
    if not check(folder + ": a page is written", done.code == 0 and not done.out and not os.path.exists(folder + ".html.part"), done):
        return None, None
    text = read(folder + ".html")
    page = Page(text)
    return text, (page, json.loads(page.data))


def numbers():
    done = mpirun(4, [workload("planted"), "one", EVIL], "one")
    text, (page, data) = page_of("one")
    rep = report("one")
    check("the job has a page", done.code == 0 and page, done)
    for key in rep.keys() - {"pairs"}:  # the page has a matrix
        check("the page has %s as the JSON has it" % key, data["report"].get(key) == rep[key], (data["report"].get(key), rep[key]))
    printed = " ".join(hpctop("report", "--all", "one").out.split())
    check("the report has the same headline", rep["job"]["answer"] in printed, (rep["job"]["answer"], printed[:400]))
    for row in rep["accounts"]:
        share = re.search(r" %s \S+ (<?)([\d.]+)%%" % row["account"], printed)
        check("the report has the same share of " + row["account"], share and (float(share.group(2)) >= 100 * row["share"] if share.group(1)
              else abs(float(share.group(2)) - 100 * row["share"]) <= 0.06), (share and share.group(), row))
    check("the page lists all factors of the efficiency", all('"%s"' % key in text.split("const e = report.efficiency")[1][:400]
                                                             for key in rep["efficiency"]) or "Object.keys(e)" in text)
    check("hostile text stands in it", EVIL in data["report"]["job"]["command"], data["report"]["job"]["command"])
    check("no text of the trace is markup", set(page.tags) <= DRAWN and page.tags.count("script") == 2 and "onerror" not in
          [name for _, name, _ in page.attributes], set(page.tags) - DRAWN)
    raw = text.split('id="data">', 1)[1].split("</script>\n<script>", 1)[0]
    check("no character of the data can end its element", not set("<>&") & set(raw), set("<>&") & set(raw))
    check("nothing is loaded", not re.search(r"(src|href|url)\s*[=(]\s*[\"']?(https?:|//|data:)", text) and
          not [a for a in page.attributes if a[1] in ("src", "href")] and "default-src 'none'" in text)
    check("the timeline has a row a rank", [row["label"] for row in data["timeline"]["rows"]] == ["rank %d" % r for r in range(4)])
    check("every row is as long", {len(row["cells"]) for row in data["timeline"]["rows"]} == {3 * data["timeline"]["columns"]})
    culprits = [row["label"] for row in data["timeline"]["rows"] if row["culprit"]]
    check("who is to blame is marked", culprits == ["rank %d" % r for r in sorted(data["verdict"]["culprits"])], culprits)
    half = rep["job"]["elapsed_s"] / 2
    text, (page, data) = page_of("one", "--from", "%.6f" % half)
    check("a window is a page, too", data["timeline"]["begin_s"] >= half * 0.99 and data["verdict"] is None and data["report"]["window"])


def large():
    for ranks, most, rounds in ((64, 2e6, 2000), (1000, 10e6, 12)):
        name = "ranks%d" % ranks
        made = run([MANY, "--ranks", str(ranks), "--hosts", "8", "--rounds", str(rounds), "--files", "--late-rank", "7", "--late-host", "3", name])
        text, (page, data) = page_of(name)
        rows = data["timeline"]["rows"]
        check("%d ranks: %d bytes" % (ranks, len(text)), made.code == 0 and len(text) < most and 0 < len(rows) <= 132, len(rows))
        check("%d ranks: all are in the matrix" % ranks,
              sum(cell[3] for cell in data["matrix"]["cells"]) == sum(p["messages"] for p in report(name)["pairs"]))
        check("%d ranks: all are in the table" % ranks, len(data["report"]["ranks"]) == ranks)
        shutil.rmtree(name)


def to_blame():
    """Of many ranks the one to blame has a row alone."""
    made = run([MANY, "--ranks", "600", "--hosts", "6", "--rounds", "20", "--hang", "217", "hung"])
    text, (page, data) = page_of("hung")
    culprits = data["verdict"]["culprits"]
    rows = [row["label"] for row in data["timeline"]["rows"] if row["culprit"]]
    check("600 ranks: who is to blame has a row alone", made.code == 0 and culprits == [217] and rows[0] == "rank 217", (culprits, rows))
    shutil.rmtree("hung")


def wrong():
    check("two kinds of report are wrong usage", hpctop("report", "--html", "--json", "one").code == 64)
    done = hpctop("report", "--html", "-o", "nowhere/page.html", "one")
    check("a page that cannot be written is an error", done.code == 2 and done.err.count("\n") == 1 and "nowhere" in done.err, done)
    full = subprocess.run([os.environ["HPCTOP"], "report", "--html", "one"], stdout=open("/dev/full", "w"), stderr=subprocess.PIPE)
    check("a full disk is an error", full.returncode == 2 and full.stderr.count(b"\n") == 1, full)
    for form in ("--json", "--html"):
        same = hpctop("report", form, "-o", "out", "one").code == 0 and read("out") == hpctop("report", form, "one").out
        check("%s -o writes what else is printed" % form, same)


# Uses the page as a person would, and leaves what came of it in the title.
PLAY = """<script>
const said = [];
addEventListener("error", e => said.push("error: " + e.message));
addEventListener("load", () => {
  const lanes = document.getElementById("lanes"), before = lanes.toDataURL();
  for (const key of ["+", "+", "ArrowLeft", "ArrowRight", "-"]) lanes.dispatchEvent(new KeyboardEvent("keydown", { key }));
  said.push("zoom " + (lanes.toDataURL() !== before));
  lanes.dispatchEvent(new KeyboardEvent("keydown", { key: "0" }));
  said.push("all " + (lanes.toDataURL() === before));
  lanes.dispatchEvent(new WheelEvent("wheel", { deltaY: -1, cancelable: true }));
  lanes.dispatchEvent(new PointerEvent("pointermove", {}));
  const first = document.querySelector("#calls tbody td").textContent;
  const title = document.querySelector("#calls th");
  title.click(); title.click();
  said.push("sorted " + title.getAttribute("aria-sort"));
  document.getElementById("theme").click();
  said.push("dark " + document.documentElement.className);
  said.push("sections " + document.querySelectorAll("main > section:not([hidden])").length);
  said.push("images " + document.images.length);
  document.title = said.join("; ");
});
</script>"""


def find_browser(part):
    """The path of a browser; without one `part` is skipped."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        skip(part, "chromium is missing; as root: apt-get install chromium")
    return program


def browser():
    program = find_browser("in a browser")
    if not program:
        return
    text = read("one.html")
    with open("played.html", "w", encoding="utf-8") as f:
        f.write(text.replace("<script type=", PLAY + "<script type=", 1))
    done = run([program, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,900", "--virtual-time-budget=3000", "--dump-dom",
                "file://" + os.path.abspath("played.html")], env=dict(os.environ, HOME=os.getcwd()))
    title = re.search(r"<title>(.*?)</title>", done.out, re.S)
    said = title.group(1) if title else ""
    check("in a browser it draws, zooms and sorts without an error", re.fullmatch(
        r"zoom true; all true; sorted (a|de)scending; dark (dark|light); sections \d+; images 0", said), (said, done.err[-300:]))


NARROW = """<iframe id=f style="width:390px;height:900px;border:0"></iframe><script>
f.onload = () => setTimeout(() => { const d = f.contentDocument, w = d.querySelectorAll("#words dt"), last = d.querySelector("main").lastChild;
  document.title = "width " + f.contentWindow.innerWidth + "; needs " + d.documentElement.scrollWidth + "; last " + last.id +
    "; words " + [...w].map(x => x.textContent).join(",") }, 500);
f.srcdoc = %s;</script>"""


def narrow():
    """On a telephone nothing is wider than the screen; the words of the page are explained at its end."""
    program = find_browser("in 390 pixels")
    if not program:
        return
    with open("narrow.html", "w", encoding="utf-8") as f:
        f.write(NARROW % json.dumps(read("one.html")).replace("<", "\\u003c"))
    done = run([program, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000", "--dump-dom",
                "file://" + os.path.abspath("narrow.html")], env=dict(os.environ, HOME=os.getcwd()))
    said = re.search(r"<title>width (\d+); needs (\d+); last (\w+); words (.*?)</title>", done.out, re.S)
    check("in 390 pixels nothing is cut", said and said.group(1) == "390" and int(said.group(2)) <= 390, (said and said.groups(), done.err[-300:]))
    check("the words are explained at the end", said and said.group(3) == "words" and
          {"compute", "wait", "transfer", "skew p50", "saves"} <= set(said.group(4).split(",")), said and said.groups())


numbers()
large()
to_blame()
wrong()
browser()
narrow()
end()
