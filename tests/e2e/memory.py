# timeout: 300
"""Out of memory: whichever allocation of hpctop fails, it ends by itself: with 2, a line that says so and nothing half done, or with
0 and what it could read; watch with 1 where it says that what it could read does not tell.  Allocations are those that hpctop itself asks for; each run lets another one fail."""
import csv
import json
import os
import shutil

from common import BUILD, HPCTOP, check, end, run

FAIL = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
static unsigned long begin, end; /* of hpctop's code */
static long fails, *count;       /* the number of the one that fails; of those that were, in a file */

__attribute__((constructor)) static void start(void)
{
    char path[4096] = "", line[4400];
    int file = open(getenv("COUNT"), O_RDWR | O_CREAT, 0666);
    void *place = ftruncate(file, sizeof *count) == 0 ? mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long from, to;
    if (place == MAP_FAILED || readlink("/proc/self/exe", path, sizeof path - 1) < 1)
        _exit(99);
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && strstr(line, " r-xp ") && strstr(line, path)) {
            begin = from;
            end = to;
        }
    fclose(maps);
    close(file);
    fails = atol(getenv("FAIL_AT"));
    count = place;
}
static int fail(void *caller)
{
    return count && (unsigned long)caller >= begin && (unsigned long)caller < end && __sync_fetch_and_add(count, 1) == fails;
}
void *malloc(size_t n) { return fail(__builtin_return_address(0)) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fail(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return fail(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n); }
"""
SAYS = ("out of memory", "Cannot allocate memory", "no trace files", "there is no rank")  # files that are not read are said to be not there
COMMANDS = {
    "csv": ["export", "--format", "csv", "-o", "OUT", "job"],
    "perfetto": ["export", "--format", "perfetto", "-o", "OUT", "job"],
    "talp": ["export", "--format", "talp", "-o", "OUT", "job"],
    "report of ranks": ["report", "--json", "--ranks", "0-1", "-j", "2", "job"],
    "watch": ["watch", "--json", "job"],
    "metrics": ["metrics", "-o", "OUT", "job"],
}


def started(command, out, fails):
    """Runs it so that this allocation fails; none, if it is -1."""
    env = dict(os.environ, LD_PRELOAD=os.path.abspath("fail.so"), FAIL_AT=str(fails), COUNT="count")
    return run([HPCTOP] + [out if word == "OUT" else word for word in command], env)


def rows(table):
    with open(os.path.join("bad", table + ".csv"), newline="") as f:
        return list(csv.DictReader(f))


def is_whole(name):
    """Of what was written: a table of as many ranks as the job had."""
    return name != "csv" or len(rows("ranks")) == int(rows("job")[0]["ranks"])


def is_unknown(name, r):
    """Of a file that was not read as a whole the verdict is unknown, which is no success."""
    return name == "watch" and r.code == 1 and json.loads(r.out.splitlines()[-1])["verdict"] == "unknown"


def remove(path):
    shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.remove(path)


def hold(name, command):
    good = started(command, "good", -1)
    if not check("%s: with memory" % name, good.code == 0 and not good.err, good):
        return
    with open("count", "rb") as f:
        count = int.from_bytes(f.read(), "little")
    wrong, failed = [], 0
    os.remove("count")
    for k in range(count):
        r = started(command, "bad", k)
        left = [f for f in os.listdir(".") if f.startswith("bad")]
        told = r.code == 2 and not left and len(r.err.splitlines()) == 1 and any(word in r.err for word in SAYS)
        failed += told
        if not told and not (r.code == 0 and not r.err and is_whole(name)) and not is_unknown(name, r):
            wrong.append((k, r.code, r.err[-200:], left, r.out[-100:]))
        for place in left + ["count"]:
            remove(place)
    print("%s: %d allocations, %d runs said that memory is out" % (name, count, failed))
    check("%s: it ends by itself, and says so" % name, not wrong and failed, wrong)
    remove("good")


with open("fail.c", "w") as f:
    f.write(FAIL)
made = run(["gcc", "-O1", "-shared", "-fPIC", "-o", "fail.so", "fail.c", "-ldl"])
check("a library whose allocations fail", made.code == 0, made)
made = run([os.path.join(BUILD, "tests/many/many"), "--ranks", "3", "--hosts", "2", "--rounds", "5", "job"])
if check("a job", made.code == 0, made):
    for name, command in COMMANDS.items():
        hold(name, command)
end()
