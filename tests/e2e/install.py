# timeout: 400
"""hpctop as it is installed: the folder of `make install`, the tarball, the wheel; completion in the real shells; and what is
meant by words that are nearly right."""
import glob
import os
import re
import shutil
import subprocess
import sys

from common import BUILD, HPCTOP, TOP, check, end, environment, make, run, skip, workload

PLAIN = "/usr/bin:/bin"


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names)


def expected():
    with open(os.path.join(TOP, "packaging/packaging.mk")) as f:
        text = f.read().replace("\\\n", " ")
    return sorted(name for kind in ("755", "644")
                  for name in re.search(r"^FILES_%s = (.*)$" % kind, text, re.M).group(1).split())


def records(what, program):
    """The installed hpctop finds its libtrace.so, records a job and reports on it."""
    folder = os.path.abspath("trace-" + what)
    env = {k: v for k, v in environment(preload=False).items() if k != "HPCTOP_LIBTRACE"}
    done = run([os.path.join(TOP, "tests/start"), program, "record", "-o", folder, "--", "mpirun", "-n", "2", workload("ring")],
               env=env)
    check(what + ": records a job", done.code == 0, done)
    done = run([program, "report", "--json", folder], env=env)
    check(what + ": reports on it", done.code == 0 and '"ranks":' in done.out and "MPI_Send" in done.out, done)


