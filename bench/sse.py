"""The live stream beside servers that do nothing else: what a delivery costs, and how long after the commit it arrives.

Ours is the product as it is: `pleach up` on SQLite, a run whose log grows by messages, every event durable before it is
sent. The others (a minimal Rust server, Node) keep nothing. All are read by the same client, within one repetition.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

PEERS = pathlib.Path(os.environ.get("PLEACH_PEERS_BENCH", "../shared/bench"))
BIN = pathlib.Path(os.environ["PLEACH_BENCH_BIN"])
SCRATCH = pathlib.Path(os.environ["PLEACH_BENCH_SCRATCH"])
# Subscribers, events, events per second (0: as fast as it goes).
POINTS = [(100, 200, 50), (1000, 40, 5)]


def peers_tools():
    """sse_min and sseload, built once."""
    target = SCRATCH / "peers-rs"
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "--manifest-path", PEERS / "rs/Cargo.toml", "--target-dir", target, "--bins"],
        check=True,
    )
    return target / "release"


def load(tools, url, subs, events, pid, trigger, headers=()):
    command = [tools / "sseload", "--url", url, "--subs", str(subs), "--expect", str(events), "--timeout", "90"]
    command += ["--server-pid", str(pid), "--ts-key", "ts_ns", "--ts-unit", "ns"]
    for header in headers:
        command += ["--header", header]
    if isinstance(trigger, str):
        command += ["--trigger", trigger]
        done = subprocess.run(command, capture_output=True, text=True)
    else:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        threading.Thread(target=trigger, daemon=True).start()
        out, err = child.communicate()
        done = subprocess.CompletedProcess(command, child.returncode, out, err)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no answer")
    return json.loads(done.stdout.splitlines()[-1])
