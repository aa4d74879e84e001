// Values of Avro as JSON text. Schema and bytes come from others: their depth, number and length have bounds.
const DEPTH_MAX = 64,
  VALUES_MAX = 50_000,
  CHARACTERS_MAX = 1_000_000;
/** The bytes do not fit the schema, the schema is none, or it is too much; the message says what. */
export class NotDecodable extends Error {}
const PRIMITIVES = new Set(["null", "boolean", "int", "long", "float", "double", "bytes", "string"]);
const isNamed = (type) => type === "record" || type === "error" || type === "enum" || type === "fixed";
const fullName = (name, namespace) => (name.includes(".") || !namespace ? name : `${namespace}.${name}`);
const namespaceOf = (name) => name.slice(0, Math.max(0, name.lastIndexOf(".")));
const listOf = (value, what) => {
  if (!Array.isArray(value)) throw new NotDecodable(`the schema has no ${what}`);
  return value;
};

/** Bytes from a position on, and the text that was made of them. */
class Decoding {
  constructor(bytes) {
    Object.assign(this, { bytes, at: 0, values: 0, characters: 0, parts: [] });
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  write(text) {
    this.characters += text.length;
    if (this.characters > CHARACTERS_MAX) throw new NotDecodable("the value is too long to show");
    this.parts.push(text);
  }

  /** Take bytes; return where they begin. */
  take(count) {
    const begin = this.at;
    if (!(count >= 0 && count <= this.bytes.length - begin)) throw new NotDecodable("the bytes end too early");
    this.at += count;
    return begin;
  }

  taken(count) {
    const begin = this.take(count);
    return this.bytes.subarray(begin, begin + count);
  }

  long() {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.take(1)];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n));
    }
    throw new NotDecodable("a number is longer than 64 bits");
  }

  text() {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.taken(Number(this.long())));
    } catch (error) {
      throw error instanceof NotDecodable ? error : new NotDecodable("a string is not UTF-8");
    }
  }

  /** The elements of an array or a map, which come in blocks. */
  blocks(element) {
    let isFirst = true;
    for (let count = this.long(); count !== 0n; count = this.long()) {
      if (count < 0n) {
        this.long(); // the size of the block in bytes
        count = -count;
      }
      for (; count > 0n; count -= 1n) {
        if (!isFirst) this.write(",");
        isFirst = false;
        element();
      }
    }
  }
}

const hexOf = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
/** The shortest text of a number of 32 bits. */
function floatText(value) {
  for (let digits = 6; digits < 9; digits += 1)
    if (Math.fround(Number(value.toPrecision(digits))) === value) return Number(value.toPrecision(digits));
  return value;
}
/** A number with a fraction or an exponent, so that it does not look like an integer. */
function numberText(value) {
  if (!Number.isFinite(value)) return `"${value}"`;
  return /^-?\d+$/.test(String(value)) ? `${value}.0` : String(value);
}
function signed(bytes) {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return BigInt.asIntN(8 * bytes.length, value);
}
function decimalText(unscaled, scale) {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, "0");
  const point = digits.length - scale;
  return (unscaled < 0n ? "-" : "") + digits.slice(0, point) + (scale ? `.${digits.slice(point)}` : "");
}
/** A time since 1970 in units of 10^-digits s, as ISO 8601; null if it is no date. */
function isoText(value, digits) {
  const unit = 10n ** BigInt(digits),
    rest = ((value % unit) + unit) % unit,
    at = new Date(Number((value - rest) / unit) * 1000);
  return Number.isNaN(at.getTime()) ? null : `${at.toISOString().slice(0, -5)}.${String(rest).padStart(digits, "0")}`;
}
const DIGITS = { millis: 3, micros: 6, nanos: 9 };
/** A number with a logical type as text; null if it has none that is known. */
function timeText(logicalType, value) {
  if (logicalType === "date") return isoText(value * 86400n, 0)?.slice(0, 10) ?? null;
  const [, kind, unit] = /^(timestamp|local-timestamp|time)-(millis|micros|nanos)$/.exec(logicalType) ?? [];
  if (!kind) return null;
  const text = isoText(value, DIGITS[unit]);
  if (text === null) return null;
  return kind === "time" ? text.slice(11) : kind === "timestamp" ? `${text}Z` : text;
}

/** Collect the named types of a schema by their full names. */
function collectNames(schema, namespace, names, depth = 0) {
  if (depth > DEPTH_MAX) throw new NotDecodable("the schema is nested too deeply");
  const goOn = (inner, space) => collectNames(inner, space, names, depth + 1);
  if (Array.isArray(schema)) for (const branch of schema) goOn(branch, namespace);
  if (schema === null || typeof schema !== "object" || Array.isArray(schema)) return;
  let space = namespace;
  if (isNamed(schema.type)) {
    const name = fullName(String(schema.name), schema.namespace ?? namespace);
    space = namespaceOf(name);
    names.set(name, [schema, space]);
    if (Array.isArray(schema.fields)) for (const field of schema.fields) goOn(field?.type, space);
  } else if (typeof schema.type === "object") goOn(schema.type, space);
  goOn(schema.items, space);
  goOn(schema.values, space);
}

