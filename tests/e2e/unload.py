# timeout: 100
"""A plugin that is unloaded, and another one that then has its addresses: each call has the path of the plugin that made
it, though return addresses are equal and frames are not.  A plugin that comes back has its old places."""
import os
import re
import subprocess

from common import LIBTRACE, TOP, check, end, environment, hpctop, run

HERE = os.path.join(TOP, "tests/e2e/unload")
TIMES = 5
TRIES = 5
CALLS = "MPI_Comm_rank", "MPI_Get_version"  # cached, and not
# A glibc older than 2.35 lacks _dl_find_object: one that knows nothing stands for it.
OLD_GLIBC = "int _dl_find_object(void *at, void *found) { (void)at, (void)found; return -1; }"

with open("old.c", "w") as f:
    f.write(OLD_GLIBC + "\n")
subprocess.run(["gcc", "-shared", "-fPIC", "-o", "old.so", "old.c"], check=True)
subprocess.run(["mpicc", "-O1", "-o", "host", HERE + "/host.c", "-ldl"], check=True)
for name, room in (("first", 40), ("other", 72)):
    subprocess.run(["mpicc", "-O2", "-fno-optimize-sibling-calls", "-shared", "-fPIC", "-DWORK=%s_work" % name, "-DROOM=%d" % room,
                    "-o", name + ".so", HERE + "/plugin.c"], check=True)


def recorded(folder):
    """The functions of each call's path, in their order, and the number of different sites."""
    out = hpctop("dump", folder).out
    names = {at: re.sub(r"\+0x[0-9a-f]+$", "", name) for at, name in re.findall(r"^site (0x[0-9a-f]+): (\S+) \S+", out, re.M)}
    paths = [[re.sub(r"\+0x[0-9a-f]+$", "", names.get(site, site)) for site in path.split("<") if site not in ("..", "?")]
             for path in re.findall(r"^\d+ .*(?:%s) .*?path=(\S+)" % "|".join(CALLS), out, re.M)]
    return paths, len(names)


def plugins(title, wanted, before=""):
    """Runs the host with these plugins, and compares the paths.  Returns the number of sites."""
    for attempt in range(TRIES):  # memory that a thread maps meanwhile may lie where a plugin was
        folder = "trace-%s-%d" % (title.replace(" ", "-"), attempt)
        done = run(["./host", str(TIMES)] + ["./%s.so" % name for name in wanted], environment(folder, before + LIBTRACE), 60)
        if done.code or len(set(done.out.split())) == 1:
            break
    if not check(title + ": all plugins have the same address", done.code == 0 and len(set(done.out.split())) == 1, done):
        return 0
    paths, sites = recorded(folder)
    expected = [name + "_work" for name in wanted for _ in range(len(CALLS) * TIMES)]
    check(title + ": each call is its plugin's", [path[0] for path in paths] == expected, [path[0] for path in paths])
    wrong = [path for path in paths if path[1:4] != ["plugin_run", "use_plugin", "main"][:len(path) - 1]]
    check(title + ": no path is wrong", not wrong, wrong[:3])
    check(title + ": paths are whole", before or all(len(path) >= 4 for path in paths), paths[:3])
    return sites


few = plugins("one after the other", ["first", "other"])
again = plugins("and back", ["first", "other", "first", "other", "first"])
check("a plugin that comes back has its places again", again == few, "%d sites, %d before" % (again, few))
plugins("an old glibc", ["first", "other"], os.path.abspath("old.so") + ":")
end()
