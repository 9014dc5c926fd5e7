/**
 * HTTP clients of a cluster. Each one is bound to a node, writes one request after the other, and
 * records what it was answered. A request without an answer has an unknown outcome.
 */
import { Agent, request } from "node:http";
import { setTimeout } from "node:timers/promises";

const ANSWER_MS_MAX = 15_000;
const PAUSE_MS = [20, 120];
const RETRY_MS = 250;
const SETTLE_MS_MAX = 120_000;

/** Clients that race for the same document do so within this time. */
const CLAIM_MS = 400;

const TOTAL = "total";
const INCREMENT =
  "UPDATE COLLECTION counters (n COUNTER) APPLY n INCREMENT BY 1 SET last = :number WHERE _id = :id OR _id = 'total'";

/** Sends statements to nodes. */
export class DataClient {
  #apiKey;
  #agent = new Agent({ keepAlive: true });

  constructor(apiKey) {
    this.#apiKey = apiKey;
  }

  /** Resolves with `{ status, body }`; the status is 0 if there was no answer. */
  async execute(node, statement, args = {}, headers = {}) {
    try {
      return await this.#send(node.url, { statement, args }, headers);
    } catch (error) {
      return { status: 0, body: { error: { description: error.message } } };
    }
  }

  /** The rows of a query; rejects if it failed. */
  async rows(node, statement, headers = {}) {
    const { status, body } = await this.execute(node, statement, {}, headers);
    if (status === 200) return body.items;
    throw new Error(`${node.name} answered ${status}: ${body.error?.description}`);
  }

  close() {
    this.#agent.destroy();
  }

  #send(url, content, headers) {
    return new Promise((resolve, reject) => {
      const outgoing = request(`${url}/api/v4/store/execute`, {
        agent: this.#agent,
        method: "POST",
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
        headers: {
          authorization: `Bearer ${this.#apiKey}`,
          "content-type": "application/json",
          ...headers,
        },
      });
      outgoing.on("error", reject);
      outgoing.on("response", (incoming) => {
        answerOf(incoming).then(resolve, reject);
      });
      outgoing.end(JSON.stringify(content));
    });
  }
}

async function answerOf(incoming) {
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const body = JSON.parse(Buffer.concat(chunks).toString() || "{}");
  return { status: incoming.statusCode, body };
}

/** Makes the documents that the clients and the peers change. */
export async function prepareDocuments(client, node, { writers, teams }) {
  const counters = [TOTAL, ...writers].map((id) => ({ _id: id, n: 0, last: 0 }));
  const totals = Array.from({ length: teams }, (_, team) => ({ _id: team, n: 0 }));
  for (const [collection, documents] of Object.entries({ counters, totals })) {
    const statement = `INSERT INTO COLLECTION ${collection} (n COUNTER) DOCUMENTS (:documents)`;
    const { status, body } = await client.execute(node, statement, { documents });
    if (status !== 200) throw new Error(`failed to prepare: ${JSON.stringify(body)}`);
  }
}

export class Writer {
  #client;
  #nodes;
  #home;
  #random;
  #record;
  #now;
  #number = 0;
  #last;
  #reading = Promise.resolve();
  #isReading = false;
  #isOver = false;

  /** `home` is the node that it writes to; `record` takes each event. */
  constructor({ name, client, nodes, home, random, record, now }) {
    this.name = name;
    this.#client = client;
    this.#nodes = nodes;
    this.#home = home;
    this.#random = random;
    this.#record = record;
    this.#now = now;
  }

