class QuotaValues(dict):
    producer_byte_rate: float | None
    consumer_byte_rate: float | None
    request_percentage: float | None
    controller_mutation_rate: float | None
    producer_ids_rate: float | None
    connection_creation_rate: float | None

class Resource(dict):
    topic: str
    group: str
    transactional_id: str
    cluster: bool
    user: str
    delegation_token: str

class RequestFilter(dict):
    topic: str
    partition: int
    group: str
    client_id: str
    user: str
    broker: int
    connection: int
    error: str
    outcome: Literal['waiting', 'held', 'responded', 'no_response', 'closed', 'refused', 'delayed']
    fault: str
    denied: bool
    since: int
    since_ms: int
    kind: Literal['request', 'connection', 'disconnect']

class When(dict):
    api: str
    version_min: int
    version_max: int
    topic: str
    partition: int
    group: str
    transactional_id: str
    resource: str
    topic_id: str
    where: Mapping[str, Any]
    broker: int
    client_id: str
    user: str
    connection: int
    listener: str
    name: str
    times: int
    nth: int
    every: int
    skip: int
    after: str
    until: str
    after_ms: int
    until_ms: int
    probability: float
    seed: int

class AccessControlEntry(tuple):
    principal: str | None
    host: str | None
    operation: AclOperation
    permission_type: PermissionType

class Acl(object):
    principal: str
    permission_type: str
    operation: str
    resource_type: str
    resource_name: str
    pattern_type: str
    host: str

class AclBinding(tuple):
    pattern: ResourcePattern
    entry: AccessControlEntry

class AclDecision(object):
    operation: str
    is_allowed: bool
    rule: str
    acl: Acl | None

class AclOperation(int):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15

class AclResourceType(int):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7

class Address(tuple):
    host: str
    port: int

class Admin(object):
    def __init__(self, bootstrap: Sequence[Address], transport: Transport, *, now_ms: Callable[[], int], sleep_ms: Callable[[int], None], default_api_timeout_ms: int=API_TIMEOUT_MS) -> None:
        ...
    def describe_cluster(self) -> ClusterDescription:
        ...
    def list_topics(self) -> list[str]:
        ...
    def topic_names(self) -> dict[UUID, str]:
        ...
    def describe_topics(self, names: Sequence[str]) -> dict[str, TopicDescription | ApiError]:
        ...
    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool=False, retry_on_quota_violation: bool=True) -> Outcomes:
        ...
    def create_partitions(self, counts: Mapping[str, NewPartitions], *, validate_only: bool=False, retry_on_quota_violation: bool=True) -> Outcomes:
        ...
    def delete_topics(self, names: Iterable[str], *, retry_on_quota_violation: bool=True) -> Outcomes:
        ...
    def describe_client_quotas(self, filters: Sequence[QuotaFilter], *, is_strict: bool) -> list[QuotaEntry]:
        ...
    def alter_client_quotas(self, changes: Sequence[QuotaChange]) -> list[ApiError | None]:
        ...
    def describe_acls(self, acl_filter: AclBinding=ALL_ACLS) -> list[AclBinding]:
        ...
    def create_acls(self, acls: Sequence[AclBinding]) -> list[ApiError | None]:
        ...
    def delete_acls(self, filters: Sequence[AclBinding]) -> list[list[AclBinding] | ApiError]:
        ...
    def describe_configs(self, resources: Iterable[ConfigResource]) -> dict[ConfigResource, list[ConfigEntry] | ApiError]:
        ...
    def incremental_alter_configs(self, changes: Mapping[ConfigResource, Sequence[ConfigChange]]) -> dict[ConfigResource, ApiError | None]:
        ...
    def list_config_resources(self, resource_types: Iterable[ResourceType]) -> list[ConfigResource]:
        ...
    def describe_user_scram_credentials(self, users: Iterable[str]=()) -> dict[str, dict[str, int] | ApiError]:
        ...
    def alter_user_scram_credentials(self, upsertions: Sequence[ScramUpsertion], deletions: Iterable[tuple[str, str]]=()) -> dict[str, ApiError | None]:
        ...
    def list_groups(self, states: Iterable[str]=(), types: Iterable[str]=()) -> list[GroupListing]:
        ...
    def describe_groups(self, group_ids: Iterable[str], *, with_topology: bool=False) -> dict[str, GroupDescription | ApiError]:
        ...
    def delete_groups(self, group_ids: Iterable[str]) -> dict[str, ApiError | None]:
        ...
    def group_offsets(self, group_id: str) -> dict[PartitionKey, PartitionOffset]:
        ...
    def alter_group_offsets(self, group_id: str, offsets: Mapping[PartitionKey, PartitionOffset]) -> dict[PartitionKey, ApiError | None]:
        ...
    def delete_group_offsets(self, group_id: str, partitions: Iterable[PartitionKey]) -> dict[PartitionKey, ApiError | None]:
        ...
    def share_group_offsets(self, group_id: str) -> dict[PartitionKey, PartitionOffset]:
        ...
    def alter_share_group_offsets(self, group_id: str, offsets: Mapping[PartitionKey, PartitionOffset]) -> dict[PartitionKey, ApiError | None]:
        ...
    def delete_share_group_offsets(self, group_id: str, topics: Iterable[str]) -> dict[str, ApiError | None]:
        ...
    def list_offsets(self, partitions: Iterable[PartitionKey], timestamp_ms: int) -> dict[PartitionKey, int | ApiError]:
        ...

