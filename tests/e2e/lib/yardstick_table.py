"""The tables that tests/yardstick prints, compared with those of docs/measured.md."""

MOMENTS = ("at its end", "all killed", "one by one", "live")


def read(text):
    """{(kind of table, name of a row): {name of a column: number}} of all tables with a column `programs`."""
    found, columns = {}, []
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            columns = []
        elif cells[1:2] == ["programs"]:
            columns = cells
        elif columns and len(cells) == len(columns) and cells[1].isdigit():
            found[columns[0], cells[0]] = {k: float(v) for k, v in list(zip(columns, cells))[1:] if v}
    return found


def deviation(share, programs):
    """Of a share in percent, of so many programs: its standard deviation; at least that of one wrong program."""
    share = min(max(share, 100 / (programs + 1)), 100 - 100 / (programs + 1))
    return (share * (100 - share) / programs) ** 0.5


def compare(check, seen, documented):
    """Checks that no share of right answers is below the one documented, and that no kind of row has more proofs that are
    wrong: by more than chance, which is three standard deviations of both numbers."""
    check("the rows of the tables in docs/measured.md", set(documented) and set(documented) <= set(seen),
          sorted(set(documented) - set(seen)))
    for row in sorted(set(seen) & set(documented)):
        have, want = seen[row], documented[row]
        each = [max(1, r["programs"] / len([m for m in MOMENTS if m in r])) for r in (have, want)]
        for moment in MOMENTS:
            if moment in want and moment in have:
                chance = sum(deviation(want[moment], n) ** 2 for n in each) ** 0.5
                check("%s, %s: %s" % (row + (moment,)), have[moment] >= want[moment] - 3 * chance,
                      "%.1f %% right, documented %.1f %%" % (have[moment], want[moment]))
        shares = [100 * r["proven, wrong"] / r["programs"] for r in (have, want)]
        chance = sum(deviation(shares[1], r["programs"]) ** 2 for r in (have, want)) ** 0.5
        check("%s, %s: proven, wrong" % row, shares[0] <= shares[1] + 3 * chance, shares)
