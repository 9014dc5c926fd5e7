/**
 * The law of permissions, asked of two stores with one request after the other.
 *
 * One store holds everything and has a caller with rules; the other holds what these rules let him
 * read, and has a caller without. Both must be told the same. Where that cannot be, a sentence in
 * permission-answer.ts says why, and what is expected instead comes from a model: the slow obvious evaluator judges each
 * document before and after, and knows nothing of the engine's own judge.
 */

import { isDeepStrictEqual } from "node:util";
import { isObject, type Value, type ValueObject } from "@bigpeer/protocol";
import { Budget } from "../../src/query/frame/budget.ts";
import { Authority } from "../../src/query/permission/authority.ts";
import { FULL_PERMISSIONS } from "../../src/query/permission/permissions.ts";
import type { StatementResult } from "../../src/query/request.ts";
import type { Warning } from "../../src/query/run/warnings.ts";
import { waysIn } from "./index-ways.ts";
import { dump } from "./open-store.ts";
import {
  BY_NATURE,
  DENIAL,
  differenceOf,
  differing,
  type Expected,
  type Nature,
  noDocument,
  noRule,
  noToken,
  type Prediction,
  type Reply,
  RULED,
  replyOf,
  settle,
  type Tally,
} from "./permission-answer.ts";
import { BatchModel } from "./permission-batch.ts";
import { CALLER } from "./permission-content.ts";
import {
  ACTIVE,
  type FuzzRequest,
  type FuzzWorld,
  HISTORY,
  type PastDocument,
} from "./permission-fuzz.ts";
import { kindsOf } from "./permission-kinds.ts";
import {
  allows,
  copyOf,
  documentsOf,
  evict,
  fillPeer,
  hasRule,
  indexPeer,
  keyOf,
  mayReadContent,
  namesOf,
  openPeer,
  type Peer,
  type Placed,
  recordsOf,
  tokensOf,
  unindexPeer,
} from "./permission-peer.ts";
import { withoutTimes } from "./profile-times.ts";

/** What was read or written, without the number of the transaction and without times. */
function shownResult(result: StatementResult): Reply {
  const { queryType, items, mutatedDocumentIds, warnings, totalWarningsCount } = result;
  return {
    queryType,
    rows: items.map(untimed),
    ids: mutatedDocumentIds,
    warnings,
    totalWarningsCount,
  };
}

function untimed(row: Value): Value {
  const profile = isObject(row) ? row["~request_profile"] : undefined;
  return isObject(profile) ? withProfile(withoutTimes(profile)) : row;
}

/**
 * What is told, with what depends on the way to the documents as another way has it: warnings are of
 * the documents that somebody looked at, and memory is that of the way. The way may depend on rules
 * (P21), but never on what they hide.
 */
function sameWay(plain: Reply, ruled: Reply): Reply {
  if ([plain, ruled].some(({ error }) => error === "query.too_large")) return ruled;
  if (plain["error"] !== undefined || ruled["error"] !== undefined) return plain;
  const { warnings, totalWarningsCount } = ruled;
  return { ...plain, warnings, totalWarningsCount };
}

function isProfile(row: Value): boolean {
  return isObject(row) && row["~request_profile"] !== undefined;
}

function withProfile(profile: ValueObject): ValueObject {
  return { "~request_profile": profile };
}

type Statement = Extract<FuzzRequest, { readonly kind: "statement" }>;

