"""One attempt at one objective: the binary in a data directory of its own, so that no run finds what another one wrote."""
import json
import os
import shutil
import subprocess
import tempfile

ANSWER = "Nobody is here to answer that. Decide it yourself, and write down what you assumed."
# A run that asks more often than this is left waiting.
ROUNDS = 3
# A call that takes longer is given up by Pleach. Whoever waits for a run waits for two calls beyond its limit of time: one that was
# in flight, and the report.
CALL_SECONDS = 900
EXITS = {"completed": (0,), "failed": (1,), "waiting_on_user": (3,), "stopped": (4, 5), "canceled": (6,)}
ACTIONS = ("create_document", "update_document", "create_task", "update_task")


class Broken(Exception):
    """Pleach itself went wrong, whatever the model did. `home` is where its data is."""

    def __init__(self, why, home):
        super().__init__(why)
        self.home = home


class Attempt:
    def __init__(self, pleach, model, objective):
        self.pleach, self.model, self.objective = pleach, model, objective
        self.home = tempfile.mkdtemp(prefix=f"pleach-quality-{objective['id']}-")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PLEACH_")}
        self.environment |= {
            "PLEACH_DATA_DIR": os.path.join(self.home, "data"),
            "XDG_CONFIG_HOME": os.path.join(self.home, "config"),
            "XDG_STATE_HOME": os.path.join(self.home, "state"),
        }

    def carry_out(self):
        """The run object and the events. The directory is kept only where something broke."""
        try:
            return self.carried_out()
        except Broken:
            raise
        except BaseException:
            self.clean_up()
            raise

    def carried_out(self):
        self.configure()
        run, code, errors = self.drive(*self.start())
        for _ in range(ROUNDS):
            if run["status"] != "waiting_on_user":
                break
            run, code, errors = self.answer(run)
        self.must_have_ended(run, code, errors)
        events = self.lines("log", run["id"])
        self.clean_up()
        return run, events

    def clean_up(self):
        shutil.rmtree(self.home, ignore_errors=True)

    def configure(self):
        directory = os.path.join(self.home, "config", "pleach")
        os.makedirs(directory)
        with open(os.path.join(directory, "config.toml"), "w") as file:
            file.write(self.model.configuration())

    def start(self):
        limits = [f"--{name.replace('_', '-')}={value}" for name, value in self.objective["limits"].items()]
        criteria = [f"--success={text}" for text in self.objective["criteria"]]
        place = []
        if material := self.objective.get("material"):
            project = self.lines("project", "create", material["title"], "--description", material["description"])[-1]["id"]
            place = ["--project", project]
        if self.objective["kind"] == "task":
            actions = [f"--action={name}" for name in ACTIONS]
            self.lines("agents", "create", "scout", "--identity", "You do small errands in a project, exactly as you are told.", *place, *actions)
            place = ["--agent", "scout"]
        return "run", self.objective["objective"], "--kind", self.objective["kind"], "--model", self.model.name, "--wait", *place, *limits, *criteria

    def answer(self, run):
        *others, last = [question["id"] for question in run["questions"] if question["answer"] is None and "closed" not in question]
        for question in others:
            self.lines("answer", run["id"], ANSWER, "--question", question, "--detach")
        return self.drive("answer", run["id"], ANSWER, "--question", last, "--wait")

    def drive(self, *arguments):
        """A command that works on the run until it ends or asks. Its last line is the run object."""
        patience = self.objective["limits"]["max_minutes"] * 60 + 2 * CALL_SECONDS + 60
        try:
            done = self.command(*arguments, timeout=patience)
        except subprocess.TimeoutExpired:
            raise Broken(f"it did not end within {patience} s", self.home) from None
        found = done.stdout.splitlines()
        run = json.loads(found[-1]) if found else {}
        if "status" not in run:
            raise Broken(f"exit {done.returncode}, and no run: {done.stderr.strip()[-300:]}", self.home)
        return run, done.returncode, done.stderr

    def must_have_ended(self, run, code, errors):
        if "panicked at" in errors:
            raise Broken(f"it panicked: {errors.strip()[-300:]}", self.home)
        if code not in EXITS.get(run["status"], ()):
            raise Broken(f"exit {code} of a run that is {run['status']}", self.home)
        if not run["stop_reason"] or run["status"] in ("stopped", "failed") and not run["stop_detail"]:
            raise Broken(f"a run that is {run['status']} without a reason", self.home)

    def lines(self, *arguments):
        done = self.command(*arguments, timeout=120)
        if done.returncode:
            raise Broken(f"{' '.join(arguments[:2])} ended with {done.returncode}: {done.stderr.strip()[-300:]}", self.home)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def command(self, *arguments, timeout):
        return subprocess.run([self.pleach, *arguments, "--json"], cwd=self.home, env=self.environment, capture_output=True, text=True, timeout=timeout)


class Model:
    """A model by its name, and what Pleach must be told about its server."""

    def __init__(self, name, base_url=None, context=None, max_output=None):
        self.name, self.base_url, self.context, self.max_output = name, base_url, context, max_output

    def configuration(self):
        provider, model = self.name.split("/", 1)
        if provider == "rehearsal":
            return ""
        terms = {"context_window": self.context, "max_output": self.max_output}
        terms = [f"{name} = {value}\n" for name, value in terms.items() if value]
        return "".join([
            f"[providers.{provider}]\n",
            f"base_url = {json.dumps(self.base_url)}\n" if self.base_url else "",
            f"[providers.{provider}.timeouts]\nfirst_byte_seconds = {CALL_SECONDS}\nidle_seconds = {CALL_SECONDS}\ntotal_seconds = {CALL_SECONDS}\n",
            f"[providers.{provider}.models.{json.dumps(model)}]\n" if terms else "",
            *terms,
        ])
