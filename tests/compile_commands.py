#!/usr/bin/env python3
"""compile_commands.py FOLDER COMMAND FILE..: the compilation database for editors, as JSON on stdout."""
import json
import sys

folder, command, files = sys.argv[1], sys.argv[2], sys.argv[3:]
json.dump([{"directory": folder, "file": f, "command": "%s -c %s" % (command, f)} for f in files], sys.stdout, indent=1)
print()
