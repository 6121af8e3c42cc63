"""Runs all measurements, Pleach and the peers in turn. `bench/run` calls it after it has built the binaries."""
import json
import os
import shutil
import sys

import crash
import ours
import peers
import postgres
import table

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "out")


class Record:
    """Every measured line, in memory and in bench/out."""

    def __init__(self):
        os.makedirs(OUT, exist_ok=True)
        self.lines, self.failed = [], {}
        self.file = open(os.path.join(OUT, "figures.jsonl"), "w")

    def measure(self, what, function, *arguments, **options):
        say(what)
        try:
            found = function(*arguments, **options)
        except (RuntimeError, OSError) as error:
            self.failed[what] = str(error)
            return say(f"  left out: {error}")
        for line in found if isinstance(found, list) else [found]:
            self.lines.append(line)
            self.file.write(json.dumps(line) + "\n")
            self.file.flush()


def say(text):
    print(text, file=sys.stderr, flush=True)


def main(flags):
    quick = "--quick" in flags
    repetitions, runs = (3, 20) if quick else (5, 50)
    record = Record()
    others = None if "--no-peers" in flags else peers.Peers(say)
    for nth in range(1, repetitions + 1):
        in_turn(record, others, runs, quick, f"{nth}/{repetitions}")
    once(record, others, quick)
    missing = (others.missing if others else {}) | record.failed
    text = table.render(record.lines, missing)
    with open(os.path.join(OUT, "summary.md"), "w") as file:
        file.write(text)
    print(text)


def in_turn(record, others, runs, quick, nth):
    """One repetition. Pleach and the peers alternate, so that a change in the load of the machine affects all of them."""
    record.measure(f"{nth} pleach, SQLite, one run at a time", ours.on_sqlite, runs)
    for name, play in others.alone() if others else ():
        record.measure(f"{nth} {name}, one run at a time", play)
    record.measure(f"{nth} pleach, SQLite, trees of 3x4, one at a time", ours.tree, "3x4", runs)
    record.measure(f"{nth} pleach, SQLite, trees of 4^3, one at a time", ours.tree, "4x4x4", max(2, runs // 10))
    for name, play in others.deep() if others else ():
        record.measure(f"{nth} {name}, trees of 4^3, one at a time", play)
    record.measure(f"{nth} pleach, SQLite, 100 trees of 3x4 at once", ours.tree, "3x4", 100, 100)
    record.measure(f"{nth} pleach, SQLite, 100 runs at once", ours.on_sqlite, 100, 100)
    for name, play in others.hundred(quick) if others else ():
        record.measure(f"{nth} {name}, 100 runs at once", play)
    if postgres.there():
        record.measure(f"{nth} pleach, PostgreSQL, one run at a time", ours.on_postgres, runs)
        for name, play in others.alone_on_postgres() if others else ():
            record.measure(f"{nth} {name}, one run at a time", play)
        record.measure(f"{nth} pleach, PostgreSQL, 100 runs at once", ours.on_postgres, 100, 100)
        for push, how in ((False, "alone"), (True, "with push")):
            record.measure(f"{nth} pleach, PostgreSQL, 16 writers {how}", ours.append, push, 3)
            record.measure(f"{nth} PostgreSQL itself, 16 writers of single events {how}", postgres.single_rows, push, 3)
    record.measure(f"{nth} pleach, from exec to the first durable event", ours.first_event)
    record.measure(f"{nth} pleach, killed in the middle", crash.killed_at, 45)


def once(record, others, quick):
    """Counts that are the same every time, and measurements that take long."""
    if shutil.which("strace"):
        record.measure("syncs, SQLite, one run at a time", ours.syncs_on_sqlite, 5)
        record.measure("syncs, SQLite, trees of 3x4, one at a time", ours.tree_syncs, "3x4", 5)
        record.measure("syncs, SQLite, 100 trees of 3x4 at once", ours.tree_syncs, "3x4", 100, 100)
        record.measure("syncs, SQLite, planners that read", ours.syncs_on_sqlite, 5, reading=True)
        record.measure("syncs, SQLite, 100 runs at once", ours.syncs_on_sqlite, 100, 100)
        if others:
            record.measure("syncs of the peers", others.syncs)
    if postgres.there():
        record.measure("syncs, PostgreSQL, one run at a time", ours.syncs_on_postgres, 5)
        record.measure("syncs, PostgreSQL, 100 runs at once", ours.syncs_on_postgres, 100, 100)
    record.measure("idle", ours.idle)
    for calls in (200, 2_000):
        record.measure(f"one run of {calls} calls", ours.growth, calls)
    for shape, nodes in (("9x10", 100), ("9x10x10", 1_000), ("9x10x10x10", 10_000)):
        record.measure(f"one tree of {nodes} nodes", ours.tree_growth, shape)
    if others:
        record.measure("peers killed in the middle", others.recovery, 1 if quick else 3)


main(sys.argv[1:])
