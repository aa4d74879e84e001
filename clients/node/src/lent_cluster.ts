// The cluster that the tests of a process share, whatever the number of their files.
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { MockKafkaError } from './admin_port.js';
import { type Cluster, startCluster } from './cluster.js';
import type { StartOptions } from './cluster_command.js';
import { lineOf, type Request } from './journal.js';
import { MockKafka } from './mock_kafka.js';

const LINES_SHOWN = 20;
const DUPLICATE_HINT =
  'A retry got DUPLICATE_SEQUENCE_NUMBER, which kafkajs and @platformatic/kafka treat as a failure: ' +
  "start the cluster with { client: 'kafkajs' }.";

/** How long a hook may take that starts a cluster. */
export const START_HOOK_TIMEOUT_MS = 60_000;

export interface LentOptions extends StartOptions {
  /** With `new` the brokers move to new ports before each test: clients that a test has left cannot return. */
  ports?: 'same' | 'new';
}

/** The cluster with these options that the tests of this process share. It starts with the first `begin`. */
export class LentCluster {
  readonly kafka = new MockKafka();

  readonly #options: StartOptions;
  readonly #ports: 'same' | 'new';
  #hasBegun = false;

  constructor({ ports = 'same', ...options }: LentOptions) {
    this.#options = options;
    this.#ports = ports;
  }

  /** Start the cluster, or reset it if it runs. */
  async begin(): Promise<void> {
    // jest loads this module again for each file, but not the modules of Node.
    const key = `mock-kafka ${JSON.stringify(this.#options)}`;
    const found = getEnvironmentData(key) as Cluster | undefined;
    if (found && (await this.#isReset(found))) return;
    const { cluster } = await startCluster(this.#options);
    setEnvironmentData(key, cluster);
    this.kafka.attach(cluster);
    this.#hasBegun = true;
  }

  async #isReset(cluster: Cluster): Promise<boolean> {
    this.kafka.attach(cluster);
    try {
      await this.kafka.reset({ ports: this.#ports });
      this.#hasBegun = true;
      return true;
    } catch (error) {
      if (error instanceof MockKafkaError) throw error;
      return false; // it has ended
    }
  }

  /** Print the last requests and the last lines of the log, if a test has failed. */
  async end(hasFailed: boolean, print: (text: string) => void = console.error): Promise<void> {
    if (!hasFailed || !this.#hasBegun) return;
    let requests: Request[] = [];
    const sections = { requests: [] as string[], log: [...this.kafka.log.slice(-LINES_SHOWN)] };
    try {
      requests = await this.kafka.requests({ limit: LINES_SHOWN, bodies: false });
      sections.requests = requests.map(lineOf);
    } catch (error) {
      sections.requests = [String(error)];
    }
    const shown = Object.entries(sections).flatMap(([title, lines]) => [
      `mock-kafka ${title}:`,
      ...(lines.length ? lines : ['none']).map((line) => `  ${line}`),
    ]);
    if (requests.some(({ errors }) => errors.includes('DUPLICATE_SEQUENCE_NUMBER')))
      shown.push(DUPLICATE_HINT);
    print(shown.join('\n'));
  }
}
