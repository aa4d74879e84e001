const { readFileSync } = require('node:fs');
const { mockKafka } = require('mock-kafka/jest');

const kafka = mockKafka({ client: 'kafkajs' });

test('a file in parallel has another cluster', async () => {
  await kafka.produce('orders', 'of invoices.test');
  const other = readFileSync(process.env.PIPE, 'utf8'); // waits until the other file writes it
  expect(other).toMatch(/^http:/);
  expect(other).not.toBe(kafka.adminUrl);
  expect((await kafka.records('orders')).map(({ value }) => `${value}`)).toEqual(['of invoices.test']);
});
