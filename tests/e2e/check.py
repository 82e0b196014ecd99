# timeout: 900
"""hpctop check on real programs: what each mode of workloads/check_modes.c must be found to be, and nothing else; and what
is printed and returned."""
import json
import os
import shutil

from common import TOP, check, end, environment, hpctop, mpirun, run, skip, workload


def errors(folder):
    """(exit code, classes of errors, findings) of hpctop check; None where it is no JSON."""
    r = hpctop("check", "--json", folder)
    try:
        findings = json.loads(r.out)["findings"]
    except (ValueError, KeyError):
        return r.code, None, r
    return r.code, sorted({f["class"] for f in findings if f["weight"] == "error"}), findings


modes = [line.split() for line in run([workload("check_modes")]).out.splitlines()]
check("there are modes, right and wrong", len(modes) > 40 and 20 < sum(want == "-" for _, want in modes) < len(modes) - 20,
      len(modes))
found = alarms = 0
for name, want in modes:
    folder = "c-" + name
    ran = mpirun(3, [workload("check_modes"), name], folder)
    code, got, findings = errors(folder)
    good = got == ([] if want == "-" else [want]) and code == (want != "-")
    check("%s: %s" % (name, want), ran.code == 0 and good, (ran, code, got, findings))
    found += want != "-" and got == [want]
    alarms += want == "-" and got != []
wrong = sum(want != "-" for _, want in modes)
print("%d of %d wrong programs named, %d false alarms on %d correct ones" % (found, wrong, alarms, len(modes) - wrong))

code, got, findings = errors("c-types")
one = findings[0]
check("a finding has class, ranks, calls, lines and times",
      one["ranks"] == [0, 1] and one["calls"] == ["MPI_Recv", "MPI_Send"] and one["times"] == 1 and
      all(site.startswith("check_modes.c:") for site in one["sites"]), one)
text = hpctop("check", "c-types")
check("as text", text.code == 1 and "type-mismatch: " in text.out and "MPI_Send at check_modes.c:" in text.out, text)
text = hpctop("check", "c-workers")
check("a note is shown, and no error", text.code == 0 and text.out.startswith("note: message-race") and
      "no errors found in " in text.out, text)

code, got, findings = errors("c-comm_left")
check("as often as on all ranks", [f["times"] for f in findings if f["class"] == "not-freed"] == [6], findings)
code, got, findings = errors("c-comm_once")
check("one that each process keeps is a note", code == 0 and [f["class"] for f in findings] == ["kept"], findings)
text = hpctop("check", "c-comms_once").out
check("notes of one call are one, with the number of places",
      text.count("note: kept") == 1 and "  and at 2 more places, 6 times: --json lists them\n" in text, text)

# MPICH has other handles and constants.
FEW = ("types_struct", "types_built", "reduce_op", "type_left", "groups", "comm_kept", "persistent_left", "starves")
if shutil.which("mpicc.mpich") and shutil.which("mpiexec.hydra"):
    run(["mpicc.mpich", "-g", "-o", "modes-mpich", os.path.join(TOP, "workloads/check_modes.c")])
    for name, want in [mode for mode in modes if mode[0] in FEW]:
        ran = run(["mpiexec.hydra", "-n", "3", "./modes-mpich", name], environment("m-" + name, True))
        code, got, findings = errors("m-" + name)
        check("MPICH, %s: %s" % (name, want), got == ([] if want == "-" else [want]), (ran, got, findings))
else:
    skip("MPICH", "it is not here")
end()
