"""Starts Eyrie: `python3 main.py` opens the window, `python3 main.py --help` lists the commands."""

import sys

from app import bootstrap


def start() -> int:
    """Make sure this Python can run Eyrie (may re-execute inside `.venv`), then hand over to the command line."""
    bootstrap.enter(sys.argv[1:])
    # ONNX Runtime before any Qt: on Windows, Qt's DLLs loaded first keep it from loading (onnxruntime#26127, #16116).
    # app/cli/window.py and app/cli/test.py keep to the same order; tests/test_imports.py watches over it.
    try:
        import onnxruntime  # noqa: F401
    except ImportError as error:
        repair = "delete .venv and start again, or run 'pip install -e .' in your own environment"
        print(f"This Python cannot run Eyrie ({error}): {repair}.", file=sys.stderr)
        return 1
    from app.cli.main import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    try:
        sys.exit(start())
    except KeyboardInterrupt:  # while importing; later app.cli.main handles it
        sys.exit(130)
