# timeout: 400
# long
"""hpctop metrics read by a real Prometheus: it scrapes what hpctop writes, while a job runs and afterwards, and answers queries
with the numbers of the report."""
import http.server
import json
import shutil
import signal
import socket
import subprocess
import threading
import urllib.parse
import urllib.request

from common import LONG, check, end, hpctop, mpirun, report, skip_all, start, stop, traces, wait_for, workload

if not shutil.which("prometheus"):
    skip_all("no prometheus is here (Debian: prometheus)")


class Exporter(http.server.BaseHTTPRequestHandler):
    """What a site's exporter does: it hands out what `hpctop metrics` says now."""
    folder = None

    def do_GET(self):
        said = hpctop("metrics", Exporter.folder).out.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ask(path, **query):
    try:
        with urllib.request.urlopen("http://127.0.0.1:%d/api/v1/%s?%s" % (PORT, path, urllib.parse.urlencode(query)), timeout=20) as answer:
            return json.load(answer)["data"]
    except OSError:
        return None


def values(query, label):
    data = ask("query", query=query)
    return {r["metric"].get(label): float(r["value"][1]) for r in data["result"]} if data else {}


def scraped():
    """The state of the one target; "up" when the last scrape was taken."""
    targets = (ask("targets") or {}).get("activeTargets", [])
    return targets[0] if targets else {}


def seen(folder):
    """Whether Prometheus knows this folder by now."""
    Exporter.folder = folder
    return wait_for(lambda: values('hpctop_job_ranks{job_name="%s"}' % folder, "job_name").get(folder))


PORT = free_port()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
threading.Thread(target=server.serve_forever, daemon=True).start()
done = mpirun(3, [workload("planted"), "one"], "slow")
check("a job with a late rank", done.code == 0, done)
Exporter.folder = "slow"
with open("prometheus.yml", "w") as f:
    json.dump({"global": {"scrape_interval": "1s"}, "scrape_configs": [{"job_name": "hpctop", "static_configs": [
        {"targets": ["127.0.0.1:%d" % server.server_address[1]]}]}]}, f)  # JSON is YAML
log = open("prometheus.log", "w")
prometheus = subprocess.Popen(["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:%d" % PORT],
                              stdout=log, stderr=log)
try:
    if check("Prometheus takes it", seen("slow") and scraped()["health"] == "up", (scraped(), open("prometheus.log").read()[-300:])):
        rep = report("slow")
        check("calls by rank", values("hpctop_rank_calls_total", "rank") == {str(r["rank"]): r["calls"] for r in rep["ranks"]}, values("hpctop_rank_calls_total", "rank"))
        sent = values("hpctop_rank_sent_bytes_total", "rank")
        check("bytes by rank", sent == {str(r["rank"]): r["bytes_sent"] for r in rep["ranks"]}, sent)
        calls = values("hpctop_calls_total", "call")
        check("calls by name", calls == {c["name"]: c["calls"] for c in rep["calls"]}, calls)
        verdict = {k for k, v in values("hpctop_job_verdict == 1", "hpctop_job_verdict").items()}
        check("the verdict", verdict == {json.loads(hpctop("verdict", "--json", "slow").out)["state"]}, verdict)
        kinds = {m: v[0]["type"] for m, v in (ask("metadata") or {}).items()}
        check("types", kinds.get("hpctop_rank_calls") == "counter" and kinds.get("hpctop_job_ranks") == "gauge" and kinds.get("hpctop_job_state") == "stateset", kinds)
    job = start(2, [workload("stencil"), "300", "-1", "enough"], "live")
    check("a job that runs", wait_for(lambda: len(traces("live")) == 2))
    check("it is seen while it runs", seen("live") and wait_for(lambda: values('hpctop_job_state{hpctop_job_state="running",job_name="live"}', "job_name") == {"live": 1}))
    check("its counters rise", wait_for(lambda: all(v > 0 for v in values('rate(hpctop_rank_calls_total{job_name="live"}[10s])', "rank").values() or [0])))
    open("enough", "w").close()
    job.wait(LONG)
    stop(job)
    check("that it has ended is seen", wait_for(lambda: values('hpctop_job_state{hpctop_job_state="finished",job_name="live"}', "job_name") == {"live": 1}))
finally:
    prometheus.send_signal(signal.SIGTERM)
    prometheus.wait(60)
end()
