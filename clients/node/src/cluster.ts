// A running cluster: one that the environment names, or a process of our own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { AdminPort } from './admin_port.js';
import { clusterCommand, type ClusterCommand, StartError, type StartOptions } from './cluster_command.js';

const LOG_LINES_MAX = 10_000;
const STOP_TIMEOUT_MS = 5000;

/** The addresses and the log of a cluster. It can be cloned: `stop` is not a part of it. */
export interface Cluster {
  bootstrapServers: string;
  readonly adminUrl: string;
  readonly token?: string;
  /** What the program printed, by key: also `security.protocol` and `ssl.ca.location`, with `--tls`. */
  readonly settings: Readonly<Record<string, string>>;
  /** The newest lines of its standard error. */
  readonly log: string[];
}

export interface StartedCluster {
  cluster: Cluster;
  stop(): Promise<void>;
}

/**
 * Use the cluster that the environment names, or start one.
 * @throws StartError if there is no program, or it does not start
 */
export async function startCluster(options: StartOptions): Promise<StartedCluster> {
  const { MOCK_KAFKA_BOOTSTRAP_SERVERS: bootstrapServers, MOCK_KAFKA_ADMIN_URL: adminUrl } = process.env;
  const given = options.config?.['broker.admin.token'];
  const token = given === undefined ? {} : { token: `${given}` };
  if (bootstrapServers && adminUrl) {
    const cluster = { bootstrapServers, adminUrl, ...token, settings: {}, log: [] };
    await checkBrokers(cluster, options.brokers);
    return { cluster, stop: async () => {} };
  }
  if (bootstrapServers || adminUrl)
    throw new StartError('set both MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL, or none');
  const command = await clusterCommand(options);
  const log: string[] = [];
  const child = spawnCluster(command, log);
  const settings = await printedSettings(child, command, log, options.start_timeout_ms ?? 30_000);
  // A forgotten cluster ends with the program; it does not keep it running.
  for (const handle of [child, child.stdin, child.stdout, child.stderr])
    (handle as ChildProcess | Socket).unref();
  const cluster = {
    bootstrapServers: settings['bootstrap.servers'] ?? '',
    adminUrl: command.adminUrl ?? settings['admin.url'] ?? '',
    ...token,
    settings,
    log,
  };
  return { cluster, stop: () => stop(child) };
}

/** Refuse a running cluster with another number of brokers than the options have, if they do. */
async function checkBrokers({ adminUrl, token }: Cluster, count?: number): Promise<void> {
  if (count === undefined) return;
  const brokers = await new AdminPort(adminUrl, token).ask('GET', '/v1/brokers');
  if (brokers.length !== count)
    throw new StartError(
      `the cluster at ${adminUrl} has ${brokers.length} brokers, and the test asks for ${count}`,
    );
}

function spawnCluster({ words: [program = '', ...rest] }: ClusterCommand, log: string[]): ChildProcess {
  // These variables are for brokers that are started by hand.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MOCK_KAFKA_'));
  const child = spawn(program, rest, {
    stdio: 'pipe', // the cluster ends when its standard input closes, so with this process
    env: Object.fromEntries(inherited),
    detached: process.platform !== 'win32', // Ctrl-C is for the tests, which close the cluster
    windowsHide: true,
  });
  child.stdin.on('error', () => {});
  onLines(child.stderr, (line) => {
    if (log.push(line) > LOG_LINES_MAX) log.shift();
  });
  return child;
}

function printedSettings(
  child: ChildProcess,
  { words }: ClusterCommand,
  log: string[],
  timeout_ms: number,
): Promise<Record<string, string>> {
  const settings: Record<string, string> = {};
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => {
      clearTimeout(timer);
      kill(child);
      reject(new StartError([`the cluster did not start: ${reason}: ${words.join(' ')}`, ...log].join('\n')));
    };
    const timer = setTimeout(() => fail(`it printed no address in ${timeout_ms} ms`), timeout_ms);
    child.once('error', (error) => fail(error.message));
    child.once('close', (status, signal) => fail(`exit status ${status ?? signal}`));
    onLines(
      child.stdout,
      (line) => {
        const [, key = '', value = ''] = /^([\w.]+)=(.*)$/.exec(line) ?? [];
        if (key) settings[key] = value;
      },
      () => {
        if (!settings['admin.url']) return;
        clearTimeout(timer);
        child.removeAllListeners('close');
        resolve(settings);
      },
    );
  });
}

function onLines(
  stream: NodeJS.ReadableStream | null,
  take: (line: string) => void,
  afterLines = () => {},
): void {
  let rest = '';
  stream?.setEncoding('utf8');
  stream?.on('data', (text: string) => {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
    if (!rest) afterLines();
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.ref();
  const exited = once(child, 'exit');
  const timer = setTimeout(() => kill(child), STOP_TIMEOUT_MS);
  child.stdin?.end(); // the command may be a wrapper, which a signal would end without its cluster
  await exited;
  clearTimeout(timer);
}

/** Kill the process and its children: the command may be a wrapper. */
function kill(child: ChildProcess): void {
  try {
    if (child.pid && process.platform !== 'win32') process.kill(-child.pid, 'SIGKILL');
    else child.kill('SIGKILL');
  } catch {
    // It has ended.
  }
}
