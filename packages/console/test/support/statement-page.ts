/**
 * The page Statements of a console: its editor, and documents to work with.
 */
import type { ConsolePage } from "./console-page.ts";

const EDITOR = 'document.querySelector(".statement-editor-place")?.shadowRoot';

/** Documents with a make, a year and a city of the owner; every fifth is a Fiat. */
export async function insertCars(shown: ConsolePage, count: number): Promise<void> {
  const makes = ["Fiat", "Volvo", "Audi", "Seat", "Opel"];
  const cities = ["Oslo", "Rome", "Graz"];
  const cars = Array.from({ length: count }, (_, i) => ({
    _id: `car${String(i).padStart(5, "0")}`,
    make: makes[i % 5],
    year: 1950 + (i % 70),
    owner: { city: cities[i % 3] },
  }));
  await shown.atServer("INSERT INTO cars DOCUMENTS (:cars)", { cars });
}

/** Opens the page, and moves the focus into the editor by the tab key. */
export async function openStatements(shown: ConsolePage, search = ""): Promise<void> {
  await shown.open(`/statements?app=default${search}`);
  await editorReady(shown);
  await shown.tabTo("Statement");
}

export function editorReady(shown: ConsolePage): Promise<void> {
  return shown.until(`${EDITOR}?.querySelector(".cm-content") !== undefined`);
}

const EDITOR_TEXT = `[...${EDITOR}.querySelectorAll(".cm-line")].map((line) => line.textContent).join("\\n")`;

export function editorText(shown: ConsolePage): Promise<unknown> {
  return shown.page.evaluate(EDITOR_TEXT);
}

/** Waits until the editor has a text. */
export function editorHas(shown: ConsolePage, text: string): Promise<void> {
  return shown.until(EDITOR_TEXT, text);
}

/** Waits until the completion offers something. */
export function completionOffers(shown: ConsolePage, label: string): Promise<void> {
  const labels = `[...${EDITOR}.querySelectorAll(".cm-completionLabel")].map((each) => each.textContent)`;
  return shown.until(`${labels}.includes(${JSON.stringify(label)})`);
}

/** The editor ignores Enter for 75 ms: a line end must not become a choice that just appeared. */
const CHOICE_APPEARED_MS = 100;

export async function acceptCompletion(shown: ConsolePage, label: string): Promise<void> {
  await completionOffers(shown, label);
  await new Promise((resolve) => setTimeout(resolve, CHOICE_APPEARED_MS));
  await shown.press("Enter");
}

export function completionIsClosed(shown: ConsolePage): Promise<void> {
  return shown.until(`${EDITOR}.querySelector(".cm-tooltip-autocomplete") === null`);
}

/** Waits until a text is underlined as a mistake. */
export function underlines(shown: ConsolePage, text: string): Promise<void> {
  return shown.until(`${EDITOR}.querySelector(".cm-lintRange-error")?.textContent`, text);
}

/** Writes a text in the place of what is there, with the keyboard. */
export async function writeStatement(shown: ConsolePage, text: string): Promise<void> {
  await shown.press("Control+a");
  await shown.type(text);
  await shown.press("Escape");
}
