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

/** How many times the steps eight times the size may take, that it need not be looked at closer. */
const PLAIN_INCREASE_MAX = 12;

/** The steps for each size; what is made once is made before. */
export async function measureGrowth<Input>(
  { make, run, size }: Growing<Input>,
  factors: readonly number[] = [1, 2, 4, 8],
): Promise<Point[]> {
  const attempt = (input: Input) => async (): Promise<void> => {
    try {
      await run(input);
    } catch {
      // What is refused is counted up to there.
    }
  };
  await attempt(make(Math.ceil(size / 2)))();
  const points: Point[] = [];
  for (const factor of factors) {
    const input = make(factor * size);
    points.push({ size: factor * size, steps: await countSteps(attempt(input)) });
  }
  return points;
}

/** What is wrong with how it grows; undefined when nothing is. */
export async function findGrowthFault<Input>(growing: Growing<Input>): Promise<string | undefined> {
  const [small, large] = await measureGrowth(growing, [1, 8]);
  if (small === undefined || large === undefined) return undefined;
  if (large.steps <= PLAIN_INCREASE_MAX * small.steps + NOISE) return undefined;
  return growthFault(await measureGrowth(growing));
}

export type Shapes<Input> = Readonly<Record<string, (size: number) => Input>>;

/**
 * What is wrong with how it grows, by the shape of its input. All shapes are looked at together, which
 * takes a moment, and one by one only where together they grow too fast.
 */
export async function findGrowthFaults<Input>(
  shapes: Shapes<Input>,
  run: (input: Input) => unknown,
  size: number,
): Promise<Record<string, string>> {
  const attempt = async (input: Input): Promise<void> => {
    try {
      await run(input);
    } catch {
      // See above.
    }
  };
  const together = {
    make: (each: number) => Object.values(shapes).map((make) => make(each)),
    run: async (inputs: readonly Input[]) => {
      for (const input of inputs) await attempt(input);
    },
    size,
  };
  const faults: Record<string, string> = {};
  if ((await findGrowthFault(together)) === undefined) return faults;
  for (const [name, make] of Object.entries(shapes)) {
    const fault = await findGrowthFault({ make, run, size });
    if (fault !== undefined) faults[name] = fault;
  }
  return faults;
}

/** What is wrong with work in turns: one of them took more steps than a turn may. */
export function turnFault(turns: Iterator<unknown, unknown>, stepsMax: number): string | undefined {
  const longest = Math.max(...countTurns(turns));
  if (longest <= stepsMax) return undefined;
  return `expected turns of at most ${stepsMax} steps, found one of ${Math.round(longest)}`;
}