interface Uses {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

/** Which collections a text names, by the words before them. */
function usesOf(statement: string): Uses {
  const reads = [...statement.matchAll(/\b(?:FROM|JOIN)\s+(?:COLLECTION\s+)?(\w+)(?![\w:])/g)];
  const readNames = reads.flatMap(([, name]) => name ?? []);
  const text = statement.replace(/^(EXPLAIN|PROFILE|ADVISE) /, "");
  const [, into] = /^INSERT INTO (?:COLLECTION )?(\w+)/.exec(text) ?? [];
  if (into !== undefined) {
    const back = / RETURNING /.test(text) ? [into] : [];
    return { reads: [...readNames, ...back], writes: [into] };
  }
  const [, updated] = /^UPDATE (?:COLLECTION )?(\w+)/.exec(text) ?? [];
  if (updated !== undefined) return { reads: [updated, ...readNames], writes: [updated] };
  const isRemove = /^(DELETE|EVICT|TOMBSTONE) /.test(text);
  return { reads: readNames, writes: isRemove ? readNames.slice(0, 1) : [] };
}

const WRITES = /^(PROFILE )?(INSERT|UPDATE|DELETE|EVICT|TOMBSTONE) /;
const PLANNED = /^(EXPLAIN|PROFILE|ADVISE) /;
const ABOUT_THE_WHOLE = /^(CREATE INDEX|DROP INDEX|ALTER SYSTEM) /;

export class PermissionPair {
  readonly world: FuzzWorld;
  readonly #authority: Authority;
  readonly #whole: Peer;
  #readable: Peer;
  /** What he may not read, with what the storage keeps of it. */
  #hidden = new Map<string, { readonly document: Placed; readonly records: unknown }>();
  /** The keys of what was deleted before he came. */
  readonly #tombstones = new Set<string>();
  readonly #indexed: ReadonlySet<string>;
  readonly #sent: Value[] = [];
  #number = 0;
  #unruled: Reply | undefined;
  readonly #tally: Tally;

  private constructor(world: FuzzWorld, whole: Peer, readable: Peer, tally: Tally) {
    this.world = world;
    const { read, write } = world;
    this.#authority = new Authority({ read, write, remoteQuery: false }, CALLER);
    this.#whole = whole;
    this.#readable = readable;
    this.#tally = tally;
    this.#indexed = namesOf(whole);
  }

  static async open(world: FuzzWorld, tally: Tally): Promise<PermissionPair> {
    const whole = await openPeer();
    const readable = await openPeer();
    await fillPeer(whole, world.documents);
    const hidden = [...documentsOf(whole).values()].filter((each) => !allows(world.read, each));
    const hiddenKeys = new Set(hidden.map(({ collection, id }) => keyOf(collection, id)));
    const shown = documentsOf(whole);
    // What was deleted is not there either: nothing of it may come back with a new document.
    const isKept = ({ collection, id }: PastDocument): boolean => {
      const key = keyOf(collection, id);
      return shown.has(key) && !hiddenKeys.has(key);
    };
    await fillPeer(readable, world.documents.filter(isKept));
    for (const peer of [whole, readable]) {
      // An index alone would make a collection known.
      await indexPeer(peer, world, namesOf(peer));
      await peer.store.transact((transaction) =>
        transaction.apply(world.contents.map((content) => ({ kind: "attach", ...content }))),
      );
    }
    const pair = new PermissionPair(world, whole, readable, tally);
    pair.#hide(hidden);
    for (const { collection, id } of world.documents) {
      const key = keyOf(collection, id);
      if (!shown.has(key)) pair.#tombstones.add(key);
    }
    await pair.#othersAsk();
    return pair;
  }

  /** Requests that are not his. */
  async #othersAsk(): Promise<void> {
    const bob = new Authority(FULL_PERMISSIONS, "bob");
    const statement = "SELECT count(*) AS bobs FROM secret";
    await this.#whole.runner.execute({ statement, authority: bob });
    await this.#whole.runner.execute({ statement });
    const budget = new Budget({ elapsed: () => 0, timeMsMax: 1000, bytesMax: 1000 });
    const running = { id: "of bob", text: "still at it", appId: "fuzz", credential: "bob", budget };
    this.#whole.runner.requests.begin(running);
  }

