# timeout: 120
"""hpctop mcp: a client asks 40 questions; no answer has a number that the report does not have, and wrong questions get
an error and end nothing."""
import json
import re
import subprocess

from common import HPCTOP, check, end, hpctop

SCALE = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "%": 1e-2}


class Client:
    def __init__(self):
        self.server = subprocess.Popen([HPCTOP, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.asked = 0

    def send(self, line):
        self.server.stdin.write(line + "\n")
        self.server.stdin.flush()

    def ask(self, method, **params):
        self.asked += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}))
        said = json.loads(self.server.stdout.readline())
        check("question %d: its own answer" % self.asked, said["id"] == self.asked and said["jsonrpc"] == "2.0", said)
        return said

    def tool(self, name, **arguments):
        """Returns the text of a tool's answer; None: it is an error."""
        result = self.ask("tools/call", name=name, arguments=arguments)["result"]
        return None if result["isError"] else result["content"][0]["text"]


def numbers_of(value):
    """All numbers in a JSON document, and those in its texts."""
    if isinstance(value, dict):
        return set().union(*(numbers_of(v) for v in value.values())) if value else set()
    if isinstance(value, list):
        return set().union(*(numbers_of(v) for v in value)) if value else set()
    if isinstance(value, bool) or value is None:
        return set()
    return {float(n) for n in re.findall(r"\d+(?:\.\d+)?", value)} if isinstance(value, str) else {float(value)}


def unknown(text, known):
    """The numbers of a text that none of `known` is, as they are rounded."""
    missing = []
    for number, unit in re.findall(r"(?<![\w.])(\d+(?:\.\d+)?) ?(s|ms|us|ns|%)?(?!\w)", text):
        scale = SCALE.get(unit, 1)
        half = 0.5001 * 10.0 ** -len(number.partition(".")[2]) * scale
        if not any(abs(k - float(number) * scale) <= half or k == float(number) for k in known):
            missing.append(number + unit)
    return missing


check("a job", hpctop("demo", "sample").code == 0)
whole = json.loads(hpctop("report", "--json", "sample").out)
verdict = json.loads(hpctop("verdict", "--json", "sample").out)
known = numbers_of(whole) | numbers_of(verdict) | numbers_of(hpctop("report", "--all", "sample").out)
client = Client()
first = client.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
check("it says who it is", first["result"]["serverInfo"]["name"] == "hpctop" and first["result"]["protocolVersion"] == "2025-06-18", first)
client.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
tools = client.ask("tools/list")["result"]["tools"]
check("its tools have schemas", [(t["name"], t["inputSchema"]["required"]) for t in tools] ==
      [("report", ["dir"]), ("show", ["dir", "id"])], tools)
check("ping", client.ask("ping")["result"] == {})

answers = 0
for _ in range(4):
    brief = json.loads(client.tool("report", dir="sample"))
    check("report: the answer", "rank 2 is late" in brief["answer"] and brief["verdict"] == "slow", brief)
    wrong = [n for n in numbers_of({k: v for k, v in brief.items() if k not in ("version", "next")}) if n not in known]
    check("report: no number that the report does not have", not wrong, wrong)
    ids = ["verdict"] + [p["id"] for p in brief["prices"]] + ["account-" + a["account"] for a in brief["accounts"] if a["seconds"]]
    for one in ids:
        text = client.tool("show", dir="sample", id=one)
        wrong = unknown(text, known) if text else ["no answer"]
        check("show %s: no number that the report does not have" % one, not wrong, (wrong, text))
        answers += 1

for name, arguments in (("report", {"dir": "nowhere"}), ("show", {"dir": "sample", "id": "price-99"}), ("report", {"dir": "--html"})):
    check("%s of %s: an error, as text" % (name, arguments), client.tool(name, **arguments) is None)
for line, code in (("no json", -32700), ("[" * 5000, -32700), ("x" * 200000, -32700), ('{"jsonrpc": "2.0", "id": 1}', -32600),
                   ('{"jsonrpc": "2.0", "id": 1, "method": "none"}', -32601),
                   ('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "rm"}}', -32602),
                   ('{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', -32602)):
    client.send(line)
    said = json.loads(client.server.stdout.readline())
    check("%.40s: error %d" % (line, code), said["error"]["code"] == code, said)
check("40 questions and more were asked", client.asked >= 40, client.asked)
client.server.stdin.close()
check("the end of its input ends it", client.server.wait(20) == 0)
end()
