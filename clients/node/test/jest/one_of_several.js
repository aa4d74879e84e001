// Copied to several files of tests.
const { appendFileSync } = require('node:fs');
const { mockKafka } = require('mock-kafka/jest');

const kafka = mockKafka();

test('the files of a worker share a cluster, which is empty at the start of each test', async () => {
  expect(await kafka.topics()).toEqual([]);
  await kafka.createTopic('orders');
  appendFileSync(process.env.URLS, `${kafka.adminUrl}\n`);
});
