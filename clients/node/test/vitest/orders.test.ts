import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Kafka, logLevel } from 'kafkajs';
import { MockKafka } from 'mock-kafka';
import { mockKafka } from 'mock-kafka/vitest';

const kafka: MockKafka = mockKafka({ client: 'kafkajs' });

test('an order is stored once despite a lost acknowledgement', async () => {
  await kafka.dropResponse({ api: 'Produce', times: 1 });
  const producer = new Kafka({ brokers: kafka.brokers, logLevel: logLevel.NOTHING }).producer({ idempotent: true });
  await producer.connect();
  await producer.send({ topic: 'orders', messages: [{ value: 'one coffee' }] });
  await producer.disconnect();
  expect((await kafka.records('orders')).map(({ value }) => `${value}`)).toEqual(['one coffee']);
});

test('the next test has an empty cluster, while another file uses the same topic', async () => {
  expect(await kafka.topics()).toEqual([]);
  await kafka.produce('orders', 'of orders.test');
  writeFileSync(process.env['PIPE']!, kafka.adminUrl); // waits until the other file reads it
  expect(`${(await kafka.records('orders'))[0]?.value}`).toBe('of orders.test');
});

test('`await using` stops a cluster', async () => {
  const stopped: MockKafka[] = [];
  {
    await using other = await MockKafka.start();
    expect(await other.topics()).toEqual([]);
    stopped.push(other);
  }
  await expect(stopped[0]?.topics()).rejects.toThrow('no response from the cluster');
});
