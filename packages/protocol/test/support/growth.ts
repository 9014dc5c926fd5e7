/**
 * Judge of growth: whether work takes twice the steps for an input of twice the size.
 *
 * It looks at the steps for sizes n, 2n, 4n and 8n. For work that is linear each increase is twice the
 * one before, whatever it costs to begin; for work that is quadratic it is four times. Work that is
 * done in another way from some size on has one increase that is larger, and that alone is no fault.
 */
import { countSteps, countTurns } from "./step-count.ts";

/** Some input that grows, and what is done with it. */
export interface Growing<Input> {
  /** An input of that size: what counts for the judge is that twice the size is twice the input. */
  readonly make: (size: number) => Input;
  /** May throw: a refusal takes its steps, too. */
  readonly run: (input: Input) => unknown;
  /** The smallest size to be looked at. */
  readonly size: number;
}

export interface Point {
  readonly size: number;
  readonly steps: number;
}

/** How much more the second increase may be than the first: between linear, 2, and quadratic, 4. */
const INCREASE_MAX = 2.6;

/** Steps that say nothing: a table that was grown, a timer in between. */
const NOISE = 2_000;

/** What is wrong with the growth of steps over sizes of which each is twice the one before. */
export function growthFault(points: readonly Point[]): string | undefined {
  const increases = points.slice(1).map(({ steps }, i) => steps - (points[i]?.steps ?? 0));
  const isFaster = increases
    .slice(1)
    .every((increase, i) => increase > INCREASE_MAX * Math.max(0, increases[i] ?? 0) + NOISE);
  if (!isFaster) return undefined;
  const seen = points.map(({ size, steps }) => `${Math.round(steps)} for ${size}`).join(", ");
  return `expected steps that grow as the input does, found ${seen}`;
}

/** The steps for the size, and for what is two, four and eight times as large; what is made once is made before. */
export async function measureGrowth<Input>(growing: Growing<Input>): Promise<Point[]> {
  const { make, run, size } = growing;
  const attempt = (input: Input) => async (): Promise<void> => {
    try {
      await run(input);
    } catch {
      // What is refused is counted up to there.
    }
  };
  await attempt(make(Math.ceil(size / 2)))();
  const points: Point[] = [];
  for (const each of [size, 2 * size, 4 * size, 8 * size]) {
    const input = make(each);
    points.push({ size: each, steps: await countSteps(attempt(input)) });
  }
  return points;
}

/** What is wrong with how it grows; undefined when nothing is. */
export async function findGrowthFault<Input>(growing: Growing<Input>): Promise<string | undefined> {
  return growthFault(await measureGrowth(growing));
}

/** What is wrong with work in turns: one of them took more steps than a turn may. */
export function turnFault(turns: Iterator<unknown, unknown>, stepsMax: number): string | undefined {
  const longest = Math.max(...countTurns(turns));
  if (longest <= stepsMax) return undefined;
  return `expected turns of at most ${stepsMax} steps, found one of ${Math.round(longest)}`;
}
