// Copied to several files of tests.
import { appendFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { mockKafka } from 'mock-kafka/vitest';

const kafka = mockKafka();

test('the files of a worker share a cluster, which is empty at the start of each test', async () => {
  expect(await kafka.topics()).toEqual([]);
  await kafka.createTopic('orders');
  appendFileSync(process.env['URLS']!, `${kafka.adminUrl}\n`);
});
