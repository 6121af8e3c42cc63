"""Kills the process with kill -9 in the middle of a run of 108 calls, restarts it, and counts the calls that are made again.

The model server is a separate process with a ledger, so it survives the kill and counts independently. Every answer takes LATENCY."""
import json
import os
import subprocess
import time
import urllib.request

import ours
import process

LATENCY = 0.15
# One planner, 21 iterations of a planner and two executors with two rounds each, the exit, the report: 1 + 21 * 5 + 2 calls.
ITERATIONS, CALLS = 23, 108


class Models:
    def __init__(self, directory):
        script = os.path.join(directory, "script.json")
        with open(script, "w") as file:
            json.dump({"preset": {"complete_in": ITERATIONS}, "latency_ms": int(LATENCY * 1e3)}, file)
        self.server = subprocess.Popen([os.path.join(ours.BIN, "scripted-model"), script], stdout=subprocess.PIPE, text=True)
        self.url = self.server.stdout.readline().strip()

    def ledger(self):
        with urllib.request.urlopen(f"{self.url}/__ledger", timeout=10) as answer:
            return json.load(answer)

    def close(self):
        self.server.kill()
        self.server.wait()


def killed_at(finished):
    directory = ours.fresh_directory("crash")
    models = Models(directory)
    try:
        return _play(models, finished, ours.environment(os.path.join(directory, "data")) | {"OPENAI_BASE_URL": models.url})
    finally:
        models.close()


def _play(models, finished, env):
    start = [ours.PLEACH, "run", ours.OBJECTIVE, "--model", "openai/scripted", "--max-iterations", "100", "--max-cost", "100", "--wait", "--json"]
    first = subprocess.Popen(start, env=env, stdout=subprocess.PIPE, text=True)
    run = json.loads(first.stdout.readline())["runId"]
    while sum(entry["delivered"] for entry in models.ledger()) < finished and first.poll() is None:
        time.sleep(0.01)
    first.kill()
    killed = time.time() * 1e3
    first.wait()
    before = models.ledger()
    restarted = time.time() * 1e3
    process.lines([ours.PLEACH, "watch", run, "--json"], env=env)
    done = time.time() * 1e3
    status = process.line([ours.PLEACH, "show", run, "--json"], env=env)["status"]
    if status != "completed":
        raise RuntimeError(f"the run is {status} after a kill")
    return _judge(before, models.ledger()[len(before):], killed, restarted, done)


def _effect(entry):
    return entry["key"].rsplit(":", 1)[0]


def _judge(before, after, killed, restarted, done):
    answered = {_effect(entry): entry["at"] + LATENCY * 1e3 for entry in before if entry["delivered"]}
    again = [_effect(entry) for entry in after if _effect(entry) in answered]
    old = {effect for effect, at in answered.items() if at <= killed - 50}
    return {
        "test": "recover", "peer": "pleach-sqlite", "finished_before": len(answered), "in_flight": len(before) - len(answered),
        "finished_calls_executed_again": len(again), "finished_50ms_before_kill": len(old),
        "of_those_executed_again": sum(effect in old for effect in again),
        "total_calls": len(before) + len(after), "ideal_total": CALLS,
        "time_to_first_call_after_restart_s": (after[0]["at"] - restarted) / 1e3 if after else None,
        "time_to_done_s": (done - restarted) / 1e3,
    }
