"""Grading a class with nbgrader."""

import os
import sys
from pathlib import Path

# nbgrader starts `alembic` and kernels by name; they stand beside the interpreter, active environment or not
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
