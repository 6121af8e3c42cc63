"""The PostgreSQL server of the benchmark: new databases, and the counters of the server itself."""
import glob
import os
import re
import shutil
import subprocess

URL = os.environ.get("PLEACH_TEST_POSTGRES")
COUNTERS = "select (select sum(xact_commit) from pg_stat_database), wal_bytes, wal_sync from pg_stat_wal"
ROWS = """select coalesce(sum((xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %I', tablename), false, true, '')))[1]::text::bigint), 0)
from pg_tables where schemaname = 'public'"""


# The simplest event log: each event is one transaction, which takes the next seq from the run's row.
SINGLE = """\\set run random(1, 1000)
with head as (update heads set seq = seq + 1 where run = :run returning seq), put as (insert into events
select :run, seq, jsonb_build_object('type', 'run.message.received', 'text', repeat('x', 320)) from head returning seq)
select {tell} from put;
"""


def _tool(name):
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)
    return found[0] if found else shutil.which(name)


def ask(statement, url=None):
    done = subprocess.run([_tool("psql"), url or URL, "-AtX", "-c", statement], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return done.stdout.strip()


def there():
    return bool(URL and _tool("psql"))


def fresh(name="pleach_bench"):
    """Creates an empty database and returns its URL."""
    ask(f"drop database if exists {name} with (force)")
    ask(f"create database {name}")
    return URL.rsplit("/", 1)[0] + "/" + name


def data_directory():
    return ask("show data_directory")


def postmaster():
    """The process id of the server, if it runs on this machine."""
    try:
        with open(os.path.join(data_directory(), "postmaster.pid")) as file:
            return int(file.readline())
    except (OSError, RuntimeError, ValueError):
        return None


def counters():
    """Commits, and bytes and syncs of the write-ahead log since the server started. None if this version does not count them."""
    try:
        ask("select pg_stat_force_next_flush()")
        commits, written, syncs = ask(COUNTERS).split("|")
        return float(commits), float(written), float(syncs)
    except (RuntimeError, ValueError):
        return None


def rows(url):
    return int(ask(ROWS, url))


def single_rows(notify, seconds):
    """PostgreSQL without Pleach: sixteen clients, each with one event per transaction, with or without NOTIFY in the transaction."""
    if not _tool("pgbench"):
        raise RuntimeError("pgbench is not installed")
    url = fresh()
    ask("create table heads (run int primary key, seq bigint not null) with (fillfactor = 50); insert into heads select n, 0 from generate_series(1, 1000) n; "
        "create table events (run int, seq bigint, payload jsonb, primary key (run, seq))", url)
    script = SINGLE.format(tell="pg_notify('events', seq::text)" if notify else "seq")
    done = subprocess.run([_tool("pgbench"), "-n", "-M", "prepared", "-f", "/dev/stdin", "-c", "16", "-j", "1", "-T", str(seconds), url],
                          input=script, capture_output=True, text=True, timeout=seconds + 60)
    found = re.search(r"^tps = ([0-9.]+)", done.stdout, re.M)
    if not found:
        raise RuntimeError(done.stderr.strip() or "pgbench printed no result")
    return {"test": "append", "peer": "pgbench", "push": notify, "writers": 16, "together": 1, "events_s": float(found.group(1))}
