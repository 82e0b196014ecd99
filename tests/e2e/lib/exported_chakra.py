"""Reads a folder of Chakra's execution traces, by its description written down here, and prints what is in it as JSON.  A program:
it runs in a Python that has `protobuf`.  What must hold of any trace is checked here, too."""
import json
import os
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELD = descriptor_pb2.FieldDescriptorProto
TYPES = {"string": FIELD.TYPE_STRING, "uint64": FIELD.TYPE_UINT64, "int64": FIELD.TYPE_INT64, "int32": FIELD.TYPE_INT32, "bool": FIELD.TYPE_BOOL}
MESSAGES = {  # of schema/protobuf/et_def.proto, as far as hpctop writes it
    "AttributeProto": [("name", 1, "string"), ("int32_val", 7, "int32"), ("int64_val", 9, "int64"), ("uint64_val", 13, "uint64"),
                       ("bool_val", 27, "bool"), ("string_val", 29, "string")],
    "GlobalMetadata": [("version", 1, "string"), ("attr", 2, "*AttributeProto")],
    "Node": [("id", 1, "uint64"), ("name", 2, "string"), ("type", 3, "uint64"), ("ctrl_deps", 4, "*uint64"), ("data_deps", 5, "*uint64"),
             ("start_time_micros", 6, "uint64"), ("duration_micros", 7, "uint64"), ("attr", 10, "*AttributeProto")],
}
WORK, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7


def classes():
    file = descriptor_pb2.FileDescriptorProto(name="et.proto", package="et", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            one = message.field.add(name=field, number=number, label=FIELD.LABEL_REPEATED if kind[0] == "*" else FIELD.LABEL_OPTIONAL)
            kind = kind.lstrip("*")
            one.type = TYPES.get(kind, FIELD.TYPE_MESSAGE)
            if kind not in TYPES:
                one.type_name = ".et." + kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    make = getattr(message_factory, "GetMessageClass", None) or message_factory.MessageFactory(pool).GetPrototype
    return [make(pool.FindMessageTypeByName("et." + name)) for name in ("GlobalMetadata", "Node")]


def records(path):
    """The bytes of each message: its length stands before it, seven bits a byte."""
    with open(path, "rb") as f:
        data = f.read()
    at = 0
    while at < len(data):
        length = shift = 0
        while True:
            byte = data[at]
            at += 1
            length |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                break
        yield data[at:at + length]
        at += length


def attributes(node):
    return {a.name: getattr(a, next(f.name for f, _ in a.ListFields() if f.name != "name")) if len(a.ListFields()) > 1 else 0 for a in node.attr}


def read(folder):
    metadata, node_class = classes()
    found = {"pairs": {}, "received": {}, "collectives": {}, "beside": {}, "work_micros": 0, "ranks": 0, "wrong": []}
    for name in sorted(os.listdir(folder)):
        rank, seen, ordered, last, open_nodes = int(name.split(".")[1]), set(), False, None, set()
        parts = list(records(os.path.join(folder, name)))
        head = metadata.FromString(parts[0])
        found["ranks"] += 1
        if not head.version or attributes(head)["rank"] != rank:
            found["wrong"].append("%s: head %s" % (name, head))
        for part in parts[1:]:
            node = node_class.FromString(part)
            if node.id in seen or not set(node.data_deps) <= seen or ordered and not node.data_deps:
                found["wrong"].append("%s: node %d after %s" % (name, node.id, list(node.data_deps)[:5]))
            seen.add(node.id)
            open_nodes -= set(node.data_deps)
            if last and last.type == COLLECTIVE and last.id not in node.data_deps:  # only started
                found["beside"][last.name] = found["beside"].get(last.name, 0) + 1
                open_nodes.add(last.id)
            last = node
            ordered |= node.type == WORK  # all that follow come after it
            values = attributes(node)
            if node.type in (SEND, RECEIVE):
                pair = found["pairs" if node.type == SEND else "received"].setdefault("%d %d" % (values["comm_src"], values["comm_dst"]), [0, 0])
                pair[0] += 1
                pair[1] += values["comm_size"] if node.type == SEND else 0
                if rank != values["comm_src" if node.type == SEND else "comm_dst"]:
                    found["wrong"].append("%s: a message of others" % name)
            elif node.type == COLLECTIVE:
                found["collectives"][node.name] = found["collectives"].get(node.name, 0) + 1
            found["work_micros"] += node.duration_micros
        if len(open_nodes) > 1:  # whatever was waited for last may have nothing behind it
            found["wrong"].append("%s: nobody waits for %s" % (name, sorted(open_nodes)[:5]))
    return found


json.dump(read(sys.argv[1]), sys.stdout)
