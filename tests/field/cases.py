"""What each program of the field does, and what a verdict about it may say; written before any answer was seen.

Corrected after an answer only where the author was wrong about MPI or about the program; `#` says so.
A case allows more than one answer where MPI does: who is wrong when tags differ is not in the program's messages.
Classes are separated by |.  Culprits are alternatives separated by |: "2 | 1 2" allows [2] and [1, 2]; "*": whoever; "-": nobody.
`weak`: nothing proves the hang (a rank outside MPI may come back), so that after SIGKILL of all, `killed` is right, too."""

DEADLOCK = "unmatched-receive|wait-cycle|missing-in-collective"
OUTSIDE = "missing-in-collective"
TWO_SIDED = "unmatched-receive|wait-cycle|missing-in-collective|inside-operation|live-lock"


class Expect:
    def __init__(self, states, classes, culprits, weak=False):
        self.states, self.classes, self.culprits, self.weak = states.split("|"), classes.split("|"), culprits, weak
        self.allowed = [[int(r) for r in one.split() if r != "-"] for one in culprits.split("|") if one.strip() != "*"]

    def allows(self, state, name, culprits):
        """(state, class, culprits): which of them are among the allowed ones."""
        if self.weak and name == "killed" and state == "aborted":
            return True, True, culprits == [] or sorted(culprits) in self.allowed
        return (state in self.states, "*" in self.classes or name in self.classes,
                "*" in self.culprits or sorted(culprits) in self.allowed)

    def __str__(self):
        return "%s, %s, culprits %s%s" % ("|".join(self.states), "|".join(self.classes) or "no class", self.culprits,
                                          ", or killed" if self.weak else "")


class Case:
    """file, program: what is run.  ends: it ends by itself.  hang: for --hang, None for the default.  act: what is done to
    it from outside after `after` seconds.  survive: the launcher leaves the other ranks alone when one dies.
    advice: part of the next step."""

    def __init__(self, kind, where, ranks, what, live, end, mpis="openmpi mpich", hang=3, act="", after=6, survive=False,
                 ends=False, advice=""):
        self.kind, self.ranks, self.what, self.live, self.end = kind, ranks, what, live, end
        self.file, self.program = where.split()[:2]
        self.name = ".".join([self.file.split(".")[0], self.program] + where.split()[2:])
        self.mpis, self.hang, self.act, self.act_after = mpis.split(), hang, act, after
        self.survive, self.ends, self.advice = survive, ends, advice


CASES = []


def hang(where, ranks, classes, culprits, what, weak=False, **more):
    CASES.append(Case("hang", where, ranks, what, Expect("hung", classes, culprits),
                      Expect("hung|aborted", classes, culprits, weak), **more))


def stuck(where, ranks, culprits, what, classes=OUTSIDE, **more):
    """A rank is held up outside MPI."""
    hang(where, ranks, classes, culprits, what, weak=True, **more)


def busy(where, ranks, culprits, what, classes=OUTSIDE, **more):
    """A rank uses a processor outside MPI, and nothing tells whether it will ever come."""
    CASES.append(Case("hang", where, ranks, what, Expect("waiting", classes, culprits),
                      Expect("aborted", "killed", "-"), **more))


def die(where, ranks, classes, culprits, what, states="aborted", **more):
    expect = Expect(states, classes, culprits)
    CASES.append(Case("die", where, ranks, what, expect, expect, **more))


def slow(where, ranks, culprits, what, states="slow", classes="straggler", **more):
    expect = Expect(states, classes, culprits)
    CASES.append(Case("slow", where, ranks, what, expect, expect, ends=True, **more))


def fine(where, ranks, what, ends=True, end=None, **more):
    well = Expect("healthy", "", "-")
    CASES.append(Case("healthy", where, ranks, what, well, end or well, ends=ends, **more))


# Stencils
hang("stencil.c wrong_tag", 4, DEADLOCK, "2 | 1 | 3 | 1 2 | 2 3 | 1 2 3", "rank 2 sends both halos of step 50 with other tags")
hang("stencil.c blocking_ring", 4, "wait-cycle", "0 1 2 3", "a ring of MPI_Send, too large for buffers")
hang("stencil.c waitany_unsent", 4, DEADLOCK, "3 | 2 3 | 2", "rank 3 does not send left at step 40; all loop over MPI_Waitany")
hang("stencil.c waitsome_count", 4, "live-lock|missing-in-collective", "1",
     "rank 1 counts to 5 of 4 completions: MPI_Waitsome gives MPI_UNDEFINED for ever, the others are in a sum")
