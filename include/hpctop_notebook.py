"""hpctop in Jupyter and IPython.

    %load_ext hpctop
    %%hpctop -n 4            runs the cell as a program of four ranks, records it, and says how it went
    %hpctop                  report and page of the last run
    %hpctop verdict          another command of hpctop: verdict, check, diff OLD NEW, ..

The cell is a program of its own: it shares no variables with the notebook, and is kept as cell.py in the trace folder."""

import ctypes
import html
import io
import os
import shlex
import shutil
import signal
import subprocess
import sys

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

HERE = os.path.dirname(os.path.abspath(__file__))
# The wheel, the checkout, below PREFIX of make install.
PROGRAMS = [os.path.join(HERE, place) for place in ("hpctop/bin/hpctop", "../hpctop", "../../../bin/hpctop")]
OF_A_RUN = ("report", "verdict", "check", "horovod", "metrics", "dump", "stacks")  # commands that take a trace folder
PAGE = '<iframe srcdoc="%s" sandbox="allow-scripts" style="width:100%%;height:720px;border:0"></iframe>'
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG: a restarted kernel leaves no job behind


def find_program():
    found = [path for path in PROGRAMS if os.path.isfile(path) and os.access(path, os.X_OK)]
    program = found[0] if found else shutil.which("hpctop")
    if not program:
        raise UsageError("the program hpctop was found neither beside hpctop_notebook.py nor in PATH")
    return os.path.normpath(program)


def run(command):
    """Runs a job in a session of its own and shows its output as it comes.  The first interrupt is forwarded, as Ctrl-C
    in a terminal is; the second one ends the job.  Returns how it ended."""
    libc = ctypes.CDLL(None)
    job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           start_new_session=True, preexec_fn=lambda: libc.prctl(DEATH_SIGNAL, signal.SIGTERM))
    output = io.TextIOWrapper(job.stdout, encoding="utf-8", errors="replace", newline="")
    interrupted = False
    signals = iter((signal.SIGINT, signal.SIGTERM))
    while True:
        try:
            for line in output:
                sys.stdout.write(line)
            status = job.wait()
            return "the job was interrupted" if interrupted else "the job ended with status %d" % status if status else None
        except KeyboardInterrupt:
            interrupted = True
            job.send_signal(next(signals, signal.SIGKILL))


def capture(*arguments):
    """Returns exit status and output of hpctop."""
    done = subprocess.run([find_program(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    if done.returncode not in (0, 1, 3):  # no usable input, wrong usage
        raise UsageError(done.stderr.strip() or "hpctop %s ended with status %d" % (arguments[0], done.returncode))
    return done.stdout


def unused_folder():
    number = 1
    while os.path.exists("hpctop-cell-%d" % number):
        number += 1
    return "hpctop-cell-%d" % number


@magics_class
class HpctopMagics(Magics):
    last = None  # folder of the last run

    @magic_arguments()
    @argument("-n", "--ranks", type=int, default=2, help="number of ranks (2)")
    @argument("-l", "--launcher", help="what starts them, as 'srun -n 8 --mpi=pmix' or 'horovodrun --gloo -np 4'; "
                                       "'mpirun -n RANKS' unless given")
    @argument("-o", "--output", help="the trace folder (hpctop-cell-1, hpctop-cell-2, ..)")
    @argument("words", nargs="*", help="of a cell: arguments of its program; "
                                       "of a line: folders of traces, or a command of hpctop")
    @line_cell_magic
    def hpctop(self, line, cell=None):
        """%%hpctop runs a cell as a parallel job and records it; %hpctop shows the last run."""
        if cell is None:
            return self.show(shlex.split(line))
        given = parse_argstring(self.hpctop, line)
        folder = given.output or unused_folder()
        launcher = shlex.split(given.launcher) if given.launcher else ["mpirun", "-n", str(given.ranks)]
        os.makedirs(folder, exist_ok=True)
        script = os.path.join(os.path.abspath(folder), "cell.py")
        with open(script, "w", encoding="utf-8") as f:
            f.write(cell)
        self.last = os.path.abspath(folder)
        trouble = run([find_program(), "record", "-o", folder, "--", *launcher, sys.executable, "-u", script, *given.words])
        if trouble:
            raise UsageError(trouble + "; %hpctop has the report")

    def show(self, words):
        last = [self.last] if self.last else []
        if words and not os.path.exists(words[0]):
            about_last = words[0] in OF_A_RUN and not any(os.path.isdir(word) for word in words)
            print(capture(*words, *(last if about_last else [])), end="")
            return
        folders = words or last
        if not folders:
            raise UsageError("nothing was recorded here yet: run a cell with %%hpctop, or name a trace folder")
        print(capture("report", *folders), end="")
        page = html.escape(capture("report", "--html", *folders))
        display({"text/html": PAGE % page, "text/plain": "(the page of this report is shown in a notebook)"}, raw=True)


def load_ipython_extension(ipython):
    ipython.register_magics(HpctopMagics)
