// A typed client of the admin port. It uses node:http, because tests replace the global fetch.
import { Agent, type IncomingMessage, request } from 'node:http';
import type { paths, ProblemDocument } from './admin_schema.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The paths that have a method. Server-sent events never end, so `ask` cannot return them. */
export type PathOf<M extends Method> = Exclude<
  {
    [P in keyof paths]: paths[P] extends Record<Lowercase<M>, { responses: unknown }> ? P : never;
  }[keyof paths],
  '/v1/requests/events'
>;
type Operation<M extends Method, P extends PathOf<M>> =
  paths[P] extends Record<Lowercase<M>, infer O> ? O : never;

/** What an operation takes: `path`, `query` and `body`, those that it has. */
export type Input<O> = (O extends { parameters: { path: infer P } } ? { path: P } : unknown) &
  (O extends { parameters: { query?: infer Q } }
    ? { query?: Q }
    : O extends { parameters: { query: infer Q } }
      ? { query: Q }
      : unknown) &
  (O extends { requestBody: { content: { 'application/json': infer B } } }
    ? { body: B }
    : O extends { requestBody?: { content: { 'application/json': infer B } } }
      ? { body?: B }
      : unknown);
type Content<C> = C extends { 'application/json': infer J }
  ? J
  : C extends { 'application/vnd.tcpdump.pcap': unknown }
    ? Buffer
    : string;

/** What an operation returns: JSON, text, bytes, or nothing. */
export type Output<O> = O extends { responses: infer R }
  ? {
      [S in keyof R]: S extends 200 | 201 | 204
        ? R[S] extends { content: infer C }
          ? Content<C>
          : void
        : never;
    }[keyof R]
  : never;
type Arguments<T> = object extends T ? [input?: T] : [input: T];

/** The cluster refused a request. The message says why and what to do. */
export class MockKafkaError extends Error {
  override readonly name = 'MockKafkaError';

  /**
   * @param status of HTTP: 400 for invalid values, 404 for unknown names, 409 if the cluster's state does not allow it
   * @param problem the problem document (RFC 9457): `reason`, `at`, `remedy` and others
   */
  constructor(
    readonly status: number,
    readonly problem: ProblemDocument,
  ) {
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

  constructor(
    readonly url: string,
    readonly token?: string,
  ) {}

  /**
   * Send a request, such as `ask('PUT', '/v1/brokers/{node_id}/advertised', { path: { node_id: 1 }, body })`.
   * @throws MockKafkaError if the cluster refuses it, WaitTimeoutError if it waited for something that did not happen,
   *   Error if there is no response
   */
  async ask<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    ...[input]: Arguments<Input<Operation<M, P>>>
  ): Promise<Output<Operation<M, P>>> {
    const given = (input ?? {}) as { path?: object; query?: object; body?: unknown };
    const names = new Map(Object.entries(given.path ?? {}));
    const target = new URL(
      path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(names.get(name))),
      this.url,
    );
    for (const [name, value] of Object.entries(given.query ?? {})) {
      if (value !== undefined && value !== null) target.searchParams.set(name, String(value));
    }
    const { status, type, content } = await this.#exchange(method, target, given.body);
    const text = type.endsWith('pcap') ? '' : content.toString();
    const is_json = type.includes('json') && !type.includes('ndjson');
    const value = text && is_json ? JSON.parse(text) : text;
    if (status === WAITED_TOO_LONG && is_json)
      throw new WaitTimeoutError([value.reason, ...(value.nearest ?? [])].join('\n  '));
    if (status >= 400)
      throw new MockKafkaError(status, is_json ? value : { status, title: '', reason: text, detail: text });
    return (type.endsWith('pcap') ? content : text ? value : undefined) as Output<Operation<M, P>>;
  }

  async #exchange(
    method: string,
    target: URL,
    body: unknown,
  ): Promise<{ status: number; type: string; content: Buffer }> {
    const headers = {
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}),
    };
    for (;;) {
      const sent = request(target, { method, headers, agent: this.#agent });
      try {
        const response = await new Promise<IncomingMessage>((resolve, reject) => {
          sent
            .once('response', resolve)
            .once('error', reject)
            .end(body === undefined ? undefined : JSON.stringify(body));
        });
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk);
        return {
          status: response.statusCode ?? 0,
          type: response.headers['content-type'] ?? '',
          content: Buffer.concat(chunks),
        };
      } catch (error) {
        if (sent.reusedSocket) continue; // the cluster closes idle connections
        throw new Error(
          `${method} ${target.pathname}: no response from the cluster at ${this.url}; is it still running?`,
          { cause: error },
        );
      }
    }
  }
}
