# timeout: 600
"""The folders of a site's jobs, without Slurm: prolog, task prolog and epilog as slurmctld and slurmstepd start them.  Nobody
prepares the folder of a later job; whatever lies in a job's folder or takes its place, at any moment of the epilog, nothing of
another user is read or written."""
import json
import os
import shutil
import stat
import subprocess
import tempfile

from common import BUILD, HPCTOP, LIBTRACE, TOP, check, end, run, skip, skip_all

if os.geteuid() != 0:
    skip_all("slurmctld makes folders for others, and reads them, only as root")
JOB, USER, VICTIM, GROUP = "4815162342", 65534, 64242, 65533  # distinct name; nobody, and a user without an entry
BASE = tempfile.TemporaryDirectory(dir="/tmp")  # others may not enter the test's own folder
os.chmod(BASE.name, 0o755)
SITE, OPT, OTHER, LINK, STUBS = (os.path.join(BASE.name, name) for name in ("site", "opt", "other", "link", "stubs"))
FOLDER, DB = os.path.join(SITE, JOB), os.path.join(SITE, "list/jobs.db")
SLURM = os.path.join(OPT, "share/hpctop/slurm")


def write(path, text, mode=0o644, owner=None):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    if owner is not None:
        os.chown(path, owner, owner)


def install():
    shutil.copytree(os.path.join(TOP, "packaging/slurm"), SLURM)
    for name, source in (("bin/hpctop", HPCTOP), ("lib/hpctop/libtrace.so", LIBTRACE)):
        os.makedirs(os.path.join(OPT, os.path.dirname(name)))
        shutil.copy(source, os.path.join(OPT, name))
    write(os.path.join(SLURM, "site"), SITE + "\n")
    os.makedirs(STUBS)
    write(os.path.join(STUBS, "squeue"), "#!/bin/sh\nexit 1\n", 0o755)
    write(os.path.join(STUBS, "logger"), '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; echo "$2" >&2\n', 0o755)  # not into this machine's log


def environment(job=JOB, user=USER):
    bare = {k: v for k, v in os.environ.items() if not k.startswith(("LD_PRELOAD", "HPCTOP_"))}
    return dict(bare, PATH=STUBS + ":" + os.environ["PATH"], SLURM_JOB_ID=job, SLURM_JOB_UID=str(user), SLURM_JOB_GID=str(GROUP))


def script(name, job=JOB, user=USER):
    return run([os.path.join(SLURM, name)], environment(job, user))


