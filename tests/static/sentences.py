"""Sentences: what hpctop says stands in tables, .def files or static ones, and not inside functions.

A literal of three words or more inside a function is a sentence.  Four folders have none; the others have no more than
they had."""
import glob
import os
import re
import sys

TOP = os.environ["TOP"]
LIMIT = {"views": 0, "app": 0, "output": 0, "sources": 0, "widgets": 3, "term": 5,
         "doctor": 51, "launch": 9, "workers": 9, "commands": 192}
# Files that write another language: HTML, SVG, SQL, OpenMetrics.
OTHER = ("output/page.c", "output/openmetrics.c", "widgets/picture.c", "sources/jobs_db.c")
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
WORD = re.compile(r"[(']?[A-Za-z][a-z']+[,;:.?)]*")
failed = 0


def sentences(text):
    """Literals of three words or more in functions, not in static tables of these."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    for body in re.findall(r"^\{\n(.*?)^\}", text, re.S | re.M):
        body = re.sub(r"static const [^;=]*=\s*\{.*?\};", "", body, flags=re.S)
        for literal in LITERAL.findall(body):
            if sum(bool(WORD.fullmatch(word)) for word in re.sub(r'"\s*"|\\n|"', " ", literal).split()) >= 3:
                yield literal


def check(good, name, why):
    global failed
    failed |= not good
    print("ok " + name if good else "not ok %s: %s" % (name, why))


planted = 'static const char *const rows[] = {"a row of words"};\nvoid f(void)\n{\n    /* "a comment of words" */\n%s}\n'
check(list(sentences(planted % '    puts("this is a sentence");\n')) == ['"this is a sentence"'], "a planted sentence is found", "")
check(not list(sentences(planted % '    static const char *const in[] = {"a row of words"};\n    puts("no such");\n')),
      "rows of tables and two words are none", "")
found = {}
for path in sorted(glob.glob(os.path.join(TOP, "tui/*/*.c"))):
    name = os.path.relpath(path, os.path.join(TOP, "tui"))
    if name not in OTHER:
        with open(path) as f:
            found.setdefault(name.split("/")[0], []).extend("%s %s" % (name, s) for s in sentences(f.read()))
check(sorted(LIMIT) == sorted(found), "each folder of tui/ has a limit", sorted(found))
for folder, said in sorted(found.items()):
    check(len(said) <= LIMIT.get(folder, 0), "tui/%s: no more than %d sentences inside functions" % (folder, LIMIT.get(folder, 0)),
          "%d: %s" % (len(said), "; ".join(said[:60 if "-v" in sys.argv else 8])))
sys.exit(failed)
