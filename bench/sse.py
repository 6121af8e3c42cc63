"""Measures the live stream beside servers that do nothing else: the cost of a delivery, and the time from the commit to the client.

Pleach is measured as it is: `pleach up` on SQLite, a run whose log grows by messages, every event durable before it is sent.
The others (a minimal Rust server, Node) store nothing. The same client reads all of them, in turn. A message costs Pleach a
request and a commit, which the others do not have. That cost is measured with one reader at the same rate and subtracted, so
that only deliveries are compared.
"""
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

PEERS = pathlib.Path(os.environ["PLEACH_PEERS_BENCH"])
BIN = pathlib.Path(os.environ["PLEACH_BENCH_BIN"])
SCRATCH = pathlib.Path(os.environ["PLEACH_BENCH_SCRATCH"])
# Readers, events, events per second.
POINTS = [(100, 400, 50), (1000, 100, 5)]
IDLE = 10_000
BENCH = pathlib.Path(__file__).parent


def tools():
    """Builds the client and the minimal server, and returns their directory."""
    target = SCRATCH / "peers-rs"
    source = SCRATCH / "peers-rs-source"
    shutil.copytree(PEERS / "rs", source, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target"))
    for path in source.rglob("*"):
        path.chmod(0o755)
    command = ["cargo", "build", "--release", "--quiet", "--bins", "--manifest-path", source / "Cargo.toml"]
    subprocess.run([*command, "--target-dir", target], check=True)
    return target / "release"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def listening(port, child):
    for _ in range(600):
        if child.poll() is not None:
            raise RuntimeError(f"the server ended with {child.returncode}")
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the server does not listen after 30 s")


class Pleach:
    """`pleach up`, and a run that waits a minute for its model (the rehearsal model) while messages arrive."""

    name = "pleach"

    def __init__(self, more=None):
        self.home = tempfile.TemporaryDirectory()
        self.port = free_port()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": self.home.name,
            "PLEACH_DATA_DIR": f"{self.home.name}/data",
            "PLEACH_LISTEN": f"127.0.0.1:{self.port}",
            "PLEACH_REHEARSAL_MS": "60000",
        } | (more or {})
        self.child = subprocess.Popen([BIN / "pleach", "up"], env=self.environment, stdout=subprocess.DEVNULL)
        listening(self.port, self.child)
        create = [BIN / "pleach", "token", "create", "--scope", "run"]
        self.token = subprocess.run(create, env=self.environment, capture_output=True, text=True, check=True).stdout.strip()

    def post(self, path, body):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode())
        request.add_header("authorization", f"Bearer {self.token}")
        request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def target(self):
        run = self.post("/api/runs", {"kind": "homework", "objective": "Listen"})["id"]
        time.sleep(0.5)
        return run

    def load(self, client, subs, events, rate, run=None):
        run = run or self.target()
        path = f"/api/runs/{run}/messages"
        after = json.load(self.open(f"/api/runs/{run}"))["last_seq"]
        ready = threading.Event()

        def speak():
            ready.wait()
            for number in range(events):
                began = time.time()
                # The text is JSON inside a JSON string, so the client must look for the key with escaped quotes.
                self.post(path, {"text": json.dumps({"ts_ns": time.time_ns(), "n": number, "pad": "x" * 150})})
                time.sleep(max(0, 1 / rate - (time.time() - began)))

        threading.Thread(target=speak, daemon=True).start()
        url = f"http://127.0.0.1:{self.port}/api/runs/{run}/stream?after={after}"
        more = ["--header", f"authorization: Bearer {self.token}", "--ts-key", "ts_ns\\", "--match", "message_queued"]
        return measured(client, url, subs, events, self.child.pid, more, ready)

    def open(self, path):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}")
        request.add_header("authorization", f"Bearer {self.token}")
        return urllib.request.urlopen(request)

    def close(self):
        self.child.terminate()
        self.child.wait()
        self.home.cleanup()


