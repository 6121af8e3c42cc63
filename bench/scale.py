"""Measures how cost grows, and prints it as markdown tables. `bench/scale` calls it; bench/README.md says what is measured."""
import datetime
import json
import os
import platform
import sys

import many_runs
import one_run
import postgres
from table import number, scaled

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "out")
SHAPES = [("9x10", 100), ("9x10x10", 1_000), ("9x10x10x10", 10_000), ("9x10x10x10x10", 100_000)]
# Runs, and how many of them at once.
RUNS = [(20, 1), (100, 100), (1_000, 1_000), (10_000, 1_000)]
STREAMS = [100, 1_000, 10_000]


class Record:
    """Every measured line, in memory and in bench/out."""

    def __init__(self):
        os.makedirs(OUT, exist_ok=True)
        self.lines, self.failed = [], {}
        self.file = open(os.path.join(OUT, "scale.jsonl"), "w")

    def measure(self, what, function, *arguments):
        print(what, file=sys.stderr, flush=True)
        try:
            found = function(*arguments)
        except (RuntimeError, OSError) as error:
            self.failed[what] = str(error)
            return print(f"  left out: {error}", file=sys.stderr, flush=True)
        for line in found if isinstance(found, list) else [found]:
            self.lines.append(line)
            self.file.write(json.dumps(line) + "\n")
            self.file.flush()

    def of(self, test, **wanted):
        return [line for line in self.lines if line["test"] == test and all(line.get(name) == value for name, value in wanted.items())]


