"""Runs a command on a terminal of its own, as a person would, for tests.

The first argument is what is typed at the question that ends in [y/N]; the rest is the command. What the command wrote is
written out, and its exit code is ours.
"""
import os
import pty
import sys

answer, command = sys.argv[1], sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    os.execv(command[0], command)
seen, answered = b"", 0
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    if seen.count(b"[y/N]") > answered:
        answered += 1
        os.write(terminal, answer.encode() + b"\n")
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