class ApiError(Exception):
    def __init__(self, error_code: int, message: str | None=None) -> None:
        ...

class AuditError(AssertionError):
    ...

class AuditFinding(object):
    kind: str
    topic: str
    partition: int
    detail: str
    base_offset: int
    records_count: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    client_id: str | None
    connection: int | None
    time_ms: int | None
    group: str | None

class AuditReport(object):
    finding_count: int
    findings: tuple[AuditFinding, ...]
    covered: int
    removed: int
    not_covered: int
    not_covered_partitions: tuple[NotCovered, ...]
    excluded: Mapping[int, int]
    def raise_on_findings(self, *, except_kinds: Collection[str]=()) -> None:
        ...
    def has_findings(self, *, except_kinds: Collection[str]=()) -> bool:
        ...

class BufferFullError(Exception):
    ...

class ClientError(Exception):
    ...

class ClusterDescription(object):
    cluster_id: str | None
    controller_id: int
    brokers: Mapping[int, Address]
    def __init__(self, *, cluster_id, controller_id, brokers): ...

class CompactedPartition(object):
    topic: str
    partition: int
    removed_records: int
    freed_bytes: int
    cleaned_until: int | None

class ConfigChange(tuple):
    name: str
    operation: ConfigOperation
    value: str | None

class ConfigEntry(object):
    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    def __init__(self, *, name, value, source, is_sensitive, synonyms): ...

class ConfigOperation(int):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3

class ConfigResource(tuple):
    resource_type: ResourceType
    name: str

class ConfigSource(int):
    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8

class ConfigSynonym(tuple):
    source: ConfigSource
    name: str
    value: str | None

ConfigValue = ...
class ConfigurationError(Exception):
    ...

class ConnectionLostError(Exception):
    ...

class ConsumerGroupMetadata(tuple):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None

class ControlError(RuntimeError):
    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        ...

DEFAULT = ...
class Delivered(tuple):
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    @property
    def has_offset(self) -> bool:
        ...

class DeliveryRefusedError(Exception):
    def __init__(self, topic: str, partition: int | None, error_code: int, message: str | None=None, *, attempts: int=0, is_possibly_stored: bool=False) -> None:
        ...

class DeliveryTimeoutError(Exception):
    def __init__(self, topic: str, partition: int | None, phase: Phase, elapsed_ms: int, *, attempts: int=0, is_possibly_stored: bool=False, last_error: str | None=None) -> None:
        ...

class Denial(object):
    operation: str
    resource_type: str
    resource_name: str
    rule: str
    acl: Acl | None

class DescribedSubtopology(object):
    subtopology_id: str
    nodes: tuple[TopologyNode, ...]
    def __init__(self, *, subtopology_id, nodes): ...

class ExplorationError(AssertionError):
    ...

class FatalTransactionError(Exception):
    ...

