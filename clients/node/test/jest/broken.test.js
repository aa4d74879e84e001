const { Kafka, logLevel } = require('kafkajs');
const { mockKafka } = require('mock-kafka/jest');

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
