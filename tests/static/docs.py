"""Documents: README is short, and so are all documents together; each folder of sources has a README that is short, links
lead to files, lines are short.  Words that users see, structs of public headers and folders are in the glossary."""
import glob
import os
import re
import sys

LINES, ROOM_LINES, ALL_LINES, WIDTH = 150, 60, 5000, 120
# Folders of the recorder that have a README; those of trace/ and tui/ all have one.

os.chdir(os.environ["TOP"])
failures = []


def check(name, wrong):
    print("ok " + name if not wrong else "not ok %s: %s" % (name, "; ".join(wrong[:12])))
    failures.extend(wrong)


def read_text(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read().splitlines()


def prose(path):
    """(number, line) of what is neither a code block nor a row of a table."""
    code = False
    for number, line in enumerate(lines_of(path), 1):
        if line.startswith("```"):
            code = not code
        elif not code and not line.startswith("|"):
            yield number, line


documents = sorted(path for pattern in ("*.md", "docs/*.md", "*/README.md", "*/*/README.md") for path in glob.glob(pattern)
                   if not path.startswith("build/"))
folders = [d.rstrip("/") for room in ("trace", "interpose", "tui") for d in glob.glob(room + "/*/")]
readmes = [f + "/README.md" for f in folders]
limited = readmes + [room + "/README.md" for room in ("interpose", "trace", "tui", "tests", "workloads")]

check("README has at most %d lines" % LINES, ["it has %d" % len(lines_of("README.md"))] * (len(lines_of("README.md")) > LINES))
everything = [path for path in glob.glob("**/*.md", recursive=True) if not path.startswith("build/")]
total = sum(len(lines_of(path)) for path in everything)
check("all documents have at most %d lines" % ALL_LINES, ["they have %d" % total] * (total > ALL_LINES))
check("each folder has a README", [f for f in readmes if not os.path.exists(f)])
check("READMEs of folders have at most %d lines" % ROOM_LINES,
      [f for f in limited if os.path.exists(f) and len(lines_of(f)) > ROOM_LINES])


def rows(readme):
    """Files that the table of a folder's README names."""
    return {name for line in lines_of(readme) if line.startswith("| `") for name in re.findall(r"[\w.-]+", line.split("|")[1])}


wrong = []
for folder, readme in zip(folders, readmes):
    there = {os.path.basename(f) for f in glob.glob(folder + "/*") if not f.endswith("README.md") and os.path.isfile(f)}
    if os.path.exists(readme):
        wrong += ["%s: %s" % (readme, ", ".join(sorted(there ^ rows(readme))))] if there ^ rows(readme) else []
check("the table of a folder's README has each file of it once", wrong)
check("links lead to files",
      ["%s:%d %s" % (path, number, target) for path in documents for number, line in prose(path)
       for target in re.findall(r"\]\(([^)#\s]+)", line)
       if "://" not in target and not os.path.exists(os.path.join(os.path.dirname(path), target))])
check("lines have at most %d characters" % WIDTH,
      ["%s:%d" % (path, number) for path in documents for number, line in prose(path) if len(line) > WIDTH])


def options():
    """Options that a command's usage names and that no row of option.def explains."""
    commands = re.findall(r'^COMMAND\((\w+), \w+, "([^"]*)"', read_text("tui/commands/command.def"), re.M)
    explained = re.findall(r'^OPTION\((\w+), "([^"]*)"', read_text("tui/commands/option.def"), re.M)
    for command, usage in commands:
        known = {word for name, words in explained if name == command for word in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", words)}
        for word in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", usage):
            if word not in known:
                yield "%s %s" % (command, word)


check("each option that a usage line names is explained", list(options()))


def glossary():
    """Nouns of structs in public headers, folders and accounts that docs/glossary.md does not have."""
    text = read_text("docs/glossary.md")
    table, general = text.split("## General words")
    known = set(re.findall(r"\w+", " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| "))))
    known |= set(re.findall(r"\w+", general)) | set(re.findall(r"\*(\w+)\*", table)) | {word.lower() for word in known}
    wanted = {os.path.basename(folder): folder for folder in folders}
    wanted.update((name, "accounts.def") for name in re.findall(r'^ACCOUNT\(\w+, "(\w+)"', read_text("trace/account/accounts.def"), re.M))
    for path in sorted(glob.glob("*/*/*.h")):
        if path.split("/")[0] in ("trace", "interpose", "tui") and not path.endswith("_impl.h"):
            code = re.sub(r"/\*.*?\*/", "", read_text(path), flags=re.S)
            for name in re.findall(r"^struct (?:ana|trc|ipo|tui)_(\w+) \{", code, re.M):
                wanted.setdefault(name.split("_")[-1], path)
    return sorted("%s (%s)" % (noun, path) for noun, path in wanted.items()
                  if not {noun, re.sub("s$", "", noun), re.sub("es$", "", noun), re.sub("ies$", "y", noun)} & known)


check("docs/glossary.md has each noun of a struct in a public header, each folder and account", glossary())

sys.exit(1 if failures else 0)
