# timeout: 200
# waits
"""hpctop stacks --sample: the function and the line that a late rank is in more often than another one, of a job that runs,
in C and in Python; it goes on as it did."""
import os
import re
import subprocess

from common import check, end, hpctop, run, skip, start, stop, wait_for

# Rank 1 alone calls smooth(), whose time is in the C library's sin(), too; all call even().
SOURCE = r"""
#include <math.h>
#include <mpi.h>
static volatile double sum;
__attribute__((noinline)) static void even(int n)
{
    for (int i = 0; i < n; i++)
        sum += i;
}
__attribute__((noinline)) static void smooth(int n)
{
    for (int i = 0; i < n; i++)
        sum += sin(i); /* LINE */
}
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 1000000; i++) {
        even(100000);
        if (rank == 1)
            smooth(2000000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
"""
LINE = 1 + SOURCE.split("\n").index(next(line for line in SOURCE.split("\n") if "LINE" in line))


PYTHON = """from mpi4py import MPI
def even(n):
    sum(range(n))
def smooth(n):
    for i in range(n): i * i
for i in range(1000000):
    even(10000)
    if MPI.COMM_WORLD.rank == 1:
        smooth(200000)
    MPI.COMM_WORLD.Barrier()
"""


def sampled(answer, *options, folder="t"):
    """What is said, once it is the answer: a machine with other work gives few samples."""
    def ask():
        r = hpctop("stacks", "--sample", "2", *options, folder)
        return r if re.search(answer, r.out) else None
    return wait_for(ask, 120) or hpctop("stacks", "--sample", "2", *options, folder)


def by_enter():
    """Enter on the segment of a job that runs: the same on the screen, some seconds later."""
    screens = subprocess.Popen([os.environ["HPCTOP"], "--script", "/dev/stdin", "--size", "80x24", "t"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    screens.stdin.write("key 7 Tab\ntick\nscreen\n")
    screens.stdin.flush()
    before = [screens.stdout.readline() for _ in range(25)]
    check("the segment says what Enter shows", any(line.endswith("Enter: samples of rank 1\n") for line in before), before)
    screens.stdin.write("key Enter\n")

    def shown():
        screens.stdin.write("tick\nscreen\n")
        screens.stdin.flush()
        lines = [screens.stdout.readline() for _ in range(25)]
        return lines if re.search(r"^rank 1 is in smooth \(late\.c:\d+\) in \d+ % of the samples, rank 0 in \d+ %$", "".join(lines), re.M) else None
    lines = wait_for(shown, 120)
    check("Enter on a segment: its function and line, and of another rank", lines)
    screens.stdin.close()
    check("the screens end", wait_for(lambda: screens.poll() is not None) and screens.returncode == 0, screens.returncode)


def python():
    if subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"], stderr=subprocess.DEVNULL).returncode:
        return skip("Python", "no mpi4py for /usr/bin/python3")
    with open("late.py", "w") as out:
        out.write(PYTHON)
    job = start(2, ["/usr/bin/python3", "late.py"], os.path.abspath("p"))
    wait_for(lambda: os.path.isdir("p") and hpctop("report", "--table", "calls", "p").out.count("MPI_Barrier"))
    r = sampled(r"(?m)^rank 1 is in smooth \(late\.py:5\) in \d+ % of the samples, rank 0 in \d+ %$", "--ranks", "1", folder="p")
    check("Python: function and line", "rank 1 is in smooth (late.py:5) in " in r.out, r)
    check("Python: and the line that waits", re.search(r"%  in MPI_Barrier at late\.py:10$", r.out, re.M), r)
    stop(job)


def main():
    with open("late.c", "w") as out:
        out.write(SOURCE)
    r = run(["mpicc", "-g", "-O1", "-o", "late", "late.c", "-lm"])
    if not check("the program", r.code == 0, r):
        return
    job = start(2, ["./late"], os.path.abspath("t"))
    wait_for(lambda: os.path.isdir("t") and hpctop("report", "--table", "calls", "t").out.count("MPI_Barrier"))
    answer = r"^rank 1 is in smooth \(late\.c:(\d+)\) in \d+ % of the samples, rank 0 in \d+ %$"
    for name, options in (("the rank that was asked for", ["--ranks", "1"]), ("the rank that others wait for", [])):
        r = sampled("(?m)" + answer, *options)
        found = re.search(answer, r.out, re.M)
        check(name + ": its function and line", found and abs(int(found.group(1)) - LINE) <= 1, r)
        rows = re.findall(r"^ +([\d.]+) % +([\d.]+) %  (\S.*)$", r.out, re.M)
        check(name + ": shares of both, per function", any(w == "smooth" and float(a) > float(b) for a, b, w in rows) and
              all(sum(float(row[side]) for row in rows if not re.match(r" |late.c:", row[2])) <= 101 for side in (0, 1)), r)
    runs = [hpctop("stacks", "--sample", "2", "t").out for _ in range(10)]
    named = sum(out.startswith("rank 1: ") and "\nrank 1 is in smooth (" in out for out in runs)
    check("the function is named in nine of ten runs", named >= 9, runs)
    by_enter()
    check("the job goes on", job.poll() is None)
    r = hpctop("stacks", "--sample", "1", "--ranks", "7", "t")
    check("a rank that the job does not have", r.code != 0 and "7" in r.err and not r.out, r)
    stop(job)
    over = lambda: (lambda r: r if r.code == 2 else None)(hpctop("stacks", "--sample", "1", "t"))
    r = wait_for(over) or hpctop("stacks", "--sample", "1", "t")
    check("a job that has ended", r.code == 2 and "no rank of this job runs on this host" in r.err and not r.out, r)


main()
python()
end()
