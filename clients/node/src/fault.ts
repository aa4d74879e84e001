/// <reference lib="esnext.disposable" preserve="true" />
import type { AdminPort } from './admin_port.js';
import type { FaultRule, FaultView } from './admin_schema.js';

export type { FaultRule };

/** Which requests a rule matches, and on which of these it fires. */
export type When = Pick<
  FaultRule,
  | 'api'
  | 'version_min'
  | 'version_max'
  | 'topic'
  | 'partition'
  | 'group'
  | 'transactional_id'
  | 'resource'
  | 'topic_id'
  | 'where'
  | 'broker'
  | 'client_id'
  | 'user'
  | 'connection'
  | 'name'
  | 'times'
  | 'nth'
  | 'every'
  | 'skip'
  | 'after'
  | 'until'
  | 'after_ms'
  | 'until_ms'
  | 'probability'
  | 'seed'
>;

/** One rule of a cluster; `id` is its number and `rule` has its fields. */
export class Fault {
  readonly id: number;
  readonly rule: FaultRule;
  protected readonly kafka: Pick<AdminPort, 'ask'>;

  constructor(kafka: Pick<AdminPort, 'ask'>, view: FaultView) {
    this.kafka = kafka;
    this.id = view.id;
    this.rule = view.rule;
  }

  /** Return on how many requests it has fired. */
  async count(): Promise<number> {
    return (await this.now()).fired;
  }

  /** Return how many requests matched, whether it fired or not. */
  async matchCount(): Promise<number> {
    return (await this.now()).matched;
  }

  /** Return whether it can match the next request: not before the rule in `after` has fired. */
  async isArmed(): Promise<boolean> {
    return (await this.now()).is_armed;
  }

  /** Return whether it can never fire again. */
  async isUsedUp(): Promise<boolean> {
    return (await this.now()).is_used_up;
  }

  /**
   * Return when it has fired on `count` requests.
   * @throws WaitTimeoutError if it has not for `timeout_ms`, by default 10,000; the message has the nearest requests
   */
  wait(count = 1, options: { timeout_ms?: number } = {}): Promise<void> {
    return this.waitUntil({ fired: count }, options);
  }

  /** @internal */
  protected async waitUntil(
    query: { fired?: number; held?: number },
    { timeout_ms = 10_000 }: { timeout_ms?: number },
  ): Promise<void> {
    const parameters = { path: { id: this.id }, query: { ...query, timeout_ms } };
    await this.kafka.ask('GET', '/v1/faults/{id}/wait', parameters);
  }

  /** Remove it; responses that it delays stay delayed, requests that it holds go on. */
  remove(): Promise<void> {
    return this.kafka.ask('DELETE', '/v1/faults/{id}', { path: { id: this.id } });
  }

  /** @internal */
  protected async now(): Promise<FaultView> {
    const found = (await this.kafka.ask('GET', '/v1/faults')).find(({ id }) => id === this.id);
    if (!found)
      throw new Error(`rule ${this.id} ${JSON.stringify(this.rule)} was removed, or the cluster was reset`);
    return found;
  }
}

/** A rule that holds requests until they are released. `await using` releases all at the end of the block. */
export class Hold extends Fault {
  /** Return how many requests it holds. */
  async heldCount(): Promise<number> {
    return (await this.now()).held;
  }

  /**
   * Return when it holds `count` requests at the same time.
   * @throws WaitTimeoutError if it does not for `timeout_ms`, by default 10,000
   */
  override wait(count = 1, options: { timeout_ms?: number } = {}): Promise<void> {
    return this.waitUntil({ held: count }, options);
  }

  /**
   * Have the oldest `count` requests go on; by default all, and the rule holds no others. What they do has happened
   * when the promise is fulfilled, and their responses are sent.
   */
  async release(count?: number): Promise<void> {
    const body = count === undefined ? {} : { count };
    await this.kafka.ask('POST', '/v1/faults/{id}/release', { path: { id: this.id }, body });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}