class Other:
    def __init__(self, name, command):
        self.name, self.port = name, free_port()
        self.child = subprocess.Popen([*command, str(self.port)], stdout=subprocess.DEVNULL, cwd=PEERS)
        listening(self.port, self.child)

    def load(self, client, subs, events, rate):
        trigger = ["--trigger", f"http://127.0.0.1:{self.port}/start?n={events}&rate={rate}"]
        return measured(client, f"http://127.0.0.1:{self.port}/events", subs, events, self.child.pid, trigger, None)

    def close(self):
        self.child.terminate()
        self.child.wait()


def measured(client, url, subs, events, pid, more, ready):
    command = [client / "sseload", "--url", url, "--subs", str(subs), "--expect", str(events), "--timeout", "120"]
    child = subprocess.Popen(
        [*command, "--server-pid", str(pid), *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if ready:
        # All readers are connected when the server has at least as many open files.
        before = time.time()
        while open_files(url, pid) < subs and time.time() - before < 60:
            time.sleep(0.05)
        time.sleep(1)
        ready.set()
    out, err = child.communicate()
    if child.returncode or not out.strip():
        raise RuntimeError((err or out).strip().splitlines()[-1] if (err or out).strip() else "no answer")
    return json.loads(out.splitlines()[-1])


def open_files(url, pid):
    """The open files of the server. Pleach hides its /proc entry from other processes, so its own metric is read instead."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        with urllib.request.urlopen(urllib.parse.urljoin(url, "/metrics")) as metrics:
            counted = [line for line in metrics.read().decode().splitlines() if line.startswith("process_open_fds ")]
        return int(float(counted[0].split()[1])) if counted else 0


def cpu_ms(pid):
    """Processor time of all threads of a process so far."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except FileNotFoundError:
            pass
    return total / 1e6


def asked(server, path, times=20):
    """Medians of processor and wall time of one answer in milliseconds, and its size."""
    cpu, wall, size = [], [], 0
    server.open(path).read()
    for _ in range(times):
        began, before = time.perf_counter(), cpu_ms(server.child.pid)
        size = len(server.open(path).read())
        wall.append((time.perf_counter() - began) * 1e3)
        cpu.append(cpu_ms(server.child.pid) - before)
    return {"cpu_ms": statistics.median(cpu), "wall_ms": statistics.median(wall), "kb": size / 1e3}


def whole_log(server, run, last):
    """Checks that a late reader's stream has the same events as the log read page by page, with none missing."""
    streamed, pages, after = [], [], 0
    for line in server.open(f"/api/runs/{run}/stream?after=0"):
        if line.startswith(b"data: ") and b'"hash"' in line:
            streamed.append(json.loads(line[6:])["hash"])
            if len(streamed) >= last:
                break
    while after < last:
        items = json.load(server.open(f"/api/runs/{run}/events?after={after}&limit=1000"))["items"]
        pages += [event["hash"] for event in items]
        after = items[-1]["seq"]
    if streamed != pages[: len(streamed)] or len(streamed) < last:
        raise RuntimeError(f"{len(streamed)} events were streamed, and they are not the log's {len(pages)}")


def forest(client):
    """Makes a run of 10,000 nodes, and measures what reading it costs: one thousand readers, the run object, snapshots."""
    model = subprocess.Popen([sys.executable, BENCH / "forest.py"], stdout=subprocess.PIPE, text=True)
    server = Pleach({"OPENAI_BASE_URL": model.stdout.readline().strip(), "PLEACH_MODEL": "openai/forest"})
    try:
        budgets = {"max_nodes": 10_000, "max_depth": 4, "max_steps_per_band": 10, "max_parallel": 64, "max_tokens": 10**9}
        began = time.time()
        run = server.post("/api/runs", {"kind": "tree", "objective": "Garden", "budgets": budgets})["id"]
        seen, last = -1, 0
        while last != seen or last < 10_000:
            seen = last
            time.sleep(3)
            last = json.load(server.open(f"/api/runs/{run}"))["last_seq"]
        figures = {"nodes": 10_000, "events": last, "grown_s": time.time() - began}
        whole_log(server, run, last)
        figures["run"] = asked(server, f"/api/runs/{run}")
        figures["snapshot"] = asked(server, f"/api/runs/{run}/snapshot")
        figures["snapshot_past"] = asked(server, f"/api/runs/{run}/snapshot?at={last // 2}")
        figures["crowd"] = server.load(client, 1000, 40, 5, run)
        if figures["crowd"].get("gaps") or figures["crowd"].get("dups"):
            raise RuntimeError(f"readers missed events or got them twice: {figures['crowd']}")
        return figures
    finally:
        server.close()
        model.kill()


def forest_lines(figures):
    crowd = figures["crowd"]
    rows = [f"\nA run of {figures['nodes']:,} nodes and {figures['events']:,} events, streamed whole to a late reader and compared with the log:"]
    rows += ["", "| what | processor ms | wall ms | KB | target |", "|---|---|---|---|---|"]
    for name, what, target in [("run", "the run object", "5 of processor"), ("snapshot", "its snapshot", "40"), ("snapshot_past", "its snapshot half-way back", "40")]:
        one = figures[name]
        rows.append(f"| {what} | {one['cpu_ms']:.1f} | {one['wall_ms']:.1f} | {one['kb']:.0f} | {target} |")
    p50, p99 = crowd["lat_p50_us"] / 1e3, crowd["lat_p99_us"] / 1e3
    rows.append(f"\n1,000 readers of that run: p50 {p50:.1f} ms, p99 {p99:.1f} ms from before the message is sent (target 100), nothing missed or twice")
    return "\n".join(rows)


def main(flags):
    repetitions = 1 if "--quick" in flags else 3
    client = tools()
    lines = []
    for nth in range(repetitions):
        servers = [Pleach(), Other("minimal Rust", [client / "sse_min"]), Other("Node", ["node", PEERS / "sse_server.mjs"])]
        for server in servers:
            for subs, events, rate in POINTS:
                alone = server.load(client, 1, events, rate)
                line = server.load(client, subs, events, rate)
                line |= {"server": server.name, "subs": subs}
                line |= {"alone_cpu_s": alone["server_cpu_s"], "alone_p50_us": alone["lat_p50_us"]}
                lines.append(line)
                print(json.dumps(line), file=sys.stderr, flush=True)
            if server.name == "pleach" and nth == 0:
                lines.append(server.load(client, IDLE, 1, 1) | {"server": "pleach", "subs": IDLE})
                print(json.dumps(lines[-1]), file=sys.stderr, flush=True)
            server.close()
    print(table(lines))
    figures = forest(client)
    print(json.dumps(figures), file=sys.stderr)
    print(forest_lines(figures))


def table(lines):
    def median(field, server, subs):
        found = [line[field] for line in lines if line["server"] == server and line["subs"] == subs and line.get(field) is not None]
        return statistics.median(found) if found else float("nan")

    rows = ["| server | readers | us of processor per delivery | of the minimal one | p50 ms | from the commit | p99 ms |", "|---|---|---|---|---|---|---|"]
    for subs, events, _ in POINTS:
        def cost(server):
            return (median("server_cpu_s", server, subs) - median("alone_cpu_s", server, subs)) / (subs * events) * 1e6

        def before_commit(server):
            return (median("alone_p50_us", server, subs) - median("alone_p50_us", "minimal Rust", subs)) / 1e3

        for server in ("pleach", "Node", "minimal Rust"):
            ratio = cost(server) / cost("minimal Rust")
            latency = [median(field, server, subs) / 1e3 for field in ("lat_p50_us", "lat_p99_us")]
            since = latency[0] - before_commit(server) if server == "pleach" else latency[0]
            rows.append(f"| {server} | {subs} | {cost(server):.1f} | {ratio:.2f} | {latency[0]:.1f} | {since:.1f} | {latency[1]:.1f} |")
    rows.append(f"\n{IDLE} streams: {median('server_hwm_mb', 'pleach', IDLE):.0f} MB at most (target 300)")
    return "\n".join(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
