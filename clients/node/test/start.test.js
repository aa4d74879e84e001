// Which program starts a cluster, and how it ends.
const assert = require('node:assert/strict');
const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const { chmodSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { connect } = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { afterEach, test } = require('node:test');
const { Kafka, logLevel } = require('kafkajs');
const { MockKafka, StartError } = require('mock-kafka');
const { version } = require('mock-kafka/package.json');

const environment = { ...process.env };
const program = execFileSync('sh', ['-c', 'command -v mock-kafka'], { encoding: 'utf8' }).trim();
const started = [];

afterEach(async () => {
  process.env = { ...environment };
  for (const kafka of started.splice(0)) await kafka.stop();
});

/** Start with a PATH that has only these programs, and a shell; each writes its arguments into a file. */
async function startWith(programs, options = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'mock-kafka-'));
  const written = join(folder, 'arguments');
  symlinkSync('/bin/sh', join(folder, 'sh'));
  for (const [name, body] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\nprintf '%s ' "$@" > ${written}\n${body}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  process.env.PATH = folder;
  const kafka = await MockKafka.start(options);
  started.push(kafka);
  await kafka.createTopic('orders');
  return readFileSync(written, 'utf8').trim();
}

const SERVE = 'serve --port 0 --admin-port 0 --until-stdin-closes --log-level warning';

test('mock-kafka on the PATH comes before uvx', async () => {
  const given = await startWith({ 'mock-kafka': `exec ${program} "$@"`, uvx: 'exit 1' }, { brokers: 2, config: { 'num.partitions': 6 } });
  assert.equal(given, `${SERVE} --brokers 2 -o num.partitions=6`);
});

test('uvx gets the version of the package', async () => {
  assert.equal(await startWith({ uvx: `shift; exec ${program} "$@"` }), `mock-kafka==${version} ${SERVE}`);
});

for (const engine of ['docker', 'podman']) {
  test(`${engine} publishes the ports of all brokers and of the admin port`, async () => {
    process.env.MOCK_KAFKA_IMAGE = 'registry/mock-kafka:1';
    const skip = 'while [ "$1" != serve ]; do shift; done';
    const given = await startWith({ [engine]: `${skip}; exec ${program} "$@"` }, { brokers: 2 });
    const found = /--interactive((?: -p 127\.0\.0\.1:\d+:\d+){3}) registry\/mock-kafka:1 serve --port (\d+) --admin-port (\d+)/.exec(given);
    const port = Number(found[2]);
    assert.deepEqual(found[1].match(/\d+:\d+$|\d+:\d+(?= )/g), [0, 1, 2].map((i) => `${port + i}:${port + i}`));
    assert.equal(found[3], `${port + 2}`);
    assert.equal(started[0].adminUrl, `http://127.0.0.1:${port + 2}`);
  });
}

test('a command comes before the PATH, and MOCK_KAFKA_COMMAND as well', async () => {
  const words = `"${program}" `;
  for (const command of [program, words, [program]]) started.push(await MockKafka.start({ command }));
  process.env.PATH = '';
  process.env.MOCK_KAFKA_COMMAND = words;
  started.push(await MockKafka.start());
  assert.equal((await started[3].ask('GET', '/healthz')).status, 'ok');
});

test('without a program the error lists what was looked for', async () => {
  process.env.PATH = tmpdir();
  await assert.rejects(MockKafka.start(), (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /MOCK_KAFKA_COMMAND\n- mock-kafka, uvx, docker and podman.*\nInstall it with/);
    return true;
  });
  process.env.MOCK_KAFKA_ADMIN_URL = 'http://127.0.0.1:1';
  await assert.rejects(MockKafka.start(), /set both/);
});

test('a failed start has the standard error', async () => {
  await assert.rejects(MockKafka.start({ config: { 'num.partition': 2 } }), /exit status 1: .*\n.*num\.partitions/);
  await assert.rejects(MockKafka.start({ command: ['sh', '-c', 'echo why >&2; exec sleep 600'], start_timeout_ms: 200 }), /200 ms: sh .*\nwhy/s);
  await assert.rejects(MockKafka.start({ command: '/nowhere/mock-kafka' }), /ENOENT/);
});

test('variables for brokers that are started by hand have no effect', async () => {
  process.env.MOCK_KAFKA_CONFIG_NUM_PARTITIONS = '7';
  started.push(await MockKafka.start());
  assert.equal((await started[0].createTopic('orders')).partitions.length, 1);
});

