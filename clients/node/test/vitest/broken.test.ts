import { Kafka, logLevel } from 'kafkajs';
import { expect, test } from 'vitest';
import { mockKafka } from 'mock-kafka/vitest';

const kafka = mockKafka();

test('passes', async () => {
  await kafka.produce('orders', 'passed');
});

test('fails', async () => {
  const admin = new Kafka({ brokers: kafka.brokers, clientId: 'shop', logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.disconnect();
  expect('this fails').toBe('');
});
