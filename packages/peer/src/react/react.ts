/**
 * React: what the hooks need of it. An app brings React 18 or 19, or Preact under its name.
 */

export {
  type Context,
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