hang("stencil.c persistent", 4, DEADLOCK, "1 | 2 | 1 2", "rank 1 once starts 3 of its 4 persistent requests; rank 2 lacks a message")
hang("stencil.c shift", 4, DEADLOCK, "3 | 0 | 0 3", "rank 3 sends its halo to rank 1 instead of 0")
# Corrected: rank 0 has both its halos and is in the sum of the last step, so barrier and sum do not match.
hang("stencil.c one_step_less", 4, DEADLOCK + "|mismatched-collective", "2 | 0 2 | 1 2 | 2 3 | 1 2 3",
     "rank 2 makes one step less and is in the final barrier")
hang("stencil.c neighbour_missing", 4, OUTSIDE + "|mismatched-collective|unmatched-receive|wait-cycle", "2",
     "rank 2 skips the last MPI_Neighbor_alltoall and is in the barrier")
hang("stencil.c neighbour_lopsided", 4, "mismatched-collective|missing-in-collective|unmatched-receive|inside-operation",
     "0 | 2 | 0 2", "rank 0 names rank 2 as a source, rank 2 does not name 0 as a destination")
hang("stencil.c wrong_comm", 4, DEADLOCK, "1 | 2 | 1 2", "rank 1 sends a halo on the world instead of the dup")
hang("stencil.c swapped", 4, DEADLOCK + "|mismatched-collective", "2 | 1 2 3 | 1 2 | 2 3",
     "rank 2 once has the sum before the halo")
# Farms
hang("farm.c lost_result", 4, "unmatched-receive|wait-cycle", "2 | 0 2", "worker 2 took n tasks and returned n - 1 results")
hang("farm.c no_stop", 4, DEADLOCK + "|early-exit", "0 | 3 | 0 3", "the last worker gets no stop; the others are in MPI_Finalize")
hang("farm.c probe_wrong", 4, DEADLOCK, "0 | 2 | 0 2", "the master probes a log message and receives a result from its sender")
hang("farm.c improbe_lost", 4, TWO_SIDED, "0 | 0 1", "the server takes a message by MPI_Improbe and never receives it; "
     "its sender is in MPI_Ssend")
hang("farm.c stealing", 4, "wait-cycle", "1 2 3", "idle workers each MPI_Ssend to the next one")
hang("farm.c wrong_client", 4, DEADLOCK, "0 | 2 | 0 2 | 0 1 | 0 1 2", "the server sends the reply of client 2 to client 1, once")
hang("farm.c counts_one_more", 4, "unmatched-receive|wait-cycle", "0 | 0 1 2 3", "the master wants one result more than tasks")
hang("farm.c pipeline", 4, DEADLOCK, "1 | 1 2", "the second stage drops item 30")
# Collectives
hang("coll.c branch", 4, "mismatched-collective|missing-in-collective", "2", "rank 2 skips an allgather and is in the barrier")
hang("coll.c branch_recv", 4, OUTSIDE + "|wait-cycle|unmatched-receive", "2 | 0 2",
     "rank 2 waits for a message that rank 0 sends after the sum")
hang("coll.c wrong_root", 4, "mismatched-collective", "3", "rank 3 gathers to rank 1, the others to 0")
hang("coll.c wrong_root_bcast", 4, "mismatched-collective", "1", "rank 1 takes itself for the root of a broadcast from 2")
hang("coll.c wrong_comm", 4, "mismatched-collective|missing-in-collective|wait-cycle", "1", "rank 1 once has the barrier on the dup")
# The first program swapped on rank 0 alone, which is no deadlock: it is swapped_ok now.
hang("coll.c swapped", 4, "mismatched-collective|missing-in-collective|wait-cycle", "0 3 | 1 2 | 0 1 2 3",
     "ranks 0 and 3 have the column's barrier before the row's")
