/**
 * Minimal client for Server-Sent Events on a plain socket. It only finds the ends of events, so that
 * a thousand clients cost much less than any server. All contestants use the same client.
 *
 * It leaves the lengths of HTTP chunks where they are: no contestant puts one inside an event.
 */
import { connect } from "node:net";

const EVENT_END = Buffer.from("\n\n");
const HEAD_END = Buffer.from("\r\n\r\n");
const NOTHING = Buffer.alloc(0);

export class EventClient {
  #socket;
  #onMessage;
  #rest = NOTHING;
  #hasHead = false;

  constructor(socket, onMessage) {
    this.#socket = socket;
    this.#onMessage = onMessage;
  }

  /** Resolves when connected. `onMessage` then receives whole events, one or more at once. */
  static open({ port, path, token, onMessage, onClose }) {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      const client = new EventClient(socket, onMessage);
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        socket.on("error", (error) => onClose(error.message));
        const authorization = token === undefined ? "" : `Authorization: Bearer ${token}\r\n`;
        socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${authorization}\r\n`);
        resolve(client);
      });
      socket.on("data", (chunk) => client.#take(chunk, onClose));
      socket.on("close", () => client.#socket && onClose("the server ended the stream"));
    });
  }

  #take(chunk, onClose) {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    if (!this.#hasHead) {
      const end = bytes.indexOf(HEAD_END);
      if (end === -1) {
        this.#rest = bytes;
        return;
      }
      this.#hasHead = true;
      const head = bytes.latin1Slice(0, end);
      if (!head.startsWith("HTTP/1.1 200 "))
        onClose(`expected events, found ${head.slice(0, 200)}`);
      bytes = bytes.subarray(end + HEAD_END.length);
    }
    const end = bytes.lastIndexOf(EVENT_END);
    const whole = end === -1 ? 0 : end + EVENT_END.length;
    this.#rest = whole === bytes.length ? NOTHING : Buffer.from(bytes.subarray(whole));
    if (whole > 0) this.#onMessage(bytes.subarray(0, whole));
  }

  close() {
    const socket = this.#socket;
    this.#socket = undefined;
    socket.destroy();
  }
}
