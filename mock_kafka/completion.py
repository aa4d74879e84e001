"""Shell completion: what TAB offers, and the scripts that make a shell ask for it.

A script runs `mock-kafka` with `_ARGCOMPLETE` in its environment, and with
the line so far in `COMP_LINE`.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Any

from mock_kafka.commands import ADMIN_COMMANDS, COMMANDS, imported

SHELLS = ("bash", "zsh", "fish")

DESCRIPTION = """\
Print a script with which a shell completes commands, options and their values.
"""
EPILOG = """\
  bash   eval "$(mock-kafka completion bash)"       in ~/.bashrc
  zsh    eval "$(mock-kafka completion zsh)"        in ~/.zshrc, after compinit
  fish   mock-kafka completion fish | source        in ~/.config/fish/config.fish
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of `mock-kafka completion`."""
    parser = argparse.ArgumentParser(
        prog="mock-kafka completion",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS)
    return parser


def main(arguments: Sequence[str]) -> int:
    """Print the script of a shell; return the exit status."""
    print(script(build_parser().parse_args(arguments).shell))
    return 0


def script(shell: str) -> str:
    """Return the script of one of `SHELLS`."""
    from argcomplete.shell_integration import shellcode  # noqa: PLC0415 - only for this

    return shellcode(["mock-kafka"], shell=shell)


def complete(summaries: Mapping[str, str], **changes: Any) -> None:
    """Write the completions of the line in `COMP_LINE`, and exit.

    Args:
        summaries: the help of each command.
        changes: other arguments of `argcomplete.autocomplete`, for tests.
    """
    import argcomplete  # noqa: PLC0415 - only for this

    words = os.environ.get("COMP_LINE", "").split()
    parser = line_parser(summaries, words[1] if len(words) > 1 else "")
    argcomplete.autocomplete(parser, **changes)


def line_parser(summaries: Mapping[str, str], command: str) -> argparse.ArgumentParser:
    """Return a parser of whole lines, with the options of only this command.

    Loading the others would take longer than somebody who presses TAB should wait.
    """
    parser = argparse.ArgumentParser(prog="mock-kafka")
    parser.add_argument("-V", "--version", action="store_true", help="show the version and exit")
    commands = parser.add_subparsers()
    for name, summary in summaries.items():
        parents = [_command_parser(name)] if name == command else []
        commands.add_parser(name, help=summary, parents=parents, add_help=not parents)
    return parser


def _command_parser(command: str) -> argparse.ArgumentParser:
    """Return a command's own parser, which completes names that it does not list as choices."""
    module, _ = COMMANDS[command]
    parser: argparse.ArgumentParser
    if command in {"serve", "certs"}:
        parser = _broker_parser(command)
    elif command == "proxy":
        from proxy.cli import build_parser as proxy_parser  # noqa: PLC0415

        parser = _with_keys(proxy_parser())
    elif command == "load":
        from loadgen.options import SUBCOMMANDS, parser_of  # noqa: PLC0415
        from loadgen.plans import built_in_plans  # noqa: PLC0415

        parser = parser_of("mock-kafka load")
        _complete_with(parser, "plan", {**built_in_plans(), **SUBCOMMANDS}, has_files=True)
    elif module == ADMIN_COMMANDS:
        parser = imported(module).build_parser(command)
    else:
        parser = imported(module).build_parser()
    if command == "scenario":
        scenarios = imported("scenarios.registry").SCENARIOS
        names = {name: scenario.help for name, scenario in scenarios.items()}
        _complete_with(parser, "name", names)
    return parser


def _broker_parser(command: str) -> argparse.ArgumentParser:
    from broker.cli import build_parser as broker_parser  # noqa: PLC0415

    required = {"certs": ["--out", "."], "serve": []}
    parser: argparse.ArgumentParser = (
        broker_parser().parse_args([command, *required[command]]).parser
    )
    return _with_keys(parser) if command == "serve" else parser


def _with_keys(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Complete the keys of `-o`."""
    from broker.config.broker_config import BROKER_KEYS  # noqa: PLC0415

    keys = {f"{name}=": key.doc or "" for name, key in BROKER_KEYS.items()}
    _complete_with(parser, "overrides", keys)
    return parser


def _complete_with(
    parser: argparse.ArgumentParser,
    destination: str,
    summaries: Mapping[str, str],
    *,
    has_files: bool = False,
) -> None:
    """Complete an argument with names, and perhaps with files as well."""
    from argcomplete.completers import FilesCompleter  # noqa: PLC0415 - only for this

    def completions(prefix: str, **_others: Any) -> dict[str, str]:
        found = {name: text for name, text in summaries.items() if name.startswith(prefix)}
        return found | (dict.fromkeys(FilesCompleter()(prefix), "") if has_files else {})

    [action] = [action for action in parser._actions if action.dest == destination]
    action.completer = completions  # type: ignore[attr-defined]