hang("coll.c one_more", 4, "mismatched-collective|missing-in-collective", "0", "rank 0 makes one sum more; the others are in a barrier")
hang("coll.c one_more_finalize", 4, "missing-in-collective|early-exit|mismatched-collective", "0",
     "rank 0 makes one sum more; the others are in MPI_Finalize")
hang("coll.c converged", 4, "mismatched-collective|missing-in-collective", "2", "rank 2 has converged a step earlier and gathers")
hang("coll.c alltoallv", 4, "mismatched-collective|inside-operation|unmatched-receive|missing-in-collective", "0 | 2 | 0 2",
     "rank 0 sends nothing to rank 2, which expects 10 numbers", mpis="mpich")
hang("coll.c started_order", 4, "mismatched-collective|wait-cycle|missing-in-collective", "3",
     "rank 3 starts the sum before the barrier, the others after it")
hang("coll.c started_missing", 4, "mismatched-collective|missing-in-collective", "1",
     "rank 1 starts no MPI_Ibarrier and is in a sum; the others test for it")
hang("coll.c split_missing", 4, OUTSIDE + "|wait-cycle|unmatched-receive", "3 | 0 3", "rank 3 waits for a message instead of MPI_Comm_split")
hang("coll.c dup_of_other", 4, "mismatched-collective|missing-in-collective|wait-cycle", "1 | 0 1",
     "rank 1 dups the world, its row dups the row, the others are in a barrier")
# Corrected: the root of a broadcast does not wait, so rank 0 is in MPI_Finalize.
hang("coll.c tree", 5, TWO_SIDED + "|early-exit", "0 | 4 | 0 4", "the root of a tree by hand does not receive from rank 4, which is in MPI_Ssend")
hang("coll.c butterfly", 4, DEADLOCK, "1 | 1 2 | 1 3 | 0 1 2 3 | 1 2 3", "rank 1 takes rank 2 for its partner")
hang("coll.c inter_root", 4, "mismatched-collective|missing-in-collective|inside-operation|wait-cycle|unmatched-receive",
     "0 | 0 1", "of the first group nobody is MPI_ROOT any more; they are in a barrier")
hang("coll.c inter_recv", 4, DEADLOCK, "1 | 1 3 | 3", "rank 1 sends to the wrong rank of the other group")
stuck("coll.c row_sleeps", 4, "3", "rank 3 sleeps before a sum of its row; rank 2 waits for it, the others for the row")
hang("coll.c reduce_then_recv", 4, DEADLOCK, "1 | 0 | 0 1", "rank 1 sends its note with another tag")
hang("coll.c create_group", 4, "mismatched-collective|missing-in-collective|inside-operation|wait-cycle", "1",
     "rank 1 does not come to MPI_Comm_create_group of 0, 1 and 3; it is in the barrier")
# Stuck outside MPI
stuck("stuck.c read", 4, "1", "rank 1 is in read() from a pipe")
busy("stuck.c loop", 4, "2", "rank 2 is in an endless loop")
stuck("stuck.c sleep", 4, "0", "rank 0 sleeps")
stuck("stuck.c mutex", 4, "3", "rank 3 locks a mutex twice")
stuck("stuck.c system", 4, "2", "rank 2 waits for a command")
stuck("stuck.c cond", 4, "1", "rank 1 waits for a condition that nobody signals")
stuck("stuck.c fifo", 4, "1", "rank 1 opens a pipe that nobody writes")
stuck("stuck.c stop", 4, "2", "rank 2 has stopped itself", OUTSIDE + "|dead-rank")
stuck("stuck.c fork", 4, "3", "rank 3 waits for a child that sleeps")
stuck("stuck.c flock", 4, "0", "rank 2 waits for a file lock that rank 0 keeps", "wait-cycle")
stuck("stuck.c chain", 4, "0", "rank 0 sleeps; each of the others waits for a message of the one before", DEADLOCK + "|inside-operation")
busy("stuck.c receiver", 4, "1", "rank 1 computes for ever instead of a receive; rank 0 is in MPI_Ssend", DEADLOCK + "|inside-operation")
stuck("stuck.c two", 4, "3 | 1 3", "rank 1 loops and rank 3 reads")
stuck("stuck.c from_start", 4, "2", "rank 2 sleeps since MPI_Init")
busy("stuck.c before_finalize", 4, "1", "rank 1 loops before MPI_Finalize, in which the others are")
stuck("stuck.c after_finalize", 4, "2", "rank 2 loops after MPI_Finalize, the others have ended", "lives-on")
stuck("die.c well stopped", 4, "2", "rank 2 is stopped from outside", OUTSIDE + "|dead-rank", act="stop 2")
# One-sided
hang("rma.c fence", 4, "mismatched-collective|missing-in-collective|wait-cycle", "1", "rank 1 skips a fence and is in the barrier")
hang("rma.c pscw_group", 4, TWO_SIDED, "2 | 0 2 | 0", "rank 0 starts an epoch to 1 and 2, and rank 2 does not post")
hang("rma.c pscw_cycle", 4, "wait-cycle|unmatched-receive|missing-in-collective", "0 1 | 0",
     "rank 1 is in MPI_Win_wait; rank 0 wants its message before MPI_Win_complete")
