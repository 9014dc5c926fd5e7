/**
 * Dataset `tasks`: a task list of a team.
 */

import type { Random } from "./random.ts";
import type { Sample } from "./sample.ts";
import { personName, sampleId, timeAt } from "./sample-values.ts";

const VERBS = ["Paint", "Repair", "Clean", "Measure", "Order", "Water", "Move", "Check"] as const;
const THINGS = [
  "the door",
  "the roof",
  "the garden",
  "the lamps",
  "the shelves",
  "the stairs",
  "the gate",
  "the boiler",
] as const;
const TAGS = ["inside", "outside", "urgent", "tools", "helper"] as const;
const DAY_MINUTES = 1_440;

export function* tasks(random: Random, size: number): Generator<Sample> {
  for (let number = 1; number <= size; number++) {
    const createdAt = number * 37;
    const isDone = random.chance(0.4);
    const tags = new Set([random.one(TAGS), random.one(TAGS)]);
    yield {
      collection: "tasks",
      document: {
        _id: sampleId("task", number),
        title: `${random.one(VERBS)} ${random.one(THINGS)}`,
        isDone,
        priority: random.between(1, 5),
        assignee: personName(random),
        tags: [...tags],
        createdAt: timeAt(createdAt),
        dueAt: timeAt(createdAt + random.between(1, 30) * DAY_MINUTES),
        ...(isDone && { doneAt: timeAt(createdAt + random.between(1, 20) * DAY_MINUTES) }),
      },
    };
  }
}
