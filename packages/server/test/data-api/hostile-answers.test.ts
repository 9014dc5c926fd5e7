/**
 * What peers answer that do not mean well, over HTTP: it is told as it is, and breaks nothing for others.
 */

import { decodeCbor, isObject, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { openDataApi } from "../support/data-api.ts";
import { answerRun, connectPeer, nextRun } from "../support/remote-peer.ts";

const api = await openDataApi();
const { apiKey } = api.quickstart;
const { url } = api.server;

function deep(levels: number): Value {
  let value: Value = 1;
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}

/** The rows of the first peer. */
function rowsOf(body: Value): readonly Value[] {
  const result = isObject(body) ? body["result"] : undefined;
  const first = Array.isArray(result) ? (result as Value[])[0] : undefined;
  const items = first !== undefined && isObject(first) ? first["items"] : undefined;
  if (!Array.isArray(items)) throw new Error("expected the rows of a peer");
  return items as Value[];
}

test.each(["application/json", "application/cbor"])(
  "[R6] unusual rows are returned as %s",
  async (accept) => {
    const key = `odd ' \u0000 ${accept}`;
    const metadata = JSON.parse('{"__proto__": {"a": 1}, "constructor": [2], "": null}');
    metadata["deep"] = deep(59);
    const peer = await connectPeer(url, apiKey, { key, metadata });
    const rows: Value[] = [
      JSON.parse('{"__proto__": {"polluted": true}, "toJSON": 1}'),
      { big: 2n ** 63n - 1n, bytes: Uint8Array.of(0, 255), nan: Number.NaN, inf: -Infinity },
      // Those of the answer come around it.
      deep(60),
      null,
      "\ud83d\ude00\u2028",
    ];
    const statement = "SYNC CONTEXT (PEERS WHERE peerKeyString = :key) SELECT * FROM cars";
    const asking = fetch(`${url}/api/v4/sync/remote_execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", accept },
      body: JSON.stringify({ statement, args: { key } }),
    });
    const { id } = await nextRun(peer);
    answerRun(peer, id, { items: rows });
    const response = await asking;
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect([response.status, response.headers.get("content-type")]).toEqual([200, accept]);
    const isJson = accept === "application/json";
    const body = (isJson ? JSON.parse(Buffer.from(bytes).toString()) : decodeCbor(bytes)) as Value;
    const reported = rowsOf(body);
    expect(reported).toHaveLength(rows.length);
    expect(Object.keys(reported[0] as object)).toEqual(["__proto__", "toJSON"]);
    expect(JSON.stringify(reported[2])).toBe(JSON.stringify(rows[2]));
    expect(reported.slice(3)).toEqual(rows.slice(3));
    const listed = await api.call("execute", {
      statement: "SELECT * FROM system:peers WHERE peerKeyString = :key",
      args: { key },
    });
    expect(listed.status).toBe(200);
    peer.client.cut();
  },
);