hang("rma.c lock_kept", 4, TWO_SIDED, "0 | 0 2", "rank 0 takes an exclusive lock into a barrier; rank 2 wants it before the barrier ends")
hang("rma.c flag", 4, "live-lock|missing-in-collective|wait-cycle", "1 | 0 1",
     "rank 1 reads a flag by lock, get, unlock; rank 0 sets it after the barrier")
hang("rma.c spin_lock", 4, "live-lock|missing-in-collective|wait-cycle", "2 | 0 1 3 | 0 1 2 3",
     "rank 2 keeps a spin lock made of MPI_Compare_and_swap")
hang("rma.c two_locks", 4, TWO_SIDED, "0 3", "ranks 0 and 3 lock two windows in another order")
hang("rma.c free_missing", 4, OUTSIDE + "|wait-cycle|unmatched-receive", "2 | 0 2", "rank 2 waits for a message before MPI_Win_free")
busy("rma.c shared_spin", 4, "1", "rank 1 spins on a flag in shared memory")
# Threads
hang("threads.c mutex_around_recv", 3, DEADLOCK + "|inside-operation", "0 | 0 1",
     "a thread of rank 0 receives under a mutex that the main thread needs to send", weak=True)
hang("threads.c pool_order", 3, "wait-cycle|mismatched-collective|missing-in-collective", "1 | 0 1 2",
     "rank 1 takes two barriers in another order in a pool of one thread")
hang("threads.c pool_starved", 3, DEADLOCK, "0 1", "all threads of ranks 0 and 1 are in MPI_Ssend to one another")
hang("threads.c thread_gone", 3, DEADLOCK + "|inside-operation", "1 | 0 1",
     "the receiving thread of rank 1 has ended; rank 0 is in MPI_Ssend", weak=True)
hang("threads.c one_stop", 3, DEADLOCK, "1 | 0 | 0 1", "two threads receive and one stop is sent", weak=True)
busy("threads.c spin_twice", 4, "2", "rank 2 takes a spin lock twice")
# Busy and nowhere
hang("lively.c undefined", 4, "live-lock|missing-in-collective", "1", "rank 1 loops over MPI_Waitany without active requests")
hang("lively.c iprobe_both", 4, "live-lock|wait-cycle|unmatched-receive", "1 2", "ranks 1 and 2 each poll for the other's message")
hang("lively.c test_inactive", 4, "live-lock|missing-in-collective", "3", "rank 3 tests an inactive request for ever")
hang("lively.c iprobe_tag", 4, "live-lock|wait-cycle|unmatched-receive", "2 | 0 2",
     "rank 2 polls for tag 7 with rests; rank 0 sent tag 8 and waits for its answer")
hang("lively.c get_status", 4, "live-lock|unmatched-receive|missing-in-collective", "1 | 0 1",
     "rank 1 polls by MPI_Request_get_status for a message that rank 0 never sent")
hang("lively.c test_both", 4, "live-lock|wait-cycle|unmatched-receive", "0 1", "ranks 0 and 1 each test a receive from the other")
hang("lively.c no_case", 4, "live-lock|missing-in-collective|unmatched-receive", "0 | 2 | 0 2",
     "rank 0 leaves a message of rank 2 where it is and polls")
hang("lively.c nbx", 4, "live-lock|missing-in-collective|unmatched-receive|mismatched-collective", "2",
     "rank 2 polls for a second message and does not start the barrier that the others test")
