/**
 * A client of the change feed, on the wire: reads Server-Sent Events and lines of JSON by hand, so
 * that a test sees what was sent.
 */

import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { createGunzip } from "node:zlib";

export interface WireLine {
  /** Of an event the field `id`, of a line its `cursor`. */
  readonly cursor: string;
  readonly data: Record<string, unknown>;
}

export interface FeedOptions {
  readonly key?: string | undefined;
  readonly headers?: Record<string, string>;
}

export class WireFeed {
  readonly #asked: ClientRequest;
  readonly response: IncomingMessage;
  /** What arrived, without compression. */
  text = "";
  #rest = "";
  readonly #lines: WireLine[] = [];
  #wake: (() => void) | undefined;
  #isOver = false;

  private constructor(asked: ClientRequest, response: IncomingMessage) {
    this.#asked = asked;
    this.response = response;
    const isCoded = response.headers["content-encoding"] === "gzip";
    const body = isCoded ? response.pipe(createGunzip()) : response;
    body.setEncoding("utf8");
    body.on("data", (text: string) => this.#take(text));
    const over = (): void => {
      this.#isOver = true;
      this.#wake?.();
    };
    body.on("end", over).on("error", over).on("close", over);
    response.on("error", over).on("close", over);
  }

  static open(url: string, { key, headers = {} }: FeedOptions = {}): Promise<WireFeed> {
    const own = key === undefined ? {} : { authorization: `Bearer ${key}` };
    return new Promise((resolve, reject) => {
      const asked = request(url, { headers: { ...own, ...headers } });
      asked.on("response", (response) => resolve(new WireFeed(asked, response)));
      asked.on("error", reject);
      asked.end();
    });
  }

  get status(): number {
    return this.response.statusCode ?? 0;
  }

  /** The next line, a marker or a change; undefined at the end. */
  async next(): Promise<WireLine | undefined> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined || this.#isOver) return line;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Lines up to one for which `isLast` is true, or to the end. */
  async until(isLast: (data: Record<string, unknown>) => boolean): Promise<WireLine[]> {
    const lines: WireLine[] = [];
    for (;;) {
      const line = await this.next();
      if (line === undefined) return lines;
      lines.push(line);
      if (isLast(line.data)) return lines;
    }
  }

  /** Up to and including a marker. */
  marker(name: string): Promise<WireLine[]> {
    return this.until(({ marker }) => marker === name);
  }

  close(): void {
    this.#asked.destroy();
  }

  #take(text: string): void {
    this.text += text;
    this.#rest += text;
    const isEvents = this.response.headers["content-type"]?.startsWith("text/event-stream");
    const end = isEvents === true ? "\n\n" : "\n";
    const parts = this.#rest.split(end);
    this.#rest = parts.pop() ?? "";
    for (const part of parts) this.#lines.push(isEvents === true ? eventOf(part) : lineOf(part));
    if (parts.length > 0) this.#wake?.();
  }
}

function eventOf(text: string): WireLine {
  const [, cursor = "", data = ""] = /^id: (.*)\ndata: (.*)$/.exec(text) ?? [];
  if (data === "") throw new Error(`expected an event with id and data, found ${text}`);
  return { cursor, data: JSON.parse(data) as Record<string, unknown> };
}

function lineOf(text: string): WireLine {
  const { cursor, ...data } = JSON.parse(text) as Record<string, unknown>;
  return { cursor: String(cursor), data };
}
