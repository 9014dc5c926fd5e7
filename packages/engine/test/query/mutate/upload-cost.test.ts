/**
 * Upload effort: an upload cannot hold up the writer, nor make a document that cannot be sent.
 */

import { timeOfMs, type UploadOperation } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { isFullSize, sized } from "../../../../protocol/test/support/test-size.ts";
import { uploadChecker } from "../../../src/query/mutate/checked-upload.ts";
import type { Store } from "../../../src/store/store.ts";
import { takeUpload } from "../../../src/store/taken-upload.ts";
import type { Upload } from "../../../src/store/upload.ts";
import { fieldsOf, openStore } from "../../support/open-store.ts";
import { outcomeOf, SiteUploads } from "../../support/site-uploads.ts";
import { START_MS } from "../../support/test-platform.ts";

const BORN = timeOfMs(START_MS);

interface Bench {
  readonly store: Store;
  readonly peer: SiteUploads;
  readonly send: (upload: Upload) => Promise<string>;
}

async function bench(): Promise<Bench> {
  const { store, platform } = await openStore();
  const checker = uploadChecker({ platform, appId: "app", authority: () => undefined });
  const send: Bench["send"] = async (upload) => outcomeOf(await takeUpload(store, upload, checker));
  return { store, peer: new SiteUploads(platform), send };
}

function insert(id: string, fields: { readonly [name: string]: string }): UploadOperation {
  return { kind: "insert", collection: "cars", id, fields };
}

function set(id: string, value: number): UploadOperation {
  return { kind: "update", collection: "cars", id, edits: [{ kind: "set", path: ["n"], value }] };
}

/** Each with another birth: so many sums are held. */
function bear(number: number): UploadOperation {
  const site = number.toString(16).padStart(16, "f");
  const edit = {
    kind: "increment",
    path: ["k"],
    by: 1,
    birth: [BORN + 5000 * 4096, site],
  } as const;
  return { kind: "update", collection: "cars", id: "a", edits: [edit] };
}

test.runIf(isFullSize)(
  "[S73] many steps on one large document are refused once they would cost too much",
  async () => {
    const { store, peer, send } = await bench();
    expect(await send(peer.next(insert("a", { x: "y".repeat(4_000_000) })))).toBe("applied");
    const steps = (count: number): UploadOperation[][] =>
      Array.from({ length: count }, (_, i) => [set("a", i)]);
    expect(await send(peer.ofSteps(...steps(20)))).toBe("applied");
    expect(await send(peer.ofSteps(...steps(80)))).toBe(
      "refused: the upload writes too often to documents that are large",
    );
    expect(fieldsOf(store, "cars", "a")).toEqual({ x: "y".repeat(4_000_000), n: 19 });
  },
);

test("[S73] a small document may be written any number of times", async () => {
  const { store, peer, send } = await bench();
  const count = sized(1000, 5000);
  const steps = Array.from({ length: count }, (_, i) => [set("a", i)]);
  expect(await send(peer.ofSteps([insert("a", {})], ...steps))).toBe("applied");
  expect(fieldsOf(store, "cars", "a")).toEqual({ n: count - 1 });
});

test.runIf(isFullSize)(
  "[S73] increments with unknown births are refused before they cost too much",
  async () => {
    const { store, peer, send } = await bench();
    expect(await send(peer.next(insert("a", {})))).toBe("applied");
    const time = BORN + 6000 * 4096;
    const steps = Array.from({ length: 1500 }, (_, i) => [bear(i)]);
    expect(await send(peer.at(time, ...steps))).toBe(
      "refused: the upload writes too often to documents that are large",
    );
    expect(fieldsOf(store, "cars", "a")).toEqual({});
  },
);

test.runIf(isFullSize)(
  "[S73] the metadata of a document stays small enough to be sent",
  async () => {
    const { store, peer, send } = await bench();
    expect(await send(peer.next(insert("a", {})))).toBe("applied");
    const edits = Array.from({ length: 30_000 }, (_, i) => ({
      kind: "unset" as const,
      path: [`a field with a ${"long ".repeat(30)} name ${i}`],
    }));
    const removal: UploadOperation = { kind: "update", collection: "cars", id: "a", edits };
    expect(await send(peer.next(removal))).toMatch(/^refused: the history of the document is too/);
    expect(await send(peer.next(set("a", 1)))).toBe("applied");
    expect(fieldsOf(store, "cars", "a")).toEqual({ n: 1 });
  },
);
