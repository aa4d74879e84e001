const { test } = require('node:test');
const { Kafka, logLevel } = require('kafkajs');
const { mockKafka } = require('mock-kafka/node-test');

const kafka = mockKafka(); // without the option for kafkajs

test('passes', async () => {
  await kafka.produce('orders', 'passed');
});

test('fails', async () => {
  await kafka.createTopic('orders');
  await kafka.dropResponse({ api: 'Produce', times: 1 });
  const client = new Kafka({ brokers: kafka.brokers, clientId: 'shop', logLevel: logLevel.NOTHING });
  const producer = client.producer({ idempotent: true });
  await producer.connect();
  await producer.send({ topic: 'orders', messages: [{ value: 'tea' }] }).finally(() => producer.disconnect());
});
