/**
 * LazyCode: a part of the engine in a file of its own, which is loaded when the first statement can
 * need it: patterns, a third of the size of all other code, EXPLAIN, and attachments.
 *
 * The engine uses such code synchronously, so a statement that can need it waits for it before it is
 * prepared. Its text says whether it can. The text may be wrong about that, so a load that failed
 * fails only the statement that uses the code.
 */

import type { Pattern } from "@bigpeer/engine";
import { mayUseExplainer, mayUsePatterns, type PlanExplainer } from "@bigpeer/engine/query";
import { PeerError } from "@bigpeer/protocol";
import type { AttachmentParts, AttachmentTransfers } from "../host/attachment-transfers.ts";
import type { PeerHost } from "../host/peer-host.ts";

export interface LazyCodeOptions<T> {
  /** What it is, for messages. */
  readonly name: string;
  readonly isNeeded: (statement: string) => boolean;
  /**
   * `mark` goes behind the address of a file: it is empty, and another one after each failure. Firefox
   * does not load an address again that has failed.
   */
  readonly load: (mark: string) => Promise<T>;
}

export class LazyCode<T> {
  readonly #options: LazyCodeOptions<T>;
  #loading: Promise<void> | undefined;
  #loaded: T | undefined;
  #fault: unknown;
  #mark = "";

  constructor(options: LazyCodeOptions<T>) {
    this.#options = options;
  }

  /**
   * See PeerHost.loadCode. Never rejects. A load that failed is tried again by the next statement.
   */
  loadFor(statement: string): Promise<void> | undefined {
    if (this.#loaded !== undefined || !this.#options.isNeeded(statement)) return undefined;
    this.#loading ??= this.#begin();
    return this.#loading;
  }

  /** Undefined before it is loaded. */
  get loaded(): T | undefined {
    return this.#loaded;
  }

  /** The loaded code. Throws `query.busy` if it could not be loaded. */
  get(): T {
    if (this.#loaded !== undefined) return this.#loaded;
    const { name } = this.#options;
    const cause = this.#fault;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `failed to load the code for ${name}: ${reason}; retry when it can be loaded`;
    throw new PeerError("query.busy", message, { cause });
  }

  async #begin(): Promise<void> {
    try {
      this.#loaded = await this.#options.load(this.#mark);
    } catch (error) {
      this.#fault = error;
      this.#mark += "#";
      this.#loading = undefined;
    }
  }
}

/** Compiles patterns, as Platform.pattern. */
export interface Compiler {
  compile(source: string, flags: string): Pattern | undefined;
}

/** All code that a browser loads late. */
export interface LazyParts {
  readonly patterns: LazyCode<Compiler>;
  readonly explainer: LazyCode<PlanExplainer>;
  readonly attachments: LazyCode<OpenWebAttachments>;
}

/** See contents/web-attachments.ts. */
export type OpenWebAttachments = (
  parts: AttachmentParts,
  host: Pick<PeerHost, "platform" | "after">,
) => Promise<AttachmentTransfers>;

/** Loads each from a file of its own, which the app's server has. */
export function lazyParts(urls: LazyUrls): LazyParts {
  return {
    patterns: new LazyCode({
      name: "patterns",
      isNeeded: mayUsePatterns,
      load: async (mark) =>
        new (await load<PatternsFile>(urls.patternsUrl + mark)).PatternCompiler(),
    }),
    explainer: new LazyCode({
      name: "EXPLAIN",
      isNeeded: mayUseExplainer,
      load: async (mark) => (await load<ExplainFile>(urls.explainUrl + mark)).PLAN_EXPLAINER,
    }),
    attachments: new LazyCode({
      name: "attachments",
      isNeeded: () => true,
      load: async (mark) =>
        (await load<AttachmentsFile>(urls.attachmentsUrl + mark)).openWebAttachments,
    }),
  };
}

interface PatternsFile {
  readonly PatternCompiler: new () => Compiler;
}

interface ExplainFile {
  readonly PLAN_EXPLAINER: PlanExplainer;
}

interface AttachmentsFile {
  readonly openWebAttachments: OpenWebAttachments;
}

async function load<File>(url: string): Promise<File> {
  return (await import(/* webpackIgnore: true */ /* @vite-ignore */ url)) as File;
}

/** Where the files are. */
export interface LazyUrls {
  readonly patternsUrl: string;
  readonly explainUrl: string;
  readonly attachmentsUrl: string;
}
