/**
 * Malformed requests, by seed: what is sent, how it is sent, and whose error must come back. And
 * what is wrong with the answer of one: it must be 4xx, with the body that its operation has for
 * failures.
 */

import type { Value } from "@bigpeer/protocol";
import { Random } from "../../../engine/test/support/random.ts";
import { answerFaults, type ReceivedAnswer } from "./answer-schema.ts";
import {
  brokenCbor,
  brokenJson,
  brokenText,
  type CallBody,
  deepBody,
  deepText,
  hugeNumber,
  mangledText,
  strangeNumber,
  wrongFields,
} from "./malformed-body.ts";
import {
  brokenFraming,
  cutRequest,
  garbage,
  largeBody,
  pipelined,
  slowRequest,
} from "./malformed-framing.ts";
import {
  answered,
  type Head,
  headOf,
  type Sending,
  type Target,
  wrongCredential,
  wrongHeader,
  wrongMethod,
  wrongPath,
  wrongType,
} from "./malformed-head.ts";
import { malformedUpload } from "./malformed-upload.ts";
import type { RawAnswer } from "./raw-connection.ts";
import { bodyOf } from "./served-folder.ts";

export interface MalformedRequest extends Sending {
  /** What is wrong with it. */
  readonly kind: string;
}

type Generator = (random: Random, target: Target) => Sending;

/** Each with how many of a thousand it makes. */
const GENERATORS: readonly (readonly [share: number, kind: string, generate: Generator])[] = [
  [240, "wrong fields", call(wrongFields)],
  [130, "broken JSON", call(brokenJson)],
  [130, "broken CBOR", call(brokenCbor)],
  [50, "huge numbers", call(hugeNumber)],
  [30, "strange numbers", call(strangeNumber)],
  [60, "broken text", call(brokenText)],
  [90, "mangled statements and filters", call(mangledText)],
  [10, "deep bodies", call(deepBody)],
  [4, "deep statements and filters", call(deepText)],
  [30, "wrong methods", head(wrongMethod)],
  [30, "wrong content types", head(wrongType)],
  [50, "wrong headers", head(wrongHeader)],
  [20, "wrong credentials", head(wrongCredential)],
  [40, "wrong paths", head(wrongPath)],
  [35, "broken framing", brokenFraming],
  [15, "garbage", garbage],
  [12, "cut off", cutRequest],
  [6, "slow", slowRequest],
  [6, "pipelined", pipelined(call(brokenJson))],
  [2, "too large", largeBody],
  [60, "malformed uploads", malformedUpload],
];

const TOTAL = GENERATORS.reduce((sum, [share]) => sum + share, 0);

export const KINDS: readonly string[] = GENERATORS.map(([, kind]) => kind);

/** The same seed gives the same request. */
export function malformedRequest(seed: number, target: Target): MalformedRequest {
  const random = new Random(seed);
  let left = random.below(TOTAL);
  for (const [share, kind, generate] of GENERATORS) {
    left -= share;
    if (left < 0) return { kind, ...generate(random, target) };
  }
  throw new Error("expected shares that add up");
}

/** A body in a request that is right but for it. */
function call(makeBody: (random: Random) => CallBody): Generator {
  return (random, target) => answered(headOf(random, target, makeBody(random)));
}

function head(makeHead: (random: Random, target: Target) => Head): Generator {
  return (random, target) => answered(makeHead(random, target));
}

/** What is wrong with an answer, a sentence for each. */
export function complaintsAbout(request: MalformedRequest, answer: RawAnswer): string[] {
  const { status, headers, bytes } = answer;
  if (status < 400 || status > 499) return [`status ${status}: ${shown(bytes)}`];
  if (request.isHead) return [];
  let body: Value;
  try {
    body = bodyOf(answer);
  } catch (error) {
    return [`status ${status}, ${String(error)}: ${shown(bytes)}`];
  }
  // What is not HTTP has a message only, whatever it was meant for.
  const isMessage = request.operation === undefined || request.ending === "end";
  const faults = isMessage ? messageFaults(body, headers) : [];
  const isOther = faults.length > 0 || !isMessage;
  const left = isOther ? operationFaults(request, { status, headers, body }, faults) : [];
  return left.map((fault) => `status ${status}, ${fault}: ${shown(bytes)}`);
}

type Decoded = Omit<ReceivedAnswer, "operation">;

function operationFaults(
  { operation, isExact }: MalformedRequest,
  answer: Decoded,
  otherwise: string[],
): string[] {
  if (operation === undefined) return otherwise;
  // Below the path of an operation it is the failure of that operation with another status.
  return answerFaults({ ...answer, operation, status: isExact ? answer.status : 400 });
}

function messageFaults(body: Value, headers: Headers): string[] {
  const faults: string[] = [];
  const { message, ...others } = body as { readonly [name: string]: Value };
  if (typeof message !== "string" || message === "") faults.push("there is no message");
  if (Object.keys(others).length > 0) faults.push("there is more than a message");
  if (!headers.has("x-request-id")) faults.push("there is no x-request-id");
  return faults;
}

function shown(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 300)).toString("latin1");
}
