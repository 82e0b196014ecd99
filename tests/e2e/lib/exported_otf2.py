"""Reads an OTF2 archive by the Python module of the OTF2 library, and prints it as exported.py wants it.  A program: it runs
in a Python that has the module.  Bytes are by call where the record lies in it: those of requests are told by Wait."""
import json
import sys

import otf2
from otf2.events import Enter, Leave, MpiCollectiveEnd, MpiIrecv, MpiIsend, MpiIsendComplete, MpiRecv, MpiSend, NonBlockingCollectiveComplete


def rank_of(location):
    return int(location.group.name.split()[1])


class Reader:
    def __init__(self):
        self.open, self.last = {}, {}
        self.found = {"calls": {}, "times": {}, "pairs": {}, "collectives": {}, "job": {}, "wrong": [], "sent": 0, "received": 0,
                      "received_pairs": {}, "polled": {}, "streams": 0, "begun": 0, "completed": 0, "regions": {}}

    def attribute(self, event, name):
        for key, value in (event.attributes or {}).items():
            if key.name == name:
                return value
        return None

    def enter(self, location, event):
        region = event.region
        self.open.setdefault(location, []).append((region, event.time, self.attribute(event, "calls")))
        if region.paradigm == otf2.Paradigm.USER:
            self.found["regions"][region.name] = self.found["regions"].get(region.name, 0) + 1
        elif region.paradigm == otf2.Paradigm.MPI or region.name.startswith("nccl"):
            of = self.found["calls"].setdefault(region.name, [0, 0, 0])
            of[0] += self.attribute(event, "calls") or 1
            self.count(self.attribute(event, "bytes sent") or 0, self.attribute(event, "bytes received") or 0)

    def count(self, sent, received):
        self.found["sent"] += sent
        self.found["received"] += received

    def leave(self, location, event):
        if not self.open.get(location) or self.open[location][-1][0] != event.region:
            self.found["wrong"].append("%s is left at %d, but not the last to be entered" % (event.region.name, event.time))
            return
        region, begin, calls = self.open[location].pop()
        if calls:  # polls lie side by side in it, with the time between them
            self.found["polled"][region.name] = True
        else:
            self.found["times"][region.name] = self.found["times"].get(region.name, 0) + (event.time - begin) / 1e9

    def message(self, pairs, source, destination, length):
        pair = self.found[pairs].setdefault("%d %d" % (source, destination), [0, 0])
        pair[0] += 1
        pair[1] += length

    def event(self, location, event):
        rank = rank_of(location) if location.group.location_group_type == otf2.LocationGroupType.PROCESS else -1
        if event.time < self.last.get(location, 0):
            self.found["wrong"].append("time goes back on %s" % location.name)
        self.last[location] = event.time
        if isinstance(event, Enter):
            self.enter(location, event)
        elif isinstance(event, Leave):
            self.leave(location, event)
        elif isinstance(event, (MpiSend, MpiIsend)):
            self.message("pairs", rank, rank_of(event.communicator.location(event.receiver)), event.msg_length)
            self.count(event.msg_length, 0)
            self.found["begun"] += isinstance(event, MpiIsend)
        elif isinstance(event, MpiIsendComplete):
            self.found["completed"] += 1
        elif isinstance(event, (MpiRecv, MpiIrecv)):
            self.message("received_pairs", rank_of(event.communicator.location(event.sender)), rank, event.msg_length)
            self.count(0, event.msg_length)
        elif isinstance(event, (MpiCollectiveEnd, NonBlockingCollectiveComplete)):
            self.count(event.size_sent, event.size_received)


def main():
    reader = Reader()
    with otf2.reader.open(sys.argv[1]) as trace:
        for location, event in trace.events:
            reader.event(location, event)
        reader.found["streams"] = len([x for x in trace.definitions.locations if x.type == otf2.LocationType.ACCELERATOR_STREAM])
    left = [calls[0][0].name for calls in reader.open.values() if calls]
    if left:
        reader.found["wrong"].append("entered and never left: %s" % left)
    json.dump(reader.found, sys.stdout)


main()
