"""Kept conversations: files that replay without Kafka, because its answers are in them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from mock_kafka import MockKafka
from tests.differential.authorization_matrix import declared_checks, selection
from tests.differential.clusters import (
    REPLAY_REBALANCE_DELAY_MS,
    ComparedCluster,
    Setup,
    compared,
    our_config,
)
from tests.differential.comparison import Comparison, answering_apis, compare
from tests.differential.conversation import (
    FOLDER,
    RELEASE,
    KeptConversation,
    kept_paths,
    load,
)
from tests.differential.player import Play
from tests.differential.preparations import Versions
from tests.differential.search import Finding, Report
from tests.differential.tools import COMPARED_RELEASES, known_differences

SAMPLES = FOLDER / "samples"
"""One conversation of each API, with a response that has many fields."""
AUTHORIZED = FOLDER / "authorization"
"""One conversation of each API that checks what clients may do."""
AGREEMENT = Path(__file__).with_name("agreement.json")
_NAME_CHARACTERS_MAX = 70
_LONG_SETTLE_S = 0.4

REPLAY_SETUPS = tuple(
    Setup(
        rebalance_delay_ms=REPLAY_REBALANCE_DELAY_MS, brokers=brokers, has_authorizer=has_authorizer
    )
    for brokers, has_authorizer in ((1, False), (3, False), (1, True))
)
ReplayClusters: TypeAlias = Mapping[tuple[int, bool], MockKafka]
"""Our clusters by their number of brokers, and whether they have an authorizer."""


def replay(kept: KeptConversation, clusters: ReplayClusters) -> Comparison:
    """Play a kept conversation with a new cluster and compare it with Kafka's answers.

    It has its internal topics and has given a producer id, as Kafka had when it answered.
    """
    ours = clusters[kept.conversation.brokers, kept.conversation.has_authorizer]
    ours.reset()
    cluster = compared(ours)
    cluster.warm_up()
    play = Play(cluster).run(kept.conversation)
    return compare(kept.conversation, kept.answers, play.answers, is_replay=True)


def keep_findings(findings: Iterable[Finding], release: str, folder: Path = FOLDER) -> None:
    """Write the conversation of each difference that no file of the folder has."""
    kept = {load(path).about for path in folder.glob("*/*.json")}
    for finding in findings:
        if finding.signature in kept:
            continue
        api, _, rest = finding.signature.partition(" ")
        path = _free_path(folder / api, _file_name(rest))
        path.parent.mkdir(parents=True, exist_ok=True)
        KeptConversation(
            about=finding.signature,
            release=release,
            conversation=finding.conversation,
            answers=list(finding.kafka),
            open_difference="\n".join(finding.lines),
        ).save(path)


def kept_differences() -> set[str]:
    """Return the signatures of the differences that kept conversations show today."""
    kept = (load(path) for path in kept_paths())
    return {conversation.about for conversation in kept if conversation.open_difference}


def _free_path(folder: Path, name: str) -> Path:
    candidates = (folder / f"{name}{suffix}.json" for suffix in ("", *range(2, 1000)))
    return next(path for path in candidates if not path.exists())


def _file_name(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]+", "-", text).strip("-").lower()[:_NAME_CHARACTERS_MAX].rstrip("-")


def keep_samples(report: Report, release: str) -> None:
    """Write a sample of each API that has none."""
    SAMPLES.mkdir(parents=True, exist_ok=True)
    for api, sample in report.samples.items():
        path = SAMPLES / f"{api}.json"
        if not path.exists():
            about = f"a sample of {api}"
            KeptConversation(
                about, release, sample.conversation, list(sample.kafka), sample.differences
            ).save(path)


def keep_authorized(kafka: ComparedCluster, versions: Versions) -> None:
    """Write what Kafka answers to clients with and without rules, for each API that has no file."""
    AUTHORIZED.mkdir(parents=True, exist_ok=True)
    for api, checks in declared_checks().items():
        path = AUTHORIZED / f"{api}.json"
        if api in versions and not path.exists():
            conversation = selection(api, checks, versions)
            answers = Play(kafka.settling(_LONG_SETTLE_S)).run(conversation).answers
            KeptConversation(f"{api} with rules", RELEASE, conversation, answers).save(path)


@contextmanager
def replay_clusters() -> Iterator[ReplayClusters]:
    """Run clusters of ours with one broker, with three, and with an authorizer, for replays."""
    with ExitStack() as stack:
        yield {
            (setup.brokers, setup.has_authorizer): stack.enter_context(
                MockKafka(setup.brokers, config=our_config(setup))
            )
            for setup in REPLAY_SETUPS
        }


def settle(clusters: ReplayClusters, say: Callable[[str], None]) -> None:
    """Replay all kept conversations and note which of them differ now."""
    for path in kept_paths():
        kept = load(path)
        comparison = replay(kept, clusters)
        lines = "\n".join(str(difference) for difference in comparison.differences)
        if bool(lines) != bool(kept.open_difference):
            say(f"{path.relative_to(FOLDER)}: {'differs' if lines else 'agrees'} now")
        about = kept.about
        if lines and about not in comparison.signatures:
            about = comparison.differences[0].signature
        msgspec.structs.replace(kept, about=about, open_difference=lines).save(path)


def record(kafka: ComparedCluster, setup: Setup, say: Callable[[str], None]) -> None:
    """Replay the kept conversations of a cluster like this and keep Kafka's answers again."""
    for path in kept_paths():
        kept = load(path)
        conversation = kept.conversation
        if (kept.release, conversation.brokers, conversation.has_authorizer) != (
            setup.release,
            setup.brokers,
            setup.has_authorizer,
        ):
            continue
        answers = Play(kafka).run(kept.conversation).answers
        is_new = not kept.answers
        if is_new or compare(kept.conversation, kept.answers, answers, is_replay=True).differences:
            say(f"{path.relative_to(FOLDER)}: Kafka answers differently")
            msgspec.structs.replace(kept, answers=answers).save(path)


