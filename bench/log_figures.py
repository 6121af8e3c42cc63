"""What the log of one run says about the model that worked on it. docs/protocol.md describes the events."""
from datetime import datetime

REJECTIONS = ("homework.answer_rejected", "tree.answer_rejected", "task.answer_rejected", "run.check_rejected")
ENDS = ("run.completed", "run.stopped", "run.failed", "run.canceled")


def figures(events):
    calls = Calls(events)
    return {
        "ended": ended(events),
        "why": why(events),
        "first_answers": len(calls.first_answers),
        "valid_first_answers": len(calls.first_answers - calls.rejected),
        "repairs": len(calls.repairs),
        "calls": calls.sent,
        "tokens_in": calls.tokens("tokensIn"),
        "tokens_out": calls.tokens("tokensOut"),
        "tokens_cached": calls.tokens("tokensCached"),
        "progress": progress(events),
        "questions": sum(event["type"] == "run.question_asked" for event in events),
        "criteria": len(events[0]["payload"]["successCriteria"]),
        "criteria_verified": list(states(events).values()).count("verified"),
        "minutes": minutes(events),
    }


class Calls:
    """The model calls of a run. An effect is one question to the model, however many attempts it takes."""

    def __init__(self, events):
        # Of each effect its role; those that ask once more because an answer was of no use; those that got an answer.
        self.roles, self.again, self.answered, self.settled = {}, set(), set(), []
        self.sent = 0
        self.rejected = unreadable(events)
        check_rejected = False
        for event in events:
            payload = event["payload"]
            if event["type"] == "run.check_rejected":
                check_rejected = True
            elif event["type"] == "effect.started" and "model" in payload:
                check_again = check_rejected and payload["what"] == "verifier"
                check_rejected = check_rejected and not check_again
                self.started(payload, check_again)
            elif event["type"] == "effect.finished" and payload["effect"] in self.roles:
                self.finished(payload)

    def started(self, payload, check_again):
        self.roles[payload["effect"]] = payload["what"]
        if payload["effect"].endswith(".fix") or check_again:
            self.again.add(payload["effect"])

    def finished(self, payload):
        # A refused call was not sent, because it did not fit the budget. A canceled one may have been sent or not; its bill says it.
        settled = payload["settled"]
        if payload["outcome"] == "refused" or payload["outcome"] == "canceled" and not settled["tokensIn"]:
            return
        self.sent += 1
        self.settled.append(settled)
        if payload["outcome"] == "ok":
            self.answered.add(payload["effect"])

    @property
    def first_answers(self):
        return self.answered - self.again

    @property
    def repairs(self):
        """Calls that make up for another one: for an invalid answer, or (homework_repair) for tool calls that failed."""
        return self.again | {effect for effect, role in self.roles.items() if role == "homework_repair"}

    def tokens(self, name):
        return sum(settled[name] for settled in self.settled)


def unreadable(events):
    """The effects whose answers did not fit their schema. A check that only lacks its quotes did."""
    found = {event["payload"]["effect"] for event in events if event["type"] in REJECTIONS and not event["payload"].get("quotes")}
    # These two roles are not asked again. That the run did without them says that their answers were of no use.
    unused = set()
    if not by_model(events):
        unused.add("homework_report")
    if not any(event["type"] == "task.reflected" for event in events):
        unused.add("agent_reflection")
    return found | {event["payload"]["effect"] for event in events if event["type"] == "effect.started" and event["payload"]["what"] in unused}


def by_model(events):
    reports = [event["payload"]["report"] for event in events if event["type"] == "run.report_created"]
    return bool(reports) and reports[-1].get("prose_by") == "model"


def ended(events):
    """verified, claimed or partial of a completed run, else the status it ended or waits in."""
    last = last_of(events, (*ENDS, "run.waiting_on_user", "run.resumed"))
    if last is None or last["type"] == "run.resumed":
        return "running"
    name = last["type"].removeprefix("run.")
    if name == "completed":
        return last["payload"].get("outcome", "claimed")
    return "waiting" if name == "waiting_on_user" else name


def why(events):
    """The reason of the end, or the question that a run still waits with."""
    payload = (last_of(events, ENDS) or last_of(events, ("run.question_asked",)) or {"payload": {}})["payload"]
    reason = payload.get("stopReason")
    text = payload.get("detail") or payload.get("error") or payload.get("text") or ""
    return f"{reason}: {text}" if reason else text


def progress(events):
    """Homework: iterations with progress. Tree: nodes that completed with a result. Task: steps that worked, without the first one,
    which is the platform's."""
    return sum(
        event["type"] == "homework.iteration_completed" and event["payload"]["progress"]
        or event["type"] == "tree.node_completed" and event["payload"]["outcome"] != "no_op"
        or event["type"] == "task.step_result" and event["payload"]["ok"] and event["payload"]["step"] > 0
        for event in events
    )


def states(events):
    """The last known state of each criterion that was checked."""
    return {event["payload"]["criterion"]: event["payload"]["state"] for event in events if event["type"] == "run.criterion_checked"}


def minutes(events):
    first, last = (datetime.fromisoformat(event["timestamp"].replace("Z", "+00:00")) for event in (events[0], last_of(events, ENDS) or events[-1]))
    return (last - first).total_seconds() / 60


def last_of(events, types):
    return next((event for event in reversed(events) if event["type"] in types), None)
