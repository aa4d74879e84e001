// The adapter of @platformatic/kafka.
import {
  Admin,
  ConfigResourceTypes,
  Consumer,
  IncrementalAlterConfigOperationTypes,
  Producer,
  stringDeserializers,
  stringSerializers,
} from "@platformatic/kafka";
import { Adapter, Unsupported } from "./adapter.mjs";

const TIMEOUT = "PLT_KFK_TIMEOUT";
const ISOLATIONS = { read_uncommitted: 0, read_committed: 1 };

/** The library's own: `apiId` names an answer of a broker, and `canRetry` is on all its errors. */
function classify(error) {
  const reasons = leaves(error);
  const reason = reasons.find(({ apiId }) => apiId !== undefined) ?? reasons.at(-1);
  let kind = "unknown";
  if (reason.code === TIMEOUT) kind = "timeout";
  else if (typeof reason.canRetry === "boolean") kind = reason.canRetry ? "retriable" : "fatal";
  return { error: reason.apiId ?? reason.code ?? reason.name, class: kind };
}

function leaves(error) {
  if (error.errors?.length > 0) return error.errors.flatMap(leaves);
  return error.cause instanceof Error ? leaves(error.cause) : [error];
}

/** The options that all clients have. */
function connection(servers, settings) {
  const { mechanism, username, password } = settings.get("security") ?? {};
  return {
    clientId: "platformatic",
    bootstrapBrokers: servers,
    ...(mechanism && { sasl: { mechanism, username, password } }),
    ...settings.named({ retries: "retries", retry_backoff_ms: "retryDelay", metadata_max_age_ms: "metadataMaxAge" }),
    ...settings.named({ request_timeout_ms: "requestTimeout" }),
    ...settings.named({ request_timeout_ms: "timeout" }),
    ...settings.named({ request_timeout_ms: "connectTimeout" }),
  };
}

class Sender {
  constructor(producer, inOrder) {
    Object.assign(this, { producer, inOrder });
  }

  send({ n, topic, partition, key, value }) {
    const messages = [{ topic, partition, key: key ?? undefined, value: value ?? undefined }];
    const sender = this.transaction ?? this.producer;
    const sent = this.inOrder(() => sender.send({ messages }));
    adapter.report(n, sent.then(({ offsets }) => offsets?.[0]?.offset), this.transaction);
  }

  async begin_transaction() {
    this.transaction = await this.producer.beginTransaction();
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

  // The library takes the last message that was processed, not an offset.
  async send_offsets({ offsets }, reader) {
    await this.transaction.addConsumer(reader.consumer);
    for (const [topic, partitions] of Object.entries(offsets)) {
      for (const [partition, offset] of Object.entries(partitions)) {
        const message = reader.last.get(`${topic}:${partition}`);
        if (Number(message?.offset) !== offset - 1) throw new Unsupported();
        await this.transaction.addOffset(message);
      }
    }
  }

  close() {
    return this.producer.close(true);
  }
}

async function openProducer(servers, settings) {
  const options = settings.named({
    acks: "acks",
    idempotent: "idempotent",
    transactional_id: "transactionalId",
    compression: "compression",
    max_in_flight: "maxInflights",
  });
  if (options.transactionalId !== undefined) options.idempotent = true;
  const producer = new Producer({ ...connection(servers, settings), ...options, serializers: stringSerializers });
  if (options.transactionalId !== undefined) await producer.initIdempotentProducer({});
  return new Sender(producer, Adapter.inOrder(settings));
}

class Reader {
  errors = [];
  last = new Map();

  constructor(consumer, stream) {
    Object.assign(this, { consumer, stream });
    // Without a listener, which must stay, the stream fetches nothing.
    stream.on("readable", () => this.arrived?.());
    stream.on("error", (error) => {
      this.errors.push(error);
      this.arrived?.();
    });
  }

  async poll({ records_max: max, timeout_ms: ms }) {
    const messages = [];
    let message = this.stream.read();
    if (message === null && this.errors.length === 0) {
      await new Promise((arrived) => {
        this.arrived = arrived;
        setTimeout(arrived, ms);
      });
      message = this.stream.read();
    }
    for (; message !== null; message = messages.length < max ? this.stream.read() : null) messages.push(message);
    if (messages.length === 0 && this.errors.length > 0) throw this.errors.shift();
    for (const each of messages) this.last.set(`${each.topic}:${each.partition}`, each);
    return {
      records: messages.map(({ topic, partition, offset, key, value }) => ({
        topic,
        partition,
        offset: Number(offset),
        key: key ?? null,
        value: value ?? null,
      })),
    };
  }

