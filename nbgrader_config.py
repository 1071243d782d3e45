"""nbgrader's settings for this course, read by every nbgrader command that starts in this folder."""

from pathlib import Path

c = get_config()  # noqa: F821  nbgrader puts it here

c.CourseDirectory.course_id = "layernorm"
c.CourseDirectory.root = str(Path(__file__).parent)
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
# nbgrader copies every other file from source to release; the authored .md files hold the solutions
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.md", "*.pyc*", "__pycache__", ".*"]

# A released answer cell says where to write; an empty answer is then "missing", not an exception
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE"}
c.ClearSolutions.text_stub = "*Your answer here.*"

# Seconds that a cell may run; a cell that runs longer is interrupted and the next one is tried
c.ExecutePreprocessor.timeout = 30
c.ExecutePreprocessor.interrupt_on_timeout = True
