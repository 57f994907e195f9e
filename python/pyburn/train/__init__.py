"""Training: a Learner, and its parts for loops of one's own."""

from .run import EventWriter, Run, RunRecord, environment, list_runs, read_run, write_report
