"""Grading a class with nbgrader."""

import os
import sys
import warnings
from pathlib import Path

# nbgrader starts `alembic` and kernels by name; they stand beside the interpreter, active environment or not
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
# nbgrader adds a submission to the grade book in an order that SQLAlchemy warns about
warnings.filterwarnings("ignore", message="Object of type")
# jsonschema can do without; it takes most of a second to import, for a kind of address that stands in no notebook
sys.modules.setdefault("rfc3987_syntax", None)