# Worlds
stuck("worlds.c child_sleeps", 2, "*", "a spawned child sleeps, rank 0 waits for its message", DEADLOCK + "|inside-operation", mpis="openmpi")
hang("worlds.c child_waits", 2, DEADLOCK, "*", "a spawned child and rank 0 wait for one another", mpis="openmpi")
stuck("worlds.c merge", 2, "*", "two children do not come to MPI_Intercomm_merge", DEADLOCK + "|inside-operation", mpis="openmpi")
stuck("worlds.c accept_nobody", 3, "0", "rank 0 is in MPI_Comm_accept and nobody connects", DEADLOCK + "|inside-operation", mpis="openmpi")
# Files
hang("files.c write_all", 4, "mismatched-collective|missing-in-collective|wait-cycle", "2", "rank 2 leaves out a collective write and is in the barrier")
hang("files.c open_self", 4, "mismatched-collective|missing-in-collective|wait-cycle", "1", "rank 1 opens the file alone and is in the barrier")
stuck("files.c close_missing", 4, "3", "rank 3 sleeps, the others close the file")
# MPI 4
hang("four.c partition_missing", 3, TWO_SIDED, "0 | 0 1", "rank 0 does not make the last partition ready", mpis="mpich")
hang("four.c parrived", 3, TWO_SIDED, "0 | 0 1 | 1", "rank 1 polls for a partition that rank 0 does not make ready", mpis="mpich")
hang("four.c session", 3, OUTSIDE + "|wait-cycle|unmatched-receive", "1 | 0 1", "rank 1 does not come to MPI_Comm_create_from_group", mpis="mpich")
hang("four.c persistent_sum", 3, "mismatched-collective|missing-in-collective", "2", "rank 2 leaves persistent sums for the barrier", mpis="mpich")
# Fortran, C++, Python
hang("heat.f90 tag", 4, DEADLOCK, "1 | 1 2 | 2", "rank 1 sends a halo with another tag")
# Corrected: rank 0 is in the sum by then.
hang("heat.f90 missing", 4, DEADLOCK + "|mismatched-collective", "2 | 0 2 | 1 2 3 | 1 2 | 2 3", "rank 2 leaves the loop for a barrier")
stuck("heat.f90 stuck", 4, "0", "rank 0 sleeps; rank 1 waits for its halo, the others for rank 1 or the sum", DEADLOCK + "|inside-operation")
hang("throws.cpp caught", 4, OUTSIDE + "|mismatched-collective|early-exit", "2", "rank 2 caught an exception and is in MPI_Finalize")
hang("train.py raises", 4, OUTSIDE + "|mismatched-collective|early-exit", "2", "a Python exception takes rank 2 to MPI_Finalize", mpis="openmpi",
     advice="traceback")
hang("train.py tag", 4, DEADLOCK, "3 | 0 | 0 3", "the object for rank 3 has another tag", mpis="openmpi")
hang("train.py only_root", 4, "mismatched-collective|missing-in-collective|wait-cycle", "0", "collectives of rank 0 alone", mpis="openmpi")
hang("train.py pairs", 2, "wait-cycle", "0 1", "two ranks send 9 MB before they receive", mpis="openmpi")
stuck("train.py sleeps", 3, "1", "rank 1 is in time.sleep", mpis="openmpi")
hang("train.py polls", 4, "live-lock|unmatched-receive|missing-in-collective", "3 | 0 3 | 0", "rank 3 tests for an answer that went to rank 2",
     mpis="openmpi")
