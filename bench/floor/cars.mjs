/**
 * Documents of the benchmarks: cars of about 220 bytes of JSON, with ids in random order.
 */
import { createHash } from "node:crypto";

const COLORS = ["blue", "red", "green", "silver"];
const CITIES = ["Lisbon", "Oslo", "Nairobi", "Osaka", "Quito"];

export function fieldsOf(i) {
  return {
    make: "Volvo",
    model: `V${i % 90}`,
    color: COLORS[i % 4],
    year: 1990 + (i % 36),
    mileage: (i * 7919) % 300000,
    price: ((i * 104729) % 5000000) / 100,
    sold: i % 3 === 0,
    owner: { name: `owner ${i % 5000}`, city: CITIES[i % 5], since: 1_700_000_000 + i },
    tags: ["used", `batch-${i % 17}`],
    updatedAt: "2026-01-01T12:00:00.000Z",
  };
}

export function idOf(i) {
  // Random order like that of UUIDs, but reproducible.
  return createHash("md5").update(String(i)).digest("hex");
}
