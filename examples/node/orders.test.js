// Run with `npm install && node --test`; mock-kafka must be on the PATH.
const assert = require('node:assert/strict');
const { after, afterEach, before, beforeEach, test } = require('node:test');
const { MockKafka } = require('./mock_kafka.js');
const { OrderService } = require('./orders.js');

const COFFEE = { id: 1, price: 3, quantity: 2 };
let kafka;
let service;

before(async () => { kafka = await MockKafka.start(); });
after(() => kafka.stop());

beforeEach(async () => {
  await kafka.ask('POST', '/v1/reset');
  await kafka.ask('POST', '/v1/topics', { name: 'orders', partitions: 1 });
  await kafka.ask('POST', '/v1/topics', { name: 'invoices', partitions: 1 });
  service = new OrderService(kafka.bootstrapServers.split(','));
  await service.start();
});
afterEach(() => service.close());

test('an order gets an invoice', { timeout: 30_000 }, async () => {
  await service.writeInvoices();
  await service.place(COFFEE);
  const [invoice] = await kafka.waitForValues('invoices', 1);
  assert.deepEqual(JSON.parse(invoice), { order: 1, total: 6 });
});

test('an order is stored once when the acknowledgement is lost', { timeout: 30_000 }, async () => {
  await kafka.ask('POST', '/v1/faults', { api: 'Produce', drop: 'before_response', times: 1 });
  await service.place(COFFEE);
  assert.equal((await kafka.values('orders')).length, 1);
  assert.equal((await kafka.ask('GET', '/v1/requests?api=Produce')).length, 2);
});

test('the service waits for replicas', { timeout: 30_000 }, async () => {
  const fault = { api: 'Produce', error: 'NOT_ENOUGH_REPLICAS', times: 2 };
  await kafka.ask('POST', '/v1/faults', fault);
  await service.place(COFFEE);
  assert.equal((await kafka.values('orders')).length, 1);
});
