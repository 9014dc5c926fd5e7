/**
 * Short answers, which end with the turn in which they are sent: over real connections.
 */

import { Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { createAnswer } from "../../src/http/answer.ts";
import { encodeAnswer } from "../../src/http/answer-encoding.ts";
import { connectTo, createGate, HEAD, listenWith } from "../support/http-listener.ts";

const JSON_ONLY = { headers: {}, isJsonOnly: true };

test("text arrives completely, ASCII or not, on connections that are answered together", async () => {
  const gate = createGate();
  const { url } = await listenWith(async ({ target }) => {
    await gate.opened;
    return encodeAnswer(createAnswer(200, decodeURI(target)), JSON_ONLY);
  });
  const texts = ["/plain", "/Größe", "/é", "/価格", "/🚗"];
  const answers = texts.map(async (text) => (await fetch(url + encodeURI(text))).json());
  gate.open();
  expect(await Promise.all(answers)).toEqual(texts);
});

test("each answer is written to its socket in one piece, also when many are answered together", async () => {
  const gate = createGate();
  const server = await listenWith(async () => {
    await gate.opened;
    return encodeAnswer(createAnswer(200, "all"), JSON_ONLY);
  });
  const inPieces = vi.spyOn(Socket.prototype as Required<Socket>, "_writev");
  onTestFinished(() => inPieces.mockRestore());
  const connections = await Promise.all([1, 2, 3].map(() => connectTo(server)));
  for (const { socket } of connections) socket.write(`${HEAD}Content-Length: 0\r\n\r\n`);
  await vi.waitFor(() => expect(server.requestCount).toBe(3));
  gate.open();
  for (const { received } of connections) {
    await vi.waitFor(() => expect(received()).toMatch(/\r\n\r\n"all"\n$/));
  }
  expect(inPieces).not.toHaveBeenCalled();
});

test("requests on one connection are answered in order, and it stays open", async () => {
  let count = 0;
  const server = await listenWith(async (request) => {
    const number = ++count;
    await request.readBody();
    return encodeAnswer(createAnswer(200, number), JSON_ONLY);
  });
  const { socket, received } = await connectTo(server);
  const request = `${HEAD}Content-Length: 2\r\n\r\n{}`;
  const numbers = (): string[] => received().match(/(?<=\r\n\r\n)\d/g) ?? [];
  socket.write(request.repeat(3));
  await vi.waitFor(() => expect(numbers()).toEqual(["1", "2", "3"]));
  socket.write(request);
  await vi.waitFor(() => expect(numbers()).toEqual(["1", "2", "3", "4"]));
  expect(server.requestCount).toBe(0);
});

test("the last answer of a closing server is complete, and its connection ends", async () => {
  const gate = createGate();
  const server = await listenWith(async () => {
    await gate.opened;
    return encodeAnswer(createAnswer(200, "last"), JSON_ONLY);
  });
  const { socket, received } = await connectTo(server);
  const ended = new Promise<void>((resolve) => void socket.on("end", resolve));
  socket.write(`${HEAD}Content-Length: 0\r\n\r\n`);
  await vi.waitFor(() => expect(server.requestCount).toBe(1));
  const closed = server.close();
  gate.open();
  await ended;
  expect(received()).toMatch(/^HTTP\/1.1 200 [^]*\r\n\r\n"last"\n$/);
  await closed;
});
