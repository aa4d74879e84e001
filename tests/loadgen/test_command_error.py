"""Each error of a command is one that ends it with a line."""

from loadgen.admin_port import AdminPortError
from loadgen.archive_classes import ArchiveError
from loadgen.command_error import CommandError
from loadgen.load_run import LoadError
from loadgen.pack import PackError
from loadgen.plan.yaml_reader import PlanError
from loadgen.preparation import PreparationError
from loadgen.quota_trials.proposals import ProtectionError
from loadgen.spark_session import SessionError
from loadgen.storage import StorageError
from loadgen.traces.trace_file import TraceError


def test_the_errors_of_all_commands_are_errors_of_a_command() -> None:
    for error in (
        AdminPortError,
        ArchiveError,
        LoadError,
        PackError,
        PlanError,
        PreparationError,
        ProtectionError,
        SessionError,
        StorageError,
        TraceError,
    ):
        assert issubclass(error, CommandError)
