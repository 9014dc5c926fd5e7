import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../protocol/test/support/test-size.ts";
import { formFile } from "../../src/data-api/form-file.ts";
import { Refusal } from "../../src/http/refusal.ts";

const TYPE = "multipart/form-data; boundary=edge";

function partOf(name: string, content: string | Uint8Array, disposition = ""): Buffer {
  const head = `--edge\r\nContent-Disposition: form-data; name="${name}"${disposition}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from("\r\n")]);
}

const END = Buffer.from("--edge--\r\n");

/** The body in pieces of `size` bytes. */
async function* inPieces(body: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
}

async function read(body: Uint8Array, size = 65_536, type = TYPE): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of formFile(inPieces(body, size), type)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function outcome(body: Uint8Array, size?: number, type?: string): Promise<Buffer | string> {
  try {
    return await read(body, size, type);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    expect(error.status).toBe(400);
    return error.message;
  }
}

describe("[H36] the one part named file", () => {
  test.each([
    ["a file", '; filename="a.bin"'],
    ["a value without the name of a file", ""],
    ["a file with a type", '; filename="ü"\r\nContent-Type: text/plain; charset=latin1'],
  ])("may be %s", async (_, disposition) => {
    const body = Buffer.concat([partOf("file", "hello", disposition), END]);
    expect((await read(body)).toString()).toBe("hello");
  });

  test("has any bytes, in any pieces", async () => {
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      // What nearly looks like an end.
      fc
        .array(fc.constantFrom("\r\n", "--edge", "--", "\r", "--edg", "x"), { maxLength: 12 })
        .map((pieces) => Buffer.from(pieces.join("").replaceAll("\r\n--edge", "\r\n--ed"))),
    );
    await fc.assert(
      fc.asyncProperty(content, fc.integer({ min: 1, max: 80 }), async (bytes, size) => {
        const body = Buffer.concat([partOf("file", bytes, '; filename="a"'), END]);
        if (bytes.length >= 6 && Buffer.from(bytes).indexOf("--edge") === 0) return;
        expect(Buffer.from(bytes).equals(await read(body, size))).toBe(true);
      }),
    );
  });

  test("is passed on while the rest still arrives", async () => {
    const large = Buffer.alloc(3_000_000, "x");
    const body = Buffer.concat([partOf("file", large, '; filename="a"'), END]);
    let sent = 0;
    async function* sending(): AsyncGenerator<Uint8Array> {
      for await (const piece of inPieces(body, 65_536)) {
        sent += piece.length;
        yield piece;
      }
    }
    let taken = 0;
    for await (const chunk of formFile(sending(), TYPE)) {
      taken += chunk.length;
      expect(sent - taken).toBeLessThan(300_000);
    }
    expect(taken).toBe(large.length);
  });
});

describe("[H36] refused is", () => {
  const file = partOf("file", "hello", '; filename="a"');
  const CUT = "a malformed one (Unexpected end of multipart data)";
  const where = "expected multipart/form-data with one part named file, found ";
  test.each<[string, Buffer, string]>([
    ["a form without parts", END, "none"],
    ["a part with another name", Buffer.concat([partOf("photo", "x"), END]), "a part named photo"],
    ["a second file", Buffer.concat([file, file, END]), "more than one part"],
    ["another part next to it", Buffer.concat([file, partOf("a", "b"), END]), "more than one part"],
    ["an empty body", Buffer.alloc(0), CUT],
    ["something else", Buffer.from('{"file": "hello"}'), CUT],
    ["a file that ends early", file.subarray(0, -4), CUT],
    ["a form without its end", file, CUT],
    ["a part without headers", Buffer.from("--edge\r\nhello\r\n--edge--\r\n"), "none"],
    ["a part without a name", Buffer.from("--edge\r\na: b\r\n\r\nhello\r\n--edge--\r\n"), "none"],
  ])("%s", async (_, body, found) => {
    for (const size of [1, 7, 65_536]) expect(await outcome(body, size)).toBe(where + found);
  });

  test.each([
    "multipart/form-data",
    "multipart/form-data; boundary=",
    `multipart/form-data; boundary=${"b".repeat(300)}`,
  ])("the type %s", async (type) => {
    expect(await outcome(Buffer.concat([file, END]), 10, type)).toMatch(where);
  });
});

test("[H36] a form truncated anywhere before its end is refused", async () => {
  const body = Buffer.concat([partOf("file", "hello", '; filename="a"'), END]);
  // The last line break is not needed.
  for (let size = 0; size < body.length - 2; size++) {
    for (const piece of [1, 65_536]) {
      expect(await outcome(body.subarray(0, size), piece), `${size} bytes`).toBeTypeOf("string");
    }
  }
  expect(String(await outcome(body.subarray(0, -2)))).toBe("hello");
});

test.each([16_000, 17_000, 60_000])(
  "[H36] a part without a name is refused, also one of %i bytes that arrives together with the end",
  async (size) => {
    const body = Buffer.from(`--edge\r\na: b\r\n\r\n${"x".repeat(size)}\r\n--edge--\r\n`);
    const where = "expected multipart/form-data with one part named file, found ";
    for (const pieces of [4_096, 65_536]) {
      expect(await outcome(body, pieces)).toMatch(
        new RegExp(`^${where}(none|a part without a name)$`),
      );
    }
  },
);

test("any input gives a content or an error, and never hangs", async () => {
  const token = fc.constantFrom(
    "--edge",
    "--edge--",
    "\r\n",
    "\r\n\r\n",
    "--",
    "-",
    'Content-Disposition: form-data; name="file"',
    "Content-Disposition: form-data; name=file; filename*=utf-8''%ZZ",
    "Content-Disposition",
    "Content-Type: text/plain; charset",
    'Content-Type: ;;=;charset="',
    "Content-Transfer-Encoding: base64",
    ": ",
    "x".repeat(100_000),
    "\0",
  );
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc.array(token, { maxLength: 20 }).map((tokens) => Buffer.from(tokens.join(""))),
    fc.array(token, { maxLength: 20 }).map((tokens) => Buffer.from(tokens.join("\r\n"))),
  );
  await fc.assert(
    fc.asyncProperty(body, fc.constantFrom(1, 13, 65_536), async (bytes, size) => {
      await outcome(bytes, bytes.length > 5_000 ? 4_096 : size);
    }),
    { numRuns: runs(1_000) },
  );
});
