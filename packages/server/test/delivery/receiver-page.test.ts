/** The receiver of docs/webhooks.md, run as it stands there, at a free port. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { signatureHeaders } from "../../src/delivery/webhook-signature.ts";

const SECRET = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;
const PAGE = readFileSync(new URL("../../../../docs/webhooks.md", import.meta.url), "utf8");

/** Starts the program; its URL, and the text that it prints after it. */
async function startReceiver(): Promise<{ readonly url: string; readonly printed: () => string }> {
  const [, block = ""] = /```js\n( *\/\/ receiver\.mjs\n[^]*?)```/.exec(PAGE) ?? [];
  const source = block.replace(
    "listen(9000)",
    "listen(0, '127.0.0.1', function () { console.log(this.address().port) })",
  );
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    env: { ...process.env, SECRET },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  await once(child.stdout, "data");
  const [port = ""] = text.split("\n");
  return { url: `http://127.0.0.1:${port}/`, printed: () => text.slice(port.length + 1) };
}

test("the receiver of the page refuses what is not signed, and takes what is", async () => {
  const { url, printed } = await startReceiver();
  const data = [{ cursor: "h1.1.0", type: "insert", collection: "orders", id: "o1", document: {} }];
  const payload = JSON.stringify({ type: "changes", data });
  const seconds = Math.floor(Date.now() / 1000);
  const headers = signatureHeaders({ id: "msg_1", payload }, [SECRET], seconds);
  const { "webhook-signature": _, ...unsigned } = headers;
  const { "webhook-timestamp": time, ...undated } = headers;
  expect(time).toBe(String(seconds));
  for (const refused of [{}, unsigned, undated, { ...headers, "webhook-id": "msg_2" }]) {
    const answer = await fetch(url, { method: "POST", body: payload, headers: refused });
    expect(answer.status).toBe(401);
  }
  const answer = await fetch(url, { method: "POST", body: payload, headers });
  expect(answer.status).toBe(204);
  await expect.poll(printed).toBe("insert orders o1 {}\n");
});
