// Run with `npm install && npm install -D path/to/mock-kafka-0.1.0.tgz && node --test`.
const assert = require('node:assert/strict');
const { afterEach, beforeEach, test } = require('node:test');
const { mockKafka } = require('mock-kafka/node-test');
const { OrderService } = require('./orders.js');

const COFFEE = { id: 1, price: 3, quantity: 2 };
const kafka = mockKafka({ client: 'kafkajs' });
let service;

beforeEach(async () => {
  await kafka.createTopic('orders', { partitions: 1 });
  await kafka.createTopic('invoices', { partitions: 1 });
  service = new OrderService(kafka.brokers);
  await service.start();
});
afterEach(() => service.close());

test('an order gets an invoice', { timeout: 30_000 }, async () => {
  await service.writeInvoices();
  await service.place(COFFEE);
  const [invoice] = await kafka.waitForRecords('invoices', 1);
  assert.deepEqual(JSON.parse(invoice.value), { order: 1, total: 6 });
});

test('an order is stored once when the acknowledgement is lost', { timeout: 30_000 }, async () => {
  await kafka.dropResponse({ api: 'Produce', times: 1 });
  await service.place(COFFEE);
  assert.equal((await kafka.records('orders')).length, 1);
  assert.equal((await kafka.requests({ api: 'Produce' })).length, 2);
});

test('the service waits for replicas', { timeout: 30_000 }, async () => {
  const fault = await kafka.fail({ api: 'Produce', error: 'NOT_ENOUGH_REPLICAS', times: 2 });
  await service.place(COFFEE);
  assert.equal((await kafka.records('orders')).length, 1);
  assert.equal(await fault.count(), 2);
});
