// As an ES module, with @platformatic/kafka as the client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Consumer, MessagesStreamModes, Producer, stringDeserializers, stringSerializers } from '@platformatic/kafka';
import { MockKafka } from 'mock-kafka';
import { mockKafka } from 'mock-kafka/node-test';

const kafka = mockKafka({ client: '@platformatic/kafka' });

test('both entries have the same class', () => {
  assert.ok(kafka instanceof MockKafka);
});

test('a record is stored once despite a lost acknowledgement, and consumed', async () => {
  await kafka.createTopic('orders', { partitions: 1 });
  await kafka.dropResponse({ api: 'Produce', times: 1 });
  const settings = { clientId: 'shop', bootstrapBrokers: kafka.brokers };
  const producer = new Producer({ ...settings, serializers: stringSerializers, idempotent: true });
  await producer.send({ messages: [{ topic: 'orders', value: 'one coffee' }] });
  await producer.close();
  assert.deepEqual((await kafka.records('orders')).map(({ value }) => `${value}`), ['one coffee']);

  const consumer = new Consumer({ ...settings, groupId: 'billing', deserializers: stringDeserializers });
  const stream = await consumer.consume({ topics: ['orders'], mode: MessagesStreamModes.EARLIEST });
  for await (const message of stream) {
    assert.equal(message.value, 'one coffee');
    break;
  }
  await consumer.close(true);
});
