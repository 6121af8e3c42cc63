"""Works on a fixed set of objectives with a model, and tabulates how that went. `bench/quality` calls it."""
import argparse
import datetime
import json
import os
import signal
import sys
import urllib.error
import urllib.request

import log_figures
import quality_table
from attempt import Attempt, Broken, Model

HERE = os.path.dirname(os.path.abspath(__file__))
# What a run object counts itself, and must agree with what was counted from its log.
COUNTED = {"llm_calls": "calls", "tokens_in": "tokens_in", "tokens_out": "tokens_out", "tokens_cached": "tokens_cached"}
LIMITS = ("max_minutes", "max_iterations", "max_depth", "max_nodes", "max_steps")


def arguments():
    parser = argparse.ArgumentParser(prog="bench/quality", description=__doc__)
    parser.add_argument("--model", default="rehearsal/default", help="provider/model: openai/…, anthropic/… or rehearsal/default")
    parser.add_argument("--base-url", help="the model server, if it is not the vendor's own")
    parser.add_argument("--context", type=int, help="the model's context in tokens, if it is not the 128,000 that Pleach assumes")
    parser.add_argument("--max-output", type=int, help="the most tokens of one answer")
    parser.add_argument("--only", action="append", default=[], help="only these objectives (h1), kinds (tree) or levels (easy), with commas; several --only must all fit")
    parser.add_argument("--times", type=int, default=1, help="how often each objective is worked on")
    parser.add_argument("--pleach", help="the binary; without it, the release binary is built")
    parser.add_argument("--out", default=os.path.join(HERE, "out", "quality.jsonl"), help="one JSON line for each run is written here")
    parser.add_argument("--from", dest="earlier", metavar="FILE", help="measure nothing, and print the tables of a file that --out wrote")
    parser.add_argument("--compare", metavar="FILE", help="print the figures of such a file beside these")
    for limit in LIMITS:
        parser.add_argument(f"--{limit.replace('_', '-')}", type=int, help="lowers this limit of every objective")
    return parser.parse_args()


def main():
    options = arguments()
    # As an exception it also ends the run that is waited for.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # An earlier file is read first: --out may be about to write over it.
    before = read(options.compare) if options.compare else None
    lines = read(options.earlier) if options.earlier else measure(options, chosen(options))
    print(f"\n{quality_table.models(lines)}, {lines[0]['at'][:10]}\n\n{quality_table.render(lines)}\n\n{quality_table.each(lines)}")
    if before:
        print("\n" + quality_table.beside(before, lines))
    if any(line["ended"] == "broken" for line in lines):
        sys.exit("Some runs did not end as runs must, whatever the model says.")


def chosen(options):
    """The objectives that every --only names, with lowered limits."""
    if "/" not in options.model:
        sys.exit(f"error: --model {options.model} has no provider. Write openai/{options.model}, for example.")
    with open(os.path.join(HERE, "objectives.json")) as file:
        objectives = json.load(file)
    known = {one[name] for one in objectives for name in ("id", "kind", "level")}
    for words in (only.split(",") for only in options.only):
        if unknown := set(words) - known:
            sys.exit(f"error: --only {', '.join(sorted(unknown))} names nothing. It can be: {', '.join(sorted(known))}")
        objectives = [one for one in objectives if {one["id"], one["kind"], one["level"]} & set(words)]
    if not objectives:
        sys.exit(f"error: no objective is all of these: {' and '.join(options.only)}")
    for one in objectives:
        for limit in LIMITS:
            most = getattr(options, limit)
            if most and limit in one["limits"]:
                one["limits"][limit] = min(most, one["limits"][limit])
    return objectives


def must_answer(base_url):
    """Pleach waits for a server that is away, for as long as it takes. Here that is a mistake in the address."""
    try:
        urllib.request.urlopen(base_url, timeout=10).close()
    except urllib.error.HTTPError:
        pass
    except (OSError, ValueError) as error:
        sys.exit(f"error: nothing answers at {base_url}: {error}")


def measure(options, objectives):
    if options.base_url:
        must_answer(options.base_url)
    model = Model(options.model, options.base_url, options.context, options.max_output)
    os.makedirs(os.path.dirname(os.path.abspath(options.out)), exist_ok=True)
    lines = []
    with open(options.out, "w") as file:
        for nth in range(1, options.times + 1):
            for objective in objectives:
                line = worked_on(options.pleach, model, objective) | {"nth": nth, "at": datetime.datetime.now().isoformat(timespec="seconds")}
                lines.append(line)
                file.write(json.dumps(line) + "\n")
                file.flush()
    return lines


def worked_on(pleach, model, objective):
    line = {"objective": objective["id"], "kind": objective["kind"], "level": objective["level"], "model": model.name}
    print(f"{objective['id']} {quality_table.short(objective['objective'], 90)}", file=sys.stderr, flush=True)
    try:
        run, events = Attempt(os.path.abspath(pleach), model, objective).carry_out()
        line |= log_figures.figures(events) | {"run": run["id"]}
        differ = {name: run["metrics"][name] for name, ours in COUNTED.items() if run["metrics"][name] != line[ours]}
        if differ:
            print(f"  the run object counts otherwise than its log: {differ}", file=sys.stderr)
    except Broken as error:
        line |= {"ended": "broken", "why": f"{error}. Its data is kept in {error.home}"}
    print(f"  {line['ended']}: {quality_table.short(line['why'])}", file=sys.stderr, flush=True)
    return line


def read(file):
    with open(file) as lines:
        found = [json.loads(line) for line in lines]
    return found or sys.exit(f"error: {file} has no lines")


main()
