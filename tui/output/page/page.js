"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const report = data.report, verdict = data.verdict;
const $ = id => document.getElementById(id);

/* Makes an element; text is always text, never markup. */
function make(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined && text !== null) e.textContent = text;
  if (className) e.className = className;
  return e;
}

/* ---- numbers ---- */

const digits = x => x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
function scaled(x, units, step) {
  let i = 0;
  while (Math.abs(x) >= step && i + 1 < units.length) { x /= step; i++; }
  return digits(x) + " " + units[i];
}
const format = {
  s(x) {
    const a = Math.abs(x);
    return a === 0 ? "0" : a < 1e-6 ? digits(x * 1e9) + " ns" : a < 1e-3 ? digits(x * 1e6) + " µs"
      : a < 1 ? digits(x * 1e3) + " ms" : digits(x) + " s";
  },
  bytes: x => x < 1000 ? x + " B" : scaled(x / 1000, ["kB", "MB", "GB", "TB", "PB"], 1000),
  rate: x => format.bytes(x) + "/s",
  count: x => x < 10000 ? String(x) : scaled(x / 1000, ["k", "M", "G", "T"], 1000),
  share: x => (100 * x).toFixed(1) + " %",
  text: x => String(x),
  list: x => x.length > 8 ? x.slice(0, 8).join(", ") + " and " + (x.length - 8) + " more" : x.join(", ") || "all",
};

/* ---- tables ---- */

function section(id, title, before) {
  const s = make("section");
  s.id = id;
  s.append(make("h2", title));
  $("main").insertBefore(s, before || null);
  return s;
}

const explained = new Map(); /* titles of columns, for the words at the end */

/* A table of rows; columns are [key, title, format]. Titles sort; the first number sorts first. */
function table(parent, rows, columns) {
  columns = columns.filter(c => rows.some(r => r[c[0]] !== null && r[c[0]] !== undefined && r[c[0]] !== ""));
  const wide = make("div", null, "wide"), t = make("table"), head = make("tr"), body = make("tbody");
  const FIRST = 50;
  let order = null, down = true, shown = FIRST;
  const most = {};
  for (const [key, , kind] of columns)
    if (kind !== "text" && kind !== "list") most[key] = Math.max(...rows.map(r => r[key] || 0).slice(0, 100000));
  function fill() {
    const sorted = order === null ? rows : rows.slice().sort((a, b) => {
      const x = a[order], y = b[order];
      const missing = (x === null || x === undefined) - (y === null || y === undefined);
      if (missing) return missing;
      const less = typeof x === "number" ? x - y : String(x).localeCompare(String(y));
      return down ? -less : less;
    });
    body.replaceChildren(...sorted.slice(0, shown).map(r => {
      const tr = make("tr");
      for (const [key, , kind, bar] of columns) {
        const v = r[key], left = kind === "text" || kind === "list";
        const td = make("td", v === null || v === undefined ? "–" : format[kind](v), left ? "text" : bar ? "bar" : "");
        if (bar && v > 0 && most[key] > 0) td.style.setProperty("--part", (100 * v / most[key]).toFixed(1) + "%");
        tr.append(td);
      }
      return tr;
    }));
    more.hidden = shown >= rows.length;
    more.textContent = "all " + rows.length + " rows";
  }
  for (const [key, title, kind] of columns) {
    const th = make("th", title, kind === "text" || kind === "list" ? "text" : "");
    if (data.words[key]) {
      th.title = data.words[key];
      explained.set(title, data.words[key]);
    }
    th.tabIndex = 0;
    const sort = () => {
      down = order === key ? !down : kind !== "text";
      order = key;
      for (const other of head.children) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      fill();
    };
    th.onclick = sort;
    th.onkeydown = e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); sort(); } };
    head.append(th);
  }
  const more = make("button");
  more.type = "button";
  more.onclick = () => { shown = rows.length; fill(); };
  const thead = make("thead");
  thead.append(head);
  t.append(thead, body);
  wide.append(t);
  parent.append(wide, more);
  addEventListener("beforeprint", () => { shown = Math.min(rows.length, 500); fill(); });
  fill();
}

function part(id, title, rows, columns, before) {
  if (rows && rows.length) table(section(id, title, before), rows, columns);
}

/* ---- the head ---- */

const job = report.job, trouble = verdict && verdict.state !== "healthy";
document.title = job.name + " – hpctop";
$("name").textContent = job.name;
$("state").textContent = job.state;
$("state").classList.add(job.state === "hung" || job.state === "aborted" ? "bad" : "good");
$("size").textContent = job.ranks + " ranks on " + job.hosts.length + " node" + (job.hosts.length === 1 ? "" : "s") +
  (job.elapsed_s === null ? "" : ", " + format.s(job.elapsed_s)) + (job.mpi ? ", " + job.mpi : "");
$("answer").textContent = job.answer;
$("said").textContent = data.said || "";
$("said").hidden = !data.said;
$("about").textContent = job.command + (report.window ? " – only " + report.window.words : "");
$("foot").textContent = "Made by hpctop " + data.version + " from " + job.ranks + " trace files. " +
  (job.lost_records ? job.lost_records + " records were lost. " : "") +
  (job.recycled_records ? job.recycled_records + " old records were overwritten; counters have them. " : "") +
  (job.clock_error_s ? "Clocks differ by at most " + format.s(job.clock_error_s) + ". " : "");
$("theme").onclick = () => {
  const root = document.documentElement, dark = root.classList.contains("dark") ||
    (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
  root.classList.toggle("dark", !dark);
  root.classList.toggle("light", dark);
  dispatchEvent(new Event("resize"));
};

/* ---- parts before the timeline ---- */

const lines = $("timeline");
if (verdict && (trouble || verdict.evidence.length)) {
  const s = section("verdict", "Verdict: " + verdict.state + (verdict.confidence ? " (" + verdict.confidence + ")" : ""), lines);
  if (verdict.summary !== job.answer) s.append(make("p", verdict.summary, trouble ? "bad" : ""));
  const list = make("ul", null, "plain");
  for (const text of verdict.evidence.concat(verdict.where_they_part)) list.append(make("li", text));
  s.append(list);
  if (verdict.next) s.append(make("p", "Next: " + verdict.next));
}
part("prices", "What to mend", report.prices, [["saves_s", "saves", "s", true], ["kind", "what", "text"], ["ranks", "ranks", "list"],
  ["from", "from", "text"], ["to", "to", "text"], ["region", "region", "text"], ["file", "file", "text"], ["like", "as fast as", "text"], ["path_share", "of the path", "share"], ["why", "why", "text"]], lines);
if (report.efficiency.parallel !== null) {
  const e = report.efficiency, s = section("efficiency", "Efficiency", lines);
  s.append(make("p", Object.keys(e).filter(k => e[k] !== null)
    .map(k => k.replace("_", " ") + " " + format.share(e[k])).join(", ")));
}
