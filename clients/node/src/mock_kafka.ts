/// <reference lib="esnext.disposable" preserve="true" />
// A Kafka cluster and its methods. Each is one request to the admin port, and returns when its effect is visible.
import { AdminPort, WaitTimeoutError } from './admin_port.js';
import type * as documents from './admin_schema.js';
import { type Cluster, startCluster } from './cluster.js';
import type { StartOptions } from './cluster_command.js';
import { Fault, type FaultRule, Hold, type When } from './fault.js';
import type { Request, RequestFilter } from './journal.js';
import { type NewRecord, recordBody, type StoredRecord, storedRecord } from './records.js';

const ROWS_MAX = 10_000;
type IsolationLevel = 'read_uncommitted' | 'read_committed';

/** Quotas under Kafka's names; null removes one. */
export interface QuotaValues {
  producer_byte_rate?: number | null;
  consumer_byte_rate?: number | null;
  request_percentage?: number | null;
  controller_mutation_rate?: number | null;
  producer_ids_rate?: number | null;
  connection_creation_rate?: number | null;
}

/** Of a user, a client id, both, or an IP address; null is the default of its type. */
export interface QuotaEntity {
  user?: string | null;
  client_id?: string | null;
  ip?: string | null;
}

/**
 * A Kafka cluster for tests. The methods throw a MockKafkaError with the reason if the cluster refuses a request.
 * Fields of documents have the names of the admin port, such as `client_id` and `throttle_time_ms`.
 */
export class MockKafka {
  #cluster?: Cluster;
  #adminPort?: AdminPort;
  #stop: () => Promise<void> = async () => {};

  /**
   * Start a cluster, or use the one that MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL name. It ends with
   * `stop()`, `await using`, or this program.
   * @throws StartError if it does not start; the message has its standard error
   */
  static async start(options: StartOptions = {}): Promise<MockKafka> {
    const kafka = new MockKafka();
    const { cluster, stop } = await startCluster(options);
    kafka.attach(cluster);
    kafka.#stop = stop;
    return kafka;
  }

