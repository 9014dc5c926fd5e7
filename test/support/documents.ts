/**
 * What the documents promise, compared with the code: each function takes files and returns its
 * complaints as `file:line: message`.
 *
 * A rule is a line of a document that starts with its number in bold, `**D12.**`; a test that shows it
 * quotes the number in its title, `[D12]`.
 */
import { posix } from "node:path";
import { findTestTitles, isTest, lineAt, type SourceFile } from "./repository.ts";

export interface Rule {
  readonly number: string;
  readonly path: string;
  readonly line: number;
}

export interface Setting {
  readonly name: string;
  readonly flag?: string;
  readonly argument?: string;
  readonly env: string;
  readonly default: string;
  readonly meaning: string;
}

const RULE_START = /^\*\*([A-Z]{1,2}\d+)\.\*\*/;

export function findRules(documents: readonly SourceFile[]): Rule[] {
  return documents.flatMap(({ path, text }) =>
    text.split("\n").flatMap((content, index) => {
      const number = RULE_START.exec(content)?.[1];
      return number === undefined ? [] : [{ number, path, line: index + 1 }];
    }),
  );
}

/** Each rule is defined once and shown by a test; each quotation means a rule. */
export function checkRules(
  documents: readonly SourceFile[],
  files: readonly SourceFile[],
): string[] {
  const rules = findRules(documents);
  const quoted = findQuotations(files);
  const quotedNumbers = new Set(quoted.map(({ number }) => number));
  const defined = new Map<string, Rule>();
  const complaints: string[] = findMalformedRules(documents);
  for (const rule of rules) {
    const first = defined.get(rule.number);
    const place = `${rule.path}:${rule.line}`;
    if (first !== undefined) {
      complaints.push(`${place}: ${rule.number} is defined before, at ${first.path}:${first.line}`);
    } else if (!quotedNumbers.has(rule.number)) {
      complaints.push(`${place}: no test quotes [${rule.number}]`);
    }
    defined.set(rule.number, first ?? rule);
  }
  for (const { number, path, line } of quoted) {
    if (!defined.has(number)) complaints.push(`${path}:${line}: there is no rule ${number}`);
  }
  return complaints;
}

/** Rule numbers in the titles of tests. */
function findQuotations(files: readonly SourceFile[]): Rule[] {
  return files.filter(isTest).flatMap((file) =>
    findTestTitles(file).flatMap(({ text, line }) =>
      [...text.matchAll(/\[([A-Z]{1,2}\d+)\]/g)].map((found) => {
        return { number: found[1] ?? "", path: file.path, line };
      }),
    ),
  );
}

/** `**D12**`, or `**D12.**` in a list: a rule that would not be counted. */
function findMalformedRules(documents: readonly SourceFile[]): string[] {
  return documents.flatMap(({ path, text }) =>
    text.split("\n").flatMap((content, index) => {
      const isMeant = /^[ >*-]*\*\*[A-Z]{1,2}\d+\b/.test(content);
      if (!isMeant || RULE_START.test(content)) return [];
      return [`${path}:${index + 1}: write a rule as **D12.** at the line's start`];
    }),
  );
}

/** Each code has its entry in docs/errors.md, a heading `## store.full`; each entry means a code. */
export function checkErrorCodes(codes: readonly string[], document: SourceFile): string[] {
  const headings = [...document.text.matchAll(/^##+ `?([a-z_]+(?:\.[a-z_]+)+)`?\s*$/gm)];
  const entries = new Set(headings.map((found) => found[1]));
  return [
    ...codes
      .filter((code) => !entries.has(code))
      .map((code) => `${document.path}:1: the code ${code} has no entry`),
    ...headings
      .filter((found) => !codes.includes(found[1] ?? ""))
      .map((found) => `${document.path}:${lineAt(document.text, found.index)}: no such code`),
  ];
}

/**
 * Each setting has its row in the table of the document, and each row means a setting: name, flag,
 * variable, default and meaning, as the code has them. Which words are set as code is free.
 */
export function checkSettings(settings: readonly Setting[], document: SourceFile): string[] {
  const rows = findSettingRows(document);
  const names = settings.map(({ name }) => name);
  const missing = names.filter((name) => !rows.some(([found]) => found === name));
  const complaints = missing.map((name) => `${document.path}:1: the setting ${name} has no row`);
  for (const [name, row, line] of rows) {
    const place = `${document.path}:${line}`;
    const setting = settings.find((candidate) => candidate.name === name);
    if (setting === undefined) complaints.push(`${place}: there is no setting ${name}`);
    else if (row !== settingRow(setting)) {
      complaints.push(`${place}: expected ${settingRow(setting)}, found ${row}`);
    }
  }
  return complaints;
}

/** Rows that begin with a name as code and have its variable: name, text without code marks, line. */
function findSettingRows({ text }: SourceFile): [name: string, row: string, line: number][] {
  return [...text.matchAll(/^\| `([^`]+)` \|.*`BIGPEER_\w+`.*\|$/gm)].map((found) => {
    return [found[1] ?? "", found[0].replaceAll("`", ""), lineAt(text, found.index)];
  });
}

