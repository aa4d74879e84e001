import { afterEach, beforeAll, beforeEach } from 'vitest';
import { LentCluster, type LentOptions, START_HOOK_TIMEOUT_MS } from './lent_cluster.js';

/**
 * Return a cluster for the tests of a file, or of the `describe` that calls this. It starts before the first one, is
 * reset before each, and ends with the worker. When a test fails, the last requests and the log are printed.
 */
export function mockKafka(options: LentOptions = {}) {
  const lent = new LentCluster(options);
  beforeAll(() => lent.begin(), START_HOOK_TIMEOUT_MS);
  beforeEach(() => lent.begin());
  afterEach(({ task }) => lent.end(task.result?.state === 'fail'));
  return lent.kafka;
}
