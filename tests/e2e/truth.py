# timeout: 400
"""Every workload with 2 and 4 ranks (and one more with 1): every count and byte of `hpctop report --json` must be what
the workload worked out from its own constants, exactly."""
import json
import os

from common import HPCTOP, LIBTRACE, check, end
from compare import differences
from one_truth import disagreements
from truths import WORKLOADS, hold
from verdicts import verdict

LATE = ("stencil", "late_collective", "imbalance")  # a rank of these is late on purpose


def spoiled(truth):
    """The same truth with one thing wrong in it, once for each kind of thing."""
    for spoil in (lambda t: t["calls"]["MPI_Init"].update(calls=0), lambda t: t["calls"].pop("MPI_Finalize"),
                  lambda t: t["calls"].update(MPI_Bcast={"calls": 1, "bytes_sent": 0, "bytes_received": 0}),
                  lambda t: t["ranks_detail"][0].update(bytes_sent=-1), lambda t: t["pairs"].pop(),
                  lambda t: t["pairs"][0].update(bytes=-1), lambda t: t.update(ranks=99)):
        copy = json.loads(json.dumps(truth))
        spoil(copy)
        yield copy


for needed in (LIBTRACE, HPCTOP):
    if not os.path.exists(needed):
        check("products", False, "no " + needed)
        end()
only = os.environ.get("ONLY")
for name, arguments, counts in WORKLOADS:
    for ranks in counts:
        if not only or name == only:
            both = hold(name, arguments, ranks)
            label = "%s x%d" % (" ".join([name] + arguments), ranks)
            twice = both and disagreements(both[1])
            check("%s: numbers in several places agree" % label, not twice, "; ".join((twice or [])[:6]))
            if both and name not in LATE + ("exit_no_finalize",):
                code, said = verdict("trace-" + "-".join([name] + arguments + ["x%d" % ranks]))
                check("%s x%d is no trouble" % (name, ranks), code == 0 and said["state"] == "healthy", said)
            if both and name == "ring" and ranks == 2:
                check("a wrong answer would be noticed", all(differences(t, both[1]) for t in spoiled(both[0])))
end()
