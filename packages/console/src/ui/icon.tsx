/**
 * Icons: outlines of 16 by 16. They repeat what a text or a label says, so they are hidden from
 * screen readers.
 */
import type { VNode } from "../kit/preact.ts";

const PATHS = {
  overview: "M2.5 9.5h4v4h-4zM9.5 2.5h4v11h-4zM2.5 2.5h4v4h-4z",
  data: "M2.5 4c0-1 2.5-1.8 5.5-1.8s5.5.8 5.5 1.8-2.5 1.8-5.5 1.8S2.5 5 2.5 4zm0 0v8c0 1 2.5 1.8 5.5 1.8s5.5-.8 5.5-1.8V4M2.5 8c0 1 2.5 1.8 5.5 1.8s5.5-.8 5.5-1.8",
  statements: "M3 4.5 6.5 8 3 11.5M8 12h5",
  live: "M1.5 8h3l2-5 3 10 2-5h3",
  devices: "M2.5 3h8v6.5h-8zM1.5 12h6M11 6.5h3.5v7H11z",
  access: "M10.5 2a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM8 8l-5.5 5.5M4.5 11.5l1.5 1.5",
  replication: "M2 5.5h10M9.5 3 12 5.5 9.5 8M14 10.5H4M6.5 8 4 10.5 6.5 13",
  operations:
    "M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4M11.2 11.2l1.4 1.4M12.6 3.4l-1.4 1.4M4.8 11.2l-1.4 1.4",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5l3 3",
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  trash: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  refresh: "M13 5A5.5 5.5 0 1 0 13.5 8M13.5 2.5V5.5h-3",
  undo: "M3.5 6h6a3.5 3.5 0 0 1 0 7H6M3.5 6l3-3M3.5 6l3 3",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  left: "M10 3.5 5.5 8l4.5 4.5",
  right: "M6 3.5 10.5 8 6 12.5",
  up: "M3.5 10 8 5.5l4.5 4.5",
  down: "M3.5 6 8 10.5 12.5 6",
  filter: "M2 3.5h12L9.5 9v4l-3-1.5V9z",
  columns: "M2.5 3h11v10h-11zM6.5 3v10M10 3v10",
  upload: "M8 10.5v-8M5 5.5l3-3 3 3M2.5 10.5v3h11v-3",
  download: "M8 2.5v8M5 7.5l3 3 3-3M2.5 10.5v3h11v-3",
  theme: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  help: "M6 6a2 2 0 1 1 2.8 1.8c-.5.2-.8.6-.8 1.2v.5M8 12.3v.1M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13z",
  exit: "M6.5 2.5h-4v11h4M6.5 8h7M10.5 5l3 3-3 3",
  play: "M4.5 3v10l8-5z",
  pause: "M5.5 3v10M10.5 3v10",
  star: "M8 2l1.8 3.9 4.2.5-3.1 2.9.8 4.2L8 11.4l-3.7 2.1.8-4.2L2 6.4l4.2-.5z",
  warning: "M8 2 1.5 13.5h13zM8 6.5v3.5M8 11.9v.1",
  attachment:
    "M12.5 7.5 8 12a2.8 2.8 0 0 1-4-4l5-5a1.9 1.9 0 0 1 2.7 2.7l-5 5a.9.9 0 0 1-1.3-1.3L9.8 5",
  check: "M3 8.5l3.5 3.5L13 4.5",
  file: "M4 1.5h5.5l3 3v10H4zM9.5 1.5v3h3",
  edit: "M10.5 3l2.5 2.5L5.5 13H3v-2.5z",
  key: "M10.5 2a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM8 8l-5.5 5.5M4.5 11.5l1.5 1.5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): VNode {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
