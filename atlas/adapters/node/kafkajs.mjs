// The adapter of kafkajs.
import kafkajs from "kafkajs";
import { Adapter, Unsupported } from "./adapter.mjs";

const { CompressionTypes, Kafka, PartitionAssigners, Partitioners, logLevel } = kafkajs;
const COMPRESSIONS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP };
const HEARTBEAT_MS = 200;
const TOPIC = 2; // a resource type

/** kafkajs's own: `type` names an answer of a broker, and `retriable` is on all its errors. */
function classify(error) {
  const inner = error.errors?.[0] ?? error;
  const reason = inner.name === "KafkaJSNumberOfRetriesExceeded" && inner.cause ? inner.cause : inner;
  let kind = "unknown";
  if (["KafkaJSRequestTimeoutError", "KafkaJSTimeout"].includes(reason.name)) kind = "timeout";
  else if (typeof reason.retriable === "boolean") kind = reason.retriable ? "retriable" : "fatal";
  return { error: inner.type ?? inner.name, class: kind };
}

function open(servers, settings) {
  const { mechanism, username, password } = settings.get("security") ?? {};
  const sasl = mechanism && { mechanism: mechanism.toLowerCase(), username, password };
  return new Kafka({
    clientId: "kafkajs",
    brokers: servers,
    sasl,
    logLevel: logLevel.INFO,
    logCreator: () => ({ label, log }) => console.error(label, JSON.stringify(log)),
    retry: settings.named({ retries: "retries", retry_backoff_ms: "initialRetryTime" }),
    ...settings.named({ request_timeout_ms: "requestTimeout" }),
  });
}

class Producer {
  constructor(producer, sending, inOrder) {
    Object.assign(this, { producer, sending, inOrder });
  }

  send({ n, topic, partition, key, value }) {
    const messages = [{ partition, key, value }];
    const sender = this.transaction ?? this.producer;
    const sent = this.inOrder(() => sender.send({ topic, messages, ...this.sending }));
    adapter.report(n, sent.then(([result]) => result?.baseOffset), this.transaction);
  }

  async begin_transaction() {
    this.transaction = await this.producer.transaction();
  }

  commit_transaction() {
    return this.#end((transaction) => transaction.commit());
  }

  abort_transaction() {
    return this.#end((transaction) => transaction.abort());
  }

  async #end(how) {
    await how(this.transaction);
    this.transaction = undefined;
  }

  async send_offsets({ offsets }, consumer) {
    const topics = Object.entries(offsets).map(([topic, partitions]) => ({
      topic,
      partitions: Object.entries(partitions).map(([number, offset]) => ({ partition: Number(number), offset: `${offset}` })),
    }));
    await this.transaction.sendOffsets({ consumerGroupId: consumer.group, topics });
  }

  close() {
    return this.producer.disconnect();
  }
}

async function openProducer(servers, settings) {
  const compression = COMPRESSIONS[settings.get("compression") ?? "none"];
  if (compression === undefined) throw new Unsupported(); // kafkajs needs other packages for it
  const sending = { compression, ...settings.named({ acks: "acks", request_timeout_ms: "timeout" }) };
  const producer = open(servers, settings).producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    ...settings.named({
      idempotent: "idempotent",
      transactional_id: "transactionalId",
      transaction_timeout_ms: "transactionTimeout",
      max_in_flight: "maxInFlightRequests",
      metadata_max_age_ms: "metadataMaxAge",
    }),
  });
  await producer.connect();
  return new Producer(producer, sending, Adapter.inOrder(settings));
}

// kafkajs pushes batches; here they wait until they are polled.
class Consumer {
  waiting = [];
  errors = [];
  last = new Map();

