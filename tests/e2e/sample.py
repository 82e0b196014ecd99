# timeout: 200
# waits
"""hpctop stacks --sample: the function and the line that a late rank is in more often than another one, of a job that runs;
it goes on as it did."""
import os
import re

from common import check, end, hpctop, run, start, stop, wait_for

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


def sampled(answer, *options):
    """What is said, once it is the answer: a machine with other work gives few samples."""
    def ask():
        r = hpctop("stacks", "--sample", "2", *options, "t")
        return r if re.search(answer, r.out) else None
    return wait_for(ask, 120) or hpctop("stacks", "--sample", "2", *options, "t")


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
    check("the job goes on", job.poll() is None)
    r = hpctop("stacks", "--sample", "1", "--ranks", "7", "t")
    check("a rank that the job does not have", r.code != 0 and "7" in r.err and not r.out, r)
    stop(job)
    over = lambda: (lambda r: r if r.code == 2 else None)(hpctop("stacks", "--sample", "1", "t"))
    r = wait_for(over) or hpctop("stacks", "--sample", "1", "t")
    check("a job that has ended", r.code == 2 and "no rank of this job runs on this host" in r.err and not r.out, r)


main()
end()
