// Values that name their schema: a byte 0, the id of the schema in 4 bytes, and the value.
import { Gone, Locked, get } from "./api.js";
import { NotDecodable, avroJson } from "./avro.js";
import { bytesOf } from "./bytes.js";
const HEAD_BYTES = 5,
  KEPT_MAX = 100,
  READ_MAX = 20,
  ASK_AGAIN_MS = 30_000;
/** By their ids: schemas, and why there is none with the time at which to ask again. */
const kept = new Map();
let registryAskMs = 0;
const decodedValues = new WeakMap();
/** The id of the schema that a value names; null if it names none. */
function schemaId(value) {
  if (value === null || (value.text !== undefined && value.text[0] !== "\0")) return null;
  const bytes = bytesOf(value);
  if (bytes.length < HEAD_BYTES || bytes[0] !== 0) return null;
  const id = new DataView(bytes.buffer, bytes.byteOffset).getInt32(1);
  return id >= 0 ? id : null;
}
async function readSchema(id) {
  try {
    kept.set(id, { schema: await get(`/v1/schemas/${id}`), askMs: Infinity });
  } catch (error) {
    if (error instanceof Locked || error instanceof Gone) throw error;
    const askMs = performance.now() + ASK_AGAIN_MS;
    if (error.message.startsWith("there is no schema registry")) registryAskMs = askMs;
    else kept.set(id, { problem: error.message, askMs });
  }
  if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value);
}
/** Read the schemas that keys and values of records name, unless they are known. */
export async function readSchemas(records) {
  const ids = new Set(records.flatMap((record) => [schemaId(record.key), schemaId(record.value)]));
  for (const id of [...ids].filter((each) => each !== null).slice(0, READ_MAX)) {
    if (performance.now() < registryAskMs) return;
    if (performance.now() >= (kept.get(id)?.askMs ?? 0)) await readSchema(id);
  }
}
function decode(id, { schema, problem }, value) {
  if (problem) return { label: `schema ${id}`, problem };
  const { schema_type: type, schema: text, has_references: hasReferences } = schema;
  const found = { label: `${type}, schema ${id}`, schema: text };
  const bytes = bytesOf(value).subarray(HEAD_BYTES);
  try {
    if (type === "AVRO") found.json = avroJson(text, bytes);
    else if (type === "JSON") found.json = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    else found.problem = `values of ${type} are not decoded`;
  } catch (error) {
    const why = error instanceof NotDecodable || error instanceof TypeError ? error.message : String(error);
    found.problem = hasReferences ? `${why}; it uses types of other schemas` : why;
  }
  return found;
}
/**
 * What a value is by its schema: `label` names it, and it has `json`, or a `problem` and the text of the `schema`
 * if that is known. null if the value names no schema, or its schema was not read.
 */
export function decoded(value) {
  const id = value === null ? null : schemaId(value),
    known = id === null ? undefined : kept.get(id);
  if (!known) return null;
  const [before, found] = decodedValues.get(value) ?? [];
  if (before === known) return found;
  const decodedNow = decode(id, known, value);
  decodedValues.set(value, [known, decodedNow]);
  return decodedNow;
}
