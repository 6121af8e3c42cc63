"""The tables of bench/quality: figures by kind of run, two measurements side by side, and one line for each run."""
from table import number

ENDINGS = ("verified", "claimed", "partial", "stopped", "failed", "waiting", "canceled", "broken")


def total(name):
    return lambda lines: number(sum(line.get(name, 0) for line in lines))


def share(part, whole):
    def cell(lines):
        parts, wholes = (sum(line.get(name, 0) for line in lines) for name in (part, whole))
        return f"{100 * parts / wholes:.0f} %" if wholes else "-"
    return cell


def per(part, whole):
    def cell(lines):
        parts, wholes = (sum(line.get(name, 0) for line in lines) for name in (part, whole))
        return number(parts / wholes) if wholes else "-"
    return cell


def of(part, whole):
    return lambda lines: f"{total(part)(lines)} of {total(whole)(lines)}"


def ends(name):
    return lambda lines: str(sum(line["ended"] == name for line in lines))


# Every figure sums up the runs of a row first, so that long runs weigh more than short ones.
FIGURES = [
    ("runs", lambda lines: str(len(lines))),
    ("valid first answers", share("valid_first_answers", "first_answers")),
    ("repairs", total("repairs")),
    ("calls", total("calls")),
    ("tokens in", total("tokens_in")),
    ("tokens out", total("tokens_out")),
    ("cached", share("tokens_cached", "tokens_in")),
    ("progress per call", per("progress", "calls")),
    *((name, ends(name)) for name in ENDINGS),
    ("questions", total("questions")),
    ("criteria verified", of("criteria_verified", "criteria")),
    ("minutes", total("minutes")),
]


def by_kind(lines):
    kinds = list(dict.fromkeys(line["kind"] for line in lines))
    return {kind: [line for line in lines if line["kind"] == kind] for kind in kinds} | {"all": lines}


def rows(head, body):
    yield "| " + " | ".join(head) + " |"
    yield "|---" * len(head) + "|"
    for cells in body:
        yield "| " + " | ".join(cells) + " |"


def render(lines):
    shown = [(name, cell) for name, cell in FIGURES if name not in ENDINGS[5:] or cell(lines) != "0"]
    body = ([kind, *(cell(of_kind) for _, cell in shown)] for kind, of_kind in by_kind(lines).items())
    return "\n".join(rows(["kind", *(name for name, _ in shown)], body))


def beside(before, now):
    """A column of the earlier and one of the later measurement for every kind that both have."""
    old, new = by_kind(before), by_kind(now)
    kinds = [kind for kind in new if kind in old]
    head = [f"{kind}, {when}" for kind in kinds for when in ("before", "now")]
    body = ([name, *(cell(lines[kind]) for kind in kinds for lines in (old, new))] for name, cell in FIGURES)
    return "\n".join([f"Before: {models(before)}. Now: {models(now)}.", "", *rows(["", *head], body)])


def models(lines):
    return ", ".join(dict.fromkeys(line["model"] for line in lines))


def each(lines):
    body = ([line["objective"], line["level"], line["ended"], total("calls")([line]), of("criteria_verified", "criteria")([line]),
             total("minutes")([line]), short(line["why"])] for line in lines)
    return "\n".join(rows(["objective", "level", "ended", "calls", "criteria verified", "minutes", "why"], body))


def short(text, most=120):
    text = " ".join(text.split()).replace("|", "/")
    return text if len(text) <= most else text[:most - 1] + "…"
