/* ---- timeline ---- */

const view = data.timeline, categories = view.categories;
const COLOURS = ["#95a5a6", "#2f7ed8", "#5dade2", "#8e44ad", "#16a085", "#b7950b", "#7f8c8d", "#27ae60", "#d68910", "#a04000"];
const colourOf = i => COLOURS[i % COLOURS.length];
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const value = {};
for (let i = 0; i < 64; i++) value[DIGITS[i]] = i;
const lanes = $("lanes"), TOP = 6, ROW = view.rows.length <= 16 ? 22 : view.rows.length <= 64 ? 12 : 6;
let from = 0, to = view.columns, left = 90;

function sizeOf(canvas, height) {
  const scale = devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.style.height = height + "px";
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const c = canvas.getContext("2d");
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.clearRect(0, 0, width, height);
  c.font = "11px system-ui, sans-serif";
  return [c, width];
}
const styleOf = name => getComputedStyle(document.documentElement).getPropertyValue(name);
const secondsAt = column => view.begin_s + (view.end_s - view.begin_s) * column / view.columns;

/* The cell of a row: its main category, and which shares are spent in calls and lost waiting. */
function cellAt(row, column) {
  const at = 3 * column, known = row.cells[at] !== "-";
  return known ? { main: value[row.cells[at]], calls: value[row.cells[at + 1]] / 63, waiting: value[row.cells[at + 2]] / 63 } : null;
}

function drawLanes() {
  const height = TOP + view.rows.length * ROW + 22, [c, width] = sizeOf(lanes, height);
  left = 12 + Math.min(width / 3, Math.max(...view.rows.map(row => c.measureText(row.label).width)));
  const inner = width - left;
  c.fillStyle = styleOf("--fg");
  const every = Math.max(1, Math.ceil(11 / ROW));
  view.rows.forEach((row, y) => {
    if (y % every === 0 || row.culprit) c.fillText(row.label, 4, TOP + y * ROW + ROW / 2 + 4, left - 8);
  });
  const pixels = Math.max(1, Math.floor(inner));
  view.rows.forEach((row, y) => {
    const top = TOP + y * ROW + 1, tall = ROW - (ROW > 8 ? 2 : 1);
    for (let x = 0; x < pixels; x++) {
      const cell = cellAt(row, Math.min(view.columns - 1, Math.floor(from + (to - from) * x / pixels)));
      if (!cell) continue;
      const calls = tall * cell.calls, waiting = tall * cell.waiting;
      c.fillStyle = colourOf(cell.main);
      c.fillRect(left + x, top + tall - calls, 1, calls);
      c.fillStyle = styleOf("--hot");
      c.fillRect(left + x, top + tall - waiting, 1, waiting);
    }
  });
  c.fillStyle = styleOf("--dim");
  for (let i = 0; i <= 5; i++) {
    c.textAlign = i === 5 ? "right" : i ? "center" : "left";
    c.fillText(format.s(secondsAt(from + (to - from) * i / 5)), left + inner * i / 5, height - 6);
  }
  c.textAlign = "left";
}

function zoom(a, b) {
  const least = Math.min(16, view.columns);
  if (b - a < least) { const middle = (a + b) / 2; a = middle - least / 2; b = middle + least / 2; }
  if (a < 0) { b -= a; a = 0; }
  if (b > view.columns) { a = Math.max(0, a - (b - view.columns)); b = view.columns; }
  from = a;
  to = b;
  drawLanes();
}
const columnAt = e => from + (to - from) * Math.min(1, Math.max(0, (e.offsetX - left) / (lanes.clientWidth - left)));
function by(factor, middle) { zoom(middle - (middle - from) * factor, middle + (to - middle) * factor); }

