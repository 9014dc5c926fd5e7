/**
 * Width of text in columns of a terminal, and text that a terminal can show.
 */

/** Letters that take two columns: East Asian wide ones and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;

/** Marks that are drawn over the letter before them. */
const ZERO = /[\p{Mn}\p{Me}\p{Cf}]/u;

// biome-ignore lint/suspicious/noControlCharactersInRegex: it removes them
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

export function widthOf(text: string): number {
  let width = 0;
  for (const letter of text) {
    if (ZERO.test(letter)) continue;
    width += WIDE.test(letter) ? 2 : 1;
  }
  return width;
}

/** Data must not move the cursor or change the colours of a terminal. */
export function visible(text: string): string {
  return text.replaceAll(CONTROL, (letter) => {
    if (letter === "\n") return "\\n";
    if (letter === "\t") return "\\t";
    return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** Cuts text with an ellipsis at `width` columns. */
export function fit(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let fitting = "";
  let used = 0;
  for (const letter of text) {
    used += widthOf(letter);
    if (used > width - 1) break;
    fitting += letter;
  }
  return `${fitting}…`;
}

export function pad(text: string, width: number, isRight = false): string {
  const space = " ".repeat(Math.max(0, width - widthOf(text)));
  return isRight ? space + text : text + space;
}
