"""The workaround for a broken Qt wheel, in a process of its own: without it the interpreter dies."""

import subprocess
import sys

CALLS = """
from app.immortal import keep_constants
keep_constants()
from PySide6.QtCore import QObject, Signal
class Sender(QObject):
    sent = Signal(bool)
sender = Sender()
for i in range(60_000):
    sender.setObjectName("name")
    sender.sent.emit(bool(i % 2))
print("alive")
"""


def test_many_calls_do_not_kill_the_interpreter():
    """60,000 calls are a few seconds of streaming."""
    result = subprocess.run([sys.executable, "-c", CALLS], capture_output=True, text=True, timeout=60, check=False)
    assert (result.stdout.strip(), result.returncode) == ("alive", 0), result.stderr
