# timeout: 240
"""What was found in a trace is kept beside it: with it all commands say the same, to the byte, and it is looked at only
where it is whole, of this program and of these files."""
import glob
import os
import pty
import random
import shutil
import signal
import subprocess
import threading
import time

from common import BUILD, HPCTOP, check, end, environment, hpctop, mpirun, run, skip, start, traces, wait_for, workload

WITHOUT = dict(os.environ, HPCTOP_INDEX="no", XDG_CACHE_HOME=os.path.abspath("cache"))
WITH = dict(os.environ, XDG_CACHE_HOME=os.path.abspath("cache"))
QUESTIONS = [["report"], ["report", "--json"], ["verdict", "--json"], ["report", "--html"], ["check", "--json"],
             ["report", "--json", "--ranks", "0"], ["report", "--json", "--from", "0.001"],
             ["report", "--json", "--from", "0.002", "--to", "0.4"], ["report", "--json", "--comm", "WORLD"],
             ["report", "--json", "--call", "MPI_Barrier"], ["export", "--format", "csv", "-o", "-"]]


ALWAYS = 3  # of these; of the others each trace is asked some, in turn
turn = 0


def questions():
    global turn
    turn += 3
    others = QUESTIONS[ALWAYS:]
    return QUESTIONS[:ALWAYS] + [others[(turn + i) % len(others)] for i in range(3)]


def answers(folder, env, asked):
    said = {}
    for question in asked:
        if question[0] == "export":
            shutil.rmtree("tables", ignore_errors=True)
            run([HPCTOP] + question[:-1] + ["tables", folder], env)
            said["tables"] = {os.path.basename(f): open(f, "rb").read() for f in glob.glob("tables/*")}
            continue
        done = run([HPCTOP] + question + [folder], env)
        said[" ".join(question)] = (done.code, done.out, done.err)
    return said


def index_of(folder):
    return os.path.join(folder, "index", "analysis")


ASKED = 512 << 10  # bytes that an index may have that somebody asked for, or what it cannot do without


def share(folder):
    """What is 2 % of a trace, in bytes on disk."""
    return sum(min(os.stat(f).st_size, os.stat(f).st_blocks * 512) for f in traces(folder)) // 50


def same(name, folder):
    asked = questions()
    before = answers(folder, WITHOUT, asked)
    if os.path.exists(os.path.join(folder, "index")):
        check(name + ": nothing is kept where nobody wants it", False)
    made = run([HPCTOP, "analyze", folder], WITH)
    if not check(name + ": an index is written", made.code == 0 and os.path.exists(index_of(folder)), made):
        return
    check(name + ": no other file", os.listdir(os.path.join(folder, "index")) == ["analysis"])
    size = os.path.getsize(index_of(folder))
    check(name + ": it is small", size <= max(share(folder), ASKED), size)
    after = answers(folder, WITH, asked)
    for question in before:
        check("%s: %s" % (name, question), before[question] == after[question],
              first_difference(before[question], after[question]))


def first_difference(a, b):
    a, b = str(a), str(b)
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return "%s ... with it %s" % (a[max(0, at - 80):at + 80], b[max(0, at - 80):at + 80])


def of_programs():
    programs = [("ring", 4, []), ("p2p_nonblocking", 2, []), ("collectives_nonblocking", 3, []), ("stencil", 4, ["0.5"]),
                ("communicators", 4, []), ("rma", 3, []), ("io", 2, []), ("regions", 2, []), ("planted", 3, ["chain"]),
                ("loops", 4, ["cg"]), ("threads_multiple", 2, []), ("many_comms", 2, []), ("kill_self", 3, []),
                ("p2p_persistent", 2, []), ("neighborhood", 4, []), ("late_sender", 2, [])]
    for name, ranks, arguments in programs:
        mpirun(ranks, [workload(name)] + arguments, "p-" + name)
        if check(name + " leaves traces", traces("p-" + name)):
            same(name, "p-" + name)
    mpirun(2, [workload("pingpong"), "100000"], "ring-files", HPCTOP_LIMIT="1M")
    same("ring files", "ring-files")


def of_gpus():
    """On the GPU double: kernels, copies and NCCL's operations, streams over time, windows of them."""
    for name, ranks, arguments in (("overlap", 2, ["2", "40000"]), ("collectives", 2, []), ("allreduce_sweep", 3, ["65536"])):
        env = environment("g-" + name, LD_LIBRARY_PATH=os.path.join(BUILD, "gpu_double"))
        run(["mpirun", "-n", str(ranks), os.path.join(BUILD, "workloads/nccl", name)] + arguments, env, timeout=90)
        if check(name + " leaves traces", traces("g-" + name)):
            same(name, "g-" + name)
    compare_screens("overlap", "g-overlap", [":0.2-0.3", ":rank 1"])


