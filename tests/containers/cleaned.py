# timeout: 1800
"""Apptainer with --cleanenv and --containall, started by hand with APPTAINERENV_ variables and by `hpctop record`: both
record; LD_PRELOAD alone does not come through."""
import os

from common import HPCTOP, TOP, check, end, report, workload
from host import LIBTRACE, enter, host, image, in_job

path, job, name = host(), in_job(), image("openmpi")
JOIN = os.path.join(TOP, "containers/join-mpirun")
# --cleanenv takes the launcher's variables away too, so that each rank is a job of its own: one rank, without a launcher.
APP = [JOIN, workload("selfcall"), "rank", "1000"]


def outcome(label, words, **env):
    folder = in_job("trace-" + label.replace(" ", "-"))
    done = enter([w.replace("FOLDER", folder) for w in words], path=path, **{k: v.replace("FOLDER", folder) for k, v in env.items()})
    return done, (report(folder) if os.path.isdir(folder) and os.listdir(folder) else None)


OURS = {"APPTAINERENV_LD_PRELOAD": LIBTRACE, "APPTAINERENV_HPCTOP_DIR": "FOLDER", "APPTAINER_BIND": "%s,%s" % (TOP, job)}
for option in ("--cleanenv", "--containall"):
    done, rep = outcome(option + " by hand", ["apptainer", "-s", "exec", option, name] + APP, **OURS)
    check(option + " with APPTAINERENV_ variables records", done.code == 0 and rep and rep["job"]["ranks"] == 1, done)
    done, rep = outcome(option + " preload outside", ["apptainer", "-s", "exec", option, "--bind", TOP, "--bind", job, name] + APP,
                        LD_PRELOAD=LIBTRACE, HPCTOP_DIR="FOLDER")
    check(option + " with LD_PRELOAD alone runs and records nothing", done.code == 0 and rep is None, done)
    done, rep = outcome(option + " record", [HPCTOP, "record", "-o", "FOLDER", "--", "apptainer", "-s", "exec", option, "--bind",
                                             TOP, name] + APP)
    check("hpctop record with %s records" % option, done.code == 0 and rep and rep["job"]["ranks"] == 1, done)
end()
