/**
 * Minimal WebSocket client on a plain socket. It does little more than find the ends of frames, so
 * that thousands of clients cost much less than any server. All contestants use the same client.
 *
 * It answers WebSocket pings, accepts no extension, and treats each frame as a whole message.
 */
import { connect } from "node:net";

const HEAD_END = Buffer.from("\r\n\r\n");
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const KEY = Buffer.from("the same for all").toString("base64");
const NOTHING = Buffer.alloc(0);

/** A frame of a client is masked; a mask of zeros leaves its content as it is. */
function frameOf(opcode, content) {
  const size = content.length;
  let head;
  if (size < 126) head = Buffer.from([128 | opcode, 128 | size, 0, 0, 0, 0]);
  else if (size < 65_536) {
    head = Buffer.from([128 | opcode, 128 | 126, size >> 8, size & 255, 0, 0, 0, 0]);
  } else {
    head = Buffer.alloc(14);
    head[0] = 128 | opcode;
    head[1] = 128 | 127;
    head.writeBigUInt64BE(BigInt(size), 2);
  }
  return Buffer.concat([head, content]);
}

export class RawClient {
  constructor(socket, onMessage, onClose) {
    this.socket = socket;
    this.onMessage = onMessage;
    this.onClose = onClose;
    this.rest = NOTHING;
    this.isClosing = false;
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("close", () => {
      if (!this.isClosing) this.onClose("the server ended the connection");
    });
    socket.on("error", (error) => this.onClose(error.message));
  }

  /** Resolves when connected. `onMessage` then receives each message, which is valid during the call. */
  static open({ port, path, onMessage, onClose, localAddress }) {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", localAddress, noDelay: true });
      socket.once("error", reject);
      socket.once("connect", () =>
        socket.write(
          `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\n` +
            `Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`,
        ),
      );
      let head = NOTHING;
      const take = (chunk) => {
        head = Buffer.concat([head, chunk]);
        const end = head.indexOf(HEAD_END);
        if (end < 0) return;
        socket.off("data", take);
        socket.off("error", reject);
        if (!head.latin1Slice(0, end).startsWith("HTTP/1.1 101 ")) {
          socket.destroy();
          reject(new Error(`expected a WebSocket at ${path}, found ${head.latin1Slice(0, 200)}`));
          return;
        }
        const client = new RawClient(socket, onMessage, onClose);
        resolve(client);
        const rest = head.subarray(end + HEAD_END.length);
        // The caller receives the client before its first message.
        if (rest.length > 0) setImmediate(() => socket.emit("data", rest));
      };
      socket.on("data", take);
    });
  }

  send(content) {
    this.socket.write(frameOf(BINARY, content));
  }

  #take(chunk) {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    let at = 0;
    while (bytes.length - at >= 2) {
      let size = bytes[at + 1];
      let begin = at + 2;
      if (size === 126) {
        if (bytes.length - at < 4) break;
        size = bytes.readUInt16BE(begin);
        begin += 2;
      } else if (size === 127) {
        if (bytes.length - at < 10) break;
        size = Number(bytes.readBigUInt64BE(begin));
        begin += 8;
      }
      if (bytes.length - begin < size) break;
      this.#frame(bytes[at] & 15, bytes.subarray(begin, begin + size));
      at = begin + size;
    }
    this.rest = at === bytes.length ? NOTHING : Buffer.from(bytes.subarray(at));
  }

  #frame(opcode, content) {
    if (opcode === PING) this.socket.write(frameOf(PONG, content));
    else if (opcode !== CLOSE) this.onMessage(content);
  }

  close() {
    this.isClosing = true;
    this.socket.destroy();
  }
}
