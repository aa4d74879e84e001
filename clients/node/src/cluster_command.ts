// Which program starts the cluster: clients/README.md has the order.
import { once } from 'node:events';
import { accessSync, constants, statSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
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
  /** Whether clients may do only what access control lists allow. Users of the key `super.users` may do everything. */
  acls?: boolean;
  /** A JSON file of fault rules that are active from the start; a reset restores them. */
  faults?: string;
  /** A snapshot or a recorded world, which a reset restores: a JSON file, perhaps compressed by gzip. */
  snapshot?: string;
  /** Whether requests are refused that `snapshot`, a recording by a proxy, does not have. */
  strict?: boolean;
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

/**
 * Return the command that starts a cluster with these options.
 * @throws StartError if there is no program
 */
export async function clusterCommand(options: StartOptions): Promise<string[]> {
  const given = options.command?.length ? options.command : (process.env['MOCK_KAFKA_COMMAND'] ?? '');
  const words = typeof given === 'string' ? wordsOf(given) : given;
  if (words.length) return [...words, ...serve(options)];
  const found = ['mock-kafka', 'uvx', 'docker', 'podman'].find(isOnPath);
  if (found === 'mock-kafka') return [found, ...serve(options)];
  if (found === 'uvx') return [found, `mock-kafka==${version}`, ...serve(options)];
  if (found) return await containerCommand(found, options);
  throw new StartError(
    `there is no cluster, and no program that starts one. Looked for
- a running cluster in MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL
- a command in the options
- a command in MOCK_KAFKA_COMMAND
- mock-kafka, uvx, docker and podman on the PATH
Install it with Python 3.11 or newer: pip install path/to/mock-kafka, or uv tool install path/to/mock-kafka`,
  );
}

function serve(options: StartOptions, port = 0, adminPort = 0): string[] {
  const config = {
    ...(options.client && { 'producer.state.batches': 5 }),
    ...(options.audit && { 'audit.enable': true }),
    ...(options.acls && { 'authorizer.class.name': 'acl' }),
    ...options.config,
  };
  return [
    ...`serve --port ${port} --admin-port ${adminPort} --until-stdin-closes --log-level warning`.split(' '),
    ...(options.brokers ? ['--brokers', `${options.brokers}`] : []),
    ...Object.entries(config).flatMap(([key, value]) => ['-o', `${key}=${value}`]),
    ...(options.faults ? ['--faults', options.faults] : []),
    ...(options.snapshot ? ['--snapshot', options.snapshot] : []),
    ...(options.strict ? ['--strict'] : []),
    ...(options.arguments ?? []),
  ];
}

/** A container publishes ports that are chosen before it starts: those of the brokers, and of the admin port. */
async function containerCommand(engine: string, options: StartOptions): Promise<string[]> {
  const count = (options.brokers ?? 1) + 1;
  const first = await freePorts(count);
  const ports = Array.from({ length: count }, (_, i) => first + i);
  const published = ports.flatMap((port) => ['-p', `127.0.0.1:${port}:${port}`]);
  const image = process.env['MOCK_KAFKA_IMAGE'] || 'mock-kafka';
  return [engine, 'run', '--rm', '--interactive', ...published, image, ...serve(options, first, first + count - 1)];
}

/** Return the first of `count` consecutive free ports. */
async function freePorts(count: number): Promise<number> {
  const servers: Server[] = [];
  try {
    for (let port = 0; ; port += 1) {
      const server = createServer().listen(port, '127.0.0.1');
      servers.push(server);
      await once(server, 'listening');
      ({ port } = server.address() as AddressInfo);
      if (servers.length === count) return port + 1 - count;
    }
  } catch {
    return await freePorts(count); // one of them is in use
  } finally {
    for (const server of servers) server.close();
  }
}

/** Split as a shell does: at spaces outside of quotes. */
function wordsOf(command: string): string[] {
  const words = command.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'));
}

function isOnPath(name: string): boolean {
  const file = process.platform === 'win32' ? `${name}.exe` : name;
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean);
  return folders.some((folder) => {
    try {
      accessSync(join(folder, file), constants.X_OK);
      return statSync(join(folder, file)).isFile();
    } catch {
      return false;
    }
  });
}
