"""Reads an export by the Python package `perfetto` (which has Perfetto's own description of its format), and prints it as
exported.py wants it.  A program: it runs in a Python that has the package."""
import json
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2

NESTED = ("nested", "device", "region", "collective", "message", "part")


class Reader:
    def __init__(self):
        self.interned = {"event_categories": {}, "event_names": {}, "debug_annotation_names": {}, "debug_annotation_string_values": {}}
        self.parent, self.process, self.open, self.flows = {}, {}, {}, {}
        self.found = {"calls": {}, "times": {}, "pairs": {}, "collectives": {}, "job": {}, "wrong": [], "tracks": []}

    def rank_of(self, track):
        """Of the process that the track is below."""
        while track not in self.process and track in self.parent:
            track = self.parent[track]
        return self.process.get(track, 0) - 1

    def annotations(self, event):
        values = {}
        for a in event.debug_annotations:
            kind = a.WhichOneof("value")
            value = getattr(a, kind)
            name = self.interned["debug_annotation_names"][a.name_iid]
            values[name] = self.interned["debug_annotation_string_values"][value] if kind == "string_value_iid" else value
        return values

    def call(self, event, category, values):
        name = self.interned["event_names"][event.name_iid]
        if category in NESTED and category != "part":
            return
        of = self.found["calls"].setdefault(name, [0, 0, 0])
        of[0] += values.get("calls", 1) if category != "part" else 0
        of[1] += values.get("bytes_sent", 0)
        of[2] += values.get("bytes_received", 0)

    def message(self, event, values):
        rank = self.rank_of(event.track_uuid)
        for flow in event.flow_ids:
            self.flows[flow] = rank
        for flow in event.terminating_flow_ids:
            pair = self.found["pairs"].setdefault("%d %d" % (self.flows.pop(flow), rank), [0, 0])
            pair[0] += 1
            pair[1] += values["bytes"]

    def end_slice(self, track, at):
        if not self.open.get(track):
            self.found["wrong"].append("a slice ends that did not begin, at %d" % at)
            return
        name, category, begin, values = self.open[track].pop()
        if category not in NESTED:
            took = values.get("busy_ns", at - begin) / 1e9
            self.found["times"][name] = self.found["times"].get(name, 0) + took

    def event(self, event, at):
        category = self.interned["event_categories"].get(event.category_iids[0]) if event.category_iids else None
        values, track = self.annotations(event), event.track_uuid
        if event.type == event.TYPE_SLICE_END:
            self.end_slice(track, at)
        elif event.type == event.TYPE_COUNTER or category == "region" and event.type != event.TYPE_SLICE_BEGIN:
            return
        elif category == "message":
            self.message(event, values)
        elif category == "collective":
            if values["ranks"] > 1:
                name = self.interned["event_names"][event.name_iid]
                self.found["collectives"][name] = self.found["collectives"].get(name, 0) + 1
        elif category is None:
            self.found["job"].update(values)
        else:
            self.call(event, category, values)
        if event.type == event.TYPE_SLICE_BEGIN:
            self.open.setdefault(track, []).append((self.interned["event_names"][event.name_iid], category, at, values))

    def packet(self, packet):
        for kind, known in self.interned.items():
            for entry in getattr(packet.interned_data, kind):
                text = getattr(entry, "name", None) or getattr(entry, "str", b"")
                known[entry.iid] = text.decode() if isinstance(text, bytes) else text
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            self.parent[track.uuid] = track.parent_uuid
            self.found["tracks"].append(track.process.process_name or track.name)
            if track.HasField("process"):
                self.process[track.uuid] = track.process.pid
        return packet.HasField("track_event")


def main():
    trace = perfetto_trace_pb2.Trace()
    with open(sys.argv[1], "rb") as f:
        trace.ParseFromString(f.read())
    reader = Reader()
    events = [p for p in trace.packet if reader.packet(p)]
    for p in sorted(events, key=lambda p: p.timestamp):  # those of one time stay as they are in the file
        reader.event(p.track_event, p.timestamp)
    if any(reader.open.values()):
        reader.found["wrong"].append("slices without an end: %s" % [s for s in reader.open.values() if s][:3])
    if reader.flows:
        reader.found["wrong"].append("%d flows without an end" % len(reader.flows))
    json.dump(reader.found, sys.stdout)


main()
