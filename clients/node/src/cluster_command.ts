// Which program starts the cluster: clients/README.md has the order.
import { accessSync, constants, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';

const { version } = require('../package.json') as { version: string };

/** How a cluster starts. One that the environment names is used as it is. */
export interface StartOptions {
  /** Number of brokers, by default 1. */
  brokers?: number;
  /** Broker keys under Kafka's names, such as `{ 'num.partitions': 6 }`. */
  config?: Record<string, string | number | boolean>;
  /** These need Kafka's rule of five batches (`producer.state.batches=5`): without it their retries fail. */
  client?: 'kafkajs' | '@platformatic/kafka';
  /** Whether the cluster remembers acknowledgements, for `audit()`. */
  audit?: boolean;
  /** The program, or its words, or its words in one string: instead of the `mock-kafka` that is found. */
  command?: string | readonly string[];
  /** Further arguments of `mock-kafka serve`, such as `['--tls']`. */
  arguments?: readonly string[];
  /** How long a start may take, by default 30,000. */
  start_timeout_ms?: number;
}

/** There is no program, or it did not start; the message has its standard error. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

export interface ClusterCommand {
  words: readonly string[];
  /** Of the admin port on this machine, if it is not what the program prints. */
  adminUrl?: string;
}

/**
 * Return the command that starts a cluster with these options.
 * @throws StartError if there is no program
 */
export async function clusterCommand(options: StartOptions): Promise<ClusterCommand> {
  const given = options.command?.length ? options.command : process.env['MOCK_KAFKA_COMMAND']?.trim();
  if (given)
    return { words: [...(typeof given === 'string' ? wordsOf(given) : given), ...serve(options, 0, 0)] };
  if (findProgram('mock-kafka')) return { words: ['mock-kafka', ...serve(options, 0, 0)] };
  if (findProgram('uvx')) return { words: ['uvx', `mock-kafka==${version}`, ...serve(options, 0, 0)] };
  const engine = ['docker', 'podman'].find(findProgram);
  if (engine) return await containerCommand(engine, options);
  throw new StartError(
    `there is no cluster, and no program that starts one. Looked for
- a running cluster in MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL
- a command in the options
- a command in MOCK_KAFKA_COMMAND
- mock-kafka, uvx, docker and podman on the PATH
Install it with Python 3.11 or newer: pip install path/to/mock-kafka, or uv tool install path/to/mock-kafka`,
  );
}

function serve(options: StartOptions, port: number, adminPort: number): string[] {
  const config = {
    ...(options.client ? { 'producer.state.batches': 5 } : {}),
    ...(options.audit ? { 'audit.enable': true } : {}),
    ...options.config,
  };
  return [
    'serve',
    '--port',
    `${port}`,
    '--admin-port',
    `${adminPort}`,
    '--until-stdin-closes',
    '--log-level',
    'warning',
    ...(options.brokers ? ['--brokers', `${options.brokers}`] : []),
    ...Object.entries(config).flatMap(([key, value]) => ['-o', `${key}=${value}`]),
    ...(options.arguments ?? []),
  ];
}

/** A container publishes ports that are chosen before it starts. */
async function containerCommand(engine: string, options: StartOptions): Promise<ClusterCommand> {
  const brokers = options.brokers ?? 1;
  const port = await freePorts(brokers + 1);
  const adminPort = port + brokers;
  const published = Array.from({ length: brokers + 1 }, (_, i) => [
    '-p',
    `127.0.0.1:${port + i}:${port + i}`,
  ]).flat();
  const image = process.env['MOCK_KAFKA_IMAGE'] || 'mock-kafka';
  const words = [
    engine,
    'run',
    '--rm',
    '--interactive',
    ...published,
    image,
    ...serve(options, port, adminPort),
  ];
  return { words, adminUrl: `http://127.0.0.1:${adminPort}` };
}

/** Return the first of `count` consecutive free ports. */
async function freePorts(count: number): Promise<number> {
  for (;;) {
    const servers = [await listen(0)];
    const address = servers[0]?.address();
    const first = typeof address === 'object' && address ? address.port : 0;
    try {
      while (servers.length < count) servers.push(await listen(first + servers.length));
      return first;
    } catch {
      // One of them is in use.
    } finally {
      for (const server of servers) server.close();
    }
  }
}

function listen(port: number): Promise<ReturnType<typeof createServer>> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

/** Split as a shell does: at spaces outside of quotes. */
function wordsOf(command: string): string[] {
  return (command.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []).map((word) =>
    word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'),
  );
}

function findProgram(name: string): boolean {
  const file = process.platform === 'win32' ? `${name}.exe` : name;
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean);
  return folders.some((folder) => isExecutable(join(folder, file)));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