class Fault(object):
    def __init__(self, control: Control, data: Mapping[str, Any]) -> None:
        ...
    @property
    def count(self) -> int:
        ...
    @property
    def match_count(self) -> int:
        ...
    @property
    def is_used_up(self) -> bool:
        ...
    @property
    def is_armed(self) -> bool:
        ...
    def near_misses(self) -> list[str]:
        ...
    def wait(self, count: int=1, *, timeout_s: float=WAIT_TIMEOUT_S) -> None:
        ...
    def remove(self) -> None:
        ...

class GlobalStore(object):
    source: TopologyNode
    processor: TopologyNode
    def __init__(self, *, source, processor): ...

class Group(object):
    group_id: str
    group_type: GroupType
    state: str
    protocol_type: str
    protocol_name: str
    coordinator: int | None
    generation_id: int | None
    group_epoch: int | None
    assignment_epoch: int | None
    is_assigned_manually: bool
    members: tuple[GroupMember, ...]
    offsets: tuple[GroupOffset, ...]
    share_partitions: tuple[SharePartition, ...]
    def member(self, name: str) -> GroupMember:
        ...

class GroupDescription(object):
    group_id: str
    group_type: str
    state: str
    assignor: str
    coordinator_id: int
    coordinator: Address
    members: tuple[MemberDescription, ...]
    group_epoch: int | None
    assignment_epoch: int | None
    topology_epoch: int | None
    subtopologies: tuple[Subtopology, ...]
    topology_status: TopologyStatus
    topology: TopologyDescription | None
    def __init__(self, *, group_id, group_type, state, assignor, coordinator_id, coordinator, members, group_epoch=..., assignment_epoch=..., topology_epoch=..., subtopologies=..., topology_status=..., topology=...): ...

class GroupListing(object):
    group_id: str
    group_type: str
    state: str
    protocol_type: str
    def __init__(self, *, group_id, group_type, state, protocol_type): ...

class GroupMember(object):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    protocol: GroupType
    rack_id: str | None
    subscribed_topics: tuple[str, ...] | None
    subscribed_regex: str | None
    member_epoch: int | None
    state: str | None
    assigned: TopicPartitions | None
    revoking: TopicPartitions | None
    target: TopicPartitions | None
    sessions: tuple[ShareSession, ...]

class GroupOffset(object):
    topic: str
    partition: int
    offset: int
    lag: int | None
    metadata: str

class Hold(object):
    @property
    def held_count(self) -> int:
        ...
    def wait(self, count: int=1, *, timeout_s: float=WAIT_TIMEOUT_S) -> None:
        ...
    def release(self, count: int | None=None) -> None:
        ...
    def __init__(self, control: Control, data: Mapping[str, Any]) -> None:
        ...
    @property
    def count(self) -> int:
        ...
    @property
    def match_count(self) -> int:
        ...
    @property
    def is_used_up(self) -> bool:
        ...
    @property
    def is_armed(self) -> bool:
        ...
    def near_misses(self) -> list[str]:
        ...
    def remove(self) -> None:
        ...

class InFlightRecords(object):
    first_offset: int
    last_offset: int
    state: str
    delivery_count: int
    member_id: str | None
    lock_expires_ms: int | None

class MemberDescription(object):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    assigned: frozenset[PartitionKey]
    member_epoch: int | None
    target: frozenset[PartitionKey] | None
    is_upgraded: bool | None
    process_id: str
    tasks: StreamsTasks | None
    target_tasks: StreamsTasks | None
    def __init__(self, *, member_id, group_instance_id, client_id, client_host, assigned, member_epoch=..., target=..., is_upgraded=..., process_id=..., tasks=..., target_tasks=...): ...

class Metric(object):
    group: str
    name: str
    tags: Mapping[str, str]
    value: float | None

