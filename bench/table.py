"""Renders the figures as markdown: a row for each target with its limit and the peers, then every measurement."""
import statistics


class Figures:
    def __init__(self, lines):
        self.lines = lines

    def values(self, field, **wanted):
        held = (line for line in self.lines if all(line.get(name) == value for name, value in wanted.items()))
        return [line[field] for line in held if line.get(field) is not None]

    def median(self, field, **wanted):
        values = self.values(field, **wanted)
        return statistics.median(values) if values else None

    def peer(self, field, peer, conc=1):
        return self.median(field, test="peer", peer=peer, conc=conc)


def enriched(lines):
    """Adds figures per model call. The peers' trees have 20 calls in 16 nodes and our runs 16 calls, so nodes do not compare."""
    for line in lines:
        if line["test"] == "peer":
            calls = line["calls"]
            line["cpu_ms_call"] = line["cpu_ms_node"] * line["nodes"] / calls
            line["kb_call"] = line["wbytes"] / calls / 1e3 if line.get("wbytes") else None
            line["calls_per_s"] = calls / line["wall_s"]
            line["events_call"] = line["events"] / calls if "events" in line else None
    return lines


SQLITE, POSTGRES = "pleach-sqlite", "pleach-pg"


def targets(figures):
    """Rows of (number, what, our figure, limit or None, unit, comparisons with peers)."""
    peer, median = figures.peer, figures.median

    def less(field, other, conc, times):
        return against(other, peer(field, SQLITE, conc), peer(field, other, conc), times)

    def more(other, times):
        return against(other, peer("calls_per_s", SQLITE, 100), peer("calls_per_s", other, 100), times, more_is_better=True)

    def syncs(field, conc, shape="16 calls", who=SQLITE):
        return median(field, test="syncs", peer=who, conc=conc, shape=shape)

    few, many = (median("rss_mb", test="growth", calls=calls) for calls in (200, 2_000))
    few_bytes, many_bytes = (median("db_bytes_node", test="growth", calls=calls) for calls in (200, 2_000))
    recover = {"test": "recover", "peer": SQLITE}
    fastest = min(filter(None, (median("time_to_first_call_after_restart_s", test="recover", peer=name) for name in ("langgraph-sqlite-sync", "dbos-sqlite"))), default=None)
    return [
        (1, "CPU per call, one run", peer("cpu_ms_call", SQLITE), 0.6, "ms", [less("cpu_ms_call", "langgraph-sqlite", 1, 7), less("cpu_ms_call", "restate", 1, 8), less("cpu_ms_call", "dbos-sqlite", 1, 20)]),
        (1, "CPU per event, one run", peer("cpu_us_event", SQLITE), 25, "us", []),
        (2, "CPU per call, 100 runs", peer("cpu_ms_call", SQLITE, 100), 0.4, "ms", [less("cpu_ms_call", "restate", 100, 5), less("cpu_ms_call", "langgraph-sqlite", 100, 11)]),
        (2, "CPU per event, 100 runs", peer("cpu_us_event", SQLITE, 100), 15, "us", []),
        (3, "syncs, one run of 16 calls", syncs("syncs_per_run", 1), 19, "", peer_syncs(figures)),
        (3, "syncs, the same with planners that read", syncs("syncs_per_run", 1, "16 calls, reading"), None, "", []),
        (3, "syncs per call, 100 runs", syncs("syncs_per_node", 100), 0.1, "", []),
        (3, "PostgreSQL commits, one run of 16 calls", syncs("commits_per_run", 1, who=POSTGRES), None, "", []),
        (4, "calls/s, 100 runs", peer("calls_per_s", SQLITE, 100), None, "/s", [more("restate", 2), more("langgraph-sqlite", 12)]),
        (5, "wall of one run", peer("run_ms", SQLITE), None, "ms", [less("run_ms", "langgraph-sqlite", 1, 6), less("run_ms", "restate", 1, 2)]),
        (6, "bytes sent to the disk per call, one run", peer("kb_call", SQLITE), 14, "KB", [less("kb_call", "langgraph-sqlite", 1, 4.4), less("kb_call", "dbos-sqlite", 1, 8.6)]),
        (6, "bytes sent to the disk per call, 100 runs", peer("kb_call", SQLITE, 100), 10, "KB", []),
        (6, "file per call at rest, one run", scaled(median("db_bytes_node", test="peer", peer=SQLITE, conc=1), 1e-3), 14, "KB", []),
        (6, "file per call, 2,000 calls over 200 (linear: 1)", ratio(many_bytes, few_bytes), 1.1, "", []),
        *pushed(figures),
        (8, "CPU to the first durable event, new database", median("cpu_ms", test="first event"), 30, "ms", first_call(figures)),
        (8, "CPU to the first durable event, existing database", median("cpu_ms_existing", test="first event"), 30, "ms", []),
        (9, "peak RSS idle", median("rss_mb", test="idle"), 20, "MB", []),
        (9, "peak RSS, 100 runs", peer("rss_mb", SQLITE, 100), 40, "MB", [less("rss_mb", "langgraph-sqlite", 100, 1), less("rss_mb", "restate", 100, 1)]),
        (9, "peak RSS, 2,000 calls over 200", None if None in (few, many) else many - few, 10, "MB", []),
        (10, "calls finished 50 ms before kill -9, done again", median("of_those_executed_again", **recover), 0, "", []),
        (10, "calls finished at any time before kill -9, done again", median("finished_calls_executed_again", **recover), None, "", recovered(figures)),
        (11, "restart to the first resumed call", median("time_to_first_call_after_restart_s", **recover), 0.2, "s", [against("fastest peer", median("time_to_first_call_after_restart_s", **recover), fastest, 10)]),
    ]