  async commit() {
    await Promise.all([...this.last.values()].map((message) => message.commit()));
  }

  async committed({ topic, partition }) {
    const offsets = await this.consumer.listCommittedOffsets({ topics: [{ topic, partitions: [partition] }] });
    const offset = Number(offsets.get(topic)?.[partition] ?? -1);
    return { offset: offset < 0 ? null : offset };
  }

  position({ topic, partition }) {
    const offset = this.stream.offsetsToFetch.get(`${topic}:${partition}`);
    return { offset: offset === undefined ? null : Number(offset) };
  }

  async close() {
    await this.stream.close();
    await this.consumer.close(true);
  }
}

async function openConsumer(servers, settings, { topics }) {
  if (topics === undefined) throw new Unsupported(); // the library reads as a member of a group alone
  const consumer = new Consumer({
    ...connection(servers, settings),
    groupId: settings.get("group"),
    deserializers: stringDeserializers,
    ...settings.named({
      instance_id: "groupInstanceId",
      group_protocol: "groupProtocol",
      session_timeout_ms: "sessionTimeout",
      heartbeat_interval_ms: "heartbeatInterval",
      fetch_max_wait_ms: "maxWaitTime",
      auto_commit: "autocommit",
    }),
  });
  consumer.on("error", (error) => console.error("consumer", error)); // else a failed join ends the process
  const isolation = ISOLATIONS[settings.get("isolation")];
  const stream = await consumer.consume({
    topics,
    mode: "committed",
    fallbackMode: { earliest: "earliest", none: "fail" }[settings.get("auto_offset_reset")] ?? "latest",
    ...(isolation !== undefined && { isolationLevel: isolation }),
    ...settings.named({ fetch_max_wait_ms: "maxWaitTime", auto_commit: "autocommit" }),
  });
  return new Reader(consumer, stream);
}

class Administrator {
  constructor(admin) {
    this.admin = admin;
  }

  async create_topic({ topic, partitions = 1, replication_factor: replicas = 1 }) {
    await this.admin.createTopics({ topics: [topic], partitions, replicas });
  }

  async delete_topic({ topic }) {
    await this.admin.deleteTopics({ topics: [topic] });
  }

  async create_partitions({ topic: name, partitions: count }) {
    await this.admin.createPartitions({ topics: [{ name, count }] });
  }

  async describe_topic({ topic }) {
    const metadata = await this.admin.metadata({ topics: [topic], forceUpdate: true });
    return { partitions: metadata.topics.get(topic).partitionsCount };
  }

  async list_topics() {
    return { topics: await this.admin.listTopics() };
  }

  async describe_configs({ topic: resourceName }) {
    const resources = [{ resourceType: ConfigResourceTypes.TOPIC, resourceName }];
    const [found] = await this.admin.describeConfigs({ resources });
    return { configs: Object.fromEntries(found.configs.map(({ name, value }) => [name, value])) };
  }

  async alter_config({ topic: resourceName, config }) {
    const configOperation = IncrementalAlterConfigOperationTypes.SET;
    const configs = Object.entries(config).map(([name, value]) => ({ name, value, configOperation }));
    const resources = [{ resourceType: ConfigResourceTypes.TOPIC, resourceName, configs }];
    await this.admin.incrementalAlterConfigs({ resources });
  }

  async list_groups() {
    return { groups: [...(await this.admin.listGroups()).keys()] };
  }

  async describe_group({ group }) {
    const found = (await this.admin.describeGroups({ groups: [group] })).get(group);
    return { state: found.state, members: found.members.size };
  }

  async delete_group({ group }) {
    await this.admin.deleteGroups({ groups: [group] });
  }

  async delete_records({ topic: name, partition, offset }) {
    await this.admin.deleteRecords({ topics: [{ name, partitions: [{ partition, offset: BigInt(offset) }] }] });
  }

  async describe_cluster() {
    const { brokers, controllerId } = await this.admin.metadata({ topics: [], forceUpdate: true });
    return { brokers: [...brokers.keys()], controller: controllerId };
  }

  close() {
    return this.admin.close();
  }
}

const adapter = new Adapter({
  client: "platformatic",
  package: "@platformatic/kafka",
  supports: ["producer", "idempotence", "transactions", "consumer", "group", "group_protocol_consumer", "admin"],
  classify,
  create: {
    producer: openProducer,
    consumer: openConsumer,
    admin: (servers, settings) => new Administrator(new Admin(connection(servers, settings))),
  },
});
await adapter.run();