def as_user(user, command, job=JOB):
    done = subprocess.run(command, env=environment(job, user), user=user, group=user, extra_groups=[], cwd="/", capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def traces(folder, ranks, owner):
    """Makes a job's traces, all of them and the folder of one owner alone."""
    if subprocess.run([os.path.join(BUILD, "tests/many/many"), "--ranks", str(ranks), "--hosts", "1", "--rounds", "5", folder]).returncode:
        raise SystemExit("no traces")
    for path in (folder, *(os.path.join(folder, name) for name in os.listdir(folder))):
        os.chown(path, owner, owner)
    os.chmod(folder, 0o700)


def anew(mode=0o755):
    """An empty site."""
    shutil.rmtree(SITE, ignore_errors=True)
    os.mkdir(SITE)
    os.chmod(SITE, mode)


def rows():
    done = run([HPCTOP, "jobs", "--db", DB, "--json", "--all"])
    return json.loads(done.out)["jobs"] if done.code == 0 else []


def log():
    path = os.path.join(SITE, "list/epilog.log")
    return open(path).read() if os.path.exists(path) else ""


def state(folder):
    """Of everything in a folder and itself: what changes when somebody writes."""
    paths = [folder] + [os.path.join(where, name) for where, inner, files in os.walk(folder) for name in inner + files]
    return {path: (s.st_ino, s.st_size, s.st_mtime_ns, s.st_uid, s.st_mode) for path, s in ((path, os.lstat(path)) for path in paths)}


# ---- the folder of a job

def made_by_root():
    anew()
    first, again = script("prolog"), script("prolog")
    is_ = os.lstat(FOLDER)
    check("the prolog makes the user's own folder, once", (first.code, first.err, again.code, again.err) == (0, "", 0, "") and
          (is_.st_uid, is_.st_gid, stat.S_IMODE(is_.st_mode)) == (USER, GROUP, 0o700), (first, again, is_))
    code, out, _ = as_user(USER, [os.path.join(SLURM, "task-prolog")])
    check("its user's tasks are recorded there", code == 0 and "export HPCTOP_DIR=%s\n" % FOLDER in out, out)
    code, out, _ = as_user(VICTIM, [os.path.join(SLURM, "task-prolog")])
    check("nobody else's are", (code, out) == (0, ""), out)
    code, out, _ = as_user(USER, [os.path.join(SLURM, "task-prolog")], "99")
    check("without a prolog nothing is recorded", (code, out) == (0, ""), out)
    for name, command in (("make the folder of a later job", "mkdir 4815162343"), ("link it", "ln -s / 4815162343"), ("move a folder", "mv %s x" % JOB),
                          ("replace a folder", "rmdir %s" % JOB), ("make the list", "mkdir list")):
        code, _, err = as_user(USER, ["sh", "-c", "cd %s && %s" % (SITE, command)])
        check("nobody but root can " + name, code == 1 and "Permission denied" in err, (code, err))
    ended = script("epilog")
    check("without traces it is gone afterwards, and nothing else is there", ended.code == 0 and not os.listdir(SITE), (ended, os.listdir(SITE)))


def added():
    anew()
    script("prolog")
    shutil.rmtree(FOLDER)
    traces(FOLDER, 3, USER)
    ended, there = script("epilog"), rows()
    page = os.lstat(os.path.join(FOLDER, "report.html"))
    check("a job is added", ended.code == 0 and log() == "" and len(there) == 1, (ended, log(), there))
    row = there[0] if there else {}
    check("its row is true", (row.get("folder"), row.get("page"), row.get("user"), row.get("ranks")) == (FOLDER, FOLDER + "/report.html", "nobody", 3), row)
    check("its page is its owner's alone", (page.st_uid, stat.S_IMODE(page.st_mode)) == (USER, 0o600), page)


def refused():
    """What is no folder of the job's user, in a site that root owns, and sites that root does not own."""
    def epilog_refuses(name, why, make, site=0o755):
        anew(site)
        shutil.rmtree(OTHER, ignore_errors=True)
        traces(OTHER, 2, VICTIM)
        make()
        before, ended = state(OTHER), script("epilog")
        check("%s: refused, and nothing else is done" % name, ended.code == 0 and why in log() + ended.err and (log() + ended.err).count("\n") == 1 and
              not rows() and state(OTHER) == before, (ended, log(), rows()))

    epilog_refuses("a folder of another user", "user %d owns it, not user %d" % (VICTIM, USER), lambda: shutil.copytree(OTHER, FOLDER) and os.chown(FOLDER, VICTIM, VICTIM))
    epilog_refuses("a folder of root", "user 0 owns it", lambda: os.mkdir(FOLDER) or write(FOLDER + "/x", ""))
    epilog_refuses("a link to a folder", "not a folder, or a link to one", lambda: os.symlink(OTHER, FOLDER))
    epilog_refuses("a dangling link", "not a folder, or a link to one", lambda: os.symlink("/nowhere", FOLDER))
    epilog_refuses("a pipe", "not a folder, or a link to one", lambda: os.mkfifo(FOLDER))
    epilog_refuses("a file", "not a folder, or a link to one", lambda: write(FOLDER, "", owner=USER))
    epilog_refuses("a folder that its group may write to", "others may write to it", lambda: traces(FOLDER, 3, USER) or os.chmod(FOLDER, 0o770))
    epilog_refuses("a site that all may write to", "nobody else may write to", lambda: traces(FOLDER, 3, USER), 0o1777)
    epilog_refuses("a site that a group may write to", "nobody else may write to", lambda: traces(FOLDER, 3, USER), 0o775)
    epilog_refuses("a list that is a link", "list must be a folder", lambda: traces(FOLDER, 3, USER) or os.symlink(OTHER, SITE + "/list"))
    epilog_refuses("another's list", "list must be a folder", lambda: traces(FOLDER, 3, USER) or os.mkdir(SITE + "/list") or os.chown(SITE + "/list", VICTIM, VICTIM))
    anew(0o1777)
    made = script("prolog")
    check("nor does the prolog make a folder where all may write", made.code == 0 and not os.listdir(SITE) and "mode 755" in made.err, made)


def by_hand():
    """hpctop alone, its folder named by paths: a link on the way may lead anywhere, and its end is what counts."""
    anew()
    traces(FOLDER, 3, USER)
    os.symlink(SITE, SITE + "/way")
    os.symlink(FOLDER, SITE + "/latest")
    for name, owner, where, code in (("a link on the way", USER, "way/" + JOB, 0), ("a link on the way to another's", VICTIM, "way/" + JOB, 2),
                                     ("a link", USER, "latest", 2), ("a link, if any owner will do", None, "latest", 0)):
        done = run([HPCTOP, "jobs", "--db", "hand.db", "--add", *(["--owner", str(owner)] if owner else []), os.path.join(SITE, where)])
        listed = json.loads(run([HPCTOP, "jobs", "--db", "hand.db", "--json"]).out)["jobs"]
        check("by hand: " + name, done.code == code and done.err.count("\n") == (code != 0) and all(row["folder"] == FOLDER for row in listed), (done, listed))
        os.remove("hand.db")
    for owner in ("", "x", "-1", "4294967295", "99999999999"):
        done = run([HPCTOP, "jobs", "--db", "hand.db", "--add", "--owner", owner, FOLDER])
        check("by hand: the owner %r is none" % owner, done.code == 64, done)


# ---- what lies in it

def hostile_contents():
    """Each of these in turn in the place of each file that is read or written."""
    secret = os.path.join(BASE.name, "secret")
    shutil.rmtree(OTHER, ignore_errors=True)
    traces(OTHER, 2, VICTIM)
    theirs = os.path.join(OTHER, sorted(os.listdir(OTHER))[0])
    kinds = {"a link": os.symlink, "a hard link": os.link, "a pipe": lambda _, at: os.mkfifo(at), "a folder": lambda _, at: os.mkdir(at)}
    for kind, make in kinds.items():
        for name in ("z.hpctop", "report.html", "report.html.part", "index", "index/analysis", "index/analysis.part", "digest.hpctop"):
            anew()
            traces(FOLDER, 3, USER)
            write(secret, "root's own\n", 0o600)
            if "/" in name:
                os.mkdir(FOLDER + "/index", 0o700)
                os.chown(FOLDER + "/index", USER, USER)
            make(theirs if name.endswith(".hpctop") else secret, os.path.join(FOLDER, name))
            before, ended, there = state(OTHER), script("epilog"), rows()
            check("%s as %s: the job is added, nothing else is touched" % (kind, name), ended.code == 0 and [row["ranks"] for row in there] == [3] and
                  state(OTHER) == before and open(secret).read() == "root's own\n" and os.lstat(secret).st_uid == 0, (ended, log(), there))


# ---- what takes its place

def swapped(k, mode):
    """Runs the epilog; at its k-th system call with the folder's name a link to another's folder takes its place.  Returns how many
    there were and what the tracer says, None where it must not trace."""
    for name in ("index", "report.html"):
        shutil.rmtree(os.path.join(FOLDER, name), ignore_errors=True)
    if os.path.lexists(FOLDER + "/report.html"):
        os.remove(FOLDER + "/report.html")
    shutil.rmtree(SITE + "/list", ignore_errors=True)
    done = run(["./swap", str(k), mode, FOLDER, LINK, os.path.join(SLURM, "epilog")], environment())
    lines = done.out.splitlines()
    return (int(lines[-1].split()[1]), lines) if done.code == 0 and lines and lines[-1].startswith("calls ") else (None, done)


def replaced_at_any_moment():
    anew()
    traces(FOLDER, 3, USER)
    made = run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-o", "swap", os.path.join(TOP, "tests/e2e/site_folder/swap.c")])
    if not check("the tracer is built", made.code == 0, made):
        return
    moments, lines = swapped(0, "once")
    if run(["./swap", "0", "once", FOLDER, LINK, "true"]).code == 77:
        skip("replaced at any moment", "a process must not trace another here")
        return
    if not check("traced, the epilog adds the job", moments and [row["ranks"] for row in rows()] == [3], lines):
        return
    rights = {line.split(":")[0]: line.split()[2:] for line in lines if line.startswith("rights ")}
    files = [line[5:] for line in lines if line.startswith("open ")]
    check("its reader has its owner's rights alone when it enters", [rights.get("rights " + name) for name in ("Uid", "Gid", "Groups")] ==
          [[str(USER)] * 4, [str(USER)] * 4, []], rights)
    check("its reader has no file of root's open but the log", FOLDER in files and
          all(name in (FOLDER, SITE + "/list/epilog.log", "/dev/null") or name.startswith("pipe:") for name in files), files)
    for owner in (VICTIM, 0):
        for mode in ("on", "once"):
            shutil.rmtree(OTHER, ignore_errors=True)
            if os.path.lexists(LINK):
                os.remove(LINK)
            traces(OTHER, 2, owner)
            os.symlink(OTHER, LINK)
            before, wrong, right = state(OTHER), [], 0
            for k in range(1, moments + 1):
                calls, lines = swapped(k, mode)
                there, own = rows(), [row for row in rows() if (row["ranks"], row["user"]) == (3, "nobody") and row["folder"] in (FOLDER, LINK + ".moved")]
                right += len(own)
                if not calls or there != own or state(OTHER) != before or (not there and log().count("\n") > 1):
                    wrong.append((k, there, log(), [path for path in state(OTHER) if path not in before]))
            check("a link to a folder of %d takes its place %s, at each of %d moments: nothing but the job is seen, or nothing" % (
                owner, "for one call" if mode == "once" else "for good", moments), not wrong and right, wrong)


install()
for part in (made_by_root, added, refused, by_hand, hostile_contents, replaced_at_any_moment):
    part()
end()
