"""Runs programs, and returns what they printed or what they cost."""
import json
import os
import subprocess
import time


def lines(command, timeout=170, **options):
    """The JSON lines that a program prints. RuntimeError with the last line of its output when there are none."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"it did not end within {timeout} s") from None
    except OSError as error:
        raise RuntimeError(str(error)) from None
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not found:
        output = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(output[-1] if output else f"exit {done.returncode}")
    return found


def line(command, **options):
    return lines(command, **options)[-1]


def cost(command, env):
    """Processor time (user and system) and wall time of one program in milliseconds, from exec to exit."""
    began = time.perf_counter()
    # With close_fds=False Python can use vfork, so that the cost of a fork is not counted as the child's.
    child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    if child.returncode:
        raise RuntimeError(f"{command[0]} ended with {child.returncode}")
    return (usage.ru_utime + usage.ru_stime) * 1e3, wall * 1e3


def peak_rss_mb(pid):
    with open(f"/proc/{pid}/status") as status:
        for row in status:
            if row.startswith("VmHWM"):
                return int(row.split()[1]) / 1024
    return None


def syncs(command):
    """The number of fsyncs and fdatasyncs, and of pwrites, of a program. The last element of `command` is its database file."""
    counted = f"{command[-1]}.strace"
    traced = ["strace", "-f", "-qq", "-c", "-o", counted, "-e", "trace=fsync,fdatasync,pwrite64", *command[:-1]]
    lines(traced)
    calls = {}
    with open(counted) as table:
        for row in table:
            fields = row.split()
            if len(fields) >= 5 and fields[-1] in ("fsync", "fdatasync", "pwrite64"):
                calls[fields[-1]] = int(fields[3])
    os.unlink(counted)
    return calls.get("fsync", 0) + calls.get("fdatasync", 0), calls.get("pwrite64", 0)
