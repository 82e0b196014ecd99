# timeout: 240
"""Threads of our own: none runs before the first Init has returned nor after the last Finalize has, so that the program is
alone where it would be without libtrace.so: namespaces, limits on processes, sessions."""
import os
import resource
import shutil
import subprocess
import tempfile

from common import LIBTRACE, calls, check, end, environment, report, run, skip, traces

COUNT = r"""
#include <dirent.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
static int threads_of(const char *name)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[300], comm[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(comm, sizeof comm, file))
            n += strncmp(comm, name, strlen(name)) == 0;
        if (file)
            fclose(file);
    }
    closedir(folder);
    return n;
}
static void say(const char *when)
{
    printf("%s: %d threads, %d of hpctop\n", when, threads_of(""), threads_of("hpctop"));
}
"""

# A tool behind us: its Init runs inside our wrapper.
TOOL = COUNT + r"""
int MPI_Init(int *argc, char ***argv)
{
    int result = PMPI_Init(argc, argv);
    say("before Init returns");
    return result;
}
"""

# A child of fork, after Finalize, may make a namespace as the parent may.
ALONE = COUNT + r"""
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    usleep(argc > 1 ? 400000 : 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    say("after Finalize");
    fflush(stdout);
    int child = fork(), status = 0;
    if (!child)
        _exit(unshare(CLONE_NEWUSER) != 0);
    waitpid(child, &status, 0);
    printf("unshare: %d, in a child: %d\n", unshare(CLONE_NEWUSER), status);
    return 0;
}
"""

SESSIONS = COUNT + r"""
int main(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    MPI_Comm_create_from_group(group, "here", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    for (int i = 0; i < 1000; i++)
        MPI_Barrier(comm);
    while (!threads_of("hpctop")) /* a thread names itself */
        usleep(1000);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    printf("threads of hpctop after a session: %d\n", threads_of("hpctop"));
    return 0;
}
"""


def build(name, source, compiler, *options):
    with open(name + ".c", "w") as f:
        f.write(source)
    r = run([compiler, "-D_GNU_SOURCE", "-Wall", "-O1", "-o", name, name + ".c", *options])
    return check(name + " compiles", r.code == 0, r)


def is_alone(compiler, mpi):
    """Inside Init and after Finalize the program has the threads that it has without us, and may do what it may then."""
    if not build("alone-" + mpi, ALONE, compiler) or not build("tool-%s.so" % mpi, TOOL, compiler, "-shared", "-fPIC"):
        return
    for arguments in ([], ["longer"]):
        program, tool, folder = ["./alone-" + mpi] + arguments, "./tool-%s.so" % mpi, "alone-%s-%d" % (mpi, len(arguments))
        bare = run(["env", "LD_PRELOAD=" + tool] + program, environment(None, False))
        with_us = run(["env", "LD_PRELOAD=%s:%s" % (LIBTRACE, tool)] + program, environment(folder, False))
        check("%s %s: alone inside Init and after Finalize" % (mpi, arguments),
              bare.code == with_us.code == 0 and "after Finalize" in bare.out and bare.out == with_us.out, (str(bare), str(with_us)))
        check("%s %s: the trace is complete" % (mpi, arguments),
              len(traces(folder)) == 1 and calls(report(folder)).get("MPI_Barrier", {}).get("calls") == 1, with_us)
    if "unshare: 0, in a child: 0" not in bare.out:
        skip("%s unshare" % mpi, "this user may make no namespace, without libtrace.so either")


def under_limit(mpi):
    """A user's limit on processes that MPI's own threads just fit in.  Root has none."""
    if os.geteuid():
        return skip("%s under a limit on processes" % mpi, "only root can become a user who has no other processes")
    user = 54000 + os.getpid() % 1000
    place = tempfile.mkdtemp(prefix="user-", dir="/tmp")  # the test's folder may be root's alone
    for path in ("alone-" + mpi, LIBTRACE):
        shutil.copy(path, place)
    os.chmod(place, 0o755)
    os.mkdir(place + "/home")
    os.chown(place + "/home", user, user)

    def start(most, env):
        def become():
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        return subprocess.run([place + "/alone-" + mpi], env=dict(env, HOME=place + "/home", TMPDIR=place + "/home"), cwd=place + "/home",
                              preexec_fn=become, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        bare = environment(None, False)
        least = next((n for n in range(1, 40) if start(n, bare).returncode == 0), None)
        if not check("%s fits into some limit" % mpi, least, start(40, bare)):
            return
        folder = place + "/home/trace"
        done = start(least, dict(bare, LD_PRELOAD=place + "/libtrace.so", HPCTOP_DIR=folder))
        check("%s under a limit of %d processes" % (mpi, least), done.returncode == 0, done)
        check("%s under a limit: recorded without threads of ours" % mpi,
              len(traces(folder)) == 1 and calls(report(folder)).get("MPI_Barrier", {}).get("calls") == 1, done)
    finally:
        shutil.rmtree(place)


def sessions():
    if not build("sessions", SESSIONS, "mpicc.mpich"):
        return
    done = run(["./sessions"], environment("sessions-trace"))
    check("threads run while a session does", done.code == 0 and done.out == "threads of hpctop after a session: 0\n", done)
    check("a session is recorded", calls(report("sessions-trace")).get("MPI_Barrier", {}).get("calls") == 1000, done)


for compiler, mpi in (("mpicc", "openmpi"), ("mpicc.mpich", "mpich")):
    if subprocess.run(["sh", "-c", "command -v " + compiler], stdout=subprocess.DEVNULL).returncode:
        skip(mpi, "no " + compiler)
        continue
    is_alone(compiler, mpi)
    if mpi == "mpich":  # Open MPI starts a process beside it, and more threads at some times than at others
        under_limit(mpi)
if not subprocess.run(["sh", "-c", "command -v mpicc.mpich"], stdout=subprocess.DEVNULL).returncode:
    sessions()
end()
