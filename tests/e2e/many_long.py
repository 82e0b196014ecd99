# long
# timeout: 1200
# alone
"""Ten thousand ranks on 80 hosts: the screens and the verdict of a job that ended, and of one that is written while it is
looked at, in which a rank stops and a node dies."""
import atexit
import json
import os
import re
import shutil
import subprocess

from common import BUILD, check, end, hpctop, run, stop, wait_for

MANY = os.path.join(BUILD, "tests/many/many")
RANKS, HOSTS, LATE, LATE_HOST, STOPS, DEAD = 10000, 80, 748, 3, 5000, 7
EACH = RANKS // HOSTS
PATIENCE = 600


def screens(folder, *keys):
    with open("keys", "w") as f:
        f.write("".join("key %s\nscreen\n" % k for k in keys))
    return hpctop("--script", "keys", "--size", "100x40", folder, timeout=PATIENCE).out.split("---- ")[1:]


made = run([MANY, "--ranks", str(RANKS), "--hosts", str(HOSTS), "--rounds", "20", "--late-rank", str(LATE), "--late-host",
            str(LATE_HOST), "ended"], timeout=PATIENCE)
check("made", made.code == 0, made)
ranks, times, matrix = screens("ended", "2", "6", "4")
for name, seen, mark in (("Ranks", ranks, "[> ]"), ("Timeline", times, "!")):
    check(name + ": the late rank", re.search(r"^%s +%d node%03d " % (mark, LATE, LATE // EACH), seen, re.M), seen)
    check(name + ": the late node", re.search(r"^[>! ]+x%d node%03d " % (EACH, LATE_HOST), seen, re.M), seen)
    check(name + ": the others", "+%d " % (RANKS - EACH - 1) in seen, seen)
check("Matrix: by node", "ranks, by node" in matrix, matrix)
said = hpctop("report", "ended", timeout=PATIENCE).out
check("the report fits a ticket, and its first rank is to blame", 20 < said.count("\n") <= 60 and
      re.search(r"^RANKS.*\n.*\n +%d node" % LATE, said, re.M), said)
paged = hpctop("report", "--html", "-o", "page.html", "ended", timeout=PATIENCE)
with open("page.html", encoding="utf-8") as f:
    text = f.read()
data = json.loads(text.split('id="data">', 1)[1].split("</script>", 1)[0])
check("the page has all ranks and is below 10 MB", paged.code == 0 and len(text.encode()) < 10e6 and len(data["report"]["ranks"]) == RANKS and
      len(data["matrix"]["cells"]) > 0, (paged, len(text)))
print("a page of %d ranks: %d bytes" % (RANKS, len(text.encode())))
shutil.rmtree("ended")

job = subprocess.Popen([MANY, "--ranks", str(RANKS), "--hosts", str(HOSTS), "--live", "900", "--hang", str(STOPS), "--dead",
                        str(DEAD), "--fault", "5", "live"], stdout=subprocess.PIPE, start_new_session=True)
atexit.register(stop, job)
check("live", job.stdout.readline() == b"live\n")
dead = list(range(DEAD * EACH, (DEAD + 1) * EACH))
seen = []


def blamed():
    found = json.loads(hpctop("verdict", "--json", "--hang", "10", "live", timeout=PATIENCE).out)
    seen.append((found["state"], found["class"], found["culprits"][:200]))
    return job.poll() is not None or seen[-1] == ("hung", "dead-rank", dead)


check("the dead node is blamed while the job lives", wait_for(blamed, PATIENCE) and job.poll() is None, seen[-1:])
stop(job)
end()