  /** @internal Use a running cluster. */
  attach(cluster: Cluster): void {
    if (cluster === this.#cluster) return;
    this.#cluster = cluster;
    this.#adminPort = new AdminPort(cluster.adminUrl, cluster.token);
  }

  /** Stop the cluster, if this started it. */
  stop(): Promise<void> {
    return this.#stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stop();
  }

  get #running(): Cluster {
    if (!this.#cluster) throw notStarted();
    return this.#cluster;
  }

  /** `HOST:PORT` of all brokers, separated by commas. */
  get bootstrapServers(): string {
    return this.#running.bootstrapServers;
  }

  /** `HOST:PORT` of each broker, as kafkajs wants it. */
  get brokers(): string[] {
    return this.bootstrapServers.split(',');
  }

  /** The address of the admin port, which also has a page for people. */
  get adminUrl(): string {
    return this.#running.adminUrl;
  }

  /** What the program printed, by key: with `--tls` also `security.protocol` and `ssl.ca.location`. */
  get settings(): Readonly<Record<string, string>> {
    return this.#running.settings;
  }

  /** The lines of the cluster's log, oldest first; none of a cluster that this did not start. */
  get log(): readonly string[] {
    return this.#running.log;
  }

  /** Any operation of the admin port, such as `ask('POST', '/v1/topics/{name}/compact', { path: { name } })`. */
  get ask(): AdminPort['ask'] {
    const port = this.#adminPort;
    if (!port) throw notStarted();
    return port.ask.bind(port);
  }

  // Faults ---------------------------------------------------------------------------------------------------------

  /** Return an error for everything that the request names, and do not handle it, unless `at` is before_response. */
  fail(
    rule: When & {
      error: NonNullable<FaultRule['error']>;
      at?: FaultRule['at'];
      level?: FaultRule['level'];
    },
  ): Promise<Fault> {
    return this.addFault(rule);
  }

  /**
   * Set fields of the response. An object replaces fields of each entry of an array, a list the array.
   * With `handle: false` the request is not handled, and the response claims success.
   */
  respond({
    handle = true,
    ...rule
  }: When & { response: NonNullable<FaultRule['response']>; handle?: boolean }): Promise<Fault> {
    return this.addFault(handle ? rule : { ...rule, error: 'NONE' });
  }

  /** Send the response later, by `ms` and up to `jitter_ms` more; or handle the request later. */
  delay({
    ms,
    at = 'before_response',
    ...rule
  }: When & { ms: number; jitter_ms?: number; at?: FaultRule['at'] }): Promise<Fault> {
    return this.addFault({ ...rule, [at === 'before_response' ? 'delay_ms' : 'delay_request_ms']: ms });
  }

  /** Close the connection instead of handling the request. */
  dropRequest(rule: When = {}): Promise<Fault> {
    return this.addFault({ ...rule, drop: 'before_handling' });
  }

  /** Handle the request, and close the connection instead of sending the response, or after some bytes of it. */
  dropResponse({ after_bytes, ...rule }: When & { after_bytes?: number } = {}): Promise<Fault> {
    if (after_bytes === undefined) return this.addFault({ ...rule, drop: 'before_response' });
    return this.addFault({ ...rule, drop: 'within_response', drop_after_bytes: after_bytes });
  }

  /** Handle the request, unless `at` is before_handling, but never respond. */
  hang({
    at = 'before_response',
    ...rule
  }: When & { at?: NonNullable<FaultRule['hang']> } = {}): Promise<Fault> {
    return this.addFault({ ...rule, hang: at });
  }

  /**
   * Hold requests until `release()`, while others go on; no clock releases them. With `at: 'before_response'` they are
   * handled first.
   */
  async hold({
    at = 'before_handling',
    ...rule
  }: When & { at?: NonNullable<FaultRule['hold']> } = {}): Promise<Hold> {
    return (await this.addFault({ ...rule, hold: at })) as Hold;
  }

  /** Return a throttle time, and mute the connection for it unless `mute` is false. */
  throttle(rule: When & { throttle_time_ms: number; mute?: boolean }): Promise<Fault> {
    return this.addFault({ mute: true, ...rule });
  }

  /** Add a rule with any of its fields. */
  async addFault(rule: FaultRule): Promise<Fault> {
    return this.#faultOf((await this.ask('POST', '/v1/faults', { body: rule })) as documents.FaultView);
  }

  /** Add all rules, or none if one is invalid. */
  async addFaults(rules: FaultRule[]): Promise<Fault[]> {
    const added = (await this.ask('POST', '/v1/faults', { body: rules })) as documents.FaultView[];
    return added.map((view) => this.#faultOf(view));
  }

  /** Return all rules in the order of their evaluation, also those that are used up. */
  async faults(): Promise<Fault[]> {
    return (await this.ask('GET', '/v1/faults')).map((view) => this.#faultOf(view));
  }

  #faultOf(view: documents.FaultView): Fault {
    return new (view.rule.hold ? Hold : Fault)(this, view);
  }

  clearFaults(): Promise<void> {
    return this.ask('DELETE', '/v1/faults');
  }

  // Time -----------------------------------------------------------------------------------------------------------

  /** Move the clock forward, and do everything that becomes due; return the new time in ms since the epoch. */
  async advance(duration: { seconds: number } | { ms: number }): Promise<number> {
    return (await this.ask('POST', '/v1/clock/advance', { body: duration })).now_ms;
  }

  /** Run the clock in real time, `factor` times as fast (`scaled`), or stop it (`standing`). */
  async setClock(mode: documents.ClockBody['mode'], factor?: number): Promise<void> {
    await this.ask('PUT', '/v1/clock', { body: { mode, factor: factor ?? null } as documents.ClockBody });
  }

  // Topics and records ---------------------------------------------------------------------------------------------

  /** Create a topic; missing numbers are those of the cluster's configuration. */
  createTopic(
    name: string,
    options: Omit<documents.NewTopicBody, 'name'> = {},
  ): Promise<documents.TopicView> {
    return this.ask('POST', '/v1/topics', { body: { name, ...options } });
  }

  deleteTopic(name: string): Promise<void> {
    return this.ask('DELETE', '/v1/topics/{name}', { path: { name } });
  }

  /** Return all topics with their partitions, leaders and offsets; internal ones only with `internal`. */
  async topics({ internal = false } = {}): Promise<documents.TopicView[]> {
    return (await this.ask('GET', '/v1/topics')).filter((topic) => internal || !topic.is_internal);
  }

  /** Store records as a producer with acks=all does, and return where they are. Without a partition the key decides. */
  async produce(topic: string, ...records: NewRecord[]): Promise<documents.ProducedView[]> {
    return await this.ask('POST', '/v1/topics/{name}/records', {
      path: { name: topic },
      body: { records: records.map(recordBody) },
    });
  }

  /** Return the records of a topic or partition, by partition and offset. */
  async records(
    topic: string,
    query: { partition?: number; offset?: number; isolation_level?: IsolationLevel } = {},
  ): Promise<StoredRecord[]> {
    const found: documents.RecordView[] = [];
    const remaining = [{ partition: query.partition, offset: query.offset ?? 0 }];
    for (let next = remaining.shift(); next; next = remaining.shift()) {
      const page = await this.ask('GET', '/v1/topics/{name}/records', {
        path: { name: topic },
        query: { ...query, ...next, limit: ROWS_MAX, encoding: 'base64' },
      });
      found.push(...page.records);
      for (const [partition, offset] of Object.entries(page.next_offsets))
        remaining.push({ partition: Number(partition), offset });
    }
    found.sort((a, b) => a.partition - b.partition || a.offset - b.offset);
    return found.map((view) => storedRecord(topic, view));
  }

  /**
   * Return all records of a topic or partition as soon as there are `count`. The topic need not exist yet.
   * @throws WaitTimeoutError if there are fewer for `timeout_ms`, by default 10,000
   */
  async waitForRecords(
    topic: string,
    count = 1,
    {
      timeout_ms = 10_000,
      ...query
    }: { partition?: number; isolation_level?: IsolationLevel; timeout_ms?: number } = {},
  ): Promise<StoredRecord[]> {
    await this.ask('GET', '/v1/topics/{name}/records/wait', {
      path: { name: topic },
      query: { ...query, count, timeout_ms, limit: 1 },
    });
    return this.records(topic, query);
  }

  // Requests -------------------------------------------------------------------------------------------------------

  /** Return the last requests that match, oldest first. `bodies: false` leaves the decoded messages out. */
  async requests(filter: RequestFilter & { limit?: number } = {}): Promise<Request[]> {
    const query = { kind: 'request', limit: ROWS_MAX, ...filter } as const;
    return (await this.ask('GET', '/v1/requests', { query })) as unknown as Request[];
  }

  /**
   * Return the first request that matches, or wait for it. It may have no response yet: `outcome: 'responded'`
   * waits for that.
   * @throws WaitTimeoutError if there is none for `timeout_ms`, by default 10,000; the message has the nearest requests
   */
  async waitForRequest({
    timeout_ms = 10_000,
    ...filter
  }: RequestFilter & { timeout_ms?: number } = {}): Promise<Request> {
    const query = { kind: 'request', ...filter, timeout_ms } as const;
    return (await this.ask('GET', '/v1/requests/wait', { query })) as unknown as Request;
  }

  /** Return the number of the newest request, as `since` for later ones only. */
  async lastRequestNumber(): Promise<number> {
    return (await this.ask('GET', '/v1/requests/status')).last_number;
  }

  // Groups ---------------------------------------------------------------------------------------------------------

  /** Return all groups of every type with their members and offsets. */
  groups(): Promise<documents.GroupView[]> {
    return this.ask('GET', '/v1/groups');
  }

  /** Return the committed offsets of a group, such as `{ 'orders-0': 17 }`. */
  committed(group: string): Promise<Record<string, number>> {
    return this.#offsets(group, 'offset');
  }

  /** Return how many offsets a group is behind, such as `{ 'orders-0': 2 }`; without a commit the whole log. */
  lag(group: string): Promise<Record<string, number>> {
    return this.#offsets(group, 'lag');
  }

  async #offsets(group_id: string, field: 'offset' | 'lag'): Promise<Record<string, number>> {
    const offsets = await this.ask('GET', '/v1/groups/{group_id}/offsets', { path: { group_id } });
    return Object.fromEntries(
      offsets.flatMap((view) =>
        view[field] === null ? [] : [[`${view.topic}-${view.partition}`, view[field]]],
      ),
    );
  }

  /**
   * Return a group as soon as every member has its final assignment; it has members, or as many as `members`.
   * @throws WaitTimeoutError if it is not stable for `timeout_ms`, by default 10,000
   */
  async waitForStable(
    group_id: string,
    { members, timeout_ms = 10_000 }: { members?: number; timeout_ms?: number } = {},
  ): Promise<documents.GroupView> {
    const found = await this.ask('GET', '/v1/groups/{group_id}/stable', {
      path: { group_id },
      query: { members, timeout_ms },
    });
    if (found) return found;
    const group = (await this.groups()).find((view) => view.group_id === group_id);
    const state = group ? `is ${group.state}, with ${group.members.length} members` : 'does not exist';
    throw new WaitTimeoutError(
      `group ${group_id} was not stable${members ? ` with ${members} members` : ''} in ${timeout_ms} ms: it ${state}`,
    );
  }

  // Brokers, quotas, transactions ----------------------------------------------------------------------------------

  /**
   * Close a broker's connections and refuse new ones. Leaders move, unless `elect` is false; with `controlled`
   * they move first.
   */
  async stopBroker(node_id: number, options: documents.StopBody = {}): Promise<void> {
    await this.ask('POST', '/v1/brokers/{node_id}/stop', { path: { node_id }, body: options });
  }

  /** Keep a broker's connections open, but pass no data through them. */
  async isolateBroker(node_id: number, options: documents.CutBody = {}): Promise<void> {
    await this.ask('POST', '/v1/brokers/{node_id}/isolate', { path: { node_id }, body: options });
  }

  /** Start a broker that was stopped, isolated or fenced; `config` changes keys of this broker only. */
  async startBroker(node_id: number, options: documents.StartBody = {}): Promise<void> {
    await this.ask('POST', '/v1/brokers/{node_id}/start', { path: { node_id }, body: options });
  }

  /** Make a broker the leader of a partition; null leaves it without one. */
  async moveLeader(topic: string, partition: number, broker: number | null): Promise<void> {
    await this.ask('PUT', '/v1/topics/{name}/partitions/{partition}/leader', {
      path: { name: topic, partition },
      body: { broker },
    });
  }

  /** Make a broker the coordinator of a group or transactional id. */
  async moveCoordinator(group_id: string, broker: number): Promise<void> {
    await this.ask('PUT', '/v1/groups/{group_id}/coordinator', { path: { group_id }, body: { broker } });
  }

  /** Set quotas from the next request on. Without SASL the user is ANONYMOUS. With `shadow` they are only evaluated. */
  async quota({
    user,
    client_id,
    ip,
    shadow = null,
    ...values
  }: QuotaEntity & QuotaValues & { shadow?: boolean | null }): Promise<void> {
    const named = Object.entries({ user, 'client-id': client_id, ip }).filter(
      ([, name]) => name !== undefined,
    );
    const entity = Object.fromEntries(named) as Record<string, string | null>;
    await this.ask('PUT', '/v1/quotas', {
      body: { entity, values: values as Record<string, number | null>, shadow },
    });
  }

  /** Return all transactional ids with the state, producer, partitions and age of each. */
  transactions(): Promise<documents.TransactionView[]> {
    return this.ask('GET', '/v1/transactions');
  }

  /** Abort an ongoing transaction and fence its producer, as its coordinator does after its timeout. */
  abortTransaction(transactional_id: string): Promise<documents.TransactionView> {
    return this.ask('POST', '/v1/transactions/{transactional_id}/abort', { path: { transactional_id } });
  }

  // The whole cluster ----------------------------------------------------------------------------------------------

  /** Compare the acknowledgements that were sent with the logs; needs a start with `audit`. */
  audit(): Promise<documents.AuditView> {
    return this.ask('GET', '/v1/audit');
  }

  /** Return topics with their records, offsets, quotas, rules and users as one document. */
  snapshot({ records = true } = {}): Promise<documents.Snapshot> {
    return this.ask('GET', '/v1/snapshot', { query: { records } });
  }

  /** Reset the cluster and load a document. With `keep` each later reset loads it again. */
  async loadSnapshot(
    snapshot: documents.Snapshot,
    options: { keep?: boolean; at_once?: boolean } = {},
  ): Promise<void> {
    await this.ask('PUT', '/v1/snapshot', { body: snapshot, query: options });
  }

  /** Restore the state after the start, and close all connections. With new ports old clients cannot return. */
  async reset({ ports = 'same' }: documents.ResetBody = {}): Promise<void> {
    await this.ask('POST', '/v1/reset', { body: { ports } });
    if (ports === 'same') return;
    const brokers = await this.ask('GET', '/v1/brokers');
    this.#running.bootstrapServers = brokers.map(({ host, port }) => `${host}:${port}`).join(',');
  }
}

function notStarted(): Error {
  return new Error('the cluster starts before the first test: use it in tests and hooks');
}
