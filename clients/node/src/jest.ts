import { afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import { LentCluster, type LentOptions, START_HOOK_TIMEOUT_MS } from './lent_cluster.js';

/**
 * Return a cluster for the tests of a file, or of the `describe` that calls this. It starts before the first one, is
 * reset before each, and ends with the worker. When a test fails, the last requests and the log are printed.
 */
export function mockKafka(options: LentOptions = {}) {
  const lent = new LentCluster(options);
  beforeAll(() => lent.begin(), START_HOOK_TIMEOUT_MS);
  beforeEach(() => lent.begin());
  // The console of jest would add lines of this package's code.
  const print = (text: string) => void process.stderr.write(`${expect.getState().currentTestName}\n${text}\n`);
  afterEach(() => lent.end(hasFailed(), print));
  return lent.kafka;
}

/** Hooks do not get the test, but jest-circus keeps its state in the global object. */
function hasFailed(): boolean {
  const key = Object.getOwnPropertySymbols(globalThis).find((symbol) => symbol.description === 'JEST_STATE_SYMBOL');
  const states: Record<symbol, { currentlyRunningTest?: { errors: unknown[] } | null }> = globalThis as never;
  return Boolean(key && states[key]?.currentlyRunningTest?.errors.length);
}
