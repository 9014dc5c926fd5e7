/**
 * The types of the client are those of the OpenAPI documents of the server.
 */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { GENERATED, typesOf } from "../../../scripts/client-schemas.mjs";
import { managementDocument } from "../../server/src/openapi/management-document.ts";
import { openApiDocument } from "../../server/src/openapi/openapi.ts";

const DOCUMENTS = [openApiDocument({ version: "" }), managementDocument({ version: "" })];

test.each(GENERATED.map((one, i) => ({ ...one, i })))(
  "$file is up to date; if not: npm run build && node scripts/client-schemas.mjs",
  ({ file, about, i }) => {
    const text = readFileSync(new URL(`../src/generated/${file}`, import.meta.url), "utf8");
    expect(text).toBe(typesOf(DOCUMENTS[i] ?? {}, about));
  },
);
