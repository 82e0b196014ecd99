# timeout: 240
"""The JSON that hpctop prints is as docs/schema says, and schemas and `hpctop help json` have the same keys, the
outermost of which docs/json.md has."""
import copy
import json
import os
import re
import subprocess
import sys

from common import HPCTOP, TOP, check, end, hpctop, mpirun, python_with, run, skip, workload

sys.path.insert(0, os.path.join(TOP, "tests"))
import json_schema

VALIDATE = """
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
errors = list(jsonschema.Draft202012Validator(schema).iter_errors(json.load(sys.stdin)))
for e in errors[:5]:
    print("/".join(str(p) for p in e.absolute_path), e.message[:200])
sys.exit(1 if errors else 0)
"""


PYTHON = python_with("import jsonschema; jsonschema.Draft202012Validator")


def holds(name, text, schema):
    """Whether a text is as a schema wants it, and what is not."""
    p = subprocess.run([PYTHON, "-c", VALIDATE, os.path.join(TOP, "docs/schema", schema + ".json")], input=text,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    return check(name, p.returncode == 0, p.stdout)


def keys_of(schema, path=""):
    """All paths of a schema, written as in docs/json.md."""
    found = set()
    for name, child in schema.get("properties", {}).items():
        here = path + "." + name if path else name
        inner = keys_of(child, here)
        items = child.get("items")
        while items:
            here += "[]"
            inner |= keys_of(items, here) | {here}
            items = items.get("items")
        found |= inner | {here}  # of a list its elements alone
    return found - {key[:-2] for key in found if key.endswith("[]")}


def documents():
    """Schemas and page were made of what the program says now; they have the same keys."""
    r = run([sys.executable, os.path.join(TOP, "tests/json_schema.py")])
    check("schemas and page are as hpctop help json says", r.code == 0, r.out)
    with open(os.path.join(TOP, "docs/json.md")) as f:
        parts = re.split(r"^## (hpctop .*)$", f.read(), flags=re.M)
    names = {json_schema.command(name): name for name in json_schema.documents(run([HPCTOP, "help", "json"]).out)}
    parts[1::2] = [names.get(title, title) for title in parts[1::2]]
    schemas = {os.path.splitext(name)[0] for name in os.listdir(os.path.join(TOP, "docs/schema"))}
    check("each schema has its part of the page, and its beginning names it", set(parts[1::2]) == schemas and
          all("`%s`" % name in parts[0] or "`hpctop %s`" % name in parts[0] for name in schemas), (parts[1::2], schemas))
    said = run([HPCTOP, "help", "json"]).out
    listed = {name: {path for path, _, _ in rows} for name, (_, rows) in json_schema.documents(said).items()}
    for name, text in zip(parts[1::2], parts[2::2]):
        with open(os.path.join(TOP, "docs/schema", name + ".json")) as f:
            in_schema = keys_of(json.load(f))
        in_help = listed[name] - {key[:-2] for key in listed[name] if key.endswith("[]")}
        check("%s: the help has the keys of the schema" % name, in_schema == in_help, in_schema ^ in_help)
        on_page = set(re.findall(r"^\| `([^`]+)`", text, re.M))
        outer = {key for key in in_schema if json_schema.is_outer(key)} - {"version"}
        check("%s: the page has its outermost keys" % name, outer <= on_page <= in_schema, outer ^ on_page)


def record():
    """Jobs of several kinds.  False: they cannot be recorded."""
    good = True
    for name, ranks, program in (("random", 4, "random_mix"), ("io", 3, "io"), ("stencil", 4, "stencil")):
        r = mpirun(ranks, workload(program), name)
        good &= check("the job %s" % name, r.code == 0, r)
    return good


def outputs(folder):
    """What each command prints of a folder: (name, schema, text)."""
    yield "report " + folder, "report", hpctop("report", "--json", folder).out
    yield "a window of " + folder, "report", hpctop("report", "--json", "--from", "0", "--to", "0.2", "--ranks", "0", folder).out
    for command in ("verdict", "check", "horovod", "show"):
        yield "%s %s" % (command, folder), command, hpctop(command, "--json", folder).out
    for moment in ("0@0", "1@0.01"):  # a run may be short
        yield "%s of %s" % (moment, folder), "moment", hpctop("show", "--json", folder, moment).out
    yield "diff " + folder, "diff", hpctop("diff", "--json", folder, folder).out
    hpctop("jobs", "--db", "list.db", "--add", folder)
    yield "jobs with " + folder, "jobs", hpctop("jobs", "--db", "list.db", "--json").out


def validate(folders):
    last = {}
    for folder in folders:
        for name, schema, text in outputs(folder):
            holds("as its schema: " + name, text, schema)
            last[schema] = json.loads(text)
            check("%s: the version comes first" % name, list(last[schema])[:1] == ["version"] and last[schema]["version"] == 1)
    return last


def refused(last):
    """The schemas are strict: a key too much, one too few and a wrong type are seen."""
    for name, document in last.items():
        for what, change in (("a key too much", lambda d: d.update(nobody_described_this=1)),
                             ("a key too few", lambda d: d.popitem()),
                             ("a text for a number", lambda d: d.update(version="1"))):
            wrong = copy.deepcopy(document)
            change(wrong)
            p = subprocess.run([PYTHON, "-c", VALIDATE, os.path.join(TOP, "docs/schema", name + ".json")],
                               input=json.dumps(wrong), stdout=subprocess.PIPE, universal_newlines=True)
            check("%s: %s is seen" % (name, what), p.returncode == 1, p.stdout)


documents()
if not PYTHON:
    skip("outputs", "no Python here has a validator of JSON Schema (Debian: python3-jsonschema)")
elif record():
    refused(validate(["random", "io", "stencil"]))
end()