def pushed(figures):
    """The rows for PostgreSQL. More events per second are better here, so the ratio of the target to the figure is shown."""
    def events(push, peer=POSTGRES):
        return figures.median("events_s", test="append", peer=peer, push=push)

    wanted = 10_000
    beside = [against("single events", events(True), events(False, "pgbench"), 2, more_is_better=True),
              against("single events with NOTIFY inside", events(True), events(True, "pgbench"), 27, more_is_better=True)]
    return [
        (7, f"PostgreSQL, 16 writers with push: {wanted:,} events/s over ours ({number(events(True))}/s)", ratio(wanted, events(True)), 1, "", beside),
        (7, "PostgreSQL, 16 writers: events/s without push over with it", ratio(events(False), events(True)), 1 / 0.9, "", []),
        (7, "PostgreSQL server's CPU per event, 16 writers with push", figures.median("pg_us_event", test="append", peer=POSTGRES, push=True), 20, "us", []),
    ]


def trees(figures):
    """The rows for trees, per node: a node plans and aggregates, or is a leaf that writes a document."""
    def our(field, shape="3x4", conc=1):
        return figures.median(field, test="tree", peer=SQLITE, shape=shape, conc=conc)

    def beside(field, times, shape="3x4", conc=1, **options):
        wanted = {"test": "tree", "shape": shape} if shape != "3x4" else {"test": "peer"}
        return [against(name, our(field, shape, conc), figures.median(field, peer=name, conc=conc, **wanted), factor, **options) for name, factor in times.items()]

    def grown(field, nodes):
        return figures.median(field, test="tree growth", nodes=nodes)

    def syncs(conc):
        return figures.median("syncs_per_run", test="tree syncs", conc=conc)

    return [
        (1, "CPU per node, one tree of 3x4", our("cpu_ms_node"), 0.6, "ms", beside("cpu_ms_node", {"langgraph-sqlite": 7, "restate": 8, "dbos-sqlite": 20})),
        (1, "CPU per event, one tree of 3x4", our("cpu_us_event"), 25, "us", []),
        (1, "CPU per node, one tree of 4^3", our("cpu_ms_node", "4^3"), 0.6, "ms", beside("cpu_ms_node", {"langgraph-sqlite": 7, "restate": 8, "dbos-sqlite": 20}, "4^3")),
        (2, "CPU per node, 100 trees", our("cpu_ms_node", conc=100), 0.4, "ms", beside("cpu_ms_node", {"restate": 5, "langgraph-sqlite": 11}, conc=100)),
        (2, "CPU per event, 100 trees", our("cpu_us_event", conc=100), 15, "us", []),
        (3, "syncs, one tree of 3x4 (six levels)", syncs(1), 11, "", peer_syncs(figures)),
        (3, "syncs per node, 100 trees", scaled(syncs(100), 1 / 16), 0.1, "", []),
        (4, "nodes/s, 100 trees", our("nodes_s", conc=100), None, "/s", beside("nodes_s", {"restate": 2, "langgraph-sqlite": 12}, conc=100, more_is_better=True)),
        (5, "wall of one tree of 3x4", our("run_ms"), None, "ms", beside("run_ms", {"langgraph-sqlite": 6, "restate": 2})),
        (6, "bytes sent to the disk per node, one tree", scaled(our("wbytes_node"), 1e-3), 14, "KB", []),
        (6, "bytes sent to the disk per node, 100 trees", scaled(our("wbytes_node", conc=100), 1e-3), 10, "KB", []),
        (6, "file per node at rest, one tree", scaled(our("db_bytes_node"), 1e-3), 14, "KB", []),
        (14, "fold, per event, 10,000 nodes", grown("fold_us_event", 10_000), 5, "us", []),
        (14, "CPU per node, 10,000 nodes over 1,000 (linear: 1)", ratio(grown("cpu_ms_node", 10_000), grown("cpu_ms_node", 1_000)), 1.2, "", []),
        (14, "peak memory, 10,000 nodes over 1,000 (linear: 10)", ratio(grown("rss_mb", 10_000), grown("rss_mb", 1_000)), 10, "", []),
    ]