function settingRow({ name, flag, argument, env, default: value, meaning }: Setting): string {
  const signature = flag === undefined ? "none" : [flag, argument ?? ""].join(" ").trim();
  return `| ${name} | ${signature} | ${env} | ${value === "" ? "none" : value} | ${meaning} |`;
}

/** Fields of the messages of a protocol by kind; `name?` for an optional one. */
export type MessageFieldNames = { readonly [kind: string]: readonly string[] };

/** Each message has a table under a heading of its kind, whose rows are its fields in their order. */
export function checkMessages(messages: MessageFieldNames, document: SourceFile): string[] {
  return Object.entries(messages).flatMap(([kind, fields]) => {
    const found = new RegExp(`^#### ${kind}$`, "m").exec(document.text);
    if (found === null) return [`${document.path}:1: the message ${kind} has no table`];
    const place = `${document.path}:${lineAt(document.text, found.index)}`;
    const section = document.text.slice(found.index + found[0].length).split(/^#/m)[0] ?? "";
    const rows = [...section.matchAll(/^\| `(\w+)` \|.*\| (required|optional) \|/gm)];
    const names = rows.map(([, name, need]) => (need === "optional" ? `${name}?` : name));
    if (names.join() === fields.join()) return [];
    return [`${place}: expected ${fields.join(", ")}, found ${names.join(", ")}`];
  });
}

/** Relative links lead to files, and their #fragments to headings. */
export function checkLinks(
  documents: readonly SourceFile[],
  exists: (path: string) => boolean,
): string[] {
  const headings = new Map(documents.map((document) => [document.path, findAnchors(document)]));
  return documents.flatMap((document) =>
    findLinks(document).flatMap(({ target, line }) => {
      const [path = "", anchor] = target.split("#");
      const place = `${document.path}:${line}`;
      const full = path === "" ? document.path : posix.join(posix.dirname(document.path), path);
      if (path !== "" && !exists(full)) return [`${place}: ${target} does not exist`];
      const isDead = anchor !== undefined && headings.get(full)?.has(anchor) === false;
      return isDead ? [`${place}: ${target} has no such heading`] : [];
    }),
  );
}

function findLinks(document: SourceFile): { target: string; line: number }[] {
  const text = blankCode(document.text);
  return [...text.matchAll(/\]\(([^)\s]+)(?:\s+"[^"]*")?\)|^\[[^\]]+\]:\s*(\S+)/gm)]
    .map((found) => ({
      target: found[1] ?? found[2] ?? "",
      line: lineAt(text, found.index),
    }))
    .filter(({ target }) => !/^[a-z]+:/.test(target));
}

/** As a Markdown viewer makes them: lower case, no punctuation, hyphens for spaces. */
function findAnchors({ text }: SourceFile): Set<string> {
  const headings = [...blankFences(text).matchAll(/^#+ +(.+?)\s*$/gm)];
  return new Set(
    headings.map((found) =>
      (found[1] ?? "")
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(/\s/g, "-"),
    ),
  );
}

function blankCode(text: string): string {
  return blankFences(text).replaceAll(/`[^`\n]*`/g, blank);
}

function blankFences(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```/gm, blank);
}

/** Spaces instead of text, so that line numbers stay. */
function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, " ");
}

/** A variable of the shell in a block of commands is given its value before, in the same document. */
export function checkVariables(documents: readonly SourceFile[]): string[] {
  return documents.flatMap(({ path, text }) => {
    const given = new Set<string>();
    let isInBlock = false;
    return text.split("\n").flatMap((content, index) => {
      if (content.startsWith("```")) isInBlock = !isInBlock;
      if (!isInBlock) return [];
      const used = [...content.matchAll(/\$\{?([A-Z][A-Z_]*)\b/g)].map((found) => found[1] ?? "");
      const unknown = used.filter((name) => !given.has(name));
      const name = /^(?:export )?([A-Z][A-Z_]*)=/.exec(content)?.[1];
      if (name !== undefined) given.add(name);
      return unknown.map((each) => `${path}:${index + 1}: nobody has said what $${each} is`);
    });
  });
}
