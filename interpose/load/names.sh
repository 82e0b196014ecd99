#!/bin/sh
# Prints, as C, the table that load/names.c includes: the names that slots are searched for, and their hash.
# Usage: names.sh prefix=MPI_ calls_p2p.def .. prefix=nccl nccl_calls.def .. > names.inc
# The files behind a prefix are one table (enum ipo_names, in this order); each line `MACRO(arity, name, ..)` or
# `MACRO(name, ..)` is a row.
# names.h has the same hash and the same test of the first two bytes.
set -eu
awk '
    function code(c) { return c == "_" ? 127 : ordinal[tolower(c)] } # the letter with bit 5 set: small and capital are one
    function allow(name) { pair[(code(substr(name, 1, 1)) * 11 + code(substr(name, 2, 1))) % 256] = 1 }
    function enter(text,    hash, i) {
        for (i = 1; i <= length(text); i++)
            hash = (hash * 33 + code(substr(text, i, 1))) % 65536
        for (hash %= buckets; hash in bucket; hash = (hash + 1) % buckets)
            ;
        bucket[hash] = ++n
        allow(text)
    }
    BEGIN {
        buckets = 2048
        for (i = 1; i < 128; i++)
            ordinal[sprintf("%c", i)] = i
    }
    FNR == 1 && (!tables || prefix != prefixes[tables]) {
        prefixes[++tables] = prefix
        first[tables] = n + 0
        if (prefix) { allow(prefix); allow("P" prefix) }
    }
    /^ *(CALL|NCCL|NCCL_ID|NCCL_ASYNC|ASK|LIBC)\(/ {
        sub(/^[^(]*\(([0-9]+, *)?/, "")
        match($0, /^[A-Za-z0-9_]+/)
        text = prefix substr($0, 1, RLENGTH)
        enter(text)
        printf "%s{%d, %d}, /* %s */\n", n == 1 ? "static const struct entry entries[] = {\n" : "", tables - 1, at, text
        pool = pool "    \"" text "\\0\"\n"
        at += length(text) + 1
    }
    END {
        print "};\nstatic const char pool[] =\n" pool ";"
        print "#define BUCKETS " buckets "u\nstatic const uint16_t bucket[BUCKETS] = {"
        for (i = 0; i < buckets; i++)
            if (i in bucket)
                print "[" i "] = " bucket[i] ","
        print "};\nstatic const struct table tables[] = {"
        for (i = 1; i <= tables; i++)
            print "{\"" prefixes[i] "\", " first[i] "},"
        print "};\nconst uint8_t ipo_name_pairs[256] = {"
        for (i = 0; i < 256; i++)
            if (i in pair)
                print "[" i "] = 1,"
        print "};"
        exit n == 0 || n * 2 > buckets || at > 65535
    }' "$@"