def pages(share):
    """Manual pages have no errors, and examples before all else."""
    for name in ("man1/hpctop.1", "man7/libtrace.7", "man5/hpctop-format.5"):
        path = os.path.join(share, "man", name)
        with open(path) as f:
            sections = re.findall(r"^\.SH (.*)$", f.read(), re.M)
        check(name + ": examples come first", sections[:2] == ["NAME", "EXAMPLES"], sections)
        if not shutil.which("groff"):
            skip(name + ": roff", "groff is missing")
            continue
        done = subprocess.run(["groff", "-man", "-ww", "-z", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        check(name + ": roff has no warnings", done.returncode == 0 and not done.stdout, done.stdout)


def matches(line, name):
    """Whether a line of the spec file's list takes a file in: by its name, or by its folder's."""
    where = {"%{_bindir}": "bin", "%{_includedir}": "include", "%{_datadir}": "share", "%{_mandir}": "share/man", "%{_prefix}": ""}
    for macro, folder in where.items():
        line = line.replace(macro + "/", folder + "/" if folder else "")
    return name == line.rstrip("*") or name.startswith(line + "/")


def installed():
    root = os.path.abspath("root")
    made = make("install", "DESTDIR=" + root, "PREFIX=/opt/hpctop")
    if not check("make install", made.code == 0, made):
        return
    prefix = root + "/opt/hpctop"
    check("make install makes what it lists", files_below(prefix) == expected(), files_below(prefix))
    check("nothing lies outside PREFIX", os.listdir(root + "/opt") == ["hpctop"] and os.listdir(root) == ["opt"])
    with open(os.path.join(TOP, "packaging/hpctop.spec")) as f:
        spec = f.read()
    for name in expected():
        check("the spec file has " + name, any(line.split("/", 1)[-1].rstrip("*") and matches(line, name) for line in spec.split("%files")[1].splitlines()))
    with open(prefix + "/share/hpctop/modulefiles/hpctop") as f:
        check("the module file names the prefix", 'set prefix "/opt/hpctop"' in f.read())
    records("installed", prefix + "/bin/hpctop")
    pages(prefix + "/share")
    made = run(["cc", "-I" + prefix + "/include", "-fsyntax-only", "-x", "c", "-"], stdin=region_program())
    check("hpctop.h compiles from there", made.code == 0, made)
    shells(prefix)
    made = make("uninstall", "DESTDIR=" + root, "PREFIX=/opt/hpctop")
    check("make uninstall leaves nothing", made.code == 0 and files_below(root) == [], (made, files_below(root)))


def region_program():
    with open("region.c", "w") as f:
        f.write('#include <hpctop.h>\nint main(void) { HPCTOP_BEGIN("a"); HPCTOP_END("a"); }\n')
    return open("region.c")


# ---- completion ------------------------------------------------------------------------------------------------------

WANT = (("hpctop ver", {"verdict", "version"}), ("hpctop report --f", {"--from"}), ("hpctop help env", {"environment"}),
        ("hpctop report some", {"somewhere"}))


def shells(prefix):
    os.makedirs("play/somewhere", exist_ok=True)
    share, env = prefix + "/share", {"PATH": prefix + "/bin:" + PLAIN, "HOME": os.path.abspath("play"), "TERM": "dumb"}
    for line, want in WANT:
        words = line.split(" ")
        script = ('source %s/bash-completion/completions/hpctop; COMP_WORDS=(%s); COMP_CWORD=%d; _hpctop; '
                  'printf "%%s\\n" "${COMPREPLY[@]}"' % (share, " ".join(words), len(words) - 1))
        done = run(["bash", "-c", script], env=env, cwd="play")
        check("bash completes `%s`" % line, set(done.out.split()) == want, done)
        if shutil.which("fish"):
            done = run(["fish", "-N", "-c", "source %s/fish/vendor_completions.d/hpctop.fish; complete -C '%s'" % (share, line)],
                       env=env, cwd="play")
            got = {row.split("\t")[0].rstrip("/") for row in done.out.splitlines()}
            check("fish completes `%s`" % line, want <= got and len(got) <= len(want) + 1, done)
        else:
            skip("fish completes `%s`" % line, "fish is missing")
        zsh(line, want, share, env)


ZSH = """
import os, pty, sys, time, select
pid, tty = pty.fork()
if pid == 0:
    os.chdir("play")
    os.execvpe("zsh", ["zsh", "-f", "-i"], dict(os.environ, PS1="", TERM="dumb"))
def say(text):
    os.write(tty, text.encode())
def hear(*words):
    got, end = "", time.time() + 100  # which nothing here takes; only so that it ends
    while not all(word in got for word in words) and time.time() < end:
        if select.select([tty], [], [], 0.2)[0]:
            got += os.read(tty, 65536).decode(errors="replace")
    return got
say("fpath=(%s/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D; setopt list_rows_first; "
    "zstyle ':completion:*' list-prompt ''; print rea''dy\\n")
while "2004h" not in hear("ready").split("ready")[-1]:  # until it edits the next line
    if "2004h" in hear("2004h"):
        break
say(sys.argv[1] + "\\t\\t")
got = hear(*sys.argv[2:])
say("\\x15print do''ne\\n")
print(got + hear("done"))
"""


def zsh(line, want, share, env):
    if not shutil.which("zsh"):
        skip("zsh completes `%s`" % line, "zsh is missing")
        return
    done = run([sys.executable, "-c", ZSH.replace("%s", share, 1), line, *want], env=dict(env, PATH=env["PATH"]))
    check("zsh completes `%s`" % line, all(word in done.out for word in want), done)


# ---- elsewhere -------------------------------------------------------------------------------------------------------

LIBTRACE_MOST = 1300000  # bytes of libtrace.so without symbols


def stripped(library, folder):
    """The library has neither symbols nor debug information; the file of its build id below the folder has both."""
    sections = run(["readelf", "-SW", library]).out
    check("libtrace.so has no symbols and no debug information", ".dynsym" in sections and not re.search(r"\.(symtab|debug_)", sections), sections)
    size = os.path.getsize(library)
    check("libtrace.so has at most %d bytes" % LIBTRACE_MOST, size <= LIBTRACE_MOST, size)
    build_id = re.search(r"Build ID: (\w+)", run(["readelf", "-n", library]).out).group(1)
    path = os.path.join(folder, ".build-id", build_id[:2], build_id[2:] + ".debug")
    debug = run(["readelf", "-nSW", path]).out
    check("its debug file is found by its build id, and has them",
          "Build ID: " + build_id in debug and all(name in debug for name in (".symtab", ".debug_info", ".debug_line")), debug)


def anywhere():
    """The tarball runs wherever it is unpacked, and needs no more than glibc 2.17; the wheel is made of it."""
    made = make("wheel", "PACKAGES=" + os.path.abspath("packages"))
    if not check("make tarball, make wheel", made.code == 0, made):
        return
    tarball, wheel = glob.glob("packages/*x86_64.tar.gz")[0], glob.glob("packages/*.whl")[0]
    debug = glob.glob("packages/*-debug.tar.gz")
    os.makedirs("elsewhere")
    subprocess.run(["tar", "-xzf", os.path.abspath(tarball)], cwd="elsewhere", check=True)
    folder = os.path.abspath(glob.glob("elsewhere/*")[0])
    if check("the debug information has an archive of its own", len(debug) == 1, os.listdir("packages")):
        os.makedirs("debug")
        subprocess.run(["tar", "-xzf", os.path.abspath(debug[0]), "-C", "debug", "--strip-components=1"], check=True)
        stripped(folder + "/lib/hpctop/libtrace.so", "debug")
    os.rename("packages", "gone")  # nothing leads back there
    needs = run(["sh", os.path.join(TOP, "packaging/needs.sh"), "2.17", folder + "/bin/hpctop", folder + "/lib/hpctop/libtrace.so",
                 folder + "/lib/hpctop/libcjson.so.1"])
    check("the tarball needs glibc 2.17", needs.code == 0, needs)
    needs = run(["sh", os.path.join(TOP, "packaging/needs.sh"), "2.9", folder + "/bin/hpctop"])
    check("what needs more would be named", needs.code == 1 and "later than 2.9" in needs.err, needs)
    linked = run(["ldd", folder + "/bin/hpctop"]).out
    check("its libraries are those of glibc and its own",
          set(re.findall(r"^\s+(lib\w+)", linked, re.M)) <= {"libcjson", "libm", "libdl", "libpthread", "libc"} and
          folder + "/bin/../lib/hpctop/libcjson" in linked, linked)
    records("tarball", folder + "/bin/hpctop")
    made = run([sys.executable, "-m", "venv", "--without-pip", "env"])
    pip = run([sys.executable, "-m", "pip", "--python", "env/bin/python", "install", "--no-index", wheel.replace("packages", "gone")])
    if not check("pip installs the wheel", made.code == 0 and pip.code == 0, (made, pip)):
        return
    records("wheel", os.path.abspath("env/bin/hpctop"))
    inside = glob.glob("env/lib/python*/site-packages/hpctop/lib/hpctop/*")
    check("the wheel has the stripped libtrace.so, and no debug information",
          {os.path.basename(path): os.path.getsize(path) for path in inside} ==
          {name: os.path.getsize(folder + "/lib/hpctop/" + name) for name in ("libtrace.so", "libcjson.so.1")}, inside)
    done = run(["env/bin/python", "-c", "import hpctop\nwith hpctop.region('solve'): print('in it')"])
    check("the wheel has the module of regions", done.out == "in it\n", done)


def meant():
    for line, word in ((["repot"], "hpctop report"), (["verdct"], "hpctop verdict"), (["report", "--jsno", "x"], "--json"),
                       (["diff", "--fail-ove=3", "a", "b"], None), (["verdict", "--hnag=3", "x"], "--hang"),
                       (["stacks", "--thread", "x"], None), (["xyzzy"], None), (["report", "--qqqqqq", "x"], None)):
        done = run([HPCTOP] + line)
        said = re.search(r"did you mean (.*)\?", done.err)
        check("`hpctop %s`: %s" % (" ".join(line), "means " + word if word else "is not guessed at"),
              (said and said.group(1)) == word and (not word or done.code == 64) and done.err.count("\n") == 1, done)


meant()
installed()
anywhere()
end()
