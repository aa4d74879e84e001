import type { FaultRule, FaultView } from './admin_schema.js';
import type { MockKafka } from './mock_kafka.js';

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
  | 'broker'
  | 'client_id'
  | 'user'
  | 'connection'
  | 'name'
  | 'times'
  | 'nth'
  | 'every'
  | 'skip'
  | 'after_ms'
  | 'until_ms'
  | 'probability'
  | 'seed'
>;

/** One rule of a cluster; `id` is its number and `rule` has its fields. */
export class Fault {
  readonly id: number;
  readonly rule: FaultRule;
  readonly #kafka: MockKafka;

  constructor(kafka: MockKafka, view: FaultView) {
    this.#kafka = kafka;
    this.id = view.id;
    this.rule = view.rule;
  }

  /** Return on how many requests it has fired. */
  async count(): Promise<number> {
    return (await this.#now()).fired;
  }

  /** Return how many requests matched, whether it fired or not. */
  async matchCount(): Promise<number> {
    return (await this.#now()).matched;
  }

  /** Return whether it can never fire again. */
  async isUsedUp(): Promise<boolean> {
    return (await this.#now()).is_used_up;
  }

  /** Remove it; responses that it delays stay delayed. */
  remove(): Promise<void> {
    return this.#kafka.ask('DELETE', '/v1/faults/{id}', { path: { id: this.id } });
  }

  async #now(): Promise<FaultView> {
    const found = (await this.#kafka.ask('GET', '/v1/faults')).find(({ id }) => id === this.id);
    if (!found)
      throw new Error(`fault ${this.id} ${JSON.stringify(this.rule)} was removed, or the cluster was reset`);
    return found;
  }
}
