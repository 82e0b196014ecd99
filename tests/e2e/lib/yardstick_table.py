"""The tables that tests/yardstick prints: read and added up."""
import re


def read(text):
    """{(fault, end): [programs, right, missed, names nobody, names others too, names others, false alarms, proven and
    wrong]}; `right` in percent."""
    found = {}
    for line in text.splitlines():
        cells = [c.strip(" %") for c in line.strip().strip("|").split("|")]
        if len(cells) == 10 and re.fullmatch(r"[\d.]+", cells[3]):
            found[cells[0], cells[1]] = [int(cells[2]), float(cells[3])] + [int(c) for c in cells[4:]]
    return found


def add(sum_of, table):
    """Adds a table to one that is the sum of others."""
    for kind, row in table.items():
        have = sum_of.setdefault(kind, [0] * len(row))
        right = have[0] * have[1] + row[0] * row[1]
        have[:] = [a + b for a, b in zip(have, row)]
        have[1] = right / have[0]