def of_plans():
    chance = random.Random(20)
    for i in range(4):
        ranks, hosts = chance.randint(2, 60), chance.randint(1, 4)
        more = [[], ["--files"], ["--late-rank", str(chance.randrange(ranks))], []][i]
        folder = "plan%d" % i
        run([os.path.join(BUILD, "tests/many/many"), "--ranks", str(ranks), "--hosts", str(min(hosts, ranks)), "--rounds",
             str(chance.randint(10, 400))] + more + [folder])
        same("%d ranks %s" % (ranks, " ".join(more)), folder)


def compare_screens(name, folder, windows):
    """All screens show the same with an index, of the whole run and of these windows."""
    keys = []
    for view in "123456789iF":
        keys += ["key " + view, "screen", "key Tab", "screen", "key Enter", "screen", "key Esc"]
    for typed in windows:
        keys += ["key :", "text " + typed[1:], "key Enter"] + [k for view in "1234567i" for k in ("key " + view, "screen")]
    with open("keys", "w") as f:
        f.write("\n".join(keys) + "\n")
    shutil.rmtree(os.path.join(folder, "index"), ignore_errors=True)
    shown = [hpctop("--script", "keys", "--size", "120x40", folder, env=WITHOUT).out]
    made = hpctop("analyze", folder, env=WITH)
    shown.append(hpctop("--script", "keys", "--size", "120x40", folder, env=WITH).out)
    count = keys.count("screen")
    check("%s: %d screens are the same" % (name, count), made.code == 0 and shown[0].count("---- ") == count and
          shown[0] == shown[1], first_difference(*shown))


def screens():
    folder = "screened"
    run([os.path.join(BUILD, "tests/many/many"), "--ranks", "12", "--hosts", "2", "--rounds", "3000", "--late-rank", "5",
         folder])
    compare_screens("a job", folder, (":1.0-2.5", ":rank 3", ":call MPI_Allreduce", ":iter 200"))