def write_agreement(report: Report) -> None:
    """Write how many responses of each API agree, for docs/coverage.md."""
    measured = {
        api: {"responses": agreement.responses, "agreeing": agreement.agreeing}
        for api, agreement in sorted(report.agreement.items())
        if agreement.conversations
    }
    text = msgspec.json.format(msgspec.json.encode(measured), indent=1).decode()
    AGREEMENT.write_text(text + "\n", encoding="utf-8")


def differences_page(paths: Sequence[Path]) -> str:
    """Return a page in Markdown with all conversations that differ, by API."""
    parts = ["# Differences from Apache Kafka that the comparison found\n"]
    last_api = ""
    for path in paths:
        kept = load(path)
        if not kept.open_difference:
            continue
        api = kept.about.partition(" ")[0]
        if api != last_api:
            parts.append(f"\n## {api}\n")
            last_api = api
        parts.append(f"\n### {kept.about}\n\n`{path.relative_to(FOLDER)}`\n\n```")
        parts += [msgspec.json.encode(step).decode() for step in kept.conversation.steps]
        parts.append(f"```\n\n{kept.open_difference}\n")
    for release in COMPARED_RELEASES:
        for about, commands in known_differences(release).items():
            parts.append(f"\n## Tools of {release}: {about}\n")
            for command, lines in commands.items():
                parts += [f"\n`{command}`\n", *(f"    {line}" for line in lines)]
    return "\n".join(parts)


def apis_with_answers(kept: KeptConversation) -> set[str]:
    """Return the APIs of which this conversation has a response."""
    apis = answering_apis(kept.conversation)
    return {
        api
        for api, answer in zip(apis, kept.answers, strict=True)
        if answer is not None and "connection" not in answer
    }
