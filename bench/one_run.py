"""One run of many nodes in `pleach up`: what it costs to make it, to read it, and to take it up again after a kill."""
import os
import select
import sqlite3
import subprocess
import sys
import time

import ours
import postgres
import process
import sse
from served import Served, load

READS = [("run object", ""), ("page of 200 nodes", "/nodes"), ("page of 256 events", "/events"), ("snapshot", "/snapshot"), ("snapshot half-way", "/snapshot?at={half}")]


def grown(shape, nodes):
    """The run is held before its last call, so it is unfinished when the server is killed and must be folded by the next."""
    model = subprocess.Popen([sys.executable, sse.BENCH / "forest.py", shape], stdout=subprocess.PIPE, text=True)
    server = Served({"OPENAI_BASE_URL": model.stdout.readline().strip(), "PLEACH_MODEL": "openai/forest"})
    try:
        fans = [int(fan) for fan in shape.split("x")]
        budgets = {"max_nodes": nodes, "max_depth": len(fans), "max_steps_per_band": max(fans), "max_parallel": 64, "max_tokens": 10**10}
        before, began = server.metrics()["process_cpu_seconds_total"], time.perf_counter()
        run = server.post("/api/runs", {"kind": "tree", "objective": "Garden", "budgets": budgets})["id"]
        wait_for_the_last_call(model, server, 1800)
        wall = time.perf_counter() - began
        figures = {"test": "one run", "nodes": nodes, "load": load(), "wall_s": wall, "cpu_s": server.metrics()["process_cpu_seconds_total"] - before,
                   "peak_mb": server.peak_mb()}
        figures |= {"events": sse.json.load(server.open(f"/api/runs/{run}"))["last_seq"]} | stored(server.data)
        figures["first snapshot"] = first(server, f"/api/runs/{run}/snapshot?at={figures['events'] // 3}")
        for name, path in READS:
            figures[name] = sse.asked(server, f"/api/runs/{run}" + path.format(half=figures["events"] // 2), 5 if nodes > 10_000 else 20)
        figures["peak_read_mb"] = server.peak_mb()
        return figures | restarted(model, server)
    finally:
        server.child.kill()
        server.close()
        model.kill()


def first(server, path):
    """The first answer, for which the server must read a checkpoint and fold on from it. The next ones find the view in memory."""
    began, before = time.perf_counter(), sse.cpu_ms(server.child.pid)
    size = len(server.open(path).read())
    return {"cpu_ms": sse.cpu_ms(server.child.pid) - before, "wall_ms": (time.perf_counter() - began) * 1e3, "kb": size / 1e3}


def wait_for_the_last_call(model, server, seconds):
    until = time.perf_counter() + seconds
    while not select.select([model.stdout], [], [], 1)[0]:
        if server.child.poll() is not None or time.perf_counter() > until:
            raise RuntimeError(f"the last call was not made within {seconds} s")
    model.stdout.readline()


def stored(data):
    path = os.path.join(data, "pleach.db")
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    count, size = database.execute("select count(*), coalesce(sum(length(cast(body as blob))), 0) from run_checkpoints").fetchone()
    (commits,) = database.execute("select count(*) from run_commits").fetchone()
    database.close()
    return {"checkpoints": count, "checkpoints_mb": size / 1e6, "commits": commits}


def restarted(model, server):
    began = time.perf_counter()
    ready = server.restart()
    wait_for_the_last_call(model, server, 600)
    resumed = time.perf_counter() - began
    return {"ready_s": ready, "resumed_s": resumed, "restart_cpu_s": server.metrics()["process_cpu_seconds_total"], "restart_peak_mb": server.peak_mb()}


def alone(shape):
    """The same shape with a model in the process that answers at once: the cost of the product alone, and of folding the log."""
    return ours.tree(shape) | {"test": "alone"}


def on_postgres(shape):
    url, server = postgres.fresh(), postgres.postmaster()
    command = [os.path.join(ours.BIN, "bench"), "--tree", shape, "--runs", "1", "--database", url]
    found = process.line([*command, *(["--postmaster", str(server)] if server else [])], timeout=1800)
    postgres.ask("vacuum", url)
    # An empty database has 7 MB of its own.
    size = int(postgres.ask("select pg_database_size(current_database()) - pg_database_size('template1')", url))
    return found | {"test": "alone", "wbytes": None, "db_bytes_node": size / found["nodes"]}
