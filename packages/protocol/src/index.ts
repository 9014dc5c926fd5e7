/**
 * What is written, on the wire and on disk: values and their forms, ids, stamps, operations,
 * errors. No dependency, no I/O.
 */

export { assert, unreachable } from "./assert.ts";
export { ByteReader, ByteWriter, encodeText } from "./bytes.ts";
export { canonicalBytes, decodeCbor, encodeCbor, readCbor, writeCanonical } from "./cbor.ts";
export { type DocumentId, documentId, ID_SIZE_MAX, idOfKey } from "./document-id.ts";
export {
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  PeerError,
  type TextPlace,
} from "./error.ts";
export { encodeBase64, parseJson, stringifyJson } from "./json.ts";
export { nearest } from "./near-name.ts";
export {
  type AttachmentOperation,
  type AttachOperation,
  type CatalogOperation,
  type CounterType,
  type CreateIndexOperation,
  type DeleteOperation,
  type DetachOperation,
  type DocumentOperation,
  type DropIndexOperation,
  type Edit,
  type EvictOperation,
  FIELD_TYPES,
  type FieldType,
  type HorizonOperation,
  type IncrementEdit,
  type IndexKey,
  type IndexOperation,
  type InitialOperation,
  type InsertOperation,
  isDocumentOperation,
  type MergeOperation,
  type Operation,
  type Path,
  type RestartEdit,
  type SetEdit,
  type StoreOperation,
  type TrimOperation,
  type TypeMark,
  type Types,
  type UnsetEdit,
  type UpdateOperation,
  type UploadOperation,
} from "./operation.ts";
export {
  ATTACHMENT_ID_SIZE_MAX,
  checkAmount,
  checkCollection,
  checkOperation,
  checkUpload,
  INDEX_KEYS_MAX,
  isRootSet,
  NAME_SIZE_MAX,
  UPLOADER_SIZE_MAX,
} from "./operation-check.ts";
export {
  byteString,
  bytesOf,
  invertedKey,
  orderedKey,
  readOrderedKey,
  textKey,
  valueOfOrderedKey,
} from "./ordered-key.ts";
export {
  beforeStamp,
  compareStamps,
  EPOCH_MS,
  isAfter,
  isSite,
  latest,
  msOfTime,
  NO_SITE,
  NONE,
  type Site,
  type Stamp,
  siteOfBytes,
  stampOfValue,
  stampToValue,
  TICKS_PER_MS,
  TIME_MAX,
  timeOfMs,
  ZERO,
} from "./stamp.ts";
export {
  checkValue,
  compareBytes,
  compareNumbers,
  compareText,
  compareValues,
  DEPTH_MAX,
  equalValues,
  getField,
  INTEGER_MAX,
  INTEGER_MIN,
  isArray,
  isObject,
  levelsOf,
  type MutableObject,
  normalInteger,
  normalNumber,
  setField,
  sortedKeys,
  type Value,
  type ValueObject,
} from "./value.ts";
