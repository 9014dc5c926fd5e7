/**
 * HTTP requests on connections that stay open.
 */
import { Agent, request } from "node:http";

const agent = new Agent({ keepAlive: true });

/** Posts JSON to a port of this machine. Rejects unless the answer is 200. */
export function post({ port, path, token, body }) {
  const content = Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": content.length,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const sent = request({ agent, port, host: "127.0.0.1", path, method: "POST", headers });
    sent.on("error", reject);
    sent.on("response", (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode === 200) resolve(JSON.parse(text));
        else reject(new Error(`expected status 200 of ${path}, found ${text}`));
      });
    });
    sent.end(content);
  });
}
