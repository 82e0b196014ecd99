"""Words: comments read as plain technical English.

A comment opens with a noun, a verb ("Returns", "Appends") or a number, not with a function word ("of", "that", "what"),
and names its subject, in place of a pronoun clause.  In ten well-known C code bases (htop, tmux, tig, liburing, Darshan,
uftrace, UCX, LTTng-UST, hwloc, mpiP) 1 to 6 % of the comments open with a function word, and 1,000 words have 0.2 to 2
pronoun clauses.  Comments of fewer than three words are not counted."""
import glob
import os
import re
import sys

OPENERS, CLAUSES = 0.06, 1.0  # share of the comments; clauses in 1,000 words
SHOWN = 8  # comments named with a folder that has too many
FUNCTION_WORDS = set("""of that those these this what whatever which who whoever whose whom by as at in into on onto from to
with without until unless likewise its their then so such but and or nor than there where when while how why same""".split())
CLAUSE = re.compile(r"\b(?:(?:that|those|of|any of) (?:which|those|these|them)|(?:that|those|the same) of|those (?:that|who)|"
                    r"(?:for|to) which|by whom|what (?:is|was|are|were|it|they|has|have|comes|came|stands|follows|lies|no|nobody|"
                    r"others)|who(?:ever)? (?:is|was|are|were|has|have|comes|came)|as (?:that|those)|likewise|so many)\b", re.I)
COMMENT = re.compile(r"/\*(.*?)\*/|(?<!:)//([^\n]*)", re.S)
WORD = re.compile(r"[A-Za-z][A-Za-z'_-]*")


def comments(text):
    """(line, words, clauses) of each comment."""
    for match in COMMENT.finditer(text):
        body = re.sub(r"\n\s*\* ?", " ", match.group(1) or match.group(2) or "").strip(" *-<!\t\n")
        words = WORD.findall(body)
        if len(words) >= 3:
            yield text.count("\n", 0, match.start()) + 1, words, CLAUSE.findall(body)


def judge(texts):
    """Whether the comments of {path: text} are within the bounds; measures, with the first offenders."""
    count = opened = words_of_all = clauses_of_all = 0
    bad = []
    for path, text in texts.items():
        for line, words, clauses in comments(text):
            opens = words[0].lower() in FUNCTION_WORDS
            count, opened = count + 1, opened + opens
            words_of_all, clauses_of_all = words_of_all + len(words), clauses_of_all + len(clauses)
            if opens or clauses:
                bad.append("%s:%d \"%s\"" % (path, line, " ".join(words[:4]) if opens else clauses[0]))
    good = opened <= OPENERS * count and 1000 * clauses_of_all <= CLAUSES * words_of_all
    return good, "%d of %d open with a function word, %d pronoun clauses in %d words: %s%s" % (
        opened, count, clauses_of_all, words_of_all, ", ".join(bad[:SHOWN]), " .." if len(bad) > SHOWN else "")


def texts_of(folder):
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "**/*"), recursive=True)):
        if path.endswith((".c", ".h", ".def")):
            with open(path, encoding="utf-8", errors="replace") as f:
                found[path] = f.read()
    return found


def planted():
    """Parts whose judgement is known: 100 comments each, of which some are bad."""
    good = "/* Returns the number of waiting ranks. */\n"
    for name, bad, most in (("a function word", "/* of the job that waits */\n", 6),
                            ("a pronoun clause", "// Sums times, those of polls included.\n", 0)):
        within = judge({"planted.c": good * (100 - most) + bad * most})[0]
        beyond = judge({"planted.c": good * (99 - most) + bad * (most + 1)})[0]
        yield "%s is found where it is planted" % name, within and not beyond, "%s, %s" % (within, beyond)
    yield "code and short comments do not count", judge({"planted.c": "x = of; /* of those */\n" + good})[0], "they do"


os.chdir(os.environ["TOP"])
results = list(planted())
for folder in sorted(glob.glob("trace/*/") + glob.glob("interpose/*/") + glob.glob("tui/*/")) + ["tests", "workloads"]:
    texts = texts_of(folder.rstrip("/"))
    if texts:
        results.append((folder.rstrip("/"),) + judge(texts))
for name, good, why in results:
    print("ok " + name if good else "not ok %s: %s" % (name, why))
sys.exit(not all(good for _, good, _ in results) or len(results) < 30)
