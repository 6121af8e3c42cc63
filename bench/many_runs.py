"""Many runs in `pleach up`: a long queue, many running at once, many streams, and what the API, another owner and a restart feel of it.

The runs are homework on the rehearsal model, which takes `pace` for an answer. So the load is what so many runs of a model that
slow make, and does not depend on how fast the machine is, as long as it keeps up."""
import multiprocessing
import os
import selectors
import socket
import sqlite3
import threading
import time

import ours
import process
import sse
from served import Served, at, load

BRIEF = {"kind": "homework", "objective": ours.OBJECTIVE}
QUEUEING = 8


def finished(runs, at_once):
    """Runs of 16 calls on the model in the process, and then a server on the database that they left."""
    directory = ours.fresh_directory("sqlite")
    path = os.path.join(directory, "pleach.db")
    found = process.line(ours._bench(path, runs, at_once, 16, False), timeout=1800)
    found |= {"test": "finished", "db_bytes_node": os.path.getsize(path) / ((runs + 1) * 16)}
    server = Served({"PLEACH_DATA_DIR": directory})
    try:
        found["ready_s"] = server.restart()
        run = sse.json.load(server.open("/api/runs?limit=1"))["items"][0]["id"]
        paths = [("list", "/api/runs"), ("search", "/api/runs?q=vegetable"), ("run object", f"/api/runs/{run}"), ("metrics", "/metrics")]
        return found | {name: sse.asked(server, path) for name, path in paths}
    finally:
        server.close()


def streams(counts):
    """Memory of streams of one run in which nothing happens."""
    server = Served()
    try:
        run = server.target()
        found = [{"test": "streams", "streams": 0, "memory_mb": server.metrics()["process_resident_memory_bytes"] / 1e6}]
        for count in counts:
            readers = Readers(server, [run], count)
            found.append({"test": "streams", "streams": count, "memory_mb": server.metrics()["process_resident_memory_bytes"] / 1e6})
            readers.close()
        return found
    finally:
        server.close()


class Readers:
    """A process that reads so many streams, spread over the runs, and throws away what it reads."""

    def __init__(self, server, runs, count, token=None):
        self.received = multiprocessing.Value("q", 0)
        arguments = (server.port, token or server.token, runs, count, self.received)
        self.process = multiprocessing.Process(target=read_streams, args=arguments, daemon=True)
        self.process.start()
        began = time.perf_counter()
        while server.metrics()["pleach_streams"] < count:
            if time.perf_counter() - began > 120 or not self.process.is_alive():
                raise RuntimeError(f"{server.metrics()['pleach_streams']:.0f} of {count} streams are open after {time.perf_counter() - began:.0f} s")
            time.sleep(0.2)
        self.opened_s = time.perf_counter() - began

    def close(self):
        self.process.kill()
        self.process.join()


