# timeout: 200
# long
"""ViTE draws what is exported as otf2 and paje: without an error, all ranks and their calls."""
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
    for kind, path in (("otf2", "%s.otf2/traces.otf2"), ("paje", "%s.paje")):
        label = "%s as %s" % (name, kind)
        out = hpctop("export", "--format", kind, "-o", "%s.%s" % (name, kind), name)
        drawn = run(["vite", "-f", path % name, "-e", label + ".svg"], env=dict(os.environ, QT_QPA_PLATFORM="offscreen"), timeout=60)
        errors = re.search(r"(\d+) errors", drawn.out + drawn.err)
        check(label + ": it is read without errors", made.code == 0 and out.code == 0 and drawn.code == 0 and errors and errors.group(1) == "0", drawn)
        if not check(label + ": there is a picture", os.path.exists(label + ".svg")):
            continue
        picture = xml.dom.minidom.parse(label + ".svg")
        rects = len(picture.getElementsByTagName("rect"))
        check(label + ": with states of all ranks", rects > 3 * ranks, rects)
end()
