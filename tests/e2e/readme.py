# timeout: 900
"""Every command of README.md, docs/launchers.md and docs/diff.md works: the ```sh blocks, in order, in a scratch copy of the sources."""
import os
import re
import shutil
import subprocess

from common import BUILD, TOP, check, end, hpctop

# Run by whoever runs this test, or for too long.
ELSEWHERE = ("make check", "make check-long", "make check-asan", "make check-tsan", "make bench", "git clone", "cd hpctop")

with open(os.path.join(TOP, "README.md")) as f:
    text = f.read()
pages = ""
for page in ("launchers", "diff"):
    with open(os.path.join(TOP, "docs/%s.md" % page)) as f:
        pages += f.read()
blocks = re.findall(r"^```sh\n(.*?)^```", text + pages, re.M | re.S)
check("there are commands in it", len(blocks) >= 2, "%d blocks" % len(blocks))

told = [line.strip() for line in hpctop("help", "environment").out.splitlines() if line.strip()[:1].isupper() and "  " in line.strip()]
names = set(re.findall(r"`(HPCTOP_\w+)", text))
check("its environment variables are those of hpctop help environment", len(names) >= 4 and names <= {line.split()[0] for line in told},
      (names, told))

known = []
if shutil.which("git"):
    known = subprocess.run(["git", "-C", TOP, "ls-files", "-co", "--exclude-standard"], stdout=subprocess.PIPE,
                           check=False).stdout.decode().splitlines()
if known:  # as a fresh clone, with what is not committed yet
    for name in (f for f in known if os.path.isfile(os.path.join(TOP, f))):
        os.makedirs(os.path.dirname(os.path.join("copy", name)) or "copy", exist_ok=True)
        shutil.copy2(os.path.join(TOP, name), os.path.join("copy", name))
else:
    shutil.copytree(TOP, "copy", ignore=shutil.ignore_patterns("build", ".git", "*.so", "hpctop", "hpctop-*"))
# Whoever runs this test has compiled the same sources by the same rules: make finds the objects, and has to link them.
for part in ("trace", "tui", "interpose"):
    for path, _, names in os.walk(os.path.join(BUILD, part)):
        new = os.path.join("copy/build/plain", os.path.relpath(path, BUILD))
        os.makedirs(new, exist_ok=True)
        for name in (n for n in names if n.endswith((".o", ".d"))):
            shutil.copy2(os.path.join(path, name), new)

env = {k: v for k, v in os.environ.items() if k not in ("BUILD", "LIBTRACE", "HPCTOP", "WORKLOADS", "TOP")}
for number, block in enumerate(blocks, 1):
    for line in re.sub(r"\\\n\s*", " ", block).splitlines():
        command = line.split("  #")[0].strip()
        if not command or command.startswith("#"):
            continue
        if command.startswith(ELSEWHERE):
            if command.startswith("make"):
                target = command.split()[1]
                with open("copy/Makefile") as f:
                    check(command + " (that the target is there)", re.search("^%s:" % target, f.read(), re.M), "no such target")
            continue
        try:
            done = subprocess.run(["bash", "-c", command], cwd="copy", env=env, stdin=subprocess.DEVNULL, timeout=3000,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            check(command, done.returncode == 0, "exit %d: %s" % (done.returncode, done.stdout.decode(errors="replace")[-500:]))
        except subprocess.TimeoutExpired:
            check(command, False, "no end")
end()
