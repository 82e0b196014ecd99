"""Reads numbers and tables that hpctop prints for people: screens and the report."""
import re

PREFIX = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
SPAN = {"d": 86400, "h": 3600, "m": 60, "s": 1}
NUMBER = r"(?:≥|>=)?(?:–|-(?!\S)|<0\.1%|\d+m\d\ds|\d+h\d\dm|\d+d\d\dh|-?\d[\d.]*(?: [kMGTPE]?B(?:/s)?|[kMGTPE]?/s|[num]?s|%|[kMGTPE])?)"


ANY = object()  # a number that the report does not have


class Shown:
    """A number as far as its text tells it: all values from `low` to `high` look so; None is unknown."""

    def __init__(self, text):
        self.text, self.low, self.high = text, None, None
        text = text.lstrip("≥>=")
        if text in ("–", "-"):
            return
        if text == "<0.1%":
            self.low, self.high = 0, 0.0005
            return
        spans = re.fullmatch(r"(\d+)([dhm])(\d\d)([hms])", text)
        if spans:
            big, unit, small, least = spans.groups()
            value, half = int(big) * SPAN[unit] + int(small) * SPAN[least], SPAN[least] / 2 if least == "s" else SPAN[least]
        else:
            digits, unit = re.fullmatch(r"(-?[\d.]+) ?(.*)", text).groups()
            scale = 0.01 if unit == "%" else SECONDS[unit] if unit in SECONDS else PREFIX[re.sub("B?(/s)?$", "", unit)]
            value, half = float(digits) * scale, 0.5 * 10.0 ** -len(digits.partition(".")[2]) * scale
        slack = half * 1e-6 + 1e-9 * (unit in SECONDS)
        self.low, self.high = value - half - slack, value + half + slack

    def is_for(self, value):
        if value is ANY:
            return True
        if value is None or self.low is None:
            return value is None and self.low is None
        return self.low <= value <= self.high


def table(lines, titles, first=0):
    """The rows of the first table among the lines that has such titles, in this order, as dicts; a title with a blank before
    it is of text, all others are of numbers.  A screen may have no room for the last ones.  Returns None without a table."""
    for at in range(first, len(lines)):
        columns = place(lines[at], titles)
        if columns:
            return list(rows(lines[at + 1:], columns))
    return None


def place(line, titles):
    """Where the columns are: (title, its begin, its end); None if the line has not the first three."""
    columns, at = [], 0
    for title in titles:
        found = re.compile(r"(?<!\S)>?" + re.escape(title.strip()) + r"[▼▲]?(?!\S)").search(line, at)
        if not found:
            break
        begin = found.start() + (line[found.start()] == ">")
        columns.append((title + "2" * (title in [other[0] for other in columns]), begin, found.end()))  # another of this title
        at = found.end()
    return columns if len(columns) >= min(3, len(titles)) else None


def rows(lines, columns):
    for line in lines:
        line = line.replace(">", " ", 1) if line.startswith(">") else line
        row, begin = {}, 0
        if not line.strip():
            return
        for i, (title, left, right) in enumerate(columns):
            if title.startswith(" "):
                begin = left
                if i + 1 == len(columns) or columns[i + 1][0].startswith(" "):
                    row[title.strip()] = line[left:columns[i + 1][1] if i + 1 < len(columns) else None].strip()
                continue
            found = re.search(r"(?:^|(?<=\s))" + NUMBER + r"$", line[begin:right])
            if not found:
                return
            if i and columns[i - 1][0].startswith(" "):
                row[columns[i - 1][0].strip()] = line[begin:begin + found.start()].strip()
            row[title] = Shown(found.group())
            begin = right
        row["line"] = line.rstrip()
        yield row


def looks_like(shown, text):
    """Whether a cell is this text, or what is left of it where a column is too narrow for it."""
    if text is None:
        return shown in ("", "–", "-", "?")
    head, cut, tail = re.match(r"([^~…]*)([~…]?)(.*)", shown).groups()
    return text == shown if not cut else text.startswith(head) and text.endswith(tail)
