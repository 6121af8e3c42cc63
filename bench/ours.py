"""The measurements of Pleach itself."""
import os
import shutil
import signal
import sqlite3
import subprocess
import time

import postgres
import process

BIN = os.environ["PLEACH_BENCH_BIN"]
SCRATCH = os.environ["PLEACH_BENCH_SCRATCH"]
PLEACH = os.path.join(BIN, "pleach")
OBJECTIVE = "Plan a vegetable garden for a family of four"


def fresh_directory(name):
    path = os.path.join(SCRATCH, name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path, mode=0o700)
    return path


def environment(data):
    """An environment without the caller's configuration, with the given data directory."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PLEACH_", "OPENAI_", "ANTHROPIC_"))}
    return kept | {"PLEACH_DATA_DIR": data, "XDG_CONFIG_HOME": data, "NO_COLOR": "1"}


def _bench(database, runs, at_once, calls, reading, extra=()):
    flags = ["--runs", str(runs), "--at-once", str(at_once), "--calls", str(calls), *(["--reading"] if reading else []), *extra]
    return [os.path.join(BIN, "bench"), *flags, "--database", database]


def on_sqlite(runs, at_once=1, calls=16, reading=False):
    path = os.path.join(fresh_directory("sqlite"), "pleach.db")
    found = process.line(_bench(path, runs, at_once, calls, reading))
    # The database also has the warm-up run.
    found["rows_per_node"] = sqlite_rows(path) / ((runs + 1) * calls)
    found["db_bytes_node"] = os.path.getsize(path) / ((runs + 1) * calls)
    return found


def sqlite_rows(path):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    names = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
    count = sum(database.execute(f'select count(*) from "{name}"').fetchone()[0] for name in names)
    database.close()
    return count


def tree(shape, runs=1, at_once=1):
    """Trees of the shapes that the peers run. Figures are per node of the tree."""
    path = os.path.join(fresh_directory("sqlite"), "pleach.db")
    found = process.line(_tree(path, shape, runs, at_once), timeout=900)
    # The database also has the warm-up run, unless the tree has more than 200 nodes (WARM_UP in bench/main.rs).
    played = found["nodes"] * (runs + (found["nodes"] / runs <= 200)) / runs
    return found | {"rows_per_node": sqlite_rows(path) / played, "db_bytes_node": os.path.getsize(path) / played, "wbytes_node": found["wbytes"] / found["nodes"]}


def _tree(database, shape, runs, at_once):
    return [os.path.join(BIN, "bench"), "--tree", shape, "--runs", str(runs), "--at-once", str(at_once), "--database", database]


def tree_growth(shape):
    return tree(shape) | {"test": "tree growth"}


def tree_syncs(shape, runs, at_once=1):
    """Syncs per run, exact for the same reason as in syncs_on_sqlite."""
    def count(number):
        path = os.path.join(fresh_directory("sqlite"), "pleach.db")
        return process.syncs([*_tree(path, shape, number, at_once), path])[0]
    per_run = (count(2 * runs) - count(runs)) / runs
    return {"test": "tree syncs", "peer": "pleach-sqlite", "shape": shape, "conc": at_once, "syncs_per_run": per_run}


def on_postgres(runs, at_once=1, calls=16, reading=False):
    url, server = postgres.fresh(), postgres.postmaster()
    extra = ["--postmaster", str(server)] if server else []
    found = process.line(_bench(url, runs, at_once, calls, reading, extra))
    found["rows_per_node"] = postgres.rows(url) / ((runs + 1) * calls)
    return found


def append(push, seconds):
    """Sixteen writers. With `push`, a second store on the same database follows each of their runs."""
    url, server = postgres.fresh(), postgres.postmaster()
    extra = [*(["--push"] if push else []), *(["--postmaster", str(server)] if server else [])]
    return process.line([os.path.join(BIN, "bench"), "--append", str(seconds), *extra, "--database", url])


def syncs_on_sqlite(runs, at_once=1, reading=False):
    """Syncs per run. It is the difference between `runs` and twice as many, so the syncs of opening and closing cancel out."""
    def count(number):
        path = os.path.join(fresh_directory("sqlite"), "pleach.db")
        return process.syncs([*_bench(path, number, at_once, 16, reading), path])
    (few, few_writes), (many, many_writes) = count(runs), count(2 * runs)
    return _syncs("pleach-sqlite", at_once, reading, (many - few) / runs, pwrites_per_node=(many_writes - few_writes) / runs / 16)


def syncs_on_postgres(runs, at_once=1):
    def count(number):
        # Dropping a database removes its counts from the sum. So the old database is dropped before the first reading.
        postgres.fresh()
        before = postgres.counters()
        on_postgres(number, at_once)
        time.sleep(1.2)
        after = postgres.counters()
        return [b - a for a, b in zip(before, after)] if before and after else None
    few, many = count(runs), count(2 * runs)
    if not few or not many:
        raise RuntimeError("this version of PostgreSQL does not count the syncs of its write-ahead log")
    commits, written, syncs = ((b - a) / runs for a, b in zip(few, many))
    return _syncs("pleach-pg", at_once, False, syncs, commits_per_run=commits, wal_bytes_per_node=written / 16)


def _syncs(peer, at_once, reading, per_run, **more):
    shape = "16 calls, reading" if reading else "16 calls"
    return {"test": "syncs", "peer": peer, "shape": shape, "conc": at_once, "syncs_per_run": per_run, "syncs_per_node": per_run / 16, **more}


def first_event():
    """Processor and wall time from exec until the process has ended, with a run durably queued: an upper bound."""
    data = fresh_directory("first")
    command = [PLEACH, "run", OBJECTIVE, "--model", "rehearsal/default", "--detach", "--json"]
    nothing, _ = process.cost(["/bin/true"], environment(data))
    created, created_wall = process.cost(command, environment(data))
    again, again_wall = process.cost(command, environment(data))
    return {"test": "first event", "peer": "pleach-sqlite", "cpu_ms": created, "wall_ms": created_wall,
            "cpu_ms_existing": again, "wall_ms_existing": again_wall, "cpu_ms_of_nothing": nothing}


def idle():
    data = fresh_directory("idle")
    up = subprocess.Popen([PLEACH, "up", "--listen", "127.0.0.1:0"], env=environment(data), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    peak = process.peak_rss_mb(up.pid)
    up.send_signal(signal.SIGTERM)
    up.wait(15)
    return {"test": "idle", "peer": "pleach-sqlite", "rss_mb": peak}


def growth(calls):
    found = on_sqlite(1, calls=calls)
    return found | {"test": "growth", "calls": calls, "wbytes_node": found["wbytes"] / calls}