class MockKafka(object):
    def __init__(self, brokers: int=1, config: Mapping[str, ConfigValue] | None=None, *, host: str='127.0.0.1', port: int=0, log_level: str='warning', admin_port: int | None=0, in_process: bool=False, faults: Rules | None=None, audit: bool=False, acls: bool=False, tls: bool=False, users: Mapping[str, str] | None=None, snapshot: Snapshot | None=None, command: str | Sequence[str] | None=None) -> None:
        ...
    @property
    def bootstrap_servers(self) -> str:
        ...
    def bootstrap_servers_of(self, listener: str) -> str:
        ...
    @property
    def ca_path(self) -> str:
        ...
    def client_settings(self, client: Client, *, user: str | None=None, password: str | None=None, listener: str | None=None) -> dict[str, Any]:
        ...
    @property
    def bootstrap_servers_list(self) -> list[str]:
        ...
    @property
    def admin_url(self) -> str:
        ...
    @property
    def control(self) -> Control:
        ...
    @property
    def pid(self) -> int:
        ...
    @property
    def is_running(self) -> bool:
        ...
    def start(self) -> MockKafka:
        ...
    def stop(self) -> None:
        ...
    def hook(self, function: Callable[[Request], Mapping[str, Any] | None] | None) -> None:
        ...
    def log_lines(self) -> list[str]:
        ...
    def advance(self, *, seconds: float | None=None, ms: int | None=None) -> int:
        ...
    def now_ms(self) -> int:
        ...
    def set_clock(self, mode: ClockMode, factor: float | None=None) -> None:
        ...
    def stop_broker(self, broker: int, *, elect: bool=True, controlled: bool=False) -> None:
        ...
    def isolate_broker(self, broker: int, *, elect: bool=False) -> None:
        ...
    def start_broker(self, broker: int, *, config: Mapping[str, ConfigValue | None] | None=None) -> None:
        ...
    def add_broker(self, broker: int | None=None, *, rack: str | None=None) -> int:
        ...
    def decommission_broker(self, broker: int) -> None:
        ...
    def advertise(self, broker: int, host: str, port: int, *, listener: str | None=None) -> None:
        ...
    def fence_broker(self, broker: int) -> None:
        ...
    def move_leader(self, topic: str, partition: int, broker: int | None) -> None:
        ...
    def move_coordinator(self, group: str, broker: int) -> None:
        ...
    def quota(self, *, user: str | Default | None=None, client_id: str | Default | None=None, ip: str | Default | None=None, shadow: bool | None=None, **values: Unpack[QuotaValues]) -> None:
        ...
    def shadow_report(self) -> list[ShadowCount]:
        ...
    def metrics(self) -> list[Metric]:
        ...
    def transactions(self) -> list[Transaction]:
        ...
    def abort_transaction(self, transactional_id: str) -> Transaction:
        ...
    def expire_transactional_id(self, transactional_id: str) -> None:
        ...
    def requests(self, *, api: str | None=None, limit: int=_REQUESTS_MAX, has_messages: bool=True, fields: Iterable[str] | None=None, **filters: Unpack[RequestFilter]) -> list[Request]:
        ...
    def request(self, number: int, *, secrets: bool=False) -> Request:
        ...
    def save_pcap(self, path: str | PathLike[str], *, api: str | None=None, secrets: bool=False, **filters: Unpack[RequestFilter]) -> None:
        ...
    def wait_for(self, *, api: str | None=None, timeout_s: float=10.0, **filters: Unpack[RequestFilter]) -> Request:
        ...
    def near_misses(self, *, api: str | None=None, **filters: Unpack[RequestFilter]) -> list[str]:
        ...
    def last_request_number(self) -> int:
        ...
    def audit(self) -> AuditReport:
        ...
    def reset(self, *, ports: Ports='same') -> None:
        ...
    def allow(self, principal: str, operations: str | Iterable[str], *, prefix: bool=False, host: str='*', **resource: Unpack[Resource]) -> None:
        ...
    def deny(self, principal: str, operations: str | Iterable[str], *, prefix: bool=False, host: str='*', **resource: Unpack[Resource]) -> None:
        ...
    def acls(self, principal: str | None=None, *, operation: str | None=None, permission: Literal['allow', 'deny'] | None=None, pattern: Literal['literal', 'prefixed', 'match'] | None=None, host: str | None=None, **resource: Unpack[Resource]) -> list[Acl]:
        ...
    def delete_acls(self, principal: str | None=None, *, operation: str | None=None, permission: Literal['allow', 'deny'] | None=None, pattern: Literal['literal', 'prefixed', 'match'] | None=None, host: str | None=None, **resource: Unpack[Resource]) -> list[Acl]:
        ...
    def authorize(self, principal: str, operation: str, *, host: str='127.0.0.1', **resource: Unpack[Resource]) -> AclDecision:
        ...
    def fail(self, *, error: str, at: At | None=None, level: Level | None=None, **when: Unpack[When]) -> Fault:
        ...
    def respond(self, *, response: Mapping[str, Any], handle: bool=True, **when: Unpack[When]) -> Fault:
        ...
    def delay(self, *, ms: int, jitter_ms: int=0, at: At='before_response', **when: Unpack[When]) -> Fault:
        ...
    def drop_request(self, *, by: DropBy='close', **when: Unpack[When]) -> Fault:
        ...
    def drop_response(self, *, after_bytes: int | None=None, by: DropBy='close', **when: Unpack[When]) -> Fault:
        ...
    def trickle(self, *, trickle_bytes: int, trickle_ms: int=100, **when: Unpack[When]) -> Fault:
        ...
    def hang(self, *, at: At='before_response', **when: Unpack[When]) -> Fault:
        ...
    def hold(self, *, at: At='before_handling', **when: Unpack[When]) -> Hold:
        ...
    def change_records(self, change: RecordChange, *, record_index: int | None=None, schema_id: int | None=None, **when: Unpack[When]) -> Fault:
        ...
    def sequence(self, *steps: Mapping[str, Any]) -> list[Fault]:
        ...
    def wait_for_fault(self, fault: Fault, count: int=1, *, timeout_s: float=WAIT_TIMEOUT_S) -> None:
        ...
    def release(self, hold: Hold, count: int | None=None) -> None:
        ...
    def throttle(self, *, throttle_time_ms: int, mute: bool=True, **when: Unpack[When]) -> Fault:
        ...
    def add_fault(self, /, **rule: Any) -> Fault:
        ...
    def add_faults(self, rules: Rules) -> list[Fault]:
        ...
    def faults(self) -> list[Fault]:
        ...
    def clear_faults(self) -> None:
        ...
    def groups(self) -> list[Group]:
        ...
    def committed(self, group: str, topic: str | None=None) -> dict[tuple[str, int], int]:
        ...
    def lag(self, group: str, topic: str | None=None) -> dict[tuple[str, int], int]:
        ...
    def reset_offsets(self, group: str, topic: str | None=None, partition: int | None=None, *, to: Literal['earliest', 'latest'] | None=None, offset: int | None=None, timestamp_ms: int | None=None) -> dict[tuple[str, int], int]:
        ...
    def wait_for_stable(self, group: str, *, members: int | None=None, timeout_s: float=10.0) -> Group:
        ...
    def fence_member(self, group: str, member: str) -> None:
        ...
    def rebalance(self, group: str) -> None:
        ...
    def assign(self, group: str, assignment: Mapping[str, Iterable[tuple[str, int]]]) -> None:
        ...
    def snapshot(self, *, records: bool=True) -> dict[str, Any]:
        ...
    def load_snapshot(self, snapshot: Snapshot, *, keep: bool=False, at_once: bool=False) -> None:
        ...
    def create_topic(self, name: str, partitions: int | None=None, replication_factor: int | None=None, config: Mapping[str, ConfigValue] | None=None) -> Topic:
        ...
    def delete_topic(self, name: str) -> None:
        ...
    def topic(self, name: str) -> Topic:
        ...
    def topics(self, *, internal: bool=False) -> list[Topic]:
        ...
    def records(self, topic: str, partition: int | None=None, offset: int=0, *, isolation_level: IsolationLevel='read_uncommitted') -> list[Record]:
        ...
    def delete_records(self, topic: str, partition: int | None=None, before_offset: int | None=None) -> None:
        ...
    def truncate(self, topic: str, partition: int, offset: int) -> Partition:
        ...
    def leave_gap(self, topic: str, partition: int=0, count: int=1) -> Partition:
        ...
    def append_control_record(self, topic: str, partition: int=0, kind: MarkerKind='commit') -> Partition:
        ...
    def pause_follower(self, topic: str, partition: int, broker: int) -> Partition:
        ...
    def resume_follower(self, topic: str, partition: int, broker: int) -> Partition:
        ...
    def compact(self, topic: str, partition: int | None=None) -> list[CompactedPartition]:
        ...
    def produce(self, topic: str, *values: bytes | str | None, key: bytes | str | None=None, headers: Mapping[str, bytes | str | None] | Iterable[tuple[str, bytes | str | None]]=(), partition: int | None=None, timestamp_ms: int | None=None) -> list[Record]:
        ...
    def wait_for_records(self, topic: str, count: int=1, *, partition: int | None=None, isolation_level: IsolationLevel='read_uncommitted', timeout_s: float=10.0) -> list[Record]:
        ...