# Deaths
DEAD = "dead-rank"
die("die.c segv", 4, DEAD, "2", "rank 2 writes through a null pointer")
die("die.c assertion", 4, DEAD, "1", "rank 1 fails an assertion")
die("die.c overflow", 4, DEAD, "3", "rank 3 runs out of stack")
die("die.c divide", 4, DEAD, "0", "rank 0 divides by zero")
die("die.c bus", 4, DEAD, "2", "rank 2 writes behind the end of a mapped file")
die("die.c killed", 4, DEAD + "|killed", "1", "rank 1 is killed by SIGKILL")
die("die.c alarmed", 4, DEAD + "|killed", "1", "rank 1 dies of SIGALRM")
die("die.c cpu_limit", 4, DEAD + "|killed", "2", "rank 2 uses up its processor time: SIGXCPU")
die("die.c oom_checked", 4, DEAD + "|early-exit", "2", "rank 2 is out of memory and calls MPI_Abort")
die("die.c oom_unchecked", 4, DEAD, "1", "rank 1 is out of memory and writes through a null pointer")
die("die.c exit", 4, "early-exit", "2", "rank 2 calls exit(1)")
die("die.c exit0", 4, "early-exit", "1", "rank 1 calls exit(0)")
die("die.c _exit", 4, "early-exit", "3", "rank 3 calls _exit(4)")
die("die.c quick_exit", 4, "early-exit", "2", "rank 2 calls quick_exit(3)")
die("die.c abort_call", 4, DEAD + "|early-exit", "1", "rank 1 calls MPI_Abort")
die("die.c error", 4, DEAD + "|early-exit", "2", "rank 2 sends to a rank that is not there")
die("die.c truncated", 4, DEAD + "|early-exit|unmatched-receive", "1 | 0 1", "rank 1 receives a message that is too long")
die("die.c all_exit", 4, "early-exit", "* | -", "all call exit(0) without MPI_Finalize")
die("die.c segv_thread", 4, DEAD, "1", "a thread of rank 1 writes through a null pointer")
die("throws.cpp uncaught", 4, DEAD, "2", "an exception that nobody catches")
die("heat.f90 array", 4, DEAD, "3", "rank 3 writes far behind an array")
die("heat.f90 stop", 4, "early-exit", "1", "rank 1 executes STOP 3")
die("die.c segv survive", 4, DEAD, "2", "rank 2 dies, the launcher leaves the others in a sum", "hung|aborted", survive=True)
die("die.c killed survive", 4, DEAD + "|killed", "1", "rank 1 is killed, the others stay", "hung|aborted", survive=True)
die("die.c exit survive", 4, "early-exit", "2", "rank 2 leaves, the others stay", "hung|aborted", survive=True)
die("die.c quick_exit survive", 4, "early-exit", "2", "rank 2 leaves by quick_exit, the others stay", "hung|aborted", survive=True)
# Ended from outside
for how in ("term", "kill", "term_each", "kill_each", "term_launcher"):
    die("die.c well " + how, 4, "killed", "-", "a job that is well is ended from outside: " + how, act=how)
die("die.c well_uneven term_each", 4, "killed", "-", "rank 1 computes, the others are in a barrier when the job is ended",
    act="term_each", after=4, hang=None)
die("die.c deadlock term", 4, "wait-cycle|unmatched-receive", "0 1", "ranks 0 and 1 wait for one another, then all get SIGTERM", "hung|aborted",
    act="term", after=8)
die("die.c deadlock term_each", 4, "wait-cycle|unmatched-receive", "0 1", "the same, one rank after the other", "hung|aborted",
    act="term_each", after=8)
die("stuck.c loop term_each", 4, OUTSIDE + "|killed", "2 | -", "rank 2 loops, then one rank after the other gets SIGTERM", "hung|aborted",
    act="term_each", after=8)
