"""The PostgreSQL server of this benchmark: fresh databases on it, and what it counts itself."""
import glob
import os
import shutil
import subprocess

URL = os.environ.get("PLEACH_TEST_POSTGRES")
COUNTERS = "select (select sum(xact_commit) from pg_stat_database), wal_bytes, wal_sync from pg_stat_wal"
ROWS = """select coalesce(sum((xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %I', tablename), false, true, '')))[1]::text::bigint), 0)
from pg_tables where schemaname = 'public'"""


def _psql():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/psql"), reverse=True)
    return found[0] if found else shutil.which("psql")


def ask(statement, url=None):
    done = subprocess.run([_psql(), url or URL, "-AtX", "-c", statement], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return done.stdout.strip()


def there():
    return bool(URL and _psql())


def fresh(name="pleach_bench"):
    """The URL of an empty database."""
    ask(f"drop database if exists {name} with (force)")
    ask(f"create database {name}")
    return URL.rsplit("/", 1)[0] + "/" + name


def data_directory():
    return ask("show data_directory")


def postmaster():
    """The server's process, when it is on this machine."""
    try:
        with open(os.path.join(data_directory(), "postmaster.pid")) as file:
            return int(file.readline())
    except (OSError, RuntimeError, ValueError):
        return None


def counters():
    """Commits, bytes and syncs of the log since the server began; None where this version does not count them."""
    try:
        ask("select pg_stat_force_next_flush()")
        commits, written, syncs = ask(COUNTERS).split("|")
        return float(commits), float(written), float(syncs)
    except (RuntimeError, ValueError):
        return None


def rows(url):
    return int(ask(ROWS, url))
