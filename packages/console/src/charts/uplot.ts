/**
 * Line charts over time, drawn by uPlot. It is loaded on use.
 */
import UPlot from "uplot";

export interface ChartLine {
  readonly title: string;
  /** From 1 to 6: the colour and the dashes. */
  readonly number: number;
  readonly values: readonly (number | null)[];
}

export interface ChartData {
  /** Seconds since 1970. */
  readonly at: readonly number[];
  readonly lines: readonly ChartLine[];
}

export interface ChartOptions {
  readonly height: number;
  /** A value with its unit. */
  readonly format: (value: number) => string;
}

const FONT = "11px system-ui, sans-serif";
const AXIS_WIDTH = 56;
/** Of the longest time: half of the last one is beside the plot. */
const TIME_WIDTH = 56;
/** The second cue beside the colour. */
const DASHES: readonly (readonly number[])[] = [[], [6, 3], [2, 3], [8, 3, 2, 3], [12, 4], [1, 4]];

export class Chart {
  readonly #plot: UPlot;
  readonly #resizes: ResizeObserver;

  constructor(place: HTMLElement, data: ChartData, { height, format }: ChartOptions) {
    const colors = new Colors(place);
    const axis = {
      stroke: colors.find("--muted"),
      font: FONT,
      grid: { stroke: colors.find("--hairline"), width: 1 },
      ticks: { show: false },
    };
    this.#plot = new UPlot(
      {
        width: Math.max(place.clientWidth, 1),
        height,
        padding: [6, TIME_WIDTH / 2, 0, 0],
        legend: { show: false },
        cursor: { points: { show: false }, drag: { x: false, y: false } },
        scales: { y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * 1.1 : 1] } },
        axes: [
          { ...axis, size: 22, space: 60, values: (_, splits) => splits.map(clockText) },
          { ...axis, size: AXIS_WIDTH, values: (_, splits) => splits.map(format) },
        ],
        series: [
          {},
          ...data.lines.map(({ title, number }) => ({
            label: title,
            stroke: colors.find(`--series-${number}`),
            dash: [...(DASHES[number - 1] ?? [])],
            width: 1.5,
            points: { show: false },
          })),
        ],
      },
      aligned(data),
      place,
    );
    this.#resizes = new ResizeObserver(() => {
      this.#plot.setSize({ width: Math.max(place.clientWidth, 1), height });
    });
    this.#resizes.observe(place);
  }

  update(data: ChartData): void {
    this.#plot.setData(aligned(data));
  }

  remove(): void {
    this.#resizes.disconnect();
    this.#plot.destroy();
  }
}

/** `14:05`; with seconds where they matter. */
function clockText(seconds: number): string {
  const text = new Date(seconds * 1000).toTimeString();
  return text.slice(0, seconds % 60 === 0 ? "hh:mm".length : "hh:mm:ss".length);
}

function aligned({ at, lines }: ChartData): UPlot.AlignedData {
  return [[...at], ...lines.map(({ values }) => [...values])];
}

/** Colours of the theme as a canvas needs them. */
class Colors {
  readonly #place: HTMLElement;

  constructor(place: HTMLElement) {
    this.#place = place;
  }

  find(name: string): string {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    this.#place.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  }
}
