"""Bugs of elections of replicas that lag, and of what the audit says of them."""

from broker.audit import comparison
from broker.cluster import eligible_leaders, failover, log_truncation
from broker.cluster.topics import Partition
from tests.simulation.mutants.mutant import Mutant, edited
from tests.simulation.mutants.storage import lose_last_batch
from tests.simulation.patches import Patch, edit
from tests.simulation.provoking_worlds import LaggingFollowersWorld, UncleanElectionsWorld


def excuse_losses(patch: Patch) -> None:
    """Let a new leader lack a batch, and the audit say that an election lost it."""
    lose_last_batch(patch)
    edit(
        patch,
        comparison._kind_of_loss,
        "return FindingKind.NOT_STORED",
        "return FindingKind.LOST_BY_ELECTION",
    )


LOST_END_MUTANTS: tuple[Mutant, ...] = (
    edited(
        "A replica that lags may lead like one that is in sync.",
        "records",
        eligible_leaders.clean_leader,
        "partition.isr or partition.eligible_leader_replicas",
        "partition.replicas",
        LaggingFollowersWorld,
    ),
    edited(
        "A topic without unclean elections has them.",
        "records",
        failover.elect,
        'topic.config["unclean.leader.election.enable"]',
        "True",
        LaggingFollowersWorld,
    ),
    edited(
        "A replica that lags counts as one with the whole log.",
        "reads",
        Partition.end_of,
        "self.replica_ends.get(node_id, self.log.log_end_offset)",
        "min(self.replica_ends.get(node_id, 0), self.log.log_end_offset)",
        LaggingFollowersWorld,
    ),
    edited(
        "An election loses one batch more than the new leader lacks.",
        "records",
        log_truncation.lead_out_of_sync,
        "end_offset = partition.end_of(leader_id)",
        "end_offset = partition.log.base_offset_at(max(0, partition.end_of(leader_id) - 1))",
        LaggingFollowersWorld,
    ),
    edited(
        "The audit knows of no election that lost a batch.",
        "audit",
        comparison._kind_of_loss,
        "if is_in_it and",
        "if is_in_it and cut.is_asked and",
        UncleanElectionsWorld,
    ),
    edited(
        "The audit says that a test asked for what an election lost.",
        "audit",
        log_truncation.lead_out_of_sync,
        "_lose_end(cluster, partition, end_offset, now_ms)",
        "_lose_end(cluster, partition, end_offset, now_ms, is_asked=True)",
        UncleanElectionsWorld,
    ),
    Mutant(
        "A new leader lacks a batch, and the audit says that an election lost it.",
        "losses",
        excuse_losses,
        LaggingFollowersWorld,
    ),
)
