"""First start: makes `.venv` beside main.py, installs the project into it and goes on inside it. Standard library only.

`.venv/eyrie-ready`, written last, says what is in it. `.venv.lock` keeps two starts apart; text in it: `.venv` is ours.
Syntax of Python 3.6, so that a Python too old for Eyrie gets a sentence instead of a traceback."""

import hashlib
import os
import re
import signal
import sys
import time
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen, call

from app.installed import complete

ROOT = Path(__file__).resolve().parent.parent
VENV, READY, LOCK, PROJECT = (ROOT / n for n in (".venv", ".venv/eyrie-ready", ".venv.lock", "pyproject.toml"))
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
REASONS = {  # what a failed step prints: what to tell
    "No space left": "the disk is full, free 1.5 GB",
    "ensurepip is not|No module named .?(venv|ensurepip)": "on Debian and Ubuntu run 'sudo apt install python3-venv'",
    "NewConnection|ConnectTimeout|resol|unreachable|getaddrinfo|refused": "no way to the package index, go online",
}


def enter(arguments):
    """Return if this interpreter can run Eyrie, otherwise install what is missing and go on inside `.venv`."""
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit("This Python is {}.{}: start Eyrie with Python 3.11 or newer.".format(*sys.version_info[:2]))
    inside = os.environ.pop("EYRIE_INSIDE", "") or os.environ.get("EYRIE_NO_BOOTSTRAP") == "1"
    extras = ["test"] if arguments[:1] == ["test"] else []
    if inside or complete(PROJECT, extras):  # an environment that is complete is left alone
        return
    try:
        has, wanted = stamps(extras)
        if set(wanted) - set(has):
            with open(LOCK, "a+") as lock:
                wait_for(lock)
                install(extras, lock)
        os.environ["EYRIE_INSIDE"] = "1"
        command = [str(PYTHON), str(ROOT / "main.py"), *arguments]
        if os.name != "nt":
            os.execv(command[0], command)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Windows cannot replace a process: the child takes Ctrl+C
        sys.exit(call(command))
    except OSError as error:
        sys.exit(f"Eyrie cannot be set up in {ROOT} ({error}): put it into a folder of your own with 1.5 GB free.")
    except KeyboardInterrupt:
        sys.exit(130)


def stamps(extras):
    """`.venv/eyrie-ready` as it is and should be: hash of folder and Python, hash of pyproject.toml, extras."""
    parts = f"{ROOT!a} {sys.version_info[:2]}".encode(), PROJECT.read_bytes()
    has = READY.read_text(encoding="latin-1").split() if READY.exists() and PYTHON.exists() else []
    return has, [hashlib.sha256(part).hexdigest() for part in parts] + extras


def wait_for(lock):  # noqa: RET503
    """Return when this process alone has the lock; the system frees it however the process ends."""
    for attempt in range(10**9):
        try:
            if os.name == "nt":
                import msvcrt

                lock.seek(10**6)
                return msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
            import fcntl

            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            if not attempt:
                print("Another start is installing: waiting for it.", file=sys.stderr, flush=True)
            time.sleep(0.2)


def install(extras, lock):
    """Make `.venv` (again, if it is ours and half-made, moved, or of another Python) and put the project into it."""
    has, wanted = stamps(extras)
    lock.seek(0)
    if has[:1] != wanted[:1] and (lock.read() or not VENV.exists()):
        print("ours", file=lock, flush=True)
        run("Making .venv", [sys._base_executable, "-m", "venv", "--clear", str(VENV)], lock)
    if set(wanted) - set(has):
        extras = sorted({*extras, *has[2:]})
        what = f".[{','.join(extras)}]" if extras else "."
        run("Installing Eyrie and what it needs into .venv", [str(PYTHON), "-m", "pip", "install", "-e", what], lock)
        READY.with_suffix(".new").write_text(" ".join(wanted[:2] + extras))
        READY.with_suffix(".new").replace(READY)


def run(what, command, lock):
    """Run one step and say its time; if it fails, exit with its reason."""
    print(f"{what} ...", file=sys.stderr, flush=True)
    began, said = time.monotonic(), ["no reason given"]
    more = {} if os.name == "nt" else {"pass_fds": [lock.fileno()]}  # a pip that outlives us keeps the lock
    environment = dict(os.environ, PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1")
    with Popen(command, cwd=ROOT, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, **more) as child:
        for line in child.stdout:
            said += [line.decode(errors="replace").strip() or said[-1]]
            if sys.stderr.isatty():
                print(f"  {said[-1][:76]:76}", end="\r", file=sys.stderr, flush=True)
    if child.returncode:
        last = [line for line in said if line.startswith("ERROR:")] or said
        known = [told for sign, told in REASONS.items() if re.search(sign, "\n".join(said))]
        sys.exit(f"{what} failed: {(known or last[-1:])[0]}; then start again.")
    print(f"{what} took {time.monotonic() - began:.1f} s.".ljust(78 * sys.stderr.isatty()), file=sys.stderr, flush=True)