  /** Writes until `end` is called, and until every request with a key is answered. */
  async run() {
    while (!this.#isOver) {
      const isAnswered = await this.#step();
      const [from, to] = PAUSE_MS;
      await setTimeout(isAnswered ? this.#random.between(from, to) : RETRY_MS);
    }
    await this.#reading;
  }

  end() {
    this.#isOver = true;
  }

  async #step() {
    const part = this.#random.next();
    if (part < 0.4 || this.#last === undefined) return this.#insert();
    if (part < 0.65) return this.#increment();
    if (part < 0.75) return this.#repeat();
    if (part < 0.85) return this.#claim();
    // Its writes go on: the other node may be the one that hangs.
    if (!this.#isReading) this.#reading = this.#read();
    return true;
  }

  #other() {
    return this.#random.pick(this.#nodes.filter((node) => node !== this.#home));
  }

  async #insert() {
    const id = this.#newId();
    const document = { _id: id, by: id, text: "x".repeat(this.#random.between(0, 200)) };
    const write = await this.#write({ type: "insert", id }, "documents", document);
    if (write.outcome === "acknowledged") this.#last = write;
    return write.outcome === "acknowledged";
  }

  async #claim() {
    const claim = `claim-${Math.floor(this.#now() / CLAIM_MS)}`;
    const id = this.#newId();
    const document = { _id: claim, by: id };
    const write = await this.#write({ type: "claim", id, document: claim }, "claims", document);
    return write.outcome !== "unknown";
  }

  /** A strict INSERT of a document that exists. */
  async #repeat() {
    const { id } = this.#last;
    const document = { _id: id, by: this.#newId() };
    const write = await this.#write({ type: "repeat", id }, "documents", document);
    return write.outcome !== "unknown";
  }

  async #write(event, collection, document) {
    const startMs = this.#now();
    const statement = `INSERT INTO ${collection} DOCUMENTS (:document)`;
    const answer = await this.#client.execute(this.#home, statement, { document });
    const recorded = { ...event, ...this.#place(startMs), ...outcomeOf(answer) };
    this.#record(recorded);
    return recorded;
  }

  #newId() {
    this.#number++;
    return `${this.name}-${this.#number}`;
  }

  #place(startMs) {
    return { writer: this.name, node: this.#home.name, startMs, endMs: this.#now() };
  }

  /** With a key, and so repeated until it is answered: at this node or at another one. */
  async #increment() {
    const id = this.#newId();
    const number = this.#number;
    const startMs = this.#now();
    const event = { type: "increment", id, number, counters: [this.name, TOTAL] };
    let node = this.#home;
    for (let attempts = 1; ; attempts++) {
      const headers = { "idempotency-key": id };
      const args = { id: this.name, number };
      const answer = await this.#client.execute(node, INCREMENT, args, headers);
      const place = { ...this.#place(startMs), node: node.name };
      const { outcome, ...more } = outcomeOf(answer);
      const isGivenUp = this.#now() - startMs > SETTLE_MS_MAX;
      if (outcome !== "unknown" || isGivenUp) {
        const isMatched = answer.body.mutatedDocumentIds?.length === 2;
        const matched = outcome === "acknowledged" ? { isMatched } : {};
        this.#record({ ...event, ...place, outcome, ...more, ...matched, attempts });
        return true;
      }
      await setTimeout(RETRY_MS);
      node = this.#random.chance(0.5) ? this.#home : this.#other();
    }
  }

  /** Reads the last write of its own on another node. */
  async #read() {
    this.#isReading = true;
    const { id, txnId } = this.#last;
    const node = this.#other();
    const startMs = this.#now();
    const headers = { "x-service-txn-id": String(txnId) };
    const statement = "SELECT * FROM documents WHERE _id = :id";
    const { status, body } = await this.#client.execute(node, statement, { id }, headers);
    const event = { type: "read", id, txnId, ...this.#place(startMs), node: node.name, status };
    if (status !== 200) this.#record({ ...event, outcome: status === 404 ? "late" : "unknown" });
    else {
      const outcome = body.items[0]?.by === id ? "found" : "missing";
      this.#record({ ...event, outcome, seenTxnId: body.transactionId });
    }
    this.#isReading = false;
  }
}

/** Only an error of the request itself says that nothing was written. */
function outcomeOf({ status, body }) {
  if (status === 200) return { outcome: "acknowledged", status, txnId: body.transactionId };
  const isRefused = status >= 400 && status < 500 && status !== 408 && status !== 429;
  const outcome = isRefused ? "refused" : "unknown";
  return { outcome, status, reason: body.error?.description ?? body.message };
}
