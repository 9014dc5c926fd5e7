/**
 * Writes a screenshot to docs/images as WebP, which is small at a good quality.
 */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const IMAGES = fileURLToPath(new URL("../../docs/images", import.meta.url));
const BYTES_MAX = 150_000;

/** `shoot` gets the options of puppeteer for a screenshot. */
export async function saveImage(name, shoot) {
  mkdirSync(IMAGES, { recursive: true });
  const path = join(IMAGES, `${name}.webp`);
  await shoot({ path, type: "webp", quality: 82 });
  const { size } = statSync(path);
  if (size > BYTES_MAX) throw new Error(`expected at most ${BYTES_MAX} bytes, ${path} has ${size}`);
  console.log(`${path}: ${size} bytes`);
}