test('a cluster that the environment names is used and not stopped', async () => {
  const running = await MockKafka.start();
  started.push(running);
  process.env.MOCK_KAFKA_BOOTSTRAP_SERVERS = running.bootstrapServers;
  process.env.MOCK_KAFKA_ADMIN_URL = running.adminUrl;
  await assert.rejects(MockKafka.start({ brokers: 3 }), /has 1 brokers, and the test asks for 3/);
  const kafka = await MockKafka.start({ command: '/nowhere' });
  await kafka.createTopic('orders');
  await kafka.stop();
  assert.deepEqual((await running.topics()).map(({ name }) => name), ['orders']);
});

test('a request is sent again when the connection had been closed', async () => {
  let received = 0;
  const server = createServer((request, response) => {
    received += 1;
    if (received === 2) request.socket.destroy();
    else response.setHeader('Content-Type', 'application/json').end('[]');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  process.env.MOCK_KAFKA_BOOTSTRAP_SERVERS = 'localhost:9092';
  process.env.MOCK_KAFKA_ADMIN_URL = `http://127.0.0.1:${server.address().port}`;
  const kafka = await MockKafka.start();
  assert.deepEqual([await kafka.faults(), await kafka.faults()], [[], []]);
  assert.equal(received, 3);
  server.close();
});

test('a token of the admin port is sent', async () => {
  started.push(await MockKafka.start({ config: { 'broker.admin.token': 'secret' } }));
  assert.deepEqual(await started[0].topics(), []);
});

test('TLS has its settings', async () => {
  started.push(await MockKafka.start({ arguments: ['--tls'] }));
  assert.equal(started[0].settings['security.protocol'], 'SSL');
  assert.match(readFileSync(started[0].settings['ssl.ca.location'], 'utf8'), /BEGIN CERTIFICATE/);
});

test('a strict cluster refuses what was not recorded', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mock-kafka-'));
  const [snapshot, faults] = ['world.json', 'faults.json'].map((name) => join(folder, name));
  const recorded = { api: 'Fetch', version: 12, user: 'User:ANONYMOUS', topics: ['orders'] };
  writeFileSync(snapshot, JSON.stringify({ topics: [{ name: 'orders', partitions: [{}] }], requests: [recorded] }));
  writeFileSync(faults, JSON.stringify([{ api: 'Heartbeat', delay_ms: 1 }]));
  const kafka = await MockKafka.start({ snapshot, strict: true, faults, acls: true });
  started.push(kafka);
  const admin = new Kafka({ brokers: kafka.brokers, logLevel: logLevel.NOTHING, retry: { retries: 0 } }).admin();
  await assert.rejects(admin.fetchTopicMetadata({ topics: ['orders'] }));
  await admin.disconnect();
  const { fault } = await kafka.waitForRequest({ api: 'Metadata' });
  assert.match(fault, /not recorded: Metadata .* The nearest one is Fetch v12/);
  assert.deepEqual((await kafka.topics()).map(({ name }) => name), ['orders']);
  assert.equal((await kafka.faults()).length, 1);
  assert.deepEqual(await kafka.ask('GET', '/v1/acls'), []);
});

test('a stopped cluster has ended, and the error of a method says so', async () => {
  const kafka = await MockKafka.start();
  await kafka.stop();
  await kafka.stop();
  await assert.rejects(kafka.topics(), /GET \/v1\/topics: no response from the cluster at .*; is it still running\?/);
  await assert.rejects(once(connect(new URL(kafka.adminUrl).port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' });
});

/** Run a program that starts a cluster and prints its address; return the process and a connection to the broker. */
async function runProgram(rest) {
  const source = `require('mock-kafka').MockKafka.start().then((kafka) => { console.log(kafka.adminUrl); ${rest} })`;
  const child = spawn(process.execPath, ['-e', source], { cwd: __dirname, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  return { child, ended, address: new URL(line.trim()) };
}

test('a killed program leaves no cluster behind', async () => {
  const { child, ended, address } = await runProgram('setInterval(() => {}, 1000)');
  const connection = connect(address.port, address.hostname);
  await once(connection, 'connect');
  const closed = new Promise((resolve) => connection.on('error', () => {}).once('close', resolve).resume());
  child.kill('SIGKILL');
  await Promise.all([closed, ended]); // nothing was asked: the broker has ended
  await assert.rejects(once(connect(address.port, address.hostname), 'connect'), { code: 'ECONNREFUSED' });
});

test('a program that forgets its cluster ends, and so does the cluster', async () => {
  const { ended } = await runProgram('');
  assert.deepEqual(await ended, [0, null]);
});