def against(who, ours, theirs, times, more_is_better=False):
    """The factor by which we are better than a peer, and the factor that was the target."""
    if not ours or not theirs:
        return None
    factor = ours / theirs if more_is_better else theirs / ours
    return f"{who} {number(theirs)}: {factor:.1f}x, wanted {times}x" + ("" if factor >= times else " (missed)")


def peer_syncs(figures):
    found = [(name, figures.median("syncs_per_node", test="syncs", peer=name)) for name in ("langgraph-sqlite-sync", "dbos-sqlite")]
    return [f"{name} {number(value * 16)} for 20 calls" for name, value in found if value]


def first_call(figures):
    found = [(name, figures.peer("cpu_to_first_call_s", name)) for name in ("langgraph-sqlite", "dbos-sqlite")]
    return [f"{name} {number(value * 1e3)} ms to its first call" for name, value in found if value]


def recovered(figures):
    found = [(name, figures.median("finished_calls_executed_again", test="recover", peer=name), figures.median("finished_before", test="recover", peer=name)) for name in ("langgraph-sqlite-sync", "dbos-sqlite")]
    return [f"{name} {number(again)} of {number(of)} finished" for name, again, of in found if again is not None]


def ratio(one, other):
    return one / other if one and other else None


def scaled(value, factor):
    return value * factor if value is not None else None


def number(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def render(lines, missing):
    figures = Figures(enriched(lines))
    out = ["# Benchmark", "", "Figures of homework runs are per model call, those of trees per node. All are medians. Compare wall times only within this run.", "",
           "| target | what | figure | limit | | beside peers in this run |", "|---|---|---|---|---|---|"]
    for nth, what, figure, limit, unit, beside in [*trees(figures), *targets(figures)]:
        verdict = "" if figure is None or limit is None else "met" if figure <= limit else f"{figure / limit:.1f}x over" if limit else "missed"
        out.append(f"| {nth} | {what} | {number(figure)} {unit} | {'' if limit is None else f'<= {number(limit)}'} | {verdict} | {'; '.join(filter(None, beside))} |")
    out += ["", *measured(figures), *growths(figures)]
    out += ["", *(f"Left out: {what}: {why}" for what, why in missing.items())]
    return "\n".join(out) + "\n"


COLUMNS = [("CPU ms/call", "cpu_ms_call"), ("calls/s", "calls_per_s"), ("ms/run", "run_ms"), ("rows/node", "rows_per_node"), ("events/call", "events_call"),
           ("us/event", "cpu_us_event"), ("KB/call", "kb_call"), ("RSS MB", "rss_mb"), ("load", "load")]


def measured(figures):
    yield "| who | at once | " + " | ".join(title for title, _ in COLUMNS) + " | n |"
    yield "|---" * (len(COLUMNS) + 3) + "|"
    seen = dict.fromkeys((line["peer"], line["conc"]) for line in figures.lines if line["test"] == "peer")
    for peer, conc in sorted(seen, key=lambda key: (key[1], key[0])):
        cells = [number(figures.peer(field, peer, conc)) for _, field in COLUMNS]
        yield f"| {peer} | {conc} | " + " | ".join(cells) + f" | {len(figures.values('cpu_ms_call', test='peer', peer=peer, conc=conc))} |"


def growths(figures):
    rows = [line for line in figures.lines if line["test"] == "growth"]
    if rows:
        yield ""
        yield "| calls in one run | RSS MB | file KB/call | sent KB/call | CPU ms/call | events |"
        yield "|---|---|---|---|---|---|"
    for line in rows:
        cells = (line["calls"], line["rss_mb"], line["db_bytes_node"] / 1e3, line["wbytes_node"] / 1e3, line["cpu_ms_node"], line["events"])
        yield "| " + " | ".join(number(cell) for cell in cells) + " |"
    trees = [line for line in figures.lines if line["test"] == "tree growth"]
    if trees:
        yield ""
        yield "| nodes in one tree | nodes/s | CPU ms/node | us/event | fold us/event | events/node | rows/node | file KB/node | sent KB/node | peak MB | memory KB/node |"
        yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for line in trees:
        nodes = line["nodes"]
        cells = (nodes, line["nodes_s"], line["cpu_ms_node"], line["cpu_us_event"], line["fold_us_event"], line["events"] / nodes, line["rows_per_node"],
                 line["db_bytes_node"] / 1e3, line["wbytes_node"] / 1e3, line["rss_mb"], line["rss_mb"] * 1e3 / nodes)
        yield "| " + " | ".join(number(cell) for cell in cells) + " |"