def spoil(folder):
    """Changes events, which neither heads nor sizes tell: with its index hpctop says of this trace what it said before, without
    it something else.  Returns both."""
    kept = run([HPCTOP, "report", "--json", folder], WITH).out
    for path in traces(folder):
        with open(path, "r+b") as f:
            f.seek(os.path.getsize(path) // 2 & ~63)
            f.write(b"\xff" * 4096)
    read = run([HPCTOP, "report", "--json", folder], WITHOUT).out
    got = run([HPCTOP, "report", "--json", folder], WITH)
    check("%s: events are not read with an index" % folder, got.code == 0 and kept != read and got.out == kept, got)
    return kept, read


def spoiled(folder):
    """A trace that was spoiled after its index was written."""
    run([os.path.join(BUILD, "tests/many/many"), "--ranks", "2", "--rounds", "60000", folder])
    made = run([HPCTOP, "analyze", folder], WITH)
    check("%s: an index is written" % folder, made.code == 0, made)
    return spoil(folder)


def not_looked_at():
    """Anything that is not just that index: cut, changed, of another program, of other files, made by others."""
    folder = "spoiled"
    kept, read = spoiled(folder)
    with open(index_of(folder), "rb") as f:
        whole = f.read()
    chance = random.Random(4)
    cases = {"empty": b"", "cut": whole[:len(whole) // 2], "longer": whole + b"x", "another program": whole[:17] +
             bytes([whole[17] ^ 1]) + whole[18:], "cut at its end": whole[:-1]}
    for i in range(10):
        at = chance.randrange(len(whole))
        cases["byte %d" % at] = whole[:at] + bytes([whole[at] ^ (1 << chance.randrange(8))]) + whole[at + 1:]
    for name, data in cases.items():
        with open(index_of(folder), "wb") as f:
            f.write(data)
        got = run([HPCTOP, "report", "--json", folder], WITH)
        check("damaged index: " + name, got.code == 0 and got.out == read, first_difference(got.out, read))
    os.remove(index_of(folder))
    os.mkfifo(index_of(folder))
    got = run([HPCTOP, "report", "--json", folder], WITH, timeout=60)
    check("a pipe in place of the index", got.out == read, got)
    os.remove(index_of(folder))
    with open("aside", "wb") as f:
        f.write(whole)
    os.symlink(os.path.abspath("aside"), index_of(folder))
    check("a link in place of the index", run([HPCTOP, "report", "--json", folder], WITH).out == read)
    os.remove(index_of(folder))
    with open(index_of(folder), "wb") as f:
        f.write(whole)
    check("the index itself", run([HPCTOP, "report", "--json", folder], WITH).out == kept)
    if os.geteuid() == 0:
        os.chown(index_of(folder), 12345, 12345)
        check("another user's index", run([HPCTOP, "report", "--json", folder], WITH).out == read)
        os.chown(index_of(folder), 0, 0)
    with open(traces(folder)[0], "ab") as f:
        f.write(bytes(64))
    check("a file that has grown", run([HPCTOP, "report", "--json", folder], WITH).out == read)


def made_in_other_folders():
    """No link is followed when it is written; nothing is left of what could not be."""
    run([os.path.join(BUILD, "tests/many/many"), "--ranks", "2", "--rounds", "50", "linked"])
    os.mkdir("target")
    os.symlink(os.path.abspath("target"), "linked/index")
    made = run([HPCTOP, "analyze", "linked"], WITH)
    check("index is a link: not there", not os.listdir("target") and made.out.startswith(WITH["XDG_CACHE_HOME"]), made)
    with open(made.out.strip(), "rb") as f:
        check("nobody else may read it", os.fstat(f.fileno()).st_mode & 0o077 == 0)
    copy = shutil.copytree("linked", "copied", symlinks=True, ignore=shutil.ignore_patterns("index"))
    again = run([HPCTOP, "analyze", copy], WITH)
    check("it is found for a copy of the folder", again.code == 0 and again.out == "it is there\n", again)


def trimmed():
    """Where not all of the latest messages fit, windows that need more are read again."""
    folder = "trimmed"
    run([os.path.join(BUILD, "tests/many/many"), "--ranks", "3", "--hosts", "3", "--rounds", "100000", folder])
    keys = ["key 2", "screen", "key :", "text 8.0-8.1", "key Enter"]
    keys += [k for view in "2345671" for k in ("key " + view, "screen")]
    with open("keys", "w") as f:
        f.write("\n".join(keys) + "\n")
    command = ["--script", "keys", "--size", "120x40", folder]
    shown = [hpctop(*command, env=WITHOUT).out]
    made = run([HPCTOP, "analyze", folder], WITH)
    shown.append(hpctop(*command, env=WITH).out)
    size = os.path.getsize(index_of(folder)) if made.code == 0 else 0
    most = max(share(folder), ASKED)
    check("trimmed: it fits, just so", most / 2 < size <= most + 4096, (size, made))
    check("trimmed: the screens are the same", shown[0] == shown[1], first_difference(*shown))


def in_terminal(folder):
    """The screens, in a terminal that nobody reads.  Returns its descriptor and their process."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(WITH, TERM="xterm")
        os.execv(HPCTOP, [HPCTOP, folder])
    threading.Thread(target=drain, args=(terminal,), daemon=True).start()
    return terminal, pid


def drain(terminal):
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:  # it is closed
        pass


def made_live(folder):
    job = subprocess.Popen([os.path.join(BUILD, "tests/many/many"), "--ranks", "4", "--hosts", "4", "--round", "0.05", "--live",
                            "12", folder], stdout=subprocess.PIPE)
    job.stdout.readline()
    return job


def of_sizes():
    """A job that takes time to read has an index where that takes at most 2 % of it, and else none: also where many ranks
    have little each."""
    for ranks, rounds, fits in ((4, 200000, True), (16, 90000, True), (200, 1600, False), (1000, 250, False)):
        folder = "sizes-%d" % ranks
        run([os.path.join(BUILD, "tests/many/many"), "--ranks", str(ranks), "--hosts", "2", "--rounds", str(rounds), folder])
        made = run([HPCTOP, "report", "--all", folder], WITH)
        size = os.path.getsize(index_of(folder)) if os.path.exists(index_of(folder)) else 0
        check("%s: an index of at most 2 %%, or none" % folder, (size > 0) == fits and size <= share(folder), (size, made))
        asked = run([HPCTOP, "analyze", folder], WITH)
        check("%s: there is one that is asked for" % folder, asked.code == 0 and os.path.exists(index_of(folder)), asked)
        before, after = (run([HPCTOP, "report", "--json", folder], env).out for env in (WITHOUT, WITH))
        check("%s: it says the same" % folder, before == after and before, first_difference(before, after))
        shutil.rmtree(folder)


def watched():
    """Who watched a job to its end has kept what a pass afterwards finds, to the byte: of a real one, and of several hosts,
    where clocks were fitted again and again while it ran; by a line a second, and in the screens."""
    job = start(2, [workload("pingpong"), "600000"], "watched")
    wait_for(lambda: len(traces("watched")) == 2)
    hosts = made_live("watched-hosts")
    lines = [subprocess.Popen([HPCTOP, "watch", folder], env=WITH, stdout=subprocess.DEVNULL)
             for folder in ("watched", "watched-hosts")]
    check("watched: to its end", [p.wait() for p in lines + [job, hosts]] == [0] * 4)
    one = made_live("watched-screens")
    terminal, screens = in_terminal("watched-screens")
    one.wait()
    wait_for(lambda: os.path.exists(index_of("watched-screens")))
    os.write(terminal, b"q")
    check("watched: the screens end", os.waitpid(screens, 0)[1] == 0)
    for folder in ("watched", "watched-hosts", "watched-screens"):
        a, b = (run([HPCTOP, "report", "--json", folder], env) for env in (WITHOUT, WITH))
        check("%s: an index is kept" % folder, os.path.exists(index_of(folder)))
        check("%s: the same" % folder, a.code == 0 and a.out == b.out, first_difference(a.out, b.out))
        spoil(folder)
    few = start(2, [workload("pingpong"), "10000"], "watched-few")
    wait_for(lambda: len(traces("watched-few")) == 2)
    last = run([HPCTOP, "watch", "watched-few"], WITH)
    check("watched: a small trace has none unasked", last.code == 0 and few.wait() == 0 and
          not os.path.exists("watched-few/index"), last)


def elsewhere():
    """Where nobody may write, it is kept in the user's cache folder, and found for a copy of the folder, too."""
    if os.geteuid() == 0:
        os.makedirs("locked")
        if run(["mount", "-t", "tmpfs", "tmpfs", "locked"]).code != 0:
            skip("read-only folder", "cannot mount here")
            return
        for f in traces("p-planted"):
            shutil.copy(f, "locked")
        run(["mount", "-o", "remount,ro", "locked"])
    else:
        shutil.copytree("p-planted", "locked", ignore=shutil.ignore_patterns("index"))
        os.chmod("locked", 0o555)
    try:
        made = run([HPCTOP, "analyze", "locked"], WITH)
        check("read-only folder: kept in the cache", made.code == 0 and made.out.startswith(WITH["XDG_CACHE_HOME"]), made)
        a, b = (run([HPCTOP, "report", "--json", "locked"], env) for env in (WITHOUT, WITH))
        check("read-only folder: the same", a.out == b.out, first_difference(a.out, b.out))
    finally:
        if os.geteuid() == 0:
            run(["umount", "-l", "locked"])


def refused():
    """What has no index says why; a writer that is killed leaves none."""
    none = run([HPCTOP, "analyze", "nowhere"], WITH)
    check("no trace", none.code == 2 and none.err.startswith("hpctop: "), none)
    wrong = run([HPCTOP, "analyze", "-j", "0", "p-ring"], WITH)
    check("no threads", wrong.code == 64, wrong)
    job = start(2, [workload("stencil"), "30"], "running")
    for _ in range(600):
        if len(traces("running")) == 2:
            break
        time.sleep(0.1)
    live = run([HPCTOP, "analyze", "running"], WITH)
    check("a job that runs", live.code == 2 and "ended" in live.err and not os.path.exists("running/index"), live)
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    run([os.path.join(BUILD, "tests/many/many"), "--ranks", "8", "--rounds", "10000", "killed"])
    killed = 0
    for wait in (0.05, 0.3, 0.6):
        shutil.rmtree("killed/index", ignore_errors=True)
        p = subprocess.Popen([HPCTOP, "analyze", "killed"], env=WITH, stdout=subprocess.DEVNULL)
        time.sleep(wait)
        p.kill()
        killed += p.wait() == -signal.SIGKILL
        a, b = (run([HPCTOP, "report", "--json", "killed"], env) for env in (WITHOUT, WITH))
        check("killed after %.2f s: the same" % wait, a.out == b.out and a.code == 0, first_difference(a.out, b.out))
    check("some were killed while they read or wrote", killed)
    shutil.rmtree("killed/index", ignore_errors=True)
    full = run(["sh", "-c", "ulimit -f 8; exec %s analyze killed" % HPCTOP], WITH)
    check("no room for it", full.code == 2 and "too large" in full.err and not os.path.exists("killed/index"), full)


of_programs()
of_gpus()
of_plans()
screens()
not_looked_at()
made_in_other_folders()
trimmed()
of_sizes()
watched()
elsewhere()
refused()
end()
