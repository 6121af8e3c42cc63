"""The peers: other engines on the same kind of work. Their scripts run from a copy, because the originals are not ours to change."""
import os
import re
import shutil
import subprocess

import ours
import postgres
import process

SOURCE = os.environ.get("PLEACH_PEERS_BENCH", "")
HOME = os.path.join(ours.SCRATCH, "peers")
PYTHON = os.path.join(HOME, "venv", "bin", "python")
PACKAGES = ["langgraph", "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres", "dbos", "psycopg[binary,pool]", "aiohttp"]


class Peers:
    """The peers that could be installed. `missing` says why the others could not."""

    def __init__(self, say):
        self.missing, self.python, self.restate = {}, False, False
        if not os.path.isfile(os.path.join(SOURCE, "common.py")):
            self.missing["all peers"] = f"their scripts are not in {SOURCE or 'PLEACH_PEERS_BENCH'}"
            return
        self._copy()
        say("setting up the peers (minutes the first time)")
        self.python = self._set_up("LangGraph, DBOS", self._install_python)
        self.restate = self.python and self._set_up("Restate", self._install_restate)

    def _copy(self):
        shutil.copytree(SOURCE, HOME, dirs_exist_ok=True, copy_function=shutil.copyfile)
        for name in ("netns.sh", "count_syncs.sh"):
            os.chmod(os.path.join(HOME, name), 0o755)
        os.makedirs(os.path.join(HOME, "data"), exist_ok=True)
        # The script starts the server of Restate in another directory, so the path must be absolute.
        _adapt("peer_restate.py", "'./npm/node_modules", f"'{HOME}/npm/node_modules")
        if postgres.there():
            self._point_at_postgres()

    def _point_at_postgres(self):
        """Makes the scripts use our PostgreSQL server instead of their own, so that both sides use the same one."""
        address = re.match(r"postgres(?:ql)?://([^/]+)/", postgres.URL).group(1)
        for name in ("peer_langgraph.py", "peer_dbos.py"):
            _adapt(name, "postgres@127.0.0.1:5544", address)
        link = os.path.join(HOME, "pg")
        if os.path.islink(link):
            os.unlink(link)
        os.symlink(os.path.dirname(postgres.data_directory()), link)

    def _set_up(self, who, install):
        try:
            install()
            return True
        except (OSError, subprocess.SubprocessError) as error:
            text = getattr(error, "stderr", None) or str(error)
            self.missing[who] = text.strip().splitlines()[-1] if text.strip() else "not installed"
            return False

    def _install_python(self):
        there = [PYTHON, "-c", "import langgraph, dbos, psycopg, aiohttp"]
        if os.path.exists(PYTHON) and subprocess.run(there, capture_output=True).returncode == 0:
            return
        _quiet(["python3", "-m", "venv", "venv"])
        _quiet([PYTHON, "-m", "pip", "install", "-q", *PACKAGES])

    def _install_restate(self):
        if not os.path.isdir(os.path.join(HOME, "npm", "node_modules", "@restatedev")):
            _quiet(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=os.path.join(HOME, "npm"))

    def alone(self):
        """One run after another."""
        return self._lines([
            ("langgraph-sqlite", ["peer_langgraph.py", "--db", "sqlite", "--api", "sync", "--durability", "sync", "--runs", "8"]),
            ("dbos-sqlite", ["peer_dbos.py", "--db", "sqlite", "--runs", "8"]),
            ("restate", ["peer_restate.py", "--runs", "8"]),
        ])

    def deep(self):
        """The larger tree, one run after another."""
        return self._lines([
            ("langgraph-sqlite", ["peer_langgraph.py", "--db", "sqlite", "--api", "sync", "--durability", "sync", "--runs", "2"]),
            ("dbos-sqlite", ["peer_dbos.py", "--db", "sqlite", "--runs", "2"]),
            ("restate", ["peer_restate.py", "--runs", "2"]),
        ], "4^3")

    def alone_on_postgres(self):
        return self._lines([
            ("langgraph-pg", ["peer_langgraph.py", "--db", "pg", "--api", "sync", "--durability", "sync", "--runs", "8"]),
            ("dbos-pg", ["peer_dbos.py", "--db", "pg", "--runs", "8"]),
        ])

    def hundred(self, quick):
        many = ["--runs", "100", "--conc", "100"]
        slow = [] if quick else [("dbos-sqlite", ["peer_dbos.py", "--db", "sqlite", *many])]
        return self._lines([
            ("langgraph-sqlite", ["peer_langgraph.py", "--db", "sqlite", "--api", "async", "--durability", "sync", *many]),
            ("restate", ["peer_restate.py", *many]), *slow,
        ])

    def _lines(self, wanted, shape="3x4"):
        """Yields (name, function that runs it once) for the peers that are installed."""
        for name, command in wanted:
            if self.restate if name == "restate" else self.python:
                yield name, lambda name=name, command=command: _once(name, command, shape)

    def syncs(self):
        return process.lines(["./count_syncs.sh", "3", "nopg"], cwd=HOME, timeout=900) if self.python else []

    def recovery(self, repetitions):
        command = [PYTHON, "recover.py", str(repetitions), "langgraph-sqlite-sync,dbos-sqlite", "45"]
        return process.lines(command, cwd=HOME, timeout=900) if self.python else []


def _adapt(name, old, new):
    path = os.path.join(HOME, name)
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace(old, new))


def _once(name, command, shape):
    # The server of Restate connects to the internet when it starts. Where unshare is allowed, it gets a network of its own.
    isolated = ["./netns.sh"] if name == "restate" and subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0 else []
    found = process.line([*isolated, PYTHON, command[0], "--shape", shape, *command[1:]], cwd=HOME)
    # The smaller tree is compared with all runs of Pleach, the larger one only with its trees of the same shape.
    return found | {"peer": name} | ({} if shape == "3x4" else {"test": "tree"})


def _quiet(command, cwd=HOME):
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True, timeout=1200)
