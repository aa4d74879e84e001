// A running cluster: one that the environment names, or a process of ours.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { AdminPort } from './admin_port.js';
import { clusterCommand, StartError, type StartOptions } from './cluster_command.js';

const LOG_LINES_MAX = 10_000;
const STOP_TIMEOUT_MS = 5000;

/** The addresses and the log of a cluster. It can be cloned: what stops it is not a part of it. */
export interface Cluster {
  bootstrapServers: string;
  readonly adminUrl: string;
  readonly token: string | undefined;
  /** What the program printed, by key: also `security.protocol` and `ssl.ca.location`, with `--tls`. */
  readonly settings: Readonly<Record<string, string>>;
  /** The newest lines of its standard error. */
  readonly log: string[];
}

/**
 * Use the cluster that the environment names, or start one. Return it, and what stops it.
 * @throws StartError if there is no program, or it does not start
 */
export async function startCluster(options: StartOptions): Promise<[Cluster, () => Promise<void>]> {
  const token = options.config?.['broker.admin.token']?.toString();
  const { MOCK_KAFKA_BOOTSTRAP_SERVERS: bootstrapServers, MOCK_KAFKA_ADMIN_URL: adminUrl } = process.env;
  if (bootstrapServers && adminUrl) {
    const brokers = options.brokers && (await new AdminPort(adminUrl, token).ask('GET', '/v1/brokers')).length;
    if (brokers === options.brokers)
      return [{ bootstrapServers, adminUrl, token, settings: {}, log: [] }, async () => {}];
    throw new StartError(`the cluster at ${adminUrl} has ${brokers} brokers, and the test asks for ${options.brokers}`);
  }
  if (bootstrapServers || adminUrl)
    throw new StartError('set both MOCK_KAFKA_BOOTSTRAP_SERVERS and MOCK_KAFKA_ADMIN_URL, or none');
  const log: string[] = [];
  const [settings, child] = await spawnCluster(options, log);
  const { 'bootstrap.servers': servers = '', 'admin.url': url = '' } = settings;
  // In a container it listens on all addresses, and its ports are published on this one.
  const reachable = url.replace('//0.0.0.0:', '//127.0.0.1:');
  return [{ bootstrapServers: servers, adminUrl: reachable, token, settings, log }, () => stop(child)];
}

async function spawnCluster(options: StartOptions, log: string[]): Promise<[Record<string, string>, ChildProcess]> {
  const words = await clusterCommand(options);
  const timeout_ms = options.start_timeout_ms ?? 30_000;
  // These variables are for brokers that are started by hand.
  const env = Object.entries(process.env).filter(([name]) => !name.startsWith('MOCK_KAFKA_'));
  const child = spawn(words[0]!, words.slice(1), {
    stdio: 'pipe', // the cluster ends when its standard input closes, so with this process
    env: Object.fromEntries(env),
    detached: process.platform !== 'win32', // Ctrl-C is for the tests, which close the cluster
    windowsHide: true,
  });
  child.stdin.on('error', () => {});
  createInterface(child.stderr).on('line', (line) => {
    if (log.push(line) > LOG_LINES_MAX) log.shift();
  });
  const settings: Record<string, string> = {};
  let timer: NodeJS.Timeout | undefined;
  const failure = await new Promise<string | undefined>((resolve) => {
    timer = setTimeout(resolve, timeout_ms, `it printed no address in ${timeout_ms} ms`);
    child.on('error', (error) => resolve(error.message));
    child.on('close', (status, signal) => resolve(`exit status ${status ?? signal}`));
    createInterface(child.stdout).on('line', (line) => {
      const [, key = '', value = ''] = /^([\w.]+)=(.*)$/.exec(line) ?? [];
      if (key) settings[key] = value;
      // The lines behind it were printed with it, and are read before the promise goes on.
      if (key === 'admin.url') resolve(undefined);
    });
  });
  clearTimeout(timer);
  if (failure) {
    kill(child);
    throw new StartError([`the cluster did not start: ${failure}: ${words.join(' ')}`, ...log].join('\n'));
  }
  // A forgotten cluster ends with the program; it does not keep it running.
  for (const handle of [child, child.stdin, child.stdout, child.stderr]) (handle as ChildProcess).unref();
  return [settings, child];
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.ref();
  const timer = setTimeout(kill, STOP_TIMEOUT_MS, child);
  child.stdin?.end(); // the command may be a wrapper, which a signal would end without its cluster
  await once(child, 'exit');
  clearTimeout(timer);
}

/** Kill the process and its children: the command may be a wrapper. */
function kill({ pid }: ChildProcess): void {
  try {
    if (pid) process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
