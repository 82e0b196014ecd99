# timeout: 4000
"""Every command of containers/README.md works, on the host of these tests and as its ordinary user: the ```sh blocks, in
order, in a copy of what they need.  The traces that they leave say what the workloads did."""
import json
import os
import re
import shutil
import subprocess

from common import HPCTOP, LIBTRACE, TOP, check, end, report
from compare import differences
from host import enter, host, in_job

with open(os.path.join(TOP, "containers/README.md")) as f:
    blocks = re.findall(r"^```sh\n(.*?)^```", f.read(), re.M | re.S)
check("there are commands in it", len(blocks) >= 4, "%d blocks" % len(blocks))

path = host()
enter(["true"], path=path)
for folder in ("workloads", "containers"):
    shutil.copytree(os.path.join(TOP, folder), in_job(folder))
for product in (HPCTOP, LIBTRACE):
    shutil.copy2(product, in_job())
subprocess.run(["chown", "-R", "1000:1000", in_job()], check=True)

for command in "".join(blocks).splitlines():
    if "ch-run" in command and not os.path.isdir(in_job("openmpi")):
        check(command, False, "no image to run it with")
        continue
    truth = in_job("truth")
    if os.path.exists(truth):
        os.remove(truth)
    script = command + "\ncode=$?; podman system migrate >/dev/null 2>&1; exit $code"
    done = enter(["bash", "-c", script], path=path, timeout=1500, TRUTH=truth)
    label = command.replace(":", "=")  # a part's name ends at a colon
    if not check(label, done.code == 0, done):
        continue
    folder = re.search(r"HPCTOP_DIR=\S*?([\w-]+)(?: |$)|record -o (\S+)", command)
    if folder:
        with open(truth) as f:
            wrong = differences(json.load(f), report(in_job(folder.group(1) or folder.group(2))))
        check("what was recorded by " + label, not wrong, "; ".join(wrong[:8]))
end()