def read_streams(port, token, runs, count, received):
    selector = selectors.DefaultSelector()
    for nth in range(count):
        one = socket.create_connection(("127.0.0.1", port))
        head = f"GET /api/runs/{runs[nth % len(runs)]}/stream?after=0 HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n\r\n"
        one.sendall(head.encode())
        one.setblocking(False)
        selector.register(one, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            read = key.fileobj.recv(1 << 18)
            if not read:
                selector.unregister(key.fileobj)
            received.value += read.count(b"\nid: ")


def crowd(queued, running, count, seconds, pace):
    """Ann has nearly all of the queue. Bob comes later with a tenth of what can run at once."""
    server = Served({"PLEACH_WORKERS": str(running), "PLEACH_REHEARSAL_MS": str(pace)})
    readers = None
    try:
        for name in ("ann", "bob"):
            server.command("actor", "create", name)
        token = server.command("token", "create", "ann", "--scope", "run")
        figures = {"test": "crowd", "queued": queued, "running": running, "streams": count, "pace_ms": pace, "idle_mb": server.peak_mb()}
        # One run takes about seven answers. The first ones start one after the other over that time, so that the runs do not keep step.
        server.queue("ann", running, BRIEF, every=7 * pace / 1e3 / running)
        figures |= queue(server, queued - running)
        wait_until(lambda: status(server, "running") >= running * 0.98, 300, "too few runs are running")
        bobs = server.queue("bob", running // 10, BRIEF)
        # The last one belongs to somebody who has no runs.
        requests = {"list": ("/api/runs", token), "run object": (f"/api/runs/{working_for_ann(server)[0]}", token), "empty list": ("/api/runs", server.token)}
        figures["working"] = worked(server, requests, seconds)
        readers = Readers(server, working_for_ann(server), count, token)
        figures["streaming"] = worked(server, requests, seconds) | {"opened_s": readers.opened_s, "delivered": readers.received.value}
        wait_until(lambda: len(waits(server, "bob")) == len(bobs), 600, "bob's runs have not started")
        figures["fair"] = fairness(server)
        readers.close()
        return figures | taken_up(server, running)
    finally:
        if readers:
            readers.close()
        server.child.kill()
        server.close()


def queue(server, queued):
    """Starts the runs over several connections, as fast as they are taken."""
    failed = []

    def some():
        try:
            server.queue("ann", queued // QUEUEING, BRIEF)
        except Exception as error:
            failed.append(error)

    began, before = time.perf_counter(), server.metrics()["process_cpu_seconds_total"]
    threads = [threading.Thread(target=some) for _ in range(QUEUEING)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise RuntimeError(str(failed[0]))
    spent = server.metrics()["process_cpu_seconds_total"] - before
    return {"queueing_s": time.perf_counter() - began, "queueing_cpu_ms": spent * 1e3 / queued, "queued_mb": server.peak_mb()}


def worked(server, requests, seconds):
    """Latencies of the API for a while, and what the server did meanwhile."""
    before, began = server.metrics(), time.perf_counter()
    answers = server.latency(requests, seconds)
    after, wall = server.metrics(), time.perf_counter() - began

    def rate(name):
        return (after[name] - before[name]) / wall

    return answers | {"load": load(), "commits_s": rate("pleach_commits_total"), "events_s": rate("pleach_events_total"), "cores": rate("process_cpu_seconds_total"),
                      "memory_mb": after["process_resident_memory_bytes"] / 1e6, "running": status(server, "running")}


def taken_up(server, running):
    """Restarts the server, and waits until as many commits were made as there were runs: each is taken up with one."""
    working = status(server, "running")
    began = time.perf_counter()
    ready = server.restart()
    wait_until(lambda: server.metrics()["pleach_commits_total"] >= min(working, running), 120, "the runs were not taken up")
    return {"restart_load": load(), "ready_s": ready, "taken_up_s": time.perf_counter() - began,
            "restart_cpu_s": server.metrics()["process_cpu_seconds_total"], "restart_mb": server.peak_mb()}


def status(server, name):
    return server.metrics().get(f'pleach_runs{{kind="homework",status="{name}"}}', 0)


def wait_until(reached, seconds, otherwise):
    until = time.perf_counter() + seconds
    while not reached():
        if time.perf_counter() > until:
            raise RuntimeError(f"{otherwise} after {seconds} s")
        time.sleep(0.5)


def rows(server, statement, *values):
    database = sqlite3.connect(f"file:{os.path.join(server.data, 'pleach.db')}?mode=ro", uri=True)
    found = database.execute(statement, values).fetchall()
    database.close()
    return found


def working_for_ann(server):
    found = "select id from homework_runs where status = 'running' and owner = (select id from actors where handle = 'ann') order by started_at desc"
    return [run for (run,) in rows(server, found)]


def waits(server, owner):
    """When each run of an owner that has started was queued and started, in the order of starting."""
    found = "select created_at, started_at from homework_runs where started_at is not null and owner = (select id from actors where handle = ?) order by started_at"
    return rows(server, found, owner)


def fairness(server):
    bobs, anns = waits(server, "bob"), waits(server, "ann")
    queued, last = max(row[0] for row in bobs), max(row[1] for row in bobs)
    waited = [(row[1] - row[0]) / 1e3 for row in bobs]
    passed = sum(queued < row[1] < last for row in anns)
    longest = max((row[1] - row[0]) / 1e3 for row in anns)
    return {"bobs": len(bobs), "p50_s": at(waited, 0.5), "max_s": max(waited), "anns_meanwhile": passed, "ann_longest_s": longest}
