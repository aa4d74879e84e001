// Compiled by `tsc --strict`: what users write has types, and what they misspell is an error.
import { type Api, type KafkaError, MockKafka, MockKafkaError, type StoredRecord } from 'mock-kafka';
import { mockKafka } from 'mock-kafka/node-test';
import { mockKafka as ofVitest } from 'mock-kafka/vitest';

const shared: MockKafka = mockKafka({ client: 'kafkajs', brokers: 3, config: { 'num.partitions': 6 }, ports: 'new' });
export const other: MockKafka = ofVitest();

export async function faults(): Promise<number> {
  await using kafka = await MockKafka.start({ audit: true });
  const api: Api = 'Produce';
  const error: KafkaError = 'NOT_LEADER_OR_FOLLOWER';
  const fault = await kafka.fail({ api, error, times: 1, topic: 'orders' });
  // @ts-expect-error there is no such API
  await kafka.fail({ api: 'Produc', error });
  // @ts-expect-error there is no such error
  await kafka.fail({ api, error: 'NOT_LEADER' });
  // @ts-expect-error an error is required
  await kafka.fail({ api });
  // @ts-expect-error there is no such field
  await kafka.dropResponse({ clientId: 'shop' });
  // @ts-expect-error there is no such field
  await kafka.addFault({ api: 'Fetch', delay: 5 });
  await using held = await kafka.hold({ api, at: 'before_response', where: { 'topic_data[].name': 'orders' } });
  await kafka.respond({ api: 'Metadata', response: { controller_id: 9, brokers: [{ node_id: 1 }] } });
  await held.wait(2, { timeout_ms: 500 });
  await held.release(1);
  await kafka.hang({ after: 'moved', until: 'synced', resource: 'alice', topic_id: '11111111-2222-3333-4444-555555555555' });
  // @ts-expect-error requests are held before they are handled, or before the response
  await kafka.hold({ at: 'within_response' });
  return await fault.count();
}

export async function records(): Promise<(Buffer | null)[]> {
  await shared.produce('orders', 'a', null, { key: 'k', value: new Uint8Array(), headers: { a: 'b' } });
  const found: StoredRecord[] = await shared.waitForRecords('orders', 3, { isolation_level: 'read_committed' });
  // @ts-expect-error seconds are a number
  await shared.advance({ seconds: '3' });
  return found.map((record) => record.value);
}

export async function requests(): Promise<string[]> {
  const [first] = await shared.requests({ api: 'Produce', error: 'NOT_ENOUGH_REPLICAS', bodies: false });
  // @ts-expect-error there is no such API
  await shared.waitForRequest({ api: 'Produc' });
  // @ts-expect-error with noUncheckedIndexedAccess there may be none
  const api: string = first.api;
  return [api, ...(first?.errors ?? [])];
}

export async function operations(): Promise<number | undefined> {
  const compacted = await shared.ask('POST', '/v1/topics/{name}/compact', { path: { name: 'orders' } });
  // @ts-expect-error a name is required
  await shared.ask('POST', '/v1/topics/{name}/compact');
  // @ts-expect-error there is no such operation
  await shared.ask('GET', '/v1/reset');
  // @ts-expect-error there is no such permission
  await shared.ask('GET', '/v1/acls', { query: { permission_type: 'maybe' } });
  const nothing: void = await shared.ask('DELETE', '/v1/quotas');
  const pcap: Buffer = await shared.ask('GET', '/v1/requests/pcap');
  const text: string = await shared.ask('GET', '/metrics');
  console.log(nothing, pcap, text);
  return compacted[0]?.removed_records;
}

export function reason(error: unknown): string | null | undefined {
  return error instanceof MockKafkaError ? `${error.status} ${error.problem.reason}` : undefined;
}
