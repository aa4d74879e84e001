// The methods, with kafkajs as the client.
const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { Kafka, logLevel } = require('kafkajs');
const { MockKafka, MockKafkaError, WaitTimeoutError } = require('mock-kafka');
const { mockKafka } = require('mock-kafka/node-test');

const kafka = mockKafka({ client: 'kafkajs' });

function client() {
  return new Kafka({ brokers: kafka.brokers, logLevel: logLevel.NOTHING, retry: { initialRetryTime: 20 } });
}

async function withProducer(use, options = { idempotent: true }) {
  const producer = client().producer(options);
  await producer.connect();
  await use(producer).finally(() => producer.disconnect());
}

const send = (value) => withProducer((producer) => producer.send({ topic: 'orders', messages: [{ value }] }));

describe('faults', () => {
  test('a lost acknowledgement', async () => {
    const fault = await kafka.dropResponse({ api: 'Produce', times: 1 });
    await send('one coffee');
    assert.deepEqual((await kafka.records('orders')).map(({ value }) => `${value}`), ['one coffee']);
    assert.deepEqual((await kafka.requests({ api: 'Produce' })).map(({ outcome }) => outcome), ['closed', 'responded']);
    assert.deepEqual([await fault.count(), await fault.matchCount(), await fault.isUsedUp()], [1, 1, true]);
  });

  test('an error, and a response that is changed', async () => {
    await kafka.createTopic('orders');
    await kafka.fail({ api: 'Produce', error: 'NOT_LEADER_OR_FOLLOWER', times: 1 });
    await send('tea');
    const [refused] = await kafka.requests({ api: 'Produce', error: 'NOT_LEADER_OR_FOLLOWER' });
    assert.deepEqual(refused.errors, ['NOT_LEADER_OR_FOLLOWER']);
    const rule = await kafka.respond({ api: 'Produce', response: { throttle_time_ms: 3 } });
    await send('juice');
    const [edited] = (await kafka.requests({ api: 'Produce' })).slice(-1);
    assert.equal(edited.response.throttle_time_ms, 3);
    await rule.remove();
    await assert.rejects(rule.count(), /was removed/);
    await kafka.clearFaults();
    assert.deepEqual(await kafka.faults(), []);
  });

  test('each method adds its rule', async () => {
    const added = [
      await kafka.delay({ ms: 5, api: 'Fetch' }),
      await kafka.delay({ ms: 5, at: 'before_handling', jitter_ms: 1 }),
      await kafka.dropRequest({ topic: 'orders' }),
      await kafka.dropResponse({ after_bytes: 3 }),
      await kafka.hang(),
      await kafka.hang({ at: 'before_handling' }),
      await kafka.throttle({ throttle_time_ms: 7, mute: false }),
      await kafka.respond({ api: 'Metadata', response: { controller_id: 9 }, handle: false }),
      ...(await kafka.addFaults([{ api: 'Produce', delay_ms: 0 }])),
    ];
    const rules = (await kafka.faults()).map(({ rule }) => rule);
    assert.deepEqual(rules, added.map(({ rule }) => rule));
    assert.deepEqual(rules.slice(0, 7), [
      { api: 'Fetch', delay_ms: 5 },
      { delay_request_ms: 5, jitter_ms: 1 },
      { topic: 'orders', drop: 'before_handling' },
      { drop: 'within_response', drop_after_bytes: 3 },
      { hang: 'before_response' },
      { hang: 'before_handling' },
      { throttle_time_ms: 7, mute: false },
    ]);
    assert.equal(rules[7].error, 'NONE');
  });

  test('a held request goes on when it is released', async () => {
    await kafka.createTopic('orders');
    await kafka.createTopic('invoices');
    const where = { 'topic_data[].name': { matches: 'ord.*' } };
    const held = await kafka.hold({ api: 'Produce', at: 'before_response', where });
    const sent = send('one coffee');
    await held.wait();
    await kafka.advance({ seconds: 20 });
    await withProducer((producer) => producer.send({ topic: 'invoices', messages: [{ value: '1' }] }));
    assert.deepEqual([await held.heldCount(), (await kafka.records('orders')).length], [1, 1]);
    await held.release(1);
    await sent;
    const refused = await kafka.fail({ api: 'Produce', error: 'NOT_LEADER_OR_FOLLOWER', times: 1 });
    await assert.rejects(refused.wait(2, { timeout_ms: 1 }), (error) => {
      assert.ok(error instanceof WaitTimeoutError);
      assert.match(error.message, /^rule 2 .* fired 0 of 2 in 0\.001 s, and matched 0/);
      return true;
    });
    await held[Symbol.asyncDispose]();
    await send('tea');
    await refused.wait();
    assert.deepEqual([await held.isUsedUp(), await refused.isArmed()], [true, false]);
    assert.ok((await kafka.faults())[0] instanceof held.constructor);
  });

  test('a misspelt API is an error with the closest name', async () => {
    await assert.rejects(kafka.fail({ api: 'Produc', error: 'NONE' }), (error) => {
      assert.ok(error instanceof MockKafkaError && error instanceof Error);
      assert.match(error.message, /did you mean Produce\?/);
      assert.deepEqual([error.status, error.problem.status, error.name], [400, 400, 'MockKafkaError']);
      return true;
    });
  });
});

