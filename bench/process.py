"""Running a program and saying what it cost or answered."""
import json
import os
import subprocess
import time


def lines(command, timeout=170, **options):
    """The JSON lines a program prints; RuntimeError with its last words when there are none."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not done after {timeout} s") from None
    except OSError as error:
        raise RuntimeError(str(error)) from None
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not found:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(words[-1] if words else f"exit {done.returncode}")
    return found


def line(command, **options):
    return lines(command, **options)[-1]


def cost(command, env):
    """Processor milliseconds (user and system) and wall milliseconds of one program, from exec to exit."""
    began = time.perf_counter()
    # Without closing descriptors Python can use vfork, and the child starts with nothing on its bill.
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
    """How often a program asks the disk to keep what it has, and how often it writes at a place."""
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