let pressed = null;
lanes.onpointerdown = e => { pressed = columnAt(e); lanes.setPointerCapture(e.pointerId); };
lanes.onpointerup = e => {
  const released = columnAt(e);
  if (pressed !== null && Math.abs(released - pressed) > (to - from) / 100) zoom(Math.min(pressed, released), Math.max(pressed, released));
  pressed = null;
};
lanes.ondblclick = () => zoom(0, view.columns);
lanes.addEventListener("wheel", e => { e.preventDefault(); by(e.deltaY > 0 ? 1.25 : 0.8, columnAt(e)); }, { passive: false });
lanes.onkeydown = e => {
  const middle = (from + to) / 2, step = (to - from) / 5;
  const keys = { "+": () => by(0.5, middle), "=": () => by(0.5, middle), "-": () => by(2, middle), 0: () => zoom(0, view.columns),
    ArrowLeft: () => zoom(from - step, to - step), ArrowRight: () => zoom(from + step, to + step) };
  if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
};
lanes.onpointermove = e => {
  const row = view.rows[Math.floor((e.offsetY - TOP) / ROW)], column = Math.floor(columnAt(e));
  const cell = row && column < view.columns ? cellAt(row, column) : null;
  $("under").textContent = !cell ? "\u00a0" : row.label + " at " + format.s(secondsAt(column)) + ": " + format.share(cell.calls) +
    " in calls, mostly " + categories[cell.main] + "; " + format.share(cell.waiting) + " waiting for others";
};
const seen = new Set();
for (const row of view.rows)
  for (let at = 0; at < row.cells.length; at += 3) if (row.cells[at] !== "-" && row.cells[at + 1] !== "A") seen.add(value[row.cells[at]]);
for (const [colour, name] of [...[...seen].map(i => [colourOf(i), categories[i]]), ["var(--hot)", "waiting for others"]]) {
  const entry = make("span"), box = make("i");
  box.style.background = colour;
  entry.append(box, name);
  $("legend").append(entry);
}
if (!view.rows.length) lines.hidden = true;

/* ---- tables ---- */

part("calls", "Calls", report.calls, [["name", "call", "text"], ["time_s", "time", "s", true], ["waiting_s", "waiting", "s"], ["calls", "calls", "count"],
  ["bytes_sent", "sent", "bytes"], ["bytes_received", "received", "bytes"], ["p50_s", "p50", "s"], ["p99_s", "p99", "s"], ["max_s", "max", "s"]]);
part("segments", "Time between calls", report.segments, [["from", "from", "text"], ["to", "to", "text"], ["region", "region", "text"],
  ["costs_s", "costs others", "s", true], ["worst_rank", "worst rank", "text"], ["worst_s", "its median", "s"], ["median_s", "median", "s"],
  ["p99_s", "p99", "s"], ["times", "times", "count"], ["total_s", "total", "s"], ["why", "why", "text"]]);
part("ranks", "Ranks", report.ranks, [["rank", "rank", "count"], ["host", "host", "text"], ["state", "state", "text"], ["inside", "inside", "text"],
  ["mpi_s", "in MPI", "s", true], ["waiting_s", "waiting", "s", true], ["nccl_s", "in NCCL", "s"], ["calls", "calls", "count"],
  ["bytes_sent", "sent", "bytes"], ["bytes_received", "received", "bytes"], ["wall_s", "time", "s"]]);
part("waits", "Who waits for whom", report.waits, [["kind", "kind", "text"], ["waiter", "waits", "count"], ["culprit", "for", "count"],
  ["lost_s", "lost", "s", true], ["count", "times", "count"]]);
part("collectives", "Collectives", report.collectives, [["name", "call", "text"], ["place", "called from", "text"], ["communicator", "on", "text"], ["instances", "times", "count"],
  ["lost_s", "lost", "s", true], ["skew_p50_s", "skew p50", "s"], ["skew_max_s", "skew max", "s"], ["last_rank", "last", "text"], ["last_share", "in", "share"]]);

/* ---- messages ---- */

function drawMatrix(canvas, m) {
  const cell = Math.max(3, Math.min(18, Math.floor(560 / m.labels.length))), n = m.labels.length;
  const [c] = sizeOf(canvas, n * cell + 30);
  const most = Math.log(1 + Math.max(...m.cells.map(x => x[2]))) || 1;
  c.strokeStyle = styleOf("--line");
  c.strokeRect(60, 20, n * cell, n * cell);
  c.fillStyle = styleOf("--dim");
  const every = Math.ceil(11 / cell);
  m.labels.forEach((label, i) => { if (i % every === 0) c.fillText(label, 4, 20 + i * cell + cell / 2 + 4, 52); });
  c.fillText("to →", 60, 12);
  for (const [source, destination, bytes] of m.cells) {
    const part = Math.log(1 + bytes) / most;
    c.fillStyle = "hsl(" + (230 - 200 * part) + " 75% " + (70 - 25 * part) + "%)";
    c.fillRect(60 + destination * cell, 20 + source * cell, Math.max(1, cell - 1), Math.max(1, cell - 1));
  }
  canvas.onpointermove = e => {
    const to = Math.floor((e.offsetX - 60) / cell), of = Math.floor((e.offsetY - 20) / cell);
    const hit = m.cells.find(x => x[0] === of && x[1] === to);
    canvas.title = hit ? m.labels[of] + " to " + m.labels[to] + ": " + format.bytes(hit[2]) + " in " + format.count(hit[3]) + " messages" : "";
  };
}
let matrix = null;
if (data.matrix.cells.length) {
  matrix = make("canvas");
  matrix.setAttribute("role", "img");
  matrix.setAttribute("aria-label", "bytes sent from rank to rank");
  const s = section("matrix", "Messages from rank to rank (logarithmic)");
  s.append(matrix);
}
part("sizes", "Messages by size", report.sizes, [["from_bytes", "from", "bytes"], ["bytes", "bytes", "bytes"], ["messages", "messages", "count", true],
  ["latency_p50_s", "latency p50", "s"], ["latency_p99_s", "p99", "s"], ["bandwidth", "bandwidth", "rate"], ["late", "late", "count"], ["late_s", "late by", "s"]]);
