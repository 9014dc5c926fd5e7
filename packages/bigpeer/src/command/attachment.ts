/**
 * `bigpeer attachment`: stores files and fetches them.
 */

import { openAsBlob } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { dataClient, findAddresses } from "../connection/addresses.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { CommandFailure, UsageError } from "../program/failure.ts";
import { DATA, OUTPUT } from "./shared-options.ts";
import { textual } from "./unreachable.ts";

export const ATTACHMENT: CommandDefinition = {
  name: "attachment",
  meaning: "store files as attachments, and fetch them",
  group: "Work with documents",
  examples: [
    "attachment put photo.jpg  # prints the token for a document",
    "attachment get ID --output photo.jpg",
    "attachment info ID",
  ],
  commands: [
    {
      name: "put",
      meaning: "store files, and print the token of each for a document",
      examples: ["attachment put photo.jpg", "attachment put *.jpg --format ndjson"],
      words: [{ name: "files", meaning: "files to store", isList: true }],
      groups: [DATA, OUTPUT],
      run: put,
    },
    {
      name: "get",
      meaning: "fetch the content of an attachment",
      examples: ["attachment get ID --output photo.jpg", "attachment get ID | sha256sum"],
      words: [{ name: "id", meaning: "id in the token" }],
      groups: [DATA, OUTPUT],
      run: get,
    },
    {
      name: "info",
      meaning: "print the size of an attachment",
      examples: ["attachment info ID"],
      words: [{ name: "id", meaning: "id in the token" }],
      groups: [DATA, OUTPUT],
      run: info,
    },
  ],
};

async function put({ words, options, host, output }: Call): Promise<void> {
  const { attachments } = dataClient(findAddresses(options, host), host);
  const tokens = [];
  for (const file of words) {
    const path = resolve(host.folder, file);
    await stat(path).catch((error: Error) => {
      throw new CommandFailure(`failed to read ${path}: ${error.message}`);
    });
    const { id, len } = await attachments.upload(await openAsBlob(path), { signal: host.signal });
    tokens.push({ file, id: textual(id), len });
  }
  await output.rows(tokens);
}

async function get({ words, options, host, output }: Call): Promise<void> {
  const { attachments } = dataClient(findAddresses(options, host), host);
  const id = words[0] ?? "";
  const file = options.text("output");
  // Bytes of any kind would change the state of a terminal.
  if (file === undefined && host.output.isTerminal) {
    throw new UsageError("expected --output FILE, because a terminal cannot show the content");
  }
  const content = await attachments.stream(id, { signal: host.signal });
  let size = 0;
  for await (const bytes of content) {
    size += bytes.length;
    await output.write(bytes);
  }
  await output.close();
  if (file !== undefined) output.note(`${size} bytes in ${resolve(host.folder, file)}`);
}

async function info({ words, options, host, output }: Call): Promise<void> {
  const { attachments } = dataClient(findAddresses(options, host), host);
  const id = words[0] ?? "";
  const len = await attachments.size(id, { signal: host.signal });
  if (len === undefined) throw new CommandFailure(`there is no attachment with the id ${id}`);
  await output.item({ id, len });
}