class NetworkConditions(object):
    delay_ms_max: int
    slow_chance: float
    slow_ms_max: int
    split_chance: float
    cut_chance: float
    half_open_chance: float
    refuse_chance: float
    black_hole_chance: float
    reset_chance: float
    unread_bytes_max: int

class NewPartitions(object):
    total_count: int
    assignments: tuple[tuple[int, ...], ...] | None
    def __init__(self, *, total_count, assignments=...): ...

class NewTopic(object):
    name: str
    partition_count: int
    replication_factor: int
    assignments: tuple[tuple[int, ...], ...]
    configs: Mapping[str, str]
    def __init__(self, *, name, partition_count=..., replication_factor=..., assignments=..., configs=...): ...

class NotCovered(object):
    topic: str | None
    topic_id: str | None
    partition: int | None
    count: int
    base_offset_min: int
    base_offset_max: int
    time_ms_max: int

class OffsetAndMetadata(tuple):
    offset: int
    metadata: str
    leader_epoch: int

class Partition(object):
    partition: int
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    replica_ends: Mapping[int, int]
    paused_followers: tuple[int, ...]

class PartitionDescription(object):
    index: int
    leader_id: int
    replica_ids: tuple[int, ...]
    isr_ids: tuple[int, ...]
    def __init__(self, *, index, leader_id, replica_ids, isr_ids): ...

