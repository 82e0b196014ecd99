"""What libtrace.so had a program open, told from what the program opens anyway."""


def more_of_ours(seen, without, library, places):
    """The paths opened with libtrace.so and not without it that are traces, or lie in one of our places: the sources, the
    job's folder.  An image may lie there too, and is opened both times."""
    inside = tuple(place.rstrip("/") + "/" for place in places)
    return sorted(p for p in set(seen) - set(without) - {library} if p.endswith(".hpctop") or p.startswith(inside))
