/**
 * Reader of Server-Sent Events: pieces of text go in, whole events come out.
 */

export interface StreamEvent {
  readonly id: string;
  readonly data: string;
}

export class EventReader {
  #rest = "";
  #id = "";
  #data: string[] = [];

  push(piece: string): StreamEvent[] {
    const lines = `${this.#rest}${piece}`.split("\n");
    this.#rest = lines.pop() ?? "";
    const events: StreamEvent[] = [];
    for (const line of lines) {
      if (line !== "") this.#take(line);
      else if (this.#data.length > 0) {
        events.push({ id: this.#id, data: this.#data.join("\n") });
        this.#data = [];
      }
    }
    return events;
  }

  #take(line: string): void {
    const [, name, value = ""] = /^([^:]*): ?(.*)$/s.exec(line) ?? [];
    if (name === "id") this.#id = value;
    else if (name === "data") this.#data.push(value);
  }
}