def main(flags):
    less = 10 if "--quick" in flags else 1
    record = Record()
    for runs, at_once in RUNS[:3] if less > 1 else RUNS:
        record.measure(f"{runs} runs, {at_once} at once", many_runs.finished, runs, at_once)
    record.measure("streams", many_runs.streams, [count // less for count in STREAMS])
    crowd = (10_000 // less, 1_000 // less, 10_000 // less, 60 // less, 5_000 // less)
    record.measure(f"{crowd[0]:,} runs in the queue, {crowd[1]:,} running, {crowd[2]:,} streams", many_runs.crowd, *crowd)
    for shape, nodes in SHAPES[:3] if less > 1 else SHAPES:
        record.measure(f"one run of {nodes:,} nodes, alone", one_run.alone, shape)
        record.measure(f"one run of {nodes:,} nodes, served", one_run.grown, shape, nodes)
        if postgres.there() and nodes <= 10_000:
            record.measure(f"one run of {nodes:,} nodes, PostgreSQL", one_run.on_postgres, shape)
    text = "\n".join(render(record)) + "\n"
    with open(os.path.join(OUT, "scale.md"), "w") as file:
        file.write(text)
    print(text)


def render(record):
    yield f"{datetime.date.today():%-d %B %Y}, {os.cpu_count()} cores, {platform.machine()}, load {loads(record)}."
    for rows in (alone, served, reads, restarts, finished, streams, crowds):
        yield from ["", *rows(record)]
    yield from ["", *(f"Left out: {what}: {why}" for what, why in record.failed.items())]


def loads(record):
    found = [load for line in record.lines for load in [line.get("load"), line.get("working", {}).get("load")] if load is not None]
    return f"{min(found):.1f} to {max(found):.1f}" if found else "unknown"


def table(titles, rows):
    yield "| " + " | ".join(titles) + " |"
    yield "|---" * len(titles) + "|"
    for row in rows:
        yield "| " + " | ".join(cell if isinstance(cell, str) else number(cell) for cell in row) + " |"


def alone(record):
    yield "One run on a model in the process that answers at once:\n"
    titles = ["nodes", "database", "nodes/s", "processor ms/node", "events", "fold us/event", "fold s", "peak MB", "file MB", "KB/node at rest", "KB/node sent to the disk"]
    yield from table(titles, ([line["nodes"], line["peer"].removeprefix("pleach-"), line["nodes_s"], line["cpu_ms_node"], line["events"], line["fold_us_event"], line["fold_us_event"] * line["events"] / 1e6,
                               line["rss_mb"], line["db_bytes_node"] * line["nodes"] / 1e6, line["db_bytes_node"] / 1e3, scaled(line["wbytes"], 1e-3 / line["nodes"])]
                              for line in record.of("alone")))


def served(record):
    yield "The same in `pleach up`, with the model behind HTTP:\n"
    titles = ["nodes", "wall s", "processor ms/node", "events/commit", "peak MB", "checkpoints", "MB of checkpoints"]
    yield from table(titles, ([line["nodes"], line["wall_s"], line["cpu_s"] * 1e3 / line["nodes"], line["events"] / line["commits"], line["peak_mb"], line["checkpoints"], line["checkpoints_mb"]]
                              for line in record.of("one run")))


def reads(record):
    yield "Reading it: processor ms (wall ms, KB):\n"
    names = [name for name, _ in one_run.READS] + ["first snapshot"]
    yield from table(["nodes", *names, "peak MB after that"], ([line["nodes"], *(read(line[name]) for name in names), line["peak_read_mb"]] for line in record.of("one run")))


def read(one):
    return f"{number(one['cpu_ms'])} ({number(one['wall_ms'])}, {number(one['kb'])})"


def restarts(record):
    yield "`kill -9` before its last call, and a start:\n"
    titles = ["nodes", "s to ready", "s to the resumed call", "processor s", "peak MB"]
    yield from table(titles, ([line["nodes"], line["ready_s"], line["resumed_s"], line["restart_cpu_s"], line["restart_peak_mb"]] for line in record.of("one run")))


def finished(record):
    yield "Runs of 16 calls on the model in the process, and then the API on the database they left (processor ms, in brackets wall ms and KB):\n"
    names = ["list", "search", "run object", "metrics"]
    titles = ["runs", "at once", "calls/s", "processor ms/call", "peak MB", "KB/call at rest", "KB/call sent", *names, "s to ready"]
    yield from table(titles, ([line["runs"], line["conc"], line["calls_s"], line["cpu_ms_node"], line["rss_mb"], line["db_bytes_node"] / 1e3, line["wbytes"] / line["nodes"] / 1e3,
                               *(read(line[name]) for name in names), line["ready_s"]] for line in record.of("finished")))


def streams(record):
    yield "Streams of one run in which nothing happens:\n"
    yield from table(["streams", "memory MB"], ([line["streams"], line["memory_mb"]] for line in record.of("streams")))


def crowds(record):
    for line in record.of("crowd"):
        yield f"{line['queued']:,} runs in the queue, {line['running']:,} running at once on a model that takes {line['pace_ms'] / 1e3:g} s for an answer, then {line['streams']:,} streams of the running ones:\n"
        titles = ["", "commits/s", "events/s", "cores used", "memory MB", "list p50, p99 ms", "run object p50, p99 ms", "empty list p50, p99 ms", "load"]
        yield from table(titles, ([name, one["commits_s"], one["events_s"], one["cores"], one["memory_mb"], *(f"{number(one[path]['p50_ms'])}, {number(one[path]['p99_ms'])}" for path in ("list", "run object", "empty list")), one["load"]]
                                  for name, one in (("without streams", line["working"]), ("with streams", line["streaming"]))))
        fair = line["fair"]
        yield ""
        yield (f"- Queueing those that could not start took {number(line['queueing_s'])} s ({number(line['queueing_cpu_ms'])} ms of processor time each, with the work of the running ones).")
        yield (f"- Another owner's {fair['bobs']} runs, queued when every place was taken, waited {number(fair['p50_s'])} s (p50) and {number(fair['max_s'])} s at most; "
               f"{fair['anns_meanwhile']} of the first owner's runs started in that time. That owner's longest wait until then was {number(fair['ann_longest_s'])} s.")
        yield (f"- After `kill -9` the server was ready in {number(line['ready_s'])} s and had taken up all runs in {number(line['taken_up_s'])} s, "
               f"with {number(line['restart_cpu_s'])} s of processor time and {number(line['restart_mb'])} MB at most.")


if __name__ == "__main__":
    main(sys.argv[1:])
