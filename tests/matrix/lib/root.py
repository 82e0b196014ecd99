"""Runs programs in the root of another release: its files, our working folder, /proc, /dev/shm and the library under
test.  With bubblewrap, which needs no privileges."""
import os
import shutil
import subprocess

from common import BUILD, LIBTRACE, TOP, run, skip_all

PRELOAD = "/tmp/libtrace.so"
SOURCES = "/tmp/workloads"


def unpack(release, name, packages):
    """The root's path, made on first use; ends the test as skipped where it cannot be had."""
    made = subprocess.run([os.path.join(TOP, "tests/roots.sh"), release, name] + packages, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, stdin=subprocess.DEVNULL)
    if made.returncode:
        skip_all(made.stderr.strip() or "roots.sh failed")
    return made.stdout.strip()


class Root:
    def __init__(self, path, env=None, binds=()):
        """env: set for every program in it; binds: pairs of a path here and the path there."""
        if not shutil.which("bwrap"):
            skip_all("bubblewrap is missing")
        self.path, self.binds = path, list(binds)
        self.env = dict({"PATH": "/tmp/pypi/bin:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/tmp", "TMPDIR": "/tmp"},
                        **(env or {}))

    def run(self, command, timeout=120, **env):
        return run(*self.started(command, **env), timeout)

    def started(self, command, **env):
        """Command line and environment that run it there."""
        here = os.getcwd()
        wrapped = ["bwrap", "--die-with-parent", "--unshare-pid", "--bind", self.path, "/", "--dev", "/dev", "--proc",
                   "/proc", "--ro-bind", "/sys", "/sys", "--tmpfs", "/tmp", "--ro-bind", "/etc/hosts", "/etc/hosts",
                   "--ro-bind", LIBTRACE, PRELOAD, "--ro-bind", os.path.join(TOP, "workloads"), SOURCES]
        for inside, outside in self.binds:
            wrapped += ["--bind", inside, outside]
        if "LD_PRELOAD" in env:  # not for bwrap itself, which sees our files
            wrapped += ["--setenv", "LD_PRELOAD", env.pop("LD_PRELOAD")]
        wrapped += ["--bind", here, here, "--chdir", here, "--"]
        return wrapped + command, dict(self.env, **{k: str(v) for k, v in env.items()})


# Compiles what is older than its source or a header, says which programs this MPI lacks the calls for.
COMPILE = r"""
cd {sources}
for source in {pattern}; do
    program=/tmp/bin/${{source%.*}}
    [ "$program" -nt "$source" ] && [ -z "$(find . -maxdepth 1 -name '*.h' -newer "$program")" ] && continue
    {compiler} -o "$program" "$source" {libraries} 2>/tmp/errors || {{ rm -f "$program"; echo "$source: $(grep -m 1 .  /tmp/errors)"; }}
done
"""


class Compiler:
    """The programs of workloads/ as built by one MPI's compiler in its root; kept in the build folder."""

    def __init__(self, root, name):
        self.root = root
        self.folder = os.path.join(os.path.abspath(BUILD), "matrix", name)
        os.makedirs(self.folder, exist_ok=True)
        root.binds.append((self.folder, "/tmp/bin"))

    def build(self, compiler, pattern, libraries):
        """Builds workloads/PATTERN; returns what could not be compiled, by line."""
        script = COMPILE.format(sources=SOURCES, pattern=pattern, compiler=compiler, libraries=libraries)
        return [l for l in self.root.run(["sh", "-c", script], 600).out.splitlines() if l]

    @staticmethod
    def program(name):
        return "/tmp/bin/" + name
