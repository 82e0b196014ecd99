# timeout: 1200
"""Traces of real programs, read by an hpctop with AddressSanitizer and UBSan: it finds no fault, and each command says what the
plain hpctop says, with any number of threads.  ASAN_HPCTOP: the one with them."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests/e2e/lib"))
from common import check, end, hpctop, mpirun, run, skip_all, tried, workload  # noqa: E402

SAN = os.environ.get("ASAN_HPCTOP", "")
PROGRAMS = ("spawn", "communicators", "rma", "neighborhood", "collectives_nonblocking", "p2p_persistent", "threads_multiple",
            "random_mix", "regions", "imbalance")
COMMANDS = [["report", "--json", "-j", n] for n in ("1", "2", "8")] + [["report"], ["verdict", "--json"], ["check", "--json"]]


def main():
    if not os.access(SAN, os.X_OK):
        skip_all("there is no hpctop with AddressSanitizer: make check-asan builds it")
    env = dict(os.environ, HPCTOP_INDEX="no", ASAN_OPTIONS="exitcode=99", UBSAN_OPTIONS="halt_on_error=1:exitcode=99")
    for program in PROGRAMS:
        done = tried(mpirun, 4, workload(program), program)
        if not check("%s: it runs" % program, done.code == 0, done):
            continue
        for command in COMMANDS:
            plain = hpctop(*command, program, env=env)
            strict = run([SAN] + command + [program], env)
            check("%s: %s" % (program, " ".join(command)),
                  strict.code == plain.code and strict.out == plain.out and strict.err == plain.err, strict)


main()
end()