  constructor(kafka, consumer, group) {
    Object.assign(this, { kafka, consumer, group });
    consumer.on(consumer.events.CRASH, ({ payload }) => this.#wake(() => this.errors.push(payload.error)));
  }

  async run(topics, settings) {
    const fromBeginning = settings.get("auto_offset_reset") === "earliest";
    await this.consumer.subscribe({ topics, fromBeginning });
    const autoCommit = settings.get("auto_commit") ?? true;
    await this.consumer.run({ autoCommit, eachBatchAutoResolve: false, eachBatch: (batch) => this.#offer(batch) });
  }

  async #offer({ batch, resolveOffset, heartbeat, isRunning, isStale }) {
    const { topic, partition } = batch;
    const items = batch.messages.map(({ offset, key, value }) => ({
      record: { topic, partition, offset: Number(offset), key: text(key), value: text(value) },
      taken: () => {
        resolveOffset(offset);
        this.last.set(`${topic} ${partition}`, { topic, partition, offset: `${Number(offset) + 1}` });
      },
    }));
    this.#wake(() => this.waiting.push(...items));
    const isWaiting = () => items.some((item) => this.waiting.includes(item));
    while (isWaiting() && isRunning() && !isStale()) {
      await new Promise((next) => {
        this.polled = next;
        setTimeout(next, HEARTBEAT_MS);
      });
      await heartbeat();
    }
    this.waiting = this.waiting.filter((item) => !items.includes(item));
  }

  #wake(change) {
    change();
    this.arrived?.();
  }

  async poll({ records_max: max, timeout_ms: ms }) {
    if (this.waiting.length + this.errors.length === 0) {
      await new Promise((arrived) => {
        this.arrived = arrived;
        setTimeout(arrived, ms);
      });
    }
    const taken = this.waiting.splice(0, max);
    if (taken.length === 0 && this.errors.length > 0) throw this.errors.shift();
    for (const item of taken) item.taken();
    this.polled?.();
    return { records: taken.map((item) => item.record) };
  }

  async commit() {
    if (this.last.size > 0) await this.consumer.commitOffsets([...this.last.values()]);
  }

  async committed({ topic, partition }) {
    const admin = this.kafka.admin();
    await admin.connect();
    try {
      const [found] = await admin.fetchOffsets({ groupId: this.group, topics: [topic] });
      const offset = Number(found.partitions.find((each) => each.partition === partition)?.offset ?? -1);
      return { offset: offset < 0 ? null : offset };
    } finally {
      await admin.disconnect();
    }
  }

  seek({ topic, partition, offset }) {
    this.waiting = this.waiting.filter(({ record }) => record.topic !== topic || record.partition !== partition);
    this.consumer.seek({ topic, partition, offset: `${offset}` });
  }

  close() {
    this.polled?.();
    return this.consumer.disconnect();
  }
}

async function openConsumer(servers, settings, { topics }) {
  // Without a group kafkajs reads nothing.
  if (topics === undefined || settings.get("group_protocol") === "consumer") throw new Unsupported();
  const kafka = open(servers, settings);
  const group = settings.get("group");
  const isolation = settings.get("isolation");
  const assignor = { roundrobin: PartitionAssigners.roundRobin }[settings.get("assignor")];
  const consumer = kafka.consumer({
    groupId: group,
    ...(isolation && { readUncommitted: isolation === "read_uncommitted" }),
    ...(assignor && { partitionAssigners: [assignor] }),
    ...settings.named({
      session_timeout_ms: "sessionTimeout",
      heartbeat_interval_ms: "heartbeatInterval",
      fetch_max_wait_ms: "maxWaitTimeInMs",
      metadata_max_age_ms: "metadataMaxAge",
    }),
  });
  const opened = new Consumer(kafka, consumer, group);
  await consumer.connect();
  await opened.run(topics, settings);
  return opened;
}

class Admin {
  constructor(admin) {
    this.admin = admin;
  }

  // false, without an error: the topic exists already
  async create_topic({ topic, partitions = 1, replication_factor: replicationFactor = 1, timeout_ms: timeout }) {
    const topics = [{ topic, numPartitions: partitions, replicationFactor }];
    return { created: await this.admin.createTopics({ topics, timeout }) };
  }

  delete_topic({ topic, timeout_ms: timeout }) {
    return this.admin.deleteTopics({ topics: [topic], timeout });
  }

  async create_partitions({ topic, partitions: count, timeout_ms: timeout }) {
    await this.admin.createPartitions({ topicPartitions: [{ topic, count }], timeout });
  }

  async describe_topic({ topic }) {
    const { topics } = await this.admin.fetchTopicMetadata({ topics: [topic] });
    return { partitions: topics[0].partitions.length };
  }

  async list_topics() {
    return { topics: await this.admin.listTopics() };
  }

  async describe_configs({ topic: name }) {
    const { resources } = await this.admin.describeConfigs({ resources: [{ type: TOPIC, name }], includeSynonyms: false });
    const entries = resources[0].configEntries.map(({ configName, configValue }) => [configName, configValue]);
    return { configs: Object.fromEntries(entries) };
  }

  async alter_config({ topic: name, config }) {
    const configEntries = Object.entries(config).map(([key, value]) => ({ name: key, value }));
    await this.admin.alterConfigs({ validateOnly: false, resources: [{ type: TOPIC, name, configEntries }] });
  }

  async list_groups() {
    return { groups: (await this.admin.listGroups()).groups.map(({ groupId }) => groupId) };
  }

  async describe_group({ group }) {
    const [found] = (await this.admin.describeGroups([group])).groups;
    return { state: found.state, members: found.members.length };
  }

  async delete_group({ group }) {
    await this.admin.deleteGroups([group]);
  }

  async delete_records({ topic, partition, offset }) {
    await this.admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: `${offset}` }] });
  }

  async describe_cluster() {
    const { brokers, controller } = await this.admin.describeCluster();
    return { brokers: brokers.map(({ nodeId }) => nodeId), controller };
  }

  close() {
    return this.admin.disconnect();
  }
}

async function openAdmin(servers, settings) {
  const admin = open(servers, settings).admin();
  await admin.connect();
  return new Admin(admin);
}

const text = (bytes) => bytes?.toString() ?? null;

const adapter = new Adapter({
  client: "kafkajs",
  package: "kafkajs",
  supports: ["producer", "idempotence", "transactions", "consumer", "group", "admin"],
  classify,
  create: { producer: openProducer, consumer: openConsumer, admin: openAdmin },
});
await adapter.run();