# Slow
slow("slow.c imbalance", 4, "2", "rank 2 takes 30 ms a step, the others 10")
slow("slow.c imbalance_busy", 4, "1", "rank 1 computes 30 ms a step, the others nothing")
slow("slow.c late_sender", 4, "1", "rank 1 is late in a ring without collectives")
slow("slow.c late_receiver", 4, "2", "rank 2 receives late what the others send synchronously")
slow("slow.c chain", 4, "0", "rank 0 is late, and so are those behind it in a chain")
slow("slow.c spikes", 4, "3", "rank 3 has ten spikes of 300 ms")
slow("slow.c turns_slow", 4, "1", "rank 1 turns slow in the last third")
slow("slow.c slow_master", 4, "0", "the master takes 30 ms a request, the workers 10 ms a task")
slow("slow.c serial", 4, "0", "rank 0 works alone in each step")
slow("slow.c two_late", 4, "1 3", "ranks 1 and 3 are late")
slow("slow.c rotating", 4, "-", "another rank is late each time: slow, maybe, and nobody's fault", "slow|healthy", "straggler|")
slow("slow.c row", 4, "3", "rank 3 is late in its row, and so is the row in the world")
slow("slow.c pipeline", 4, "2", "the third stage of a pipeline is the narrow one")
slow("slow.c slow_pack", 4, "3", "rank 3 packs its halos slowly")
slow("files.c aggregator", 4, "0", "rank 0 writes for all, 0.1 s a step")
slow("heat.f90 late", 4, "1", "rank 1 takes 45 ms a step, the others 5")
slow("train.py late", 4, "2", "rank 2 takes 50 ms a step, the others 10", mpis="openmpi")
# Healthy
# Both were meant to hang and do not: rank 0 alone makes no circle; an empty message is a message.
fine("coll.c swapped_ok", 4, "rank 0 has the column's barrier before the row's, once")
fine("coll.c alltoallv", 4, "rank 2 expects 10 numbers of rank 0 in MPI_Alltoallv and gets none", mpis="openmpi")
fine("stencil.c ok", 4, "a stencil for 10 s")
fine("stencil.c blocking_line_ok", 4, "blocking sends along a line, which resolve from its end")
fine("stencil.c testsome_ok", 4, "halos by MPI_Testsome, a rank at a time has more to do")
fine("farm.c ok", 4, "a farm with tasks of 50 to 450 ms")
fine("farm.c master_sorts", 4, "the master sorts for 13 s, the workers wait for tasks", hang=None)
fine("farm.c idle_ok", 4, "one worker has all the work, two are idle", hang=None)
fine("farm.c server_low_ok", 4, "a server that looks 20 times a second")
fine("farm.c stop_twice_ok", 4, "ends with a message that nobody received")
fine("rma.c flag_ok", 4, "rank 1 polls a flag that comes after 9 s, the others are in a barrier", hang=None)
fine("rma.c counter_ok", 4, "tasks by MPI_Fetch_and_op")
fine("threads.c barrier_and_talk_ok", 4, "rank 0 computes for 10 s, two ranks talk by themselves", hang=None)
fine("threads.c servers_ok", 3, "threads that wait for requests which come every 2 s")
fine("threads.c late_feeder_ok", 3, "a thread of rank 0 that has called no MPI yet sends after 8 s", hang=None)
fine("lively.c nbx_ok", 4, "sparse exchanges by MPI_Issend, MPI_Iprobe and MPI_Ibarrier")
fine("lively.c overlap_ok", 4, "MPI_Test between pieces of work")
fine("worlds.c fine", 2, "a spawned world that answers every 1.5 s", mpis="openmpi")
fine("files.c disk_ok", 4, "60 MB a rank with fdatasync")
fine("files.c together_ok", 4, "collective writes with MPI_File_sync")
fine("four.c partitions_ok", 3, "partitions made ready in 0.3 s each", mpis="mpich")
fine("four.c session_ok", 3, "sums on a communicator of a session", mpis="mpich")
fine("healthy.c long_setup", 4, "rank 1 sets up for 12 s, the others are in a barrier", hang=None)
fine("healthy.c long_sleep", 4, "rank 2 sleeps for 10 s", hang=None)
fine("healthy.c random_sleeps", 4, "sleeps of up to 1 s")
fine("healthy.c crowded", 5, "five ranks compute on few processors")
fine("healthy.c odd", 4, "cancelled, unreceived, to oneself, to nobody")
fine("healthy.c groups", 4, "one group waits 2 s a step, the other ranks are in a barrier")
fine("healthy.c comms", 4, "communicators made and freed all the time")
fine("healthy.c after", 4, "rank 0 computes for 8 s after MPI_Finalize", hang=None)
fine("healthy.c buffered", 4, "buffered sends that are received much later")
fine("healthy.c early", 4, "rank 1 has nothing to do and is in MPI_Finalize", hang=None)
fine("healthy.c any_of", 4, "messages that come after 3, 6 and 9 s", hang=None)
fine("healthy.c watches_file", 4, "rank 0 looks for a file, ten times a second, for 9 s", hang=None)
fine("healthy.c late_big", 4, "large messages that are received 2 s late")
fine("train.py farm_ok", 4, "a farm in Python with a polling master", mpis="openmpi")
