"""`pleach up` with what the measurements of scale need: its metrics, its socket, a kill and a restart, and many requests in a row."""
import http.client
import json
import os
import socket
import subprocess
import time

import process
import sse


class SocketConnection(http.client.HTTPConnection):
    """The owner's socket: requests name their actor and are believed, and starting runs is not limited there."""

    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Served(sse.Pleach):
    @property
    def data(self):
        return self.environment["PLEACH_DATA_DIR"]

    def command(self, *arguments):
        done = subprocess.run([sse.BIN / "pleach", *arguments], env=self.environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def queue(self, actor, number, body, every=0):
        """Starts runs over the socket, one after the other on one connection, so many seconds apart. Returns their ids."""
        connection = SocketConnection(os.path.join(self.data, "pleach.sock"))
        headers = {"x-pleach-actor": actor, "content-type": "application/json"}
        ids = []
        for _ in range(number):
            connection.request("POST", "/api/runs", json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 201:
                raise RuntimeError(f"starting a run was answered with {answer.status}: {text[:200]}")
            ids.append(json.loads(text)["id"])
            time.sleep(every)
        connection.close()
        return ids

    def metrics(self):
        lines = self.open("/metrics").read().decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}

    def peak_mb(self):
        return process.peak_rss_mb(self.child.pid)

    def restart(self):
        """Kills the server with -9, starts it, and returns the seconds until it answers that it is ready."""
        self.child.kill()
        self.child.wait()
        began = time.perf_counter()
        self.child = subprocess.Popen([sse.BIN / "pleach", "up"], env=self.environment, stdout=subprocess.DEVNULL)
        while time.perf_counter() - began < 300:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            try:
                connection.request("GET", "/readyz")
                if connection.getresponse().status == 200:
                    return time.perf_counter() - began
            except (ConnectionError, http.client.HTTPException):
                pass
            finally:
                connection.close()
            time.sleep(0.005)
        raise RuntimeError("the server was not ready within 300 s of its restart")

    def latency(self, requests, seconds, every=0.02):
        """Sends the requests (a path and a token by name) in turn on one connection. Returns p50, p99 and the slowest of each in milliseconds."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        took = {name: [] for name in requests}
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            for name, (path, token) in requests.items():
                began = time.perf_counter()
                connection.request("GET", path, headers={"authorization": f"Bearer {token}"})
                answer = connection.getresponse()
                answer.read()
                took[name].append((time.perf_counter() - began) * 1e3)
                if answer.status != 200:
                    raise RuntimeError(f"{path} was answered with {answer.status}")
                time.sleep(every)
        connection.close()
        return {name: {"p50_ms": at(times, 0.5), "p99_ms": at(times, 0.99), "max_ms": max(times), "asked": len(times)} for name, times in took.items()}


def at(values, part):
    """The value below which this part of the values lies."""
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))] if values else None


def load():
    return os.getloadavg()[0]
