"""Numbers that a report has in several places must agree: accounts, waits, calls, prices and efficiencies."""


def accounts(rows):
    return {row["account"]: row["seconds"] for row in rows or []}


def added(many):
    sums = {}
    for one in many:
        for name, seconds in accounts(one).items():
            sums[name] = sums.get(name, 0) + seconds
    return sums


def differing(what, ours, theirs, slack):
    names = sorted(set(ours) | set(theirs))
    return ["%s: %s is %g and %g" % (what, name, ours.get(name, 0), theirs.get(name, 0)) for name in names
            if abs(ours.get(name, 0) - theirs.get(name, 0)) > slack]


def disagreements(report):
    """Sentences on all pairs of numbers of a report of the whole run that do not agree."""
    found = []
    sites, ranks, waits = report["sites"], report["ranks"], sum(row["lost_s"] for row in report["waits"])
    if report["accounts"]:
        all_of_it = accounts(report["accounts"])
        slack = 1e-6 + 1e-9 * sum(all_of_it.values())
        found += differing("accounts of the ranks", added(rank["accounts"] for rank in ranks), all_of_it, slack)
        found += differing("accounts of the nodes", added(node["accounts"] for node in report["nodes"]), all_of_it, slack)
        inside = [site["accounts"] for site in sites] + [report["outside_calls"]["accounts"]]
        found += differing("accounts of places and of the time outside", added(inside), all_of_it, 1e-3 * sum(all_of_it.values()))
    for name in ("waits_s", "delays_s"):
        if report[name] is not None:
            found += differing(name, {"all": report[name]}, {"all": waits}, 1e-6)
    if all(rank["waiting_s"] is not None for rank in ranks):  # a kernel that waits on the device is no time of its rank
        host = sum(row["lost_s"] for row in report["waits"] if row["kind"] != "late-on-device")
        found += differing("waits of ranks", {"all": sum(rank["waiting_s"] for rank in ranks)}, {"all": host}, 1e-6)
        found += differing("waits of calls", {"all": sum(call["waiting_s"] or 0 for call in report["calls"])}, {"all": host}, 1e-6)
    for call in report["calls"]:
        alone = [site for site in sites if site["call"] == call["name"]]
        if len(alone) == 1 and alone[0]["calls"] == call["calls"]:
            names = ("p50_s", "p99_s", "max_s")
            found += differing("percentiles of " + call["name"], {n: alone[0][n] or 0 for n in names}, {n: call[n] or 0 for n in names}, 0)
    counted = all(rank["calls"] is not None for rank in ranks)  # else a file is cut off: its counters are unknown, not its events
    if counted and not report["job"]["lost_records"] and not report["job"]["recycled_records"]:
        for key, slack in (("calls", 0), ("time_s", 1e-5)):
            by_call = {}
            for site in sites:
                by_call[site["call"]] = by_call.get(site["call"], 0) + site[key]
            found += differing(key + " of places and of calls", by_call, {call["name"]: call[key] for call in report["calls"]}, slack)
    if counted:
        found += differing("calls of ranks and of calls", {"all": sum(rank["calls"] for rank in ranks)},
                           {"all": sum(call["calls"] for call in report["calls"])}, 0)
    found += ["price of %s: %g of %g s" % (price["call"], price["saves_s"], report["path_s"]) for price in report["prices"]
              if price["saves_s"] > report["path_s"] * (1 + 1e-9)]
    factors = [report["efficiency"][name] for name in ("load_balance", "communication", "processor")]
    if None not in factors[:2]:
        product = factors[0] * factors[1] * (1 if factors[2] is None else factors[2])
        found += differing("efficiency", {"parallel": report["efficiency"]["parallel"]}, {"parallel": product}, 1e-9)
    return found
