/**
 * A frame for a wide table. While the table does not fit, the frame is a stop of the tab key, so that
 * the arrow keys scroll it.
 */
import { type ComponentChildren, useEffect, useRef, useState, type VNode } from "../kit/preact.ts";

export interface ScrollFrameProps {
  readonly label: string;
  readonly children: ComponentChildren;
}

export function ScrollFrame({ label, children }: ScrollFrameProps): VNode {
  const frame = useRef<HTMLDivElement>(null);
  const [isWide, setWide] = useState(false);
  useEffect(() => {
    const { current } = frame;
    const content = current?.firstElementChild;
    if (current === null || content === null || content === undefined) return undefined;
    const observer = new ResizeObserver(() => {
      setWide(
        current.scrollWidth > current.clientWidth || current.scrollHeight > current.clientHeight,
      );
    });
    observer.observe(current);
    observer.observe(content);
    return () => observer.disconnect();
  }, []);
  const stop = isWide ? ({ tabIndex: 0, role: "group", "aria-label": label } as const) : {};
  return (
    <div ref={frame} class="table-frame" {...stop}>
      {children}
    </div>
  );
}
