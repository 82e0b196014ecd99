# timeout: 200
"""Names that attack whatever shows them: escapes, HTML, quotes, line ends, formulas, commands of a shell, bytes that are
no UTF-8.  They come as names of communicators, windows and files, as regions and arguments, and go through every command
and every export.  What is written beside traces is the user's alone."""
import csv
import json
import os
import re
import stat
import subprocess
import unicodedata

from common import check, end, hpctop, mpirun, run, traces

defused = set()
TAG = "<img src=x onerror=alert(1)>"
TAIL = b"\"'," + TAG.encode() + b"$(touch pwned)`touch pwned`;\x1b]0;x\x07\x9b31m\xff\xe2\x80\xae\r\nx"
BEGINS = (b"=1+1", b"+1+1", b"-1+1", b"@SUM(1)", b"\t=1+1", b"\r=1+1")
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int me, n, number = 0;
    char file[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 1; i < argc; i++) {
        MPI_Comm comm;
        MPI_Win win;
        MPI_File shared;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_name(comm, argv[i]);
        MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, 0, &number, 1, MPI_INT, (me + n - 1) % n, 0, comm, MPI_STATUS_IGNORE);
        MPI_Allreduce(&me, &number, 1, MPI_INT, MPI_SUM, comm);
        MPI_Win_create(&number, sizeof number, 1, MPI_INFO_NULL, comm, &win);
        MPI_Win_set_name(win, argv[i]);
        MPI_Win_fence(0, win);
        MPI_Win_free(&win);
        snprintf(file, sizeof file, "files/%s", argv[i]);
        if (MPI_File_open(comm, file, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &shared) == MPI_SUCCESS) {
            MPI_File_write_at(shared, 4 * me, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
            MPI_File_close(&shared);
        }
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
}
"""


def is_number(cell):
    return re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?", cell)


def text_of(name, data):
    """What a user sees has no control character and is UTF-8."""
    try:
        bad = [c for c in data.decode() if unicodedata.category(c)[0] == "C" and c not in "\n\t\r"]
    except UnicodeDecodeError as e:
        bad = [e]
    check(name + ": nothing but text", data and not bad, bad[:5])
    return data.decode(errors="replace")


def cells_of(name, text):
    rows = list(csv.reader(text.splitlines(True)))
    bad = [cell for row in rows for cell in row if cell[:1] in tuple("=+-@\t\r") and cell and not is_number(cell)]
    defused.update(cell[:2] for row in rows for cell in row if cell[:1] == "'")
    check(name + ": no cell is a formula, and rows are equally long", not bad and len({len(row) for row in rows}) == 1, bad[:5])


def table(name, text):
    if name.endswith(".csv"):
        cells_of(name, text)
    elif name.endswith(".json"):
        check(name + ": JSON", json.loads(text) is not None)
    elif name.endswith(".html"):
        check(name + ": a name is no element of the page", TAG not in text)


def files_below(path):
    return [os.path.join(where, name) for where, _, names in os.walk(path) for name in names] if os.path.isdir(path) else [path]


def alone(path):
    mode = stat.S_IMODE(os.stat(path).st_mode)
    check(path + ": only the user reads it", mode & 0o077 == 0, oct(mode))


def commands(folder):
    for words in ("report", "report --json", "verdict", "verdict --json", "check", "check --json", "dump", "stacks --no-ask",
                  "horovod --json", "metrics", "watch --json --once"):
        out = subprocess.run([os.environ["HPCTOP"], *words.split(), folder], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, check=False, env=dict(os.environ, LC_ALL="C.UTF-8")).stdout
        text = text_of(words, out)
        if words.endswith("--json"):
            table(words + ".json", text)
    done = hpctop("report", "--html", "-o", folder + "/page.html", folder)
    if check("report --html", done.code == 0, done):
        alone(folder + "/page.html")
        with open(folder + "/page.html", "rb") as f:
            table("page.html", text_of("page.html", f.read()))


def exports(folder):
    formats = re.search(r"but (.*) \(see", hpctop("export", "--format", "no", folder).err).group(1)
    for name in [f.strip() for f in formats.split(",")]:
        out = folder + "/out." + name
        done = hpctop("export", "--format", name, "-o", out, folder)
        if not check("export " + name, done.code == 0, done):
            continue
        alone(out)
        for path in files_below(out):
            with open(path, "rb") as f:
                data = f.read()
            if name in ("csv", "talp"):
                text = text_of(os.path.relpath(path, folder), data)
                table(path, text)


os.umask(0o022)
os.mkdir("files")
with open("hostile.c", "w", encoding="ascii") as source:
    source.write(PROGRAM)
if check("the program", run(["mpicc", "-w", "-o", "hostile", "hostile.c"]).code == 0):
    job = mpirun(2, ["./hostile"] + [begin + TAIL for begin in BEGINS], "trace")
    if check("a job with such names", job.code == 0 and len(traces("trace")) == 2, job):
        commands("trace")
        exports("trace")
        check("the tables have names that begin like formulas", {"'=", "'+", "'-", "'@"} <= defused, defused)
        check("no command of a shell was run", not os.path.exists("pwned") and not os.path.exists("files/pwned"))
end()
