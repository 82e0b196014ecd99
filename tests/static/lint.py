# timeout: 3600
# long
"""cppcheck and clang's analyser have nothing to say of the product, but for what tests/lint lists with a reason.

Both together take some ten minutes of a processor: `make lint`, and make check-long.  Findings differ by version, so that
each tool runs only as the version that tests/lint names.  An exception that no finding needs fails, too."""
import concurrent.futures
import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys

TOP, BUILD = os.environ["TOP"], os.path.relpath(os.environ["BUILD"], os.environ["TOP"])
SHOWN = 20
FINDING = re.compile(r"^(?:\./)?(\S+?):(\d+)(?::\d+)?: warning: (.*) \[([\w.-]+)\]$")
SEEN = ["-D_GNU_SOURCE", "-I.", "-I" + BUILD]
TOOLS = {
    "cppcheck": ["cppcheck", "--quiet", "--std=c11", "--enable=warning,performance,portability", "-D__x86_64__",
                 "-DcJSON_ArrayForEach(e,array)=if((e=(array)->child))", "--template={file}:{line}: warning: {message} [{id}]"] + SEEN,
    "clang": ["clang", "--analyze", "--analyzer-output", "text", "-std=c11", "-w", "-include", "trace/writer/quiet.h"] + SEEN,
}


def expected():
    """Versions by tool, and [tool, check, file] of each exception, of tests/lint."""
    versions, exceptions = {}, []
    with open("tests/lint") as f:
        for line in f:
            words = line.split("#")[0].split()
            if words[:1] == ["version"]:
                versions[words[1]] = words[2]
            elif words:
                exceptions += [words[:2] + [path] for path in words[2:]]
    return versions, exceptions


def findings(tool, sources):
    """{(check, file): [line and words of each finding]}; cppcheck sees all files at once, clang each by itself."""
    jobs = os.cpu_count() or 1
    batches = [sources] if tool == "cppcheck" else [[s] for s in sources]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        said = pool.map(lambda batch: subprocess.run(["nice"] + TOOLS[tool] + batch, stdout=subprocess.PIPE,
                                                     stderr=subprocess.STDOUT, text=True).stdout, batches)
    found = {}
    for match in (FINDING.match(line) for text in said for line in text.splitlines()):
        if match:
            path, line, words, check = match.groups()
            found.setdefault((check, path), set()).add("%s:%s: %s [%s]" % (path, line, words, check))
    return found


def main():
    os.chdir(TOP)
    versions, exceptions = expected()
    sources = sorted(p for room in ("trace", "tui", "interpose") for p in glob.glob(room + "/**/*.c", recursive=True))
    good = len(sources) > 100
    for tool in TOOLS:
        version = shutil.which(tool) and subprocess.run([tool, "--version"], stdout=subprocess.PIPE, text=True).stdout.split("\n")[0]
        if not version or not re.search(r"\b%s\b" % re.escape(versions[tool]), version):
            print("skip %s: no version %s here%s" % (tool, versions[tool], ", but " + version if version else ""))
            continue
        mine = [e[1:] for e in exceptions if e[0] == tool]
        found = findings(tool, sources)
        used = {tuple(e) for e in mine for check, path in found if check == e[0] and fnmatch.fnmatch(path, e[1])}
        new = sorted(words for (check, path), lines in found.items()
                     if not any(check == e[0] and fnmatch.fnmatch(path, e[1]) for e in mine) for words in lines)
        unused = [" ".join(e) for e in mine if tuple(e) not in used]
        for name, wrong in (("has nothing new to say", new), ("says all that tests/lint lists", unused)):
            print("ok %s %s" % (tool, name) if not wrong else "not ok %s %s: %s" % (tool, name, "; ".join(wrong[:SHOWN])))
            good &= not wrong
    return not good


sys.exit(main())