  /** What differs, as text. */
  async difference(request: FuzzRequest): Promise<string | undefined> {
    this.#number++;
    await this.#askWithoutRules(request);
    const before = dump(this.#whole.storage);
    await this.#alignIndexes();
    const { expected, next } = await this.#expect(request);
    const found = await this.#ask(request);
    this.#count(request, found);
    if (this.#unruled !== undefined && !isDeepStrictEqual(this.#unruled, found)) {
      this.#tally.count(RULED);
    }
    const answer = differenceOf(expected, found);
    if (answer !== undefined) return answer;
    if (request.kind === "statement") this.#remember(request, found);
    if (next === undefined) {
      const isSame = isDeepStrictEqual(before, dump(this.#whole.storage));
      return isSame ? undefined : "expected that nothing is written";
    }
    this.#readable = next.readable;
    return this.#leftDifference(next.moved);
  }

  /** He is told of the indexes of collections in which he sees a document; plans tell of them. */
  async #alignIndexes(): Promise<void> {
    const { indexes, read } = this.world;
    const shown = namesOf(this.#readable);
    for (const name of this.#indexed) {
      const has = this.#readable.store.read((view) => view.indexes(name).length > 0);
      const wants = read.everything || shown.has(name);
      if (has === wants) continue;
      if (wants) await indexPeer(this.#readable, this.world, [name]);
      else await unindexPeer(this.#readable, this.world, [name]);
      if (indexes.length > 0) this.#noteNature("unseen");
    }
  }

  /**
   * What somebody without rules is told by the same store: what was prepared for him must not help
   * the caller, and where both are told the same there was nothing to hide.
   */
  async #askWithoutRules(request: FuzzRequest): Promise<void> {
    const isStatement = request.kind === "statement" && !WRITES.test(request.statement);
    const isRead = isStatement || request.kind === "find" || request.kind === "count";
    const isChange = isStatement && ABOUT_THE_WHOLE.test(request.statement);
    this.#unruled =
      isRead && !isChange ? await replyOf(() => ask(this.#whole, request)) : undefined;
  }

  #noteNature(nature: Nature): void {
    this.#tally.count(BY_NATURE[nature]);
  }

  #count(request: FuzzRequest, found: Reply): void {
    this.#noteNature("transaction");
    this.#tally.count("requests");
    this.#tally.count(request.kind);
    const { error, rows, plan, totalWarningsCount } = found;
    this.#tally.count(typeof error === "string" ? error : "answered");
    if (error !== undefined) return;
    if (rows !== undefined && (rows as readonly Value[]).length > 0) this.#tally.count("rows");
    if (totalWarningsCount !== undefined && totalWarningsCount !== 0) this.#tally.count("warnings");
    for (const kind of kindsOf(request)) this.#tally.count(kind);
    for (const way of waysIn([rows ?? null, plan ?? null] as Value)) this.#tally.count(way);
  }

  async #ask(request: FuzzRequest): Promise<Reply> {
    const authority = this.#authority;
    this.#whole.reseed(this.#number);
    if (request.kind === "attachment") {
      return { isReadable: await this.#whole.runner.mayReadAttachment(request.id, authority) };
    }
    return replyOf(() => ask(this.#whole, request, { authority, isUnknownRefused: true }));
  }

  #remember({ statement, isTight }: Statement, found: Reply): void {
    if (isTight) return;
    const error = found["error"];
    const { rows = [], ids = [] } = found as { readonly rows?: Value[]; readonly ids?: Value[] };
    this.#sent.push({
      text: statement,
      state: error === undefined ? "completed" : "failed",
      resultCount: Math.max(rows.length, ids.length),
      ...(error === undefined ? {} : { error: String(found["message"]) }),
    });
  }

  async #expect(request: FuzzRequest): Promise<Prediction> {
    this.#readable.reseed(this.#number);
    const { read } = this.world;
    switch (request.kind) {
      case "statement":
        return this.#expectStatement(request);
      case "attachment":
        this.#noteNature("token");
        return { expected: { reply: { isReadable: this.#mayReadContent(request.id) } } };
      case "write": {
        const model = new BatchModel(this.world, this.#readable, new Set(this.#hidden.keys()));
        const prediction = await model.predict(request.commands, this.#number);
        for (const nature of model.natures) this.#noteNature(nature);
        return prediction;
      }
      default: {
        const { collection } = request;
        if (!hasRule(read, collection)) {
          this.#noteNature("noRule");
          return { expected: noRule([collection]) };
        }
        this.#noteNature("known");
        const isUnknownRefused = read.everything;
        const answer = await replyOf(() => ask(this.#readable, request, { isUnknownRefused }));
        if (request.kind !== "find" || answer["plan"] === undefined) {
          return { expected: { reply: answer } };
        }
        const by = { isUnknownRefused, authority: this.#authority };
        const { plan } = await replyOf(() => ask(this.#readable, request, by));
        return { expected: { reply: { ...answer, plan } } };
      }
    }
  }

  #mayReadContent(id: string): boolean {
    return mayReadContent(this.world, this.#readable, id);
  }

  async #expectStatement(request: Statement): Promise<Prediction> {
    const { statement } = request;
    const wrong = await replyOf(() => {
      this.#readable.runner.prepare(statement);
      return {};
    });
    if (wrong["error"] !== undefined) return { expected: { reply: wrong } };
    if (ABOUT_THE_WHOLE.test(statement)) {
      this.#noteNature("whole");
      return { expected: { denied: [`${DENIAL} for the store as a whole`] } };
    }
    const { reads, writes } = usesOf(statement);
    const missing = [
      ...reads.filter((name) => !hasRule(this.world.read, name)),
      ...writes.filter((name) => !hasRule(this.world.write, name)),
    ];
    if (missing.length > 0) {
      this.#noteNature("noRule");
      return { expected: noRule(missing) };
    }
    if (WRITES.test(statement)) return this.#expectWrite(request, writes[0] ?? "");
    if (statement.includes("system:")) return this.#expectSystem(request);
    const by = { authority: this.#authority };
    const ruled = await replyOf(() => ask(this.#readable, request, by));
    if (PLANNED.test(statement)) return { expected: { reply: ruled } };
    const plain = await replyOf(() => ask(this.#readable, request));
    return { expected: { reply: sameWay(plain, ruled) } };
  }

  async #expectSystem(request: Statement): Promise<Prediction> {
    const { statement } = request;
    const rest = { queryType: "select", ids: [], warnings: [], totalWarningsCount: 0 };
    if (statement === HISTORY) {
      this.#noteNature("history");
      return { expected: { reply: { ...rest, rows: [...this.#sent] } } };
    }
    if (statement === ACTIVE) {
      const rows = [{ text: ACTIVE, queryType: "select" }];
      return { expected: { reply: { ...rest, rows } } };
    }
    const { read, write } = this.world;
    const isFigure = statement.includes("system:vitals") && !read.everything;
    const isText = statement.includes("system:shared_statements");
    if (isFigure || (isText && !(read.everything && write.everything))) {
      this.#noteNature("stats");
      return { expected: { reply: { ...rest, rows: [{ c1: 0 }] } } };
    }
    if (read.everything) return this.#expectOfWhole(request);
    this.#noteNature("emptied");
    const fresh = await openPeer();
    const documents = [...documentsOf(this.#readable).values()];
    for (const { collection, id, fields } of documents) {
      const args = { d: { ...fields, _id: id } };
      const text = `INSERT INTO ${collection} DOCUMENTS (:d)`;
      await fresh.runner.execute({ statement: text, args });
    }
    const indexed = [...namesOf(fresh)].filter((name) => this.#indexed.has(name));
    await indexPeer(fresh, this.world, indexed);
    // A collection with a rule is known, so nothing is said of it that another would be warned of.
    this.#noteNature("known");
    const ruled = await replyOf(() => ask(fresh, request, { authority: this.#authority }));
    const plain = await replyOf(() => ask(fresh, request));
    return { expected: { reply: sameWay(plain, ruled) } };
  }

  /** Who reads everything is told of the store as it is. */
  async #expectOfWhole(request: Statement): Promise<Prediction> {
    return { expected: { reply: await replyOf(() => ask(this.#whole, request)) } };
  }

  async #expectWrite(request: Statement, collection: string): Promise<Prediction> {
    const scratch = await copyOf(this.#readable);
    scratch.reseed(this.#number);
    const before = documentsOf(this.#readable);
    const tried = await this.#planned(request, await replyOf(() => ask(scratch, request)));
    const isInitial = / INITIAL /.test(request.statement);
    const outcome = isInitial ? await this.#withoutTombstones(tried, collection, scratch) : tried;
    const after = documentsOf(scratch);
    const denial = /^(PROFILE )?INSERT/.test(request.statement)
      ? await this.#insertDenial({ request, collection, before, after, outcome })
      : this.#changeDenial({ request, collection, before, after, outcome });
    if (denial !== undefined) {
      this.#noteNature(denial.nature);
      return { expected: denial.expected };
    }
    if (outcome["error"] !== undefined) return { expected: { reply: outcome } };
    const moved = await settle(scratch, this.world);
    const rows = this.#rowsLeft(outcome["rows"] as readonly Value[], collection, moved);
    return { expected: { reply: { ...outcome, rows } }, next: { readable: scratch, moved } };
  }

  /** With what the rules let a write take as its way to the documents (P21). */
  async #planned(request: Statement, tried: Reply): Promise<Reply> {
    // What is inserted is not looked for.
    if (/^(PROFILE )?INSERT (?!.*\bSELECT\b)/s.test(request.statement)) return tried;
    const scratch = await copyOf(this.#readable);
    scratch.reseed(this.#number);
    const by = { authority: this.#authority };
    const ruled = await replyOf(() => ask(scratch, request, by));
    const rows = tried["rows"];
    const profiles = Array.isArray(ruled["rows"]) ? ruled["rows"].filter(isProfile) : [];
    const same = sameWay(tried, ruled);
    if (profiles.length === 0 || !Array.isArray(rows)) return same;
    return { ...same, rows: [...rows.filter((row) => !isProfile(row as Value)), ...profiles] };
  }

  /** What INITIAL does where some of its documents were deleted before. */
  async #withoutTombstones(tried: Reply, collection: string, scratch: Peer): Promise<Reply> {
    const isTombstone = (id: Value): boolean => this.#tombstones.has(keyOf(collection, id));
    const { ids = [], rows = [] } = tried as { readonly ids?: Value[]; readonly rows?: Value[] };
    const unmade = ids.filter(isTombstone);
    if (unmade.length === 0) return tried;
    this.#noteNature("tombstone");
    const documents = documentsOf(scratch);
    await evict(
      scratch,
      unmade.flatMap((id) => documents.get(keyOf(collection, id)) ?? []),
    );
    const left = ids.filter((id) => !isTombstone(id));
    const rowsLeft = rows.flatMap((row) => {
      const { _id, "~request_profile": profile } = row as ValueObject;
      if (_id !== undefined) return isTombstone(_id) ? [] : [row];
      return isObject(profile) ? [withProfile({ ...profile, resultCount: left.length })] : [row];
    });
    const warnings = (tried["warnings"] as readonly Warning[]).filter(
      ({ _id }) => _id === undefined || !isTombstone(_id),
    );
    // Few documents are brought: all their warnings are listed.
    return { ...tried, ids: left, rows: rowsLeft, warnings, totalWarningsCount: warnings.length };
  }

  #rowsLeft(
    rows: readonly Value[],
    collection: string,
    moved: readonly Placed[],
  ): readonly Value[] {
    const gone = new Set(moved.map(({ id }) => keyOf(collection, id)));
    const left = rows.filter((row) => {
      const id = (row as ValueObject)["_id"];
      return id === undefined || !gone.has(keyOf(collection, id));
    });
    if (left.length < rows.length) this.#noteNature("returned");
    return left;
  }

  /** UPDATE and the like: what is wrong with the statement is told first. */
  #changeDenial({ collection, before, after, outcome }: Written): Denial | undefined {
    if (outcome["error"] !== undefined) return undefined;
    const keys = (outcome["ids"] as readonly Value[]).map((id) => keyOf(collection, id));
    const isUnwritable = keys.some((key) => !this.#isWritable(before.get(key)));
    if (isUnwritable) return { nature: "unwritable", expected: noDocument(collection) };
    const images = keys.flatMap((key) => after.get(key) ?? []);
    return this.#imageDenial(images, collection);
  }

  #imageDenial(images: readonly Placed[], collection: string): Denial | undefined {
    const tokens = images.flatMap((image) => tokensOf(image));
    if (tokens.some((id) => !this.#mayReadContent(id))) {
      return { nature: "token", expected: noToken() };
    }
    if (images.every((image) => this.#isWritable(image))) return undefined;
    return { nature: "after", expected: noDocument(collection) };
  }

  #isWritable(document: Placed | undefined): boolean {
    return document === undefined || allows(this.world.write, document);
  }

  /** INSERT: documents are met one by one, and what is met first decides. */
  async #insertDenial(written: Written): Promise<Denial | undefined> {
    const { request, collection, before, after, outcome } = written;
    if (outcome["error"] === "query.semantic") return undefined;
    const given = await this.#given(request);
    // Without an id it is a document that nobody has.
    const keys = given.map(({ _id }) => (_id === undefined ? "" : keyOf(collection, _id)));
    const isHidden = (key: string): boolean => this.#hidden.has(key);
    const blocked = keys.findIndex((key) => isHidden(key) || !this.#isWritable(before.get(key)));
    const met = keys.findIndex((key) => before.has(key));
    const isConflict = String(outcome["message"]).includes("exists already");
    if (blocked >= 0 && !(isConflict && met < blocked)) {
      const nature = isHidden(keys[blocked] ?? "") ? "takenId" : "unwritable";
      return { nature, expected: noDocument(collection) };
    }
    if (outcome["error"] !== undefined) return undefined;
    const changed = (outcome["ids"] as readonly Value[]).map((id) => keyOf(collection, id));
    const all = new Set([...keys.filter((key) => key !== ""), ...changed]);
    const images = [...all].flatMap(
      (key) => after.get(key) ?? givenImage(given, key, { collection, isStrict: request.isStrict }),
    );
    return this.#imageDenial(images, collection);
  }

  async #given({ given, source, args, isStrict }: Statement): Promise<readonly ValueObject[]> {
    if (source === undefined) return given ?? [];
    const { items } = await this.#readable.runner.execute({ statement: source, args, isStrict });
    return items as readonly ValueObject[];
  }

  /** What the request has left in the store with everything. */
  #leftDifference(moved: readonly Placed[]): string | undefined {
    const found = documentsOf(this.#whole);
    for (const [key, { document, records }] of this.#hidden) {
      const left = recordsOf(this.#whole, document);
      if (!isDeepStrictEqual(records, left)) return `a hidden document was changed: ${key}`;
      found.delete(key);
    }
    const expected = documentsOf(this.#readable);
    for (const key of expected.keys()) this.#tombstones.delete(key);
    for (const each of moved) expected.set(keyOf(each.collection, each.id), each);
    for (const key of new Set([...expected.keys(), ...found.keys()])) {
      if (isDeepStrictEqual(expected.get(key), found.get(key))) continue;
      return differing(`left of ${key}`, expected.get(key), found.get(key));
    }
    this.#hide(moved);
    return undefined;
  }

  #hide(documents: readonly Placed[]): void {
    for (const document of documents) {
      const records = recordsOf(this.#whole, document);
      this.#hidden.set(keyOf(document.collection, document.id), { document, records });
    }
  }
}

interface Denial {
  readonly nature: Nature;
  readonly expected: Expected;
}

/** A statement that was tried on a copy of what may be read. */
interface Written {
  readonly request: Statement;
  readonly collection: string;
  readonly before: ReadonlyMap<string, Placed>;
  readonly after: ReadonlyMap<string, Placed>;
  readonly outcome: Reply;
}

/** A document that does not show because an older delete hides it. */
function givenImage(
  given: readonly ValueObject[],
  key: string,
  { collection, isStrict }: { readonly collection: string; readonly isStrict: boolean },
): Placed[] {
  const document = given.find(({ _id }) => _id !== undefined && keyOf(collection, _id) === key);
  if (document === undefined) return [];
  const { _id: id = key, ...fields } = document;
  // In strict mode it would have to be declared.
  const isToken = !isStrict && isObject(fields["pic"]);
  const types = isToken ? { pic: "attachment" as const } : undefined;
  return [{ collection, id, fields, types }];
}

type Asked = Exclude<FuzzRequest, { readonly kind: "attachment" }>;

interface AskOptions {
  readonly authority?: Authority;
  /** A collection with a rule is known to him: the other is not refused then. */
  readonly isUnknownRefused?: boolean;
}

async function ask(peer: Peer, request: Asked, options: AskOptions = {}): Promise<Reply> {
  const { runner } = peer;
  switch (request.kind) {
    case "statement": {
      const { statement, args, isStrict, isTight } = request;
      const chosen = isTight ? peer.tight : runner;
      return shownResult(await chosen.execute({ statement, args, isStrict, ...options }));
    }
    case "find": {
      const asked = { ...request, isPlanWanted: true, ...options };
      const { documents, plan } = await runner.find(asked);
      return { documents, plan };
    }
    case "count": {
      const { count } = await runner.count({ ...request, ...options });
      return { count };
    }
    case "findById": {
      const { id, document } = runner.findById({ ...request, ...options });
      return { id, document };
    }
    default: {
      const { results } = await runner.write({ ...request, ...options });
      return { results };
    }
  }
}