class PartitionOffset(object):
    offset: int
    leader_epoch: int
    metadata: str
    lag: int | None
    def __init__(self, *, offset, leader_epoch=..., metadata=..., lag=...): ...

class PatternType(int):
    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4

class PermissionType(int):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3

class Phase(str):
    METADATA = 'waiting for metadata'
    NO_LEADER = 'no leader'
    CONNECTING = 'no connection to the leader'
    PRODUCER_ID = 'waiting for a producer id'
    TRANSACTION = 'waiting to be added to the transaction'
    QUEUED = 'queued behind a full window'
    IN_FLIGHT = 'in flight'
    BACKOFF = 'backoff'
    THROTTLED = 'throttled'

class Producer(object):
    def __init__(self, bootstrap_servers: str | Iterable[str], settings: ProducerSettings | None=None, *, client_id: str=CLIENT_ID, security: Security | None=None, seed: int | None=None, watcher: Watcher | None=None) -> None:
        ...
    @property
    def window(self) -> int | None:
        ...
    async def send(self, topic: str, value: bytes | None, key: bytes | None=None, partition: int | None=None, headers: Sequence[tuple[str, bytes | None]]=(), timestamp_ms: int | None=None) -> 'asyncio.Future[Delivered]':
        ...
    async def init_transactions(self) -> None:
        ...
    def begin_transaction(self) -> None:
        ...
    async def send_offsets_to_transaction(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata) -> None:
        ...
    async def commit_transaction(self) -> None:
        ...
    async def abort_transaction(self) -> None:
        ...
    async def transaction(self) -> AsyncIterator[None]:
        ...
    async def flush(self) -> None:
        ...
    async def close(self, *, is_flushing: bool=True, is_aborting: bool=True) -> None:
        ...
    def on_open(self, node_id: int) -> None:
        ...
    def on_response(self, node_id: int, request: Request, response: messages.Message) -> None:
        ...
    def on_request_failed(self, node_id: int, failed: RequestFailed) -> None:
        ...
    def on_lost(self, node_id: int, error: ClientError) -> None:
        ...

class ProducerClosedError(Exception):
    ...

class ProducerFencedError(Exception):
    def __init__(self, transactional_id: str, producer_id: int, producer_epoch: int) -> None:
        ...

