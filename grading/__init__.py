"""Grading a class with nbgrader."""

import os
import sys
import warnings
from pathlib import Path

from sqlalchemy.exc import SAWarning

# nbgrader starts `alembic` and kernels by name; they stand beside the interpreter, active environment or not
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
# nbgrader adds a submission to the grade book in an order that SQLAlchemy warns about
warnings.filterwarnings("ignore", message="Object of type", category=SAWarning)