part("sites", "Places that call", report.sites, [["call", "call", "text"], ["place", "called from", "text"], ["time_s", "time", "s", true], ["calls", "calls", "count"],
  ["p50_s", "p50", "s"], ["p99_s", "p99", "s"], ["max_s", "max", "s"], ["ranks", "ranks", "count"]]);

/* ---- iterations, regions, the rest ---- */

const it = report.iterations;
if (it && it.count) {
  const s = section("iterations", "Iterations");
  s.append(make("p", it.count + " iterations, median " + (it.median_s === null ? "unknown" : format.s(it.median_s)) + ", each ended by " + it.end));
  table(s, it.slowest, [["index", "iteration", "count"], ["seconds", "took", "s", true], ["at_s", "at", "s"], ["rank", "rank", "text"],
    ["segment_s", "of that", "s"], ["from", "from", "text"], ["to", "to", "text"], ["why", "why", "text"]]);
}
part("regions", "Regions of the program", report.regions, [["name", "region", "text"], ["times", "times", "count"], ["total_s", "time", "s", true],
  ["own_s", "own", "s"], ["mpi_s", "in calls", "s"], ["longest_s", "longest", "s"], ["ranks", "ranks", "count"]]);
part("nccl", "NCCL", report.nccl, [["name", "operation", "text"], ["communicator", "on", "text"], ["calls", "calls", "count"], ["bytes", "bytes", "bytes"],
  ["busbw", "busbw", "rate"], ["algbw", "algbw", "rate"], ["transfer_s", "transfer", "s", true], ["skew_p50_s", "skew p50", "s"]]);
part("gpus", "GPUs", report.gpus, [["rank", "rank", "count"], ["kernels", "kernels", "count"], ["compute_s", "computing", "s", true],
  ["communication_s", "communicating", "s"], ["overlap_s", "overlap", "s"], ["exposed_s", "exposed", "s"], ["busy_s", "busy", "s"]]);
part("files", "MPI-IO by file", report.files, [["name", "file", "text"], ["bytes_read", "read", "bytes"], ["bytes_written", "written", "bytes"], ["time_s", "time", "s", true],
  ["ranks", "ranks", "count"]]);
part("networks", "Networks of the nodes", report.networks, [["host", "host", "text"], ["bytes_sent", "sent", "bytes"], ["bytes_received", "received", "bytes"],
  ["retransmits", "sent again", "count"], ["errors", "errors", "count"], ["link_waits", "waits", "count"]]);
part("clocks", "Clocks", report.clocks, [["host", "host", "text"], ["ranks", "ranks", "count"], ["offset_s", "offset", "s"], ["drift_ppm", "drift, ppm", "text"], ["error_s", "error", "s"]]);
for (const note of data.left_out) $("foot").append(make("span", note + " "));

for (const s of document.querySelectorAll("main > section")) {
  const a = make("a", s.querySelector("h2").textContent.replace(/[:(].*/, ""));
  a.href = "#" + s.id;
  if (!s.hidden) $("nav").append(a);
}
function draw() {
  drawLanes();
  if (matrix) drawMatrix(matrix, data.matrix);
}
addEventListener("resize", draw);
addEventListener("beforeprint", draw);
draw();

/* ---- words ---- */

const words = section("words", "Words"), meanings = make("dl");
for (const [word, meaning] of Object.entries(data.accounts).concat([...explained]))
  meanings.append(make("dt", word), make("dd", meaning));
words.append(meanings);
