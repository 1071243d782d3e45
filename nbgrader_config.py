"""nbgrader's settings for this course, read by every nbgrader command that starts in this folder."""

from pathlib import Path

c = get_config()  # noqa: F821  nbgrader puts it here

c.CourseDirectory.course_id = "layernorm"
c.CourseDirectory.root = str(Path(__file__).parent)
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
# nbgrader copies every other file from source to release, where the authored .md files would show the solutions,
# and from a submission to the place where it runs, where a student's numpy.py would be imported
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.md", "*.py", "*.pyc*", "__pycache__", ".*"]

# A released answer cell says where to write; an empty answer is then "missing", not an exception
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE"}
c.ClearSolutions.text_stub = "*Your answer here.*"

# Seconds that a cell may run; a cell that runs longer is interrupted and the next one is tried
c.Run.timeout = c.ExecutePreprocessor.timeout = 30
c.ExecutePreprocessor.interrupt_on_timeout = True
c.ExecutePreprocessor.shutdown_kernel = "immediate"
c.ExecutePreprocessor.extra_arguments = ["--log-level=ERROR"]

# nbgrader's steps, with this course's in front of them, or in the place of nbgrader's own
c.Autograde.sanitize_preprocessors = [
    "grading.preprocessors.Mend",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "grading.preprocessors.Run",
    "nbgrader.preprocessors.LimitOutput",
    "grading.preprocessors.SaveGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.GenerateFeedback.exporter_class = "grading.feedback.Page"
c.GenerateFeedback.preprocessors = ["nbgrader.preprocessors.GetGrades", "grading.feedback.Conceal"]

# Formgrader stands beside Jupyter in your browser: a script in a student's notebook must not run there
c.HTMLExporter.preprocessors = ["grading.viewing.CleanOutputs", "grading.viewing.Rubrics"]
c.HTMLExporter.filters = {"markdown2html": "grading.viewing.markdown2html"}
