# timeout: 1200
"""Container runtimes with LD_PRELOAD set for everything, as a user has it who puts that into a profile: Apptainer,
Charliecloud and Podman do what they do without, and so does what they start, which uses no MPI.  libtrace.so is loaded,
and opens no file."""
import os
import re

from common import TOP, check, end
from host import AFTERWARDS, LIBTRACE, enter, host, image, in_job, podman_image
from opened import more_of_ours

path, name = host(), image("openmpi")
SAYS = ["sh", "-c", "echo $((6 * 7)); cat /etc/debian_version; echo no >&2; exit 3"]
COMMANDS = {
    "apptainer version": ["apptainer", "version"],
    "apptainer exec": ["apptainer", "-s", "exec", name] + SAYS,
    "apptainer exec of nothing": ["apptainer", "-s", "exec", "/nothing", "true"],
    "apptainer exec --containall": ["apptainer", "-s", "exec", "--containall", name] + SAYS,
    "charliecloud": ["ch-run", name, "--"] + SAYS,
    "podman": AFTERWARDS + ["podman", "run", "--rm", podman_image("openmpi")] + SAYS,
}


def files():
    return set(os.listdir(in_job()))


def lines(text):
    """Without times and process ids."""
    return re.sub(r"\d{2}:\d{2}:\d{2}|\[\d+\]|\b\d{5,}\b", "#", text)


def opened(command, **env):
    """The paths that it opens."""
    enter(["strace", "-f", "-qq", "-e", "trace=open,openat,creat", "-o", "opened"] + command, path=path, timeout=300, **env)
    with open(in_job("opened"), errors="replace") as f:
        paths = set(re.findall(r'"([^"]*)"', f.read()))
    os.remove(in_job("opened"))
    return paths


for what, command in COMMANDS.items():
    bare = enter(command, path=path, timeout=300)
    before = files()
    loaded = enter(command, path=path, timeout=300, LD_PRELOAD=LIBTRACE, HPCTOP_VERBOSE="1")
    check(what, bare.code is not None and [loaded.code, lines(loaded.out), lines(loaded.err)] ==
          [bare.code, lines(bare.out), lines(bare.err)], "%s, without: %s" % (loaded, bare))
    check(what + " leaves no file of ours", files() == before, sorted(files() ^ before)[:5])
    if what in ("apptainer version", "apptainer exec"):
        seen, without = opened(command, LD_PRELOAD=LIBTRACE), opened(command)
        check(what + " has it", LIBTRACE in seen, sorted(seen)[:5])
        ours = more_of_ours(seen, without, LIBTRACE, (TOP, in_job()))
        check(what + ": nothing else of ours is opened", not ours, ours[:5])
end()
