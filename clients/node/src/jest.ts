import { afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import { LentCluster, type LentOptions, START_HOOK_TIMEOUT_MS } from './lent_cluster.js';
import type { MockKafka } from './mock_kafka.js';

/**
 * Return a cluster for the tests of a file, or of the `describe` that calls this. It starts before the first one, is
 * reset before each, and ends with the worker. When a test fails, the last requests and the log are printed.
 */
export function mockKafka(options: LentOptions = {}): MockKafka {
  const lent = new LentCluster(options);
  beforeAll(() => lent.begin(), START_HOOK_TIMEOUT_MS);
  beforeEach(() => lent.begin());
  afterEach(() => lent.end(hasFailed(), print));
  return lent.kafka;
}

/** The console of jest would add lines of this package's code. */
function print(text: string): void {
  process.stderr.write(`${expect.getState().currentTestName}\n${text}\n`);
}

/** Hooks do not get the test, but jest-circus keeps its state in the global object. */
function hasFailed(): boolean {
  const symbol = Object.getOwnPropertySymbols(globalThis).find(
    (key) => key.description === 'JEST_STATE_SYMBOL',
  );
  const globals: Record<symbol, { currentlyRunningTest?: { errors: unknown[] } | null }> =
    globalThis as never;
  return Boolean(symbol && globals[symbol]?.currentlyRunningTest?.errors.length);
}