describe('records', () => {
  test('of all forms are stored and read', async () => {
    await kafka.createTopic('orders', { partitions: 2, config: { 'retention.ms': '1000' } });
    const places = await kafka.produce(
      'orders',
      { value: 'tea', key: 'k', headers: { a: 'b', none: null }, partition: 1, timestamp: 17 },
      { value: Buffer.from([255, 0]), partition: 0 },
      { key: 'deleted', partition: 0 },
    );
    assert.deepEqual(places.map(({ partition, offset }) => [partition, offset]), [[1, 0], [0, 0], [0, 1]]);
    const [bytes, tombstone, tea] = await kafka.records('orders');
    assert.deepEqual([bytes.value, tombstone.value, `${tombstone.key}`], [Buffer.from([255, 0]), null, 'deleted']);
    assert.deepEqual([tea.topic, tea.timestamp, tea.transaction], ['orders', 17, null]);
    assert.deepEqual(tea.headers, [{ key: 'a', value: Buffer.from('b') }, { key: 'none', value: null }]);
    assert.equal((await kafka.records('orders', { partition: 0, offset: 1 })).length, 1);
    assert.deepEqual((await kafka.topics()).map(({ name, config }) => [name, config]), [['orders', { 'retention.ms': '1000' }]]);
    await kafka.deleteTopic('orders');
    assert.deepEqual(await kafka.topics(), []);
  });

  test('more than a response holds', async () => {
    const values = Array.from({ length: 6000 }, (_, i) => `${i}`);
    await kafka.createTopic('orders', { partitions: 2 });
    for (const partition of [0, 1]) await kafka.produce('orders', ...values.map((value) => ({ value, partition })));
    await kafka.produce('orders', ...values.map((value) => ({ value, partition: 0 })));
    const read = (await kafka.records('orders')).map(({ value }) => `${value}`);
    assert.deepEqual(read, [...values, ...values, ...values]);
  });

  test('can be waited for', async () => {
    const [records] = await Promise.all([kafka.waitForRecords('orders', 2), kafka.produce('orders', 'a', 'b')]);
    assert.deepEqual(records.map(({ value }) => `${value}`), ['a', 'b']);
    const few = { name: 'WaitTimeoutError', message: "topic 'orders' had 2 of 3 records in 0.001 s" };
    await assert.rejects(kafka.waitForRecords('orders', 3, { timeout_ms: 1 }), few);
    await assert.rejects(kafka.waitForRecords('tea', 1, { timeout_ms: 1 }), /topic 'tea' did not exist/);
  });
});

test('requests can be filtered and waited for', async () => {
  const since = await kafka.lastRequestNumber();
  const [request] = await Promise.all([kafka.waitForRequest({ api: 'Produce', since, outcome: 'responded' }), send('a')]);
  assert.equal(request.request.topic_data[0].name, 'orders');
  assert.equal((await kafka.requests({ api: 'Produce', bodies: false, limit: 1 }))[0].request, undefined);
  await assert.rejects(kafka.waitForRequest({ api: 'Heartbeat', timeout_ms: 1 }), (error) => {
    assert.ok(error instanceof WaitTimeoutError);
    assert.match(error.message, /no request with api='Heartbeat' in 0.001 s\n.*Produce v7 of .*: api was Produce/s);
    return true;
  });
});

test('a group commits, lags and is stable', async () => {
  await kafka.createTopic('orders', { partitions: 1 });
  await kafka.produce('orders', 'a', 'b');
  const consumer = client().consumer({ groupId: 'billing' });
  await consumer.connect();
  await consumer.subscribe({ topic: 'orders', fromBeginning: true });
  let done;
  const second = new Promise((resolve) => (done = resolve));
  await consumer.run({ eachMessage: async ({ message }) => message.offset === '1' && done() });
  const group = await kafka.waitForStable('billing', { members: 1 });
  assert.deepEqual([group.state, group.members[0].assigned], ['Stable', [{ topic: 'orders', partitions: [0] }]]);
  await second;
  await consumer.disconnect(); // commits
  assert.deepEqual(await kafka.committed('billing'), { 'orders-0': 2 });
  await kafka.produce('orders', 'c');
  assert.deepEqual(await kafka.lag('billing'), { 'orders-0': 1 });
  assert.deepEqual((await kafka.groups()).map(({ group_id }) => group_id), ['billing']);
  await assert.rejects(kafka.lag('tea'), { status: 404 });
  await assert.rejects(kafka.waitForStable('tea', { members: 2, timeout_ms: 1 }), /waitForStable: nothing for tea in 1 ms, with \{"members":2\}; groups\(\) has \[\]/);
});

