/**
 * How a new key is used: a request with curl to this server.
 */
import { session } from "../../api/session.ts";
import type { VNode } from "../../kit/preact.ts";
import { CopyButton } from "../../ui/copy-button.tsx";

export function UseOfKey({ text }: { readonly text: string }): VNode {
  const url = session.value?.dataUrl ?? "http://127.0.0.1:8080";
  const command = `curl -sS ${url}/api/v4/store/execute \\
  -H 'Authorization: Bearer ${text}' \\
  -H 'Content-Type: application/json' \\
  -d '{"statement": "SELECT * FROM system:collections"}'`;
  return (
    <>
      <div class="section-head">
        <h3 class="grow">Use it</h3>
        <CopyButton text={command} what="the command" />
      </div>
      <pre class="code-block" tabIndex={0}>
        {command}
      </pre>
    </>
  );
}
