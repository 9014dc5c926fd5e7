/**
 * Preact and signals: the one place that imports them. A component that reads `signal.value` is
 * rendered again when the value changes.
 */
export { batch, computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
export {
  type ComponentChildren,
  Fragment,
  type JSX,
  type RefObject,
  render,
  type TargetedKeyboardEvent,
  type VNode,
} from "preact";
export {
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "preact/hooks";