function decodePrimitive(decoding, type, { logicalType, scale = 0 }) {
  const size = type === "float" ? 4 : 8;
  switch (type) {
    case "null":
      return decoding.write("null");
    case "boolean":
      return decoding.write(String(decoding.bytes[decoding.take(1)] !== 0));
    case "int":
    case "long": {
      const value = decoding.long();
      const text = logicalType ? timeText(String(logicalType), value) : null;
      return decoding.write(text === null ? String(value) : `"${text}"`);
    }
    case "float":
      return decoding.write(numberText(floatText(decoding.view.getFloat32(decoding.take(size), true))));
    case "double":
      return decoding.write(numberText(decoding.view.getFloat64(decoding.take(size), true)));
    case "string":
      return decoding.write(JSON.stringify(decoding.text()));
    default:
      return writeBytes(decoding, decoding.taken(Number(decoding.long())), logicalType, scale);
  }
}
const DECIMAL_BYTES_MAX = 64;
function writeBytes(decoding, bytes, logicalType, scale) {
  const isDecimal =
    logicalType === "decimal" && bytes.length <= DECIMAL_BYTES_MAX && Number.isInteger(scale) && scale >= 0 && scale < 1000;
  decoding.write(isDecimal ? decimalText(signed(bytes), scale) : `"${hexOf(bytes)}"`);
}

/** Decode one value and write it as JSON. */
function decodeValue(decoding, schema, namespace, names, depth) {
  decoding.values += 1;
  if (depth > DEPTH_MAX || decoding.values > VALUES_MAX) throw new NotDecodable("the value is too large to show");
  const goOn = (inner, space = namespace) => decodeValue(decoding, inner, space, names, depth + 1);
  if (Array.isArray(schema)) {
    const branch = decoding.long();
    if (branch < 0n || branch >= schema.length) throw new NotDecodable("a union has no such branch");
    return goOn(schema[Number(branch)]);
  }
  const type = typeof schema === "string" ? schema : schema?.type;
  if (PRIMITIVES.has(type)) return decodePrimitive(decoding, type, schema);
  if (typeof schema === "string") {
    const [named, space] = names.get(fullName(schema, namespace)) ?? names.get(schema) ?? [];
    if (!named) throw new NotDecodable(`the schema does not define ${schema}`);
    return goOn(named, space);
  }
  const space = isNamed(type) ? namespaceOf(fullName(String(schema.name), schema.namespace ?? namespace)) : namespace;
  switch (type) {
    case "record":
    case "error":
      decoding.write("{");
      listOf(schema.fields, "fields").forEach((field, index) => {
        decoding.write(`${index ? "," : ""}${JSON.stringify(String(field?.name))}:`);
        goOn(field?.type, space);
      });
      return decoding.write("}");
    case "enum": {
      const symbol = listOf(schema.symbols, "symbols")[Number(decoding.long())];
      if (symbol === undefined) throw new NotDecodable("an enum has no such symbol");
      return decoding.write(JSON.stringify(String(symbol)));
    }
    case "fixed":
      return writeBytes(decoding, decoding.taken(schema.size), schema.logicalType, schema.scale ?? 0);
    case "array":
      decoding.write("[");
      decoding.blocks(() => goOn(schema.items));
      return decoding.write("]");
    case "map":
      decoding.write("{");
      decoding.blocks(() => {
        decoding.write(`${JSON.stringify(decoding.text())}:`);
        goOn(schema.values);
      });
      return decoding.write("}");
    default:
      if (typeof type === "object" && type !== null) return goOn(type);
      if (typeof type === "string") return goOn(type);
      throw new NotDecodable("the schema has a part without a type");
  }
}

/**
 * Return bytes as JSON text by the text of their schema; 64-bit numbers keep their digits, bytes are hex.
 * Throws NotDecodable.
 */
export function avroJson(schemaText, bytes) {
  let schema;
  try {
    schema = JSON.parse(schemaText);
  } catch {
    schema = schemaText; // a primitive's name without quotes
  }
  const names = new Map(),
    decoding = new Decoding(bytes);
  collectNames(schema, "", names);
  decodeValue(decoding, schema, "", names, 0);
  if (decoding.at < bytes.length) throw new NotDecodable(`${bytes.length - decoding.at} bytes are left over`);
  return decoding.parts.join("");
}
