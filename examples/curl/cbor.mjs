/**
 * Decoder for the CBOR (RFC 8949) that answers of the data API use: integers, floats, texts, arrays and
 * objects with a length, true, false and null. Bytes become base64, as in the JSON of the same answer.
 */

export function decodeCbor(bytes) {
  const reader = { bytes, at: 0 };
  const value = readItem(reader);
  if (reader.at !== bytes.length) throw new Error(`expected the end of the CBOR at ${reader.at}`);
  return value;
}

function readItem(reader) {
  const first = take(reader, 1)[0];
  const major = first >> 5;
  const low = first & 31;
  if (major === 7) return readSimple(reader, low);
  const size = readSize(reader, low);
  switch (major) {
    case 0:
      return size;
    case 1:
      return -1 - size;
    case 2:
      return take(reader, size).toString("base64");
    case 3:
      return take(reader, size).toString("utf8");
    case 4:
      return Array.from({ length: size }, () => readItem(reader));
    case 5:
      return Object.fromEntries(
        Array.from({ length: size }, () => [readItem(reader), readItem(reader)]),
      );
    default:
      throw new Error(`expected CBOR without tags, found one before ${reader.at}`);
  }
}

function readSize(reader, low) {
  if (low < 24) return low;
  if (low === 24) return take(reader, 1)[0];
  if (low === 25) return take(reader, 2).readUInt16BE();
  if (low === 26) return take(reader, 4).readUInt32BE();
  if (low === 27) return Number(take(reader, 8).readBigUInt64BE());
  throw new Error(`expected CBOR with stated lengths, found ${low} before ${reader.at}`);
}

function readSimple(reader, low) {
  if (low === 20) return false;
  if (low === 21) return true;
  if (low === 22) return null;
  if (low === 26) return take(reader, 4).readFloatBE();
  if (low === 27) return take(reader, 8).readDoubleBE();
  throw new Error(`expected a simple value of CBOR, found ${low} before ${reader.at}`);
}

function take(reader, length) {
  const end = reader.at + length;
  if (end > reader.bytes.length) throw new Error("expected more CBOR, found its end");
  const part = reader.bytes.subarray(reader.at, end);
  reader.at = end;
  return part;
}
