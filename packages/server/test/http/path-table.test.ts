/**
 * The table of paths: what a path names, with and without parameters.
 */

import { expect, test } from "vitest";
import { PathTable } from "../../src/http/path-table.ts";

const table = new PathTable(
  ["/files/upload", "/files/{id}", "/shelf/{shelf}/book/{book}", "/shelf/{shelf}/book", "/"].map(
    (path) => ({ path }),
  ),
);

function find(path: string): unknown {
  const match = table.find(path);
  if (match === undefined) return undefined;
  const { entry, isExact, parameters } = match;
  return { path: entry.path, isExact, parameters };
}

test.each([
  ["/files/upload", "/files/upload", {}],
  ["/files/other", "/files/{id}", { id: "other" }],
  ["/files/uploads", "/files/{id}", { id: "uploads" }],
  ["/shelf/a/book", "/shelf/{shelf}/book", { shelf: "a" }],
  ["/shelf/a/book/b", "/shelf/{shelf}/book/{book}", { shelf: "a", book: "b" }],
  ["/shelf/__proto__/book/..", "/shelf/{shelf}/book/{book}", { shelf: "__proto__", book: ".." }],
  ["/", "/", {}],
])("%s is %s", (given, path, parameters) => {
  expect(find(given)).toEqual({ path, isExact: true, parameters });
});

const files = new PathTable(
  ["/files", "/files/", "/files/list/{id}", "/files/{path*}"].map((path) => ({ path })),
);

test.each([
  ["/files", "/files", {}],
  ["/files/", "/files/", {}],
  ["/files/a", "/files/{path*}", { path: "a" }],
  ["/files/a/b%20c/d.js", "/files/{path*}", { path: "a/b c/d.js" }],
  ["/files/a/", "/files/{path*}", { path: "a/" }],
  ["/files//a", "/files/{path*}", { path: "/a" }],
  ["/files/../a%2F..", "/files/{path*}", { path: "../a/.." }],
  ["/files/list/a", "/files/list/{id}", { id: "a" }],
  ["/files/list/a/b", "/files/{path*}", { path: "list/a/b" }],
])("a last part with a star takes the rest: %s is %s", (given, path, parameters) => {
  const match = files.find(given);
  expect([match?.entry.path, match?.isExact, match?.parameters]).toEqual([path, true, parameters]);
});

test("a rest that cannot be decoded names nothing", () => {
  expect(files.find("/files/a/%E4")?.isExact).toBe(false);
});

test("parameters are decoded part by part: an encoded slash does not separate parts", () => {
  expect(find("/shelf/a%2Fbook%2Fb/book/%C3%A4%25")).toEqual({
    path: "/shelf/{shelf}/book/{book}",
    isExact: true,
    parameters: { shelf: "a/book/b", book: "ä%" },
  });
});

test.each([
  ["/files/", "/files/{id}"],
  ["/files/%E4", "/files/{id}"],
  ["/files/%", "/files/{id}"],
  ["/files/upload/more", "/files/upload"],
  ["/shelf/a/book/b/", "/shelf/{shelf}/book/{book}"],
  ["/shelf//book", "/shelf/{shelf}/book"],
])("%s is not a path of the table, and is under %s", (given, path) => {
  expect(find(given)).toEqual({ path, isExact: false, parameters: {} });
});

test.each(["/files", "/shelf/a", "/Files/a", "/fi%6Ces/a", "files/a", "", "/else/where"])(
  "%j is unknown",
  (given) => {
    expect(find(given)).toBeUndefined();
  },
);
