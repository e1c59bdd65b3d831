"""Front ends: the window and the command line. Shows records, sends commands; knows no tensor."""

import os

# Before numpy is imported anywhere: OpenBLAS's own threads would fight ONNX Runtime's for the cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
