// What the admin port says about requests.
import type { FaultRule, operations } from './admin_schema.js';

/** The name of an API, such as `Produce`. */
export type Api = NonNullable<FaultRule['api']>;

/** The name of an error, such as `NOT_LEADER_OR_FOLLOWER`. */
export type KafkaError = NonNullable<FaultRule['error']>;

/** Which requests: all fields that are set must match. `since` selects those with a higher number. */
export type RequestFilter = Omit<
  NonNullable<operations['wait_for_request']['parameters']['query']>,
  'api' | 'error' | 'timeout_ms'
> & { api?: Api | `${number}`; error?: KafkaError | `${number}` };

/**
 * One line of the journal. The kind `connection` is a connection that a rule refused or delayed, `disconnect` the
 * end of one; both lack the fields of a request. Times are ms of the cluster's clock, `duration_us` is real time.
 */
export interface Request {
  kind: 'request' | 'connection' | 'disconnect';
  number: number;
  received_ms: number;
  broker: number;
  connection: number;
  client_host: string;
  client_id: string | null;
  user: string;
  listener: string;
  api: Api;
  version: number;
  correlation_id: number;
  outcome: 'waiting' | 'responded' | 'no_response' | 'closed' | 'refused' | 'delayed';
  close_reason: string | null;
  duration_us: number | null;
  throttle_time_ms: number;
  muted: boolean;
  shadow_throttle_times_ms: Record<string, number>;
  /** What a rule did to it. */
  fault: string | null;
  /** What it was not allowed to do, and the rule that decided. */
  denials: { operation: string; resource_type: string; resource_name: string; [rule: string]: unknown }[];
  request_bytes: number;
  response_bytes: number;
  topics: string[];
  groups: string[];
  transactional_ids: string[];
  /** The names of all error codes in the response. */
  errors: KafkaError[];
  /** The decoded messages, with the names of Kafka's schemas: their fields depend on the API and its version. */
  request: any;
  response: any;
}

/** Return a line of the journal as text. */
export function lineOf(line: Request & { peer?: string; reason?: string }): string {
  const action =
    line.kind === 'request'
      ? `${line.client_id ?? '(no client id)'} as ${line.user}  ${line.api} v${line.version}`
      : line.kind === 'connection'
        ? `${line.peer}  new connection`
        : `${line.client_host} as ${line.user}  disconnect`;
  const targets = [line.topics, line.groups, line.transactional_ids].flatMap((names) => names ?? []);
  const outcome = [line.close_reason ?? line.reason ?? line.outcome, ...(line.errors ?? [])].join(' ');
  const parts = [`#${line.number}`, `broker ${line.broker}`, action, targets.join(' '), `-> ${outcome}`];
  if (line.throttle_time_ms) parts.push(`throttled ${line.throttle_time_ms} ms`);
  if (line.fault) parts.push(`[${line.fault}]`);
  return parts.filter(Boolean).join('  ');
}
