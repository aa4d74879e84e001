const { writeFileSync } = require('node:fs');
const { Kafka, logLevel } = require('kafkajs');
const { mockKafka } = require('mock-kafka/jest');

const kafka = mockKafka({ client: 'kafkajs' });

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
  writeFileSync(process.env.PIPE, kafka.adminUrl); // waits until the other file reads it
  expect(`${(await kafka.records('orders'))[0].value}`).toBe('of orders.test');
});