class ProducerSettings(object):
    acks: int
    batch_size: int
    buffer_memory: int
    compression_type: str
    connection_setup_timeout_ms: int
    delivery_timeout_ms: int | None
    enable_idempotence: bool
    linger_ms: int
    max_block_ms: int
    max_in_flight_requests_per_connection: int | None
    max_in_flight_sequence_number_per_connection: int | None
    max_request_size: int
    metadata_max_age_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    request_timeout_ms: int
    retries: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    transaction_timeout_ms: int
    transactional_id: str | None
    delivery_deadline_ms: int
    def __init__(self, *, acks=..., batch_size=..., buffer_memory=..., compression_type=..., connection_setup_timeout_ms=..., delivery_timeout_ms=..., enable_idempotence=..., linger_ms=..., max_block_ms=..., max_in_flight_requests_per_connection=..., max_in_flight_sequence_number_per_connection=..., max_request_size=..., metadata_max_age_ms=..., reconnect_backoff_ms=..., reconnect_backoff_max_ms=..., request_timeout_ms=..., retries=..., retry_backoff_ms=..., retry_backoff_max_ms=..., transaction_timeout_ms=..., transactional_id=...): ...
    def in_flight_max(self, window: int | None) -> int:
        ...

class QuotaChange(object):
    entity: QuotaEntity
    quotas: Mapping[str, float | None]
    def __init__(self, *, entity, quotas): ...

QuotaEntity = ...
class QuotaEntry(object):
    entity: QuotaEntity
    quotas: Mapping[str, float]
    def __init__(self, *, entity, quotas): ...

class QuotaFilter(tuple):
    entity_type: str
    match: QuotaMatch
    name: str | None

class QuotaMatch(int):
    EXACT = 0
    DEFAULT = 1
    ANY = 2

class Record(object):
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    transaction: TransactionOutcome | None

class RecordTooLargeError(Exception):
    ...

class Request(object):
    number: int
    received_ms: int
    broker: int
    client_host: str
    outcome: str
    kind: str
    connection: int | None
    client_id: str | None
    user: str | None
    listener: str | None
    api: str
    version: int
    correlation_id: int
    close_reason: str | None
    duration_us: int | None
    throttle_time_ms: int
    muted: bool
    shadow_throttle_times_ms: Mapping[str, int]
    fault: str | None
    denials: tuple[Denial, ...]
    request_bytes: int
    response_bytes: int
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    transactional_ids: tuple[str, ...]
    errors: tuple[str, ...]
    request: Any
    response: Any
    peer: str | None
    delay_ms: int | None
    request_hex: str | None
    response_hex: str | None

class ResourcePattern(tuple):
    resource_type: AclResourceType
    name: str | None
    pattern_type: PatternType

class ResourceType(int):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32

class SaslSettings(object):
    mechanism: str
    username: str
    password: str
    def __init__(self, *, mechanism, username, password): ...

class ScramUpsertion(object):
    user: str
    mechanism: str
    iterations: int
    password: str
    def __init__(self, *, user, mechanism, iterations, password): ...

class Security(object):
    tls: TlsSettings | None
    sasl: SaslSettings | None
    def __init__(self, *, tls=..., sasl=...): ...

class SecurityError(Exception):
    ...

class ShadowCount(object):
    quota: str
    user: str | None
    client_id: str | None
    broker: int | None
    throttled: int
    held: int
    over_quota: int
    first_ms: int
    last_ms: int
    throttle_time_max_ms: int
    throttle_time_total_ms: int
    events: tuple[ShadowEvent, ...]

class ShadowEvent(object):
    time_ms: int
    throttle_time_ms: int
    user: str
    client_id: str | None

class SharePartition(object):
    topic: str
    partition: int
    start_offset: int | None
    state_epoch: int
    lag: int | None
    in_flight_records: int
    acquired_records: int
    in_flight: tuple[InFlightRecords, ...]

class ShareSession(object):
    broker: int
    epoch: int
    partitions: int

class SimulatedWorld(object):
    def __init__(self, world: World) -> None:
        ...
    @property
    def bootstrap_servers(self) -> str:
        ...
    def process(self, coroutine: Coroutine[Any, Any, _T]) -> Process[_T]:
        ...
    @property
    def network(self) -> NetworkConditions:
        ...
    @property
    def virtual_s(self) -> float:
        ...

class SimulationResult(object):
    value: _T
    seed: int
    virtual_s: float
    digest: str
    byte_count: int
    audit: AuditReport
    journal: tuple[Request, ...]

