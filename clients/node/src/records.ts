import type { BytesBody, BytesView, RecordBody, RecordView } from './admin_schema.js';

/** Strings are encoded as UTF-8. */
export type Bytes = string | Uint8Array | null;

/** A record to store: its value, or its parts. `timestamp` is in ms since the epoch, by default now. */
export type NewRecord =
  | Bytes
  | { value?: Bytes; key?: Bytes; headers?: Record<string, Bytes>; partition?: number; timestamp?: number };

/** A record of a log. `transaction` is the state of the transaction that it was written in, null without one. */
export type StoredRecord = Omit<RecordView, 'key' | 'value' | 'headers'> & {
  topic: string;
  key: Buffer | null;
  value: Buffer | null;
  headers: { key: string; value: Buffer | null }[];
};

export function recordBody(record: NewRecord): RecordBody {
  if (isBytes(record)) return { value: bytesBody(record) };
  const { key = null, value = null, headers = {}, ...place } = record;
  const pairs = Object.entries(headers).map(([name, bytes]) => ({ key: name, value: bytesBody(bytes) }));
  return { ...place, key: bytesBody(key), value: bytesBody(value), headers: pairs };
}

export function storedRecord(topic: string, view: RecordView): StoredRecord {
  const headers = view.headers.map(({ key, value }) => ({ key, value: bytesOf(value) }));
  return { topic, ...view, key: bytesOf(view.key), value: bytesOf(view.value), headers };
}

function bytesBody(bytes: Bytes): string | BytesBody | null {
  if (bytes === null || typeof bytes === 'string') return bytes;
  return { base64: Buffer.from(bytes).toString('base64') };
}

function isBytes(record: NewRecord): record is Bytes {
  // Not instanceof: test runners have several global objects.
  return record === null || typeof record === 'string' || ArrayBuffer.isView(record);
}

function bytesOf(view: BytesView | null): Buffer | null {
  return view && Buffer.from(view.base64 ?? '', 'base64');
}
