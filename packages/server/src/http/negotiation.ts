/**
 * Content negotiation: chooses the format and the content coding of an answer from the headers of
 * the client (H33, H34).
 *
 * No request is refused for these headers: a client that accepts neither format gets JSON, and one
 * that accepts no coding gets none.
 */

export type AnswerForm = "json" | "cbor";

export type Coding = "br" | "gzip" | "identity";

/** Chooses by the header Accept. JSON at equal weight and without a preference. */
export function chooseForm(accept: string | undefined): AnswerForm {
  return accept === undefined ? "json" : forms.of(accept);
}

/** Whether the header Accept prefers HTML to JSON. */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const wishes = parseWishes(accept);
  const html = weightOfFirst(wishes, ["text/html", "text/*"]) ?? 0;
  return html > (weightOfFirst(wishes, ["application/json", "application/*"]) ?? 0);
}

/** Whether HTML will do: the client does not prefer JSON. `curl` and other programs take anything. */
export function acceptsHtml(accept: string | undefined): boolean {
  if (accept === undefined) return true;
  const wishes = parseWishes(accept);
  const html = weightOfFirst(wishes, ["text/html", "text/*", "*/*"]) ?? 0;
  const json = weightOfFirst(wishes, ["application/json", "application/*"]) ?? 0;
  return html > 0 && html >= json;
}

/** Chooses by the header Accept-Encoding. At equal weight br before gzip, and both before none. */
export function chooseCoding(acceptEncoding: string | undefined): Coding {
  return acceptEncoding === undefined ? "identity" : codings.of(acceptEncoding);
}

/** Whether gzip is better than nothing. Content without an end cannot be sent in br. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  const wishes = parseWishes(acceptEncoding);
  const gzip = weightOfFirst(wishes, ["gzip", "x-gzip", "*"]) ?? 0;
  return gzip > 0 && gzip >= (weightOfFirst(wishes, ["identity"]) ?? 0);
}

/** Cache of choices by the text of the header: a client sends the same one with every request. */
class Choices<T> {
  readonly #choose: (header: string) => T;
  readonly #known = new Map<string, T>();

  constructor(choose: (header: string) => T) {
    this.#choose = choose;
  }

  of(header: string): T {
    const known = this.#known.get(header);
    if (known !== undefined) return known;
    const choice = this.#choose(header);
    if (header.length > KEPT_LENGTH_MAX) return choice;
    if (this.#known.size >= KEPT_MAX) this.#known.clear();
    this.#known.set(header, choice);
    return choice;
  }
}

const KEPT_MAX = 256;
const KEPT_LENGTH_MAX = 512;

const forms = new Choices(formOf);
const codings = new Choices(codingOf);

/** One entry of a header, in lower case. */
interface Wish {
  readonly name: string;
  /** From 0, not acceptable, to 1. */
  readonly weight: number;
}

function formOf(accept: string): AnswerForm {
  const wishes = parseWishes(accept);
  const weightOf = (type: string): number =>
    weightOfFirst(wishes, [type, "application/*", "*/*"]) ?? 0;
  return weightOf("application/cbor") > weightOf("application/json") ? "cbor" : "json";
}

function codingOf(acceptEncoding: string): Coding {
  const wishes = parseWishes(acceptEncoding);
  const br = weightOfFirst(wishes, ["br", "*"]) ?? 0;
  const gzip = weightOfFirst(wishes, ["gzip", "x-gzip", "*"]) ?? 0;
  const best = Math.max(br, gzip);
  const identity = weightOfFirst(wishes, ["identity"]) ?? 0;
  if (best === 0 || identity > best) return "identity";
  return br === best ? "br" : "gzip";
}

/** Weight of the first of `names` that the header has; more specific names come first. */
function weightOfFirst(wishes: readonly Wish[], names: readonly string[]): number | undefined {
  for (const name of names) {
    const weights = wishes.filter((wish) => wish.name === name).map((wish) => wish.weight);
    if (weights.length > 0) return Math.max(...weights);
  }
  return undefined;
}

/** Entries without a name or with an invalid weight are skipped. */
function parseWishes(header: string): Wish[] {
  return header.split(",").flatMap((element) => {
    const [name = "", ...parameters] = element.split(";").map((part) => part.trim().toLowerCase());
    const given = parameters.find((parameter) => parameter.startsWith("q="));
    const weight = given === undefined ? 1 : weightOfText(given.slice(2));
    return name === "" || weight === undefined ? [] : [{ name, weight }];
  });
}

function weightOfText(text: string): number | undefined {
  return /^(?:0(?:\.\d*)?|1(?:\.0*)?)$/.test(text) ? Number(text) : undefined;
}