class StartError(RuntimeError):
    ...

class StreamsTasks(object):
    active: Mapping[str, tuple[int, ...]]
    standby: Mapping[str, tuple[int, ...]]
    warmup: Mapping[str, tuple[int, ...]]
    def __init__(self, *, active, standby, warmup): ...

class Subtopology(object):
    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_topics: tuple[str, ...]
    changelog_topics: tuple[str, ...]
    def __init__(self, *, subtopology_id, source_topics, repartition_topics, changelog_topics): ...

class ThrottlingQuotaExceededError(Exception):
    def __init__(self, throttle_time_ms: int, message: str | None=None) -> None:
        ...

class TlsSettings(object):
    ca_path: str | None
    certificate_path: str | None
    key_path: str | None
    key_password: str | None
    is_hostname_checked: bool
    def __init__(self, *, ca_path=..., certificate_path=..., key_path=..., key_password=..., is_hostname_checked=...): ...

class Topic(object):
    name: str
    topic_id: str
    config: Mapping[str, str]
    partitions: tuple[Partition, ...]
    is_internal: bool

class TopicDescription(object):
    name: str
    topic_id: UUID | None
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]
    def __init__(self, *, name, topic_id, is_internal, partitions): ...

class TopicPartition(tuple):
    topic: str
    partition: int

class TopologyDescription(object):
    subtopologies: tuple[DescribedSubtopology, ...]
    global_stores: tuple[GlobalStore, ...]
    def __init__(self, *, subtopologies, global_stores): ...

class TopologyNode(object):
    name: str
    node_type: TopologyNodeType
    topics: frozenset[str]
    stores: frozenset[str]
    successors: frozenset[str]
    predecessors: frozenset[str]
    def __init__(self, *, name, node_type, topics, stores, successors, predecessors): ...

class TopologyNodeType(int):
    SOURCE = 1
    PROCESSOR = 2
    SINK = 3

class TopologyStatus(int):
    NOT_REQUESTED = 0
    NOT_STORED = 1
    ERROR = 2
    AVAILABLE = 3

class Transaction(object):
    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    coordinator: int | None
    timeout_ms: int
    start_ms: int | None
    age_ms: int | None
    partitions: tuple[tuple[str, int], ...]

class TransactionAbortableError(Exception):
    def __init__(self, cause: ClientError) -> None:
        ...

class TransactionAbortedError(Exception):
    def __init__(self) -> None:
        ...

class TransactionStateError(Exception):
    def __init__(self, operation: str, state: str) -> None:
        ...

class TransactionTimeoutError(Exception):
    def __init__(self, operation: str, max_block_ms: int) -> None:
        ...

class UnreachableError(Exception):
    ...

class UnsupportedVersionError(Exception):
    ...

def explore(function: Test | None=None, *, runs: int=50, seed: int=0, profiles: Sequence[str] | None=None, rules_max: int=4, repeats: int=3, shrink_runs_max: int=50, except_kinds: Collection[str]=()) -> Any:
    ...
def open_admin(bootstrap_servers: str | Iterable[str], *, client_id: str='mock-kafka', security: Security | None=None, request_timeout_ms: int=REQUEST_TIMEOUT_MS, default_api_timeout_ms: int=API_TIMEOUT_MS) -> Iterator[Admin]:
    ...
def security_of(properties: Mapping[str, str]) -> Security:
    ...
def simulate(main: Main[_T], *, seed: int=0, brokers: int=1, config: Mapping[str, ConfigValue] | None=None, faults: Rules | None=None, network: NetworkConditions | None=None, limit_s: float=LIMIT_S) -> SimulationResult[_T]:
    ...
def simulated(seeds: int=20, *, brokers: int=1, config: Mapping[str, ConfigValue] | None=None, faults: Rules | None=None, network: Callable[[Random], NetworkConditions] | None=None, limit_s: float=LIMIT_S) -> Callable[[Callable[..., Coroutine[Any, Any, Any]]], Callable[..., None]]:
    ...
mock_kafka_fixture = ...
mock_kafka_factory_fixture = ...
mock_kafka_module_fixture = ...
mock_kafka_session_fixture = ...
