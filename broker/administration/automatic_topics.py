"""Create a topic that a client needs and has not asked for, with the rules of CreateTopics.

Source: Kafka's `AutoTopicCreationManager`.
"""

from broker.administration.new_topic import NewTopic, check_new_topic, create_planned
from broker.cluster.cluster import Cluster
from broker.cluster.controller_queue import ControllerEvent
from broker.errors import Refusal
from broker.request.context import RequestContext
from broker.request.mutation_quota import MutationQuota
from protocol.pacing import may_pause


@may_pause
def create_automatically(
    context: RequestContext, cluster: Cluster, topic: NewTopic, created: set[str]
) -> Refusal | None:
    """Create a topic, or let the controller do so later; return why it is not created.

    The quota of the client is charged. `created` has the names of topics that this request has
    created.
    """
    queue = cluster.controller_queue
    plan = check_new_topic(cluster, topic, created)
    if isinstance(plan, Refusal):
        return plan
    if topic.name in queue.pending_topics:
        return None
    partition_count = len(plan.assignments)
    refusal = MutationQuota(cluster, context, is_strict=True).charge(partition_count)
    if refusal is not None:
        return refusal
    created.add(topic.name)
    if queue.is_immediate:
        made = create_planned(cluster, topic, plan, created)
        return made if isinstance(made, Refusal) else None

    def create(_now_ms: int) -> None:
        queue.pending_topics.discard(topic.name)
        plan = check_new_topic(cluster, topic, created)
        if not isinstance(plan, Refusal):
            create_planned(cluster, topic, plan, created)

    queue.pending_topics.add(topic.name)
    event = ControllerEvent("createTopics", create, lambda: partition_count)
    queue.submit(event, context.now_ms)
    return None
