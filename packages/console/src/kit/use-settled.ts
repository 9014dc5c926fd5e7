/**
 * The value of a field once typing has paused, so that not each letter is a request.
 */
import { useEffect, useState } from "./preact.ts";

const PAUSE_MS = 300;

export function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
