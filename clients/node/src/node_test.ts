import { afterEach, before, beforeEach } from 'node:test';
import { LentCluster, type LentOptions, START_HOOK_TIMEOUT_MS } from './lent_cluster.js';

/**
 * Return a cluster for the tests of a file, or of the suite that calls this. It starts before the first one, is
 * reset before each, and ends with the process. When a test fails, the last requests and the log are printed.
 */
export function mockKafka(options: LentOptions = {}) {
  const lent = new LentCluster(options);
  before(() => lent.begin(), { timeout: START_HOOK_TIMEOUT_MS });
  beforeEach(() => lent.begin());
  afterEach((context) => lent.end((context as { passed?: boolean }).passed === false));
  return lent.kafka;
}
