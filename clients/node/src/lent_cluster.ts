// The cluster that the tests of a process share, whatever the number of their files.
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { MockKafkaError } from './admin_port.js';
import { type Cluster, startCluster } from './cluster.js';
import type { StartOptions } from './cluster_command.js';
import { MockKafka } from './mock_kafka.js';
import { textOfRequest } from './port_methods.js';

const LINES_SHOWN = 20;
const DUPLICATE_HINT = `A retry got DUPLICATE_SEQUENCE_NUMBER, a failure for kafkajs and @platformatic/kafka: \
start the cluster with { client: 'kafkajs' }.`;

/** How long a hook may take that starts a cluster. */
export const START_HOOK_TIMEOUT_MS = 60_000;

export interface LentOptions extends StartOptions {
  /** With `new` the brokers move to new ports before each test: clients that a test has left cannot return. */
  ports?: 'same' | 'new';
}

/** The cluster with these options that the tests of this process share. It starts with the first `begin`. */
export class LentCluster {
  readonly kafka = new MockKafka();
  #hasBegun = false;

  constructor(readonly options: LentOptions) {}

  /** Start the cluster, or reset it if it runs. */
  async begin(): Promise<void> {
    const { ports = 'same', ...options } = this.options;
    // jest loads this module again for each file, but not the modules of Node.
    const key = `mock-kafka ${JSON.stringify(options)}`;
    const found = getEnvironmentData(key) as Cluster | undefined;
    if (found) this.kafka.attach(found);
    if (!found || !(await this.kafka.reset({ ports }).then(() => true, hasNotEnded))) {
      const [cluster] = await startCluster(options);
      setEnvironmentData(key, cluster);
      this.kafka.attach(cluster);
    }
    this.#hasBegun = true;
  }

  /** Print the last requests and the last lines of the log, if a test has failed. */
  async end(hasFailed: boolean, print: (text: string) => void = console.error): Promise<void> {
    if (!hasFailed || !this.#hasBegun) return;
    const found = this.kafka.requests({ limit: LINES_SHOWN, bodies: false });
    const requests = await found.then((all) => all.map(textOfRequest), (error) => [String(error)]);
    const shown = { requests, log: this.kafka.log.slice(-LINES_SHOWN) };
    const lines = Object.entries(shown).flatMap(([title, all]) => [
      `mock-kafka ${title}:`,
      ...(all.length ? all : ['none']).map((line) => `  ${line}`),
    ]);
    if (requests.some((line) => line.includes(' DUPLICATE_SEQUENCE_NUMBER'))) lines.push(DUPLICATE_HINT);
    print(lines.join('\n'));
  }
}

/** Throw the error of a cluster that runs; one that has ended does not respond. */
function hasNotEnded(error: unknown): false {
  if (error instanceof MockKafkaError) throw error;
  return false;
}