test('the clock stands, and advances', async () => {
  await kafka.setClock('standing');
  const now = await kafka.advance({ ms: 1 });
  assert.equal(await kafka.advance({ seconds: 3600 }), now + 3_600_000);
  await kafka.setClock('scaled', 60);
  assert.equal((await kafka.ask('GET', '/v1/clock')).factor, 60);
});

test('a transaction is aborted', async () => {
  const options = { transactionalId: 'billing-1', idempotent: true, maxInFlightRequests: 1 };
  await withProducer(async (producer) => {
    const transaction = await producer.transaction();
    await transaction.send({ topic: 'orders', messages: [{ value: 'a' }] });
    assert.deepEqual((await kafka.transactions()).map(({ state }) => state), ['Ongoing']);
    assert.equal((await kafka.abortTransaction('billing-1')).state, 'CompleteAbort');
  }, options);
  assert.deepEqual((await kafka.records('orders')).map(({ transaction }) => transaction), ['aborted']);
  assert.deepEqual(await kafka.records('orders', { isolation_level: 'read_committed' }), []);
});

test('quotas have an entity and values', async () => {
  await kafka.quota({ user: 'alice', client_id: null, producer_byte_rate: 1000, shadow: true });
  await kafka.quota({ ip: '127.0.0.1', connection_creation_rate: 5 });
  await kafka.quota({ ip: '127.0.0.1', connection_creation_rate: null });
  const [quota, ...others] = await kafka.ask('GET', '/v1/quotas');
  assert.deepEqual([quota.entity, quota.values, others], [{ user: 'alice', 'client-id': null }, { producer_byte_rate: 1000 }, []]);
});

test('a snapshot restores what there was', async () => {
  await kafka.produce('orders', 'a');
  const snapshot = await kafka.snapshot();
  await kafka.loadSnapshot(snapshot, { keep: true });
  await kafka.reset();
  assert.equal((await kafka.records('orders')).length, 1);
  await kafka.loadSnapshot(await kafka.snapshot({ records: false }));
  assert.equal((await kafka.records('orders')).length, 0);
});

test('text and bytes are operations as well', async () => {
  await send('a');
  assert.match(await kafka.ask('GET', '/v1/requests/export', { query: { api: 'Produce' } }), /^\{.*"Produce".*\}\n$/);
  const pcap = await kafka.ask('GET', '/v1/requests/pcap');
  assert.ok(Buffer.isBuffer(pcap) && pcap.length > 100);
});

test('brokers stop, and leaders move', async () => {
  await using_(await MockKafka.start({ brokers: 3, audit: true }), async (three) => {
    assert.equal(three.brokers.length, 3);
    assert.equal(three.bootstrapServers, three.brokers.join(','));
    await three.createTopic('orders', { partitions: 1, replication_factor: 3 });
    const leader = async () => (await three.topics())[0].partitions[0].leader;
    await three.moveLeader('orders', 0, 2);
    assert.equal(await leader(), 2);
    await three.stopBroker(2, { controlled: true });
    assert.notEqual(await leader(), 2);
    await three.startBroker(2);
    await three.isolateBroker(3, { elect: true });
    const states = await three.ask('GET', '/v1/brokers');
    assert.deepEqual(states.map(({ availability }) => availability), ['up', 'up', 'isolated']);
    await three.moveCoordinator('billing', 1);
    assert.equal((await three.audit()).finding_count, 0);
    const before = three.brokers;
    await three.reset({ ports: 'new' });
    assert.deepEqual(three.brokers.filter((address) => before.includes(address)), []);
    const admin = new Kafka({ brokers: three.brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    assert.equal((await admin.describeCluster()).brokers.length, 3);
    await admin.disconnect();
  });
});

test('the option of the client is overridden by the configuration', async () => {
  await using_(await MockKafka.start({ client: 'kafkajs', config: { 'producer.state.batches': 1 } }), async (other) => {
    const keys = await other.ask('GET', '/v1/configs');
    assert.deepEqual(keys.filter(({ name }) => name === 'producer.state.batches').map(({ value }) => value), ['1']);
  });
});

/** `await using`, for versions of Node without it. */
async function using_(cluster, use) {
  try {
    await use(cluster);
  } finally {
    await cluster[Symbol.asyncDispose]();
  }
}
