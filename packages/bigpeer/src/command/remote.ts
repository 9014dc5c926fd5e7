/**
 * `bigpeer remote`: runs a statement on connected peers.
 */

import type { Value } from "@bigpeer/protocol";
import { dataClient, findAddresses } from "../connection/addresses.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { CommandFailure, EXIT } from "../program/failure.ts";
import { statementFailure } from "../shell/statement-failure.ts";
import { readArgument, readObject } from "./json-argument.ts";
import { DATA, OUTPUT, own } from "./shared-options.ts";

export const REMOTE: CommandDefinition = {
  name: "remote",
  meaning: "run a statement on connected peers",
  group: "Work with documents",
  examples: [
    'remote "SELECT COUNT(*) AS n FROM tasks"  # on all peers',
    "remote \"SYNC CONTEXT (PEERS WHERE deviceName = 'till 4') SELECT * FROM tasks\"",
  ],
  words: [{ name: "statement", meaning: "with SYNC CONTEXT in front for some of the peers" }],
  groups: [
    own({ name: "args", argument: "JSON", meaning: "parameters as an object; @FILE reads a file" }),
    DATA,
    OUTPUT,
  ],
  run: remote,
};

async function remote(call: Call): Promise<number> {
  const { words, options, host, output } = call;
  const text = await readArgument(words[0] ?? "", host);
  const statement = /^\s*SYNC\s+CONTEXT\b/i.test(text) ? text : `SYNC CONTEXT (PEERS) ${text}`;
  const given = options.text("args");
  const args = given === undefined ? undefined : await readObject("--args", given, host);
  const client = dataClient(findAddresses(options, host), host);
  const { result, error } = await client
    .remoteExecute(statement, args, { signal: host.signal })
    .catch((failure: unknown) => {
      throw statementFailure(failure, statement);
    });
  if (error?.description !== undefined) throw new CommandFailure(error.description);
  if (output.format === "table" || output.format === "csv") await output.rows(rowsOf(result));
  else await output.rows(result as unknown as readonly Value[]);
  const failed = result.filter((each) => each.error !== undefined);
  output.note(`${result.length - failed.length} ok, ${failed.length} failed`);
  for (const each of failed) output.warn(`${nameOf(each.peer)}: ${each.error?.description}`);
  return failed.length === 0 ? EXIT.done : EXIT.failed;
}

interface PeerResult {
  readonly peer?: unknown;
  readonly items?: readonly unknown[] | undefined;
}

/** Each row with the peer that it comes from. */
function rowsOf(results: readonly PeerResult[]): Value[] {
  return results.flatMap(({ peer, items = [] }) =>
    items.map((item) => ({ peer: nameOf(peer), ...(item as { readonly [name: string]: Value }) })),
  );
}

function nameOf(peer: unknown): string {
  const { deviceName, peerKeyString } = (peer ?? {}) as Record<string, unknown>;
  return String(deviceName || peerKeyString || peer);
}
