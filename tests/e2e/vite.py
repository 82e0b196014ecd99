# timeout: 200
# long
"""ViTE draws what is exported as otf2: without an error, all ranks and their calls."""
import os
import re
import shutil
import xml.dom.minidom

from common import check, end, hpctop, mpirun, run, skip, workload

if not shutil.which("vite"):
    skip("ViTE", "it is missing; as root: apt-get install vite")
    end()
for name, ranks, program in (("ring", 4, "ring"), ("nonblocking", 2, "p2p_nonblocking"), ("collectives", 3, "collectives_nonblocking")):
    made = mpirun(ranks, [workload(program)], name)
    out = hpctop("export", "--format", "otf2", "-o", name + ".otf2", name)
    drawn = run(["vite", "-f", name + ".otf2/traces.otf2", "-e", name + ".svg"], env=dict(os.environ, QT_QPA_PLATFORM="offscreen"), timeout=60)
    errors = re.search(r"(\d+) errors", drawn.out + drawn.err)
    check(name + ": it is read without errors", made.code == 0 and out.code == 0 and drawn.code == 0 and errors and errors.group(1) == "0", drawn)
    if not check(name + ": there is a picture", os.path.exists(name + ".svg")):
        continue
    picture = xml.dom.minidom.parse(name + ".svg")
    rects = len(picture.getElementsByTagName("rect"))
    check(name + ": with states of all ranks", rects > 3 * ranks, rects)
end()
