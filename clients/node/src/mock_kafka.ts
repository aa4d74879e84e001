/// <reference lib="esnext.disposable" preserve="true" />
// A Kafka cluster, and those of its methods that are more than one request to the admin port.
import type { RecordsQuery, StoredRecord } from './admin_operations.js';
import { AdminPort } from './admin_port.js';
import type * as documents from './admin_schema.js';
import { type Cluster, startCluster } from './cluster.js';
import type { StartOptions } from './cluster_command.js';
import { PortMethods, storedRecord } from './port_methods.js';
import { type NewRecord, recordBody } from './records.js';

const ROWS_MAX = 10_000;

/**
 * A Kafka cluster for tests. The methods throw a MockKafkaError with the reason if the cluster refuses a request.
 * Fields of documents have the names of the admin port, such as `client_id` and `throttle_time_ms`.
 */
export class MockKafka extends PortMethods {
  #cluster?: Cluster;
  #adminPort?: AdminPort;

  /** Stop the cluster, if this started it. */
  stop: () => Promise<void> = async () => {};

  /**
   * Start a cluster, or use the one that MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL name. It ends with
   * `stop()`, `await using`, or this program.
   * @throws StartError if it does not start; the message has its standard error
   */
  static async start(options: StartOptions = {}): Promise<MockKafka> {
    const [cluster, stop] = await startCluster(options);
    const kafka = Object.assign(new MockKafka(), { stop });
    kafka.attach(cluster);
    return kafka;
  }

  /** @internal Use a running cluster. */
  attach(cluster: Cluster): void {
    if (cluster !== this.#cluster) this.#adminPort = new AdminPort(cluster.adminUrl, cluster.token);
    this.#cluster = cluster;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  get #running(): Cluster {
    if (this.#cluster) return this.#cluster;
    throw new Error('the cluster starts before the first test: use it in tests and hooks');
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
    return this.#running && this.#adminPort!.ask.bind(this.#adminPort!);
  }

  /** Store records as a producer with acks=all does, and return where they are. Without a partition the key decides. */
  produce(name: string, ...records: NewRecord[]): Promise<documents.ProducedView[]> {
    const body = { records: records.map(recordBody) };
    return this.ask('POST', '/v1/topics/{name}/records', { path: { name }, body });
  }

  /** Return the records of a topic or partition, by partition and offset. */
  async records(name: string, query: RecordsQuery = {}): Promise<StoredRecord[]> {
    const found: StoredRecord[] = [];
    const remaining = [query];
    for (const next of remaining) {
      const input = { path: { name }, query: { ...next, limit: ROWS_MAX, encoding: 'base64' } } as const;
      const page = await this.ask('GET', '/v1/topics/{name}/records', input);
      for (const view of page.records) found.push(storedRecord(name, view));
      for (const [partition, offset] of Object.entries(page.next_offsets))
        remaining.push({ ...query, partition: Number(partition), offset });
    }
    return found.sort((a, b) => a.partition - b.partition || a.offset - b.offset);
  }

  /** Restore the state after the start, and close all connections. With new ports old clients cannot return. */
  async reset({ ports = 'same' }: documents.ResetBody = {}): Promise<void> {
    await this.ask('POST', '/v1/reset', { body: { ports } });
    if (ports === 'same') return;
    const brokers = await this.ask('GET', '/v1/brokers');
    this.#running.bootstrapServers = brokers.map(({ host, port }) => `${host}:${port}`).join(',');
  }
}
