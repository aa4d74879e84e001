import type { BytesBody, RecordBody } from './admin_schema.js';

/** Strings are encoded as UTF-8. */
export type Bytes = string | Uint8Array | null;

/** A record to store: its value, or its parts. `timestamp` is in ms since the epoch, by default now. */
export type NewRecord =
  | Bytes
  | { value?: Bytes; key?: Bytes; headers?: Record<string, Bytes>; partition?: number; timestamp?: number };

export function recordBody(record: NewRecord): RecordBody {
  // Not instanceof: test runners have several global objects.
  if (record === null || typeof record === 'string' || ArrayBuffer.isView(record)) return { value: encoded(record) };
  const { key = null, value = null, headers = {}, ...place } = record;
  const pairs = Object.entries(headers).map(([name, bytes]) => ({ key: name, value: encoded(bytes) }));
  return { ...place, key: encoded(key), value: encoded(value), headers: pairs };
}

function encoded(bytes: Bytes): string | BytesBody | null {
  return ArrayBuffer.isView(bytes) ? { base64: Buffer.from(bytes).toString('base64') } : bytes;
}
