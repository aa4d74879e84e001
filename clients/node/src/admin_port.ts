// A typed client of the admin port. It uses node:http, because tests replace the global fetch.
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Operations } from './admin_operations.js';
import type { ProblemDocument } from './admin_schema.js';

type Operation<M extends string, P extends string> = Operations[`${M} ${P}` & keyof Operations];
type MethodIn<K> = K extends `${infer M} ${string}` ? M : never;
type PathIn<K, M extends string> = K extends `${M} ${infer P}` ? P : never;
type Given = { path?: Record<string, unknown>; query?: object; body?: unknown };
type Arguments<T> = object extends T ? [input?: T] : [input: T];

/** The cluster refused a request. The message says why and what to do. */
export class MockKafkaError extends Error {
  override readonly name = 'MockKafkaError';

  /**
   * @param status of HTTP: 400 for invalid values, 404 for unknown names, 409 if the cluster's state does not allow it
   * @param problem the problem document (RFC 9457): `reason`, `at`, `remedy` and others
   */
  constructor(readonly status: number, readonly problem: ProblemDocument) {
    super(problem.detail);
  }
}

/** What a method waited for did not happen. The message says what there is instead, and the near misses. */
export class WaitTimeoutError extends Error {
  override readonly name = 'WaitTimeoutError';
}

const WAITED_TOO_LONG = 408;

/** A client of the admin port at `url`. Its idle connections do not keep the program running. */
export class AdminPort {
  readonly #agent = new Agent({ keepAlive: true });

  constructor(readonly url: string, readonly token?: string) {}

  /**
   * Send a request, such as `ask('PUT', '/v1/brokers/{node_id}/advertised', { path: { node_id: 1 }, body })`.
   * @throws MockKafkaError if the cluster refuses it, WaitTimeoutError if it waited for something that did not happen,
   *   Error if there is no response
   */
  async ask<M extends MethodIn<keyof Operations>, P extends PathIn<keyof Operations, M>>(
    method: M,
    path: P,
    ...[input]: Arguments<Operation<M, P>['input']>
  ): Promise<Operation<M, P>['output']> {
    const { path: names = {}, query = {}, body } = (input ?? {}) as Given;
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(`${names[name]}`));
    const target = new URL(filled, this.url);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== null) target.searchParams.set(name, String(value));
    }
    const [{ statusCode: status = 0, headers }, content] = await this.#exchange(method, target, body);
    const type = headers['content-type'] ?? '';
    if (type.endsWith('pcap')) return content as never;
    const text = content.toString();
    const value = text && /json/.test(type) && !/ndjson/.test(type) ? JSON.parse(text) : text || undefined;
    if (status < 400) return value;
    if (status === WAITED_TOO_LONG && value?.reason)
      throw new WaitTimeoutError([value.reason, ...(value.nearest ?? [])].join('\n  '));
    throw new MockKafkaError(status, value?.detail ? value : { status, title: '', reason: text, detail: text });
  }

  async #exchange(method: string, target: URL, body: unknown): Promise<[IncomingMessage, Buffer]> {
    const headers = {
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}),
    };
    for (;;) {
      const sent = request(target, { method, headers, agent: this.#agent });
      try {
        sent.end(JSON.stringify(body));
        const [response] = (await once(sent, 'response')) as [IncomingMessage];
        return [response, await buffer(response)];
      } catch (cause) {
        if (sent.reusedSocket) continue; // the cluster closes idle connections
        const reason = `no response from the cluster at ${this.url}; is it still running?`;
        throw new Error(`${method} ${target.pathname}: ${reason}`, { cause });
      }
    }
  }
}
