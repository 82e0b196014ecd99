"""workloads/handles.c: no call of a correct program fails under libtrace.so, so its error handlers are never called."""
from common import check, report, skip

NONE = "errors 0, failed 0"


def hold(label, launch, program):
    """launch(ranks, command, folder, preload): with each kind of error handler."""
    for how in ("fatal", "return", "user"):
        name = "%shandles, errors %s" % (label and label + " ", how)
        command = [program, how, "handles.data"]
        bare = launch(2, command, None, False)
        if bare.code != 0 or bare.out.split("\n")[:2] != [NONE] * 2:
            skip(name, "not so without libtrace.so either: " + (bare.out + bare.err).strip()[-150:].replace("\n", " | "))
            continue
        folder = name.replace(" ", "-").replace(",", "")
        done = launch(2, command, folder, True)
        check(name, done.code == 0 and done.out == bare.out, done)
        check(name + ": recorded", (report(folder) or {}).get("ranks"), "no report")
