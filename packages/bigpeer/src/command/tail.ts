/**
 * `bigpeer tail`: follows the change feed of a server. It connects again by itself, and continues
 * after the last change, so a restart of the server loses nothing.
 */

import { BigPeerError, type Change, type ChangesOptions } from "@bigpeer/client";
import type { Value } from "@bigpeer/protocol";
import { dataClient, findAddresses } from "../connection/addresses.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { CommandFailure, EXIT } from "../program/failure.ts";
import { changeLine } from "../terminal/change-line.ts";
import { csvLine } from "../terminal/csv.ts";
import type { Output } from "../terminal/output.ts";
import { PARAMETERS, parametersOf } from "./parameters.ts";
import { DATA, OUTPUT, own } from "./shared-options.ts";

const VIEWS = ["document", "fields"] as const;

export const TAIL: CommandDefinition = {
  name: "tail",
  meaning: "follow the changes of documents",
  group: "Work with documents",
  examples: [
    "tail  # all collections that the key may read",
    "tail orders --query \"status == 'open'\" --initial",
    "tail orders --view fields | jq .document",
    "tail orders --since 0 --format ndjson > changes.ndjson",
  ],
  words: [{ name: "collection", meaning: "only this collection", isOptional: true }],
  groups: [
    own(
      { name: "query", argument: "FILTER", meaning: "only documents that this filter chooses" },
      ...PARAMETERS,
      {
        name: "since",
        argument: "CURSOR",
        meaning: "continue after this change; 0 is the oldest one; default: from now on",
      },
      { name: "initial", meaning: "begin with the current rows" },
      {
        name: "view",
        argument: "VIEW",
        choices: VIEWS,
        meaning: "fields shows the changed fields of an update only; default: document",
      },
      { name: "count", short: "n", argument: "N", meaning: "end after this many changes" },
    ),
    DATA,
    OUTPUT,
  ],
  outputFile: "streamed",
  run: tail,
};

async function tail(call: Call): Promise<number> {
  const { words, options, host, output } = call;
  const client = dataClient(findAddresses(options, host), host);
  const connection = new Connection(output);
  const count = options.number("count") ?? Infinity;
  const choice: ChangesOptions = {
    collection: words[0],
    query: options.text("query"),
    args: await argumentsOf(call),
    since: options.text("since"),
    initial: options.has("initial"),
    view: VIEWS.find((view) => view === options.text("view")),
    signal: host.signal,
    onCursor: () => connection.made(),
    onLost: (reason) => connection.lost(reason),
  };
  const printer = new ChangePrinter(output);
  let printed = 0;
  try {
    await printer.begin();
    for await (const change of client.changes(choice)) {
      await printer.print(change);
      if (++printed >= count) break;
    }
  } catch (error) {
    // Ctrl-C is how this command ends.
    if (host.signal.aborted) return EXIT.done;
    throw explained(error);
  }
  return EXIT.done;
}

/** Undefined without a filter, which has no parameters then. */
async function argumentsOf(call: Call): Promise<ChangesOptions["args"]> {
  const args = await parametersOf(call);
  return Object.keys(args).length === 0 ? undefined : args;
}

/** What the user can do when the position is gone. */
function explained(error: unknown): unknown {
  if (!(error instanceof BigPeerError) || error.code !== "changes.gone") return error;
  const { message, oldest } = error;
  const next = oldest === undefined ? "" : `--since ${oldest} continues with the oldest change, `;
  return new CommandFailure(`${message}\n${next}--initial reads the current rows again`);
}

/** Tells when the connection is lost and made again. */
class Connection {
  readonly #output: Output;
  #wasMade = false;
  #isLost = false;

  constructor(output: Output) {
    this.#output = output;
  }

  made(): void {
    if (this.#isLost) this.#output.note("connected again");
    this.#isLost = false;
    this.#wasMade = true;
  }

  /** Throws when there was no connection before: the address may be wrong. */
  lost(reason: BigPeerError): void {
    if (!this.#wasMade) throw reason;
    if (!this.#isLost) this.#output.note(`${reason.message}; connecting again`);
    this.#isLost = true;
  }
}

const COLUMNS = ["cursor", "type", "collection", "id", "txnId", "at", "by", "document", "before"];

/** Each change as soon as it is there: one line, or lines with names and values. */
class ChangePrinter {
  readonly #output: Output;
  #isFirst = true;

  constructor(output: Output) {
    this.#output = output;
  }

  async begin(): Promise<void> {
    if (this.#output.format === "csv") await this.#output.write(csvLine(COLUMNS));
  }

  async print(change: Change): Promise<void> {
    const output = this.#output;
    // The client reads JSON only.
    const item = change as unknown as { readonly [name: string]: Value };
    switch (output.format) {
      case "table":
        await output.write(`${changeLine(change, output.style, output.columns)}\n`);
        break;
      case "csv":
        await output.write(csvLine(COLUMNS.map((name) => item[name])));
        break;
      case "vertical":
        if (!this.#isFirst) await output.write("\n");
        await output.item(item);
        break;
      default:
        await output.item(item);
    }
    this.#isFirst = false;
  }
}
