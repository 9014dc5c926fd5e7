/**
 * A name for this browser, by which the others know it. It stays the same after a reload.
 */

const COLOURS = ["Amber", "Coral", "Indigo", "Jade", "Olive", "Plum", "Rose", "Teal"];
const ANIMALS = ["Badger", "Crane", "Fox", "Heron", "Lynx", "Otter", "Raven", "Stoat"];

const KEY = "tasks-web:name";

function draw(words) {
  return words[crypto.getRandomValues(new Uint8Array(1))[0] % words.length];
}

function readName() {
  const name = localStorage.getItem(KEY) ?? `${draw(COLOURS)} ${draw(ANIMALS)}`;
  localStorage.setItem(KEY, name);
  return name;
}

export const myName = readName();

/** One of the hues of the avatars; the same for the same name. */
export function hueOf(name) {
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)) % 360;
  return sum;
}

export function initialsOf(name) {
  const words = name.split(/\s+/).filter(Boolean);
  return words
    .slice(0, 2)
    .map(([first]) => first.toUpperCase())
    .join("");
}
