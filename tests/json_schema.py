#!/usr/bin/env python3
"""Schemas of hpctop's JSON (docs/schema) and the tables of outermost keys in docs/json.md, made of what `hpctop help
json` prints.

  tests/json_schema.py --write     writes them anew; without it says what differs, and ends with 1 if anything does

HPCTOP names the program; else it is the one beside this folder."""
import json
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BASIC = {"text": "string", "integer": "integer", "bytes": "integer", "rank": "integer", "boolean": "boolean",
         "number": "number", "seconds": "number", "share": "number", "bytes/s": "number", "list": "array", "object": "object"}
SPECIAL = {"moment": "hpctop show --json DIR RANK@TIME"}  # documents that are not called as their command
MARK = "<!-- made by tests/json_schema.py --write -->\n"


def documents(text):
    """{name: (what it is, [(path, type, what it is)])} of what `hpctop help json` prints."""
    found, rows = {}, None
    for line in text.splitlines():
        head = re.match(r"(hpctop (\w+) --json.*?): (.*)", line)
        if head:
            rows = []
            found[next((n for n in SPECIAL if SPECIAL[n] == head.group(1)), head.group(2))] = (head.group(3), rows)
        elif line:
            path, kind, help_text = re.split(r"  +", line.strip(), maxsplit=2)
            rows.append((path, kind, help_text))
    return found


def command(name):
    """What prints a document."""
    return SPECIAL.get(name, "hpctop %s --json" % name)


def place(root, path):
    """The schema of a path, made where it is not there yet."""
    at = root
    for part in re.findall(r"[^.\[\]]+|\[\]", path):
        if part == "[]":
            at.setdefault("type", "array")
            at = at.setdefault("items", {})
        else:
            at = at.setdefault("properties", {}).setdefault(part, {})
    return at


def describe(at, kind, help_text):
    basic = BASIC[kind.split()[0]]
    at["type"] = [basic, "null"] if "or null" in kind else basic
    at["description"] = help_text
    if "sometimes" in kind:
        at["sometimes"] = True
    if basic == "object":
        at["additionalProperties"] = "any keys" in kind


def require(at):
    """What is not there only sometimes is required; the mark goes."""
    for name, child in at.get("properties", {}).items():
        if not child.pop("sometimes", False):
            at.setdefault("required", []).append(name)
        require(child)
    if "items" in at:
        require(at["items"])


def schema(name, about, rows):
    root = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": command(name),
            "description": about, "type": "object", "additionalProperties": False, "properties": {}}
    for path, kind, help_text in rows:
        describe(place(root, path), kind, help_text)
    require(root)
    return root


def is_outer(path):
    return not re.search(r"[.\[]", path[:-2] if path.endswith("[]") else path)


def page(found):
    """The outermost keys of each command: what is inside them stands in the schemas."""
    lines = []
    for name, (about, rows) in found.items():
        lines += ["", "## " + command(name), "", "%s. All keys: [schema/%s.json](schema/%s.json)." % (about.capitalize(), name, name),
                  "", "| key | type | what it is |", "|---|---|---|"]
        named = {path for path, _, _ in rows}
        lines += ["| `%s` | %s | %s |" % (path, kind, help_text.replace("|", "\\|").replace("<", "&lt;"))
                  for path, kind, help_text in rows
                  if is_outer(path) and path + "[]" not in named and path != "version"]
    return "\n".join(lines) + "\n"


def made(text):
    """{path: text} of all files that are made of it."""
    found = documents(text)
    files = {"docs/schema/%s.json" % name: json.dumps(schema(name, *of), indent=1) + "\n" for name, of in found.items()}
    with open(os.path.join(TOP, "docs/json.md")) as f:
        files["docs/json.md"] = f.read().split(MARK)[0] + MARK + page(found)
    return files


def differing(files):
    wrong = []
    for path, text in files.items():
        full = os.path.join(TOP, path)
        if not os.path.exists(full) or open(full).read() != text:
            wrong.append(path)
    extra = ["docs/schema/" + f for f in os.listdir(os.path.join(TOP, "docs/schema")) if "docs/schema/" + f not in files]
    return wrong + extra


def main():
    hpctop = os.environ.get("HPCTOP", os.path.join(TOP, "hpctop"))
    files = made(subprocess.run([hpctop, "help", "json"], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout)
    if sys.argv[1:] == ["--write"]:
        os.makedirs(os.path.join(TOP, "docs/schema"), exist_ok=True)
        for path, text in files.items():
            with open(os.path.join(TOP, path), "w") as f:
                f.write(text)
        return 0
    wrong = differing(files)
    if wrong:
        print("not as `hpctop help json` says: %s; run tests/json_schema.py --write" % " ".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
