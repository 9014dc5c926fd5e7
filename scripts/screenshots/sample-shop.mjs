/**
 * A shop to look at in the console: a server with collections, statements of a while, connected
 * devices, a webhook and a link to a second server, and traffic that goes on until it is closed.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openPeer } from "@bigpeer/peer";
import { removeFolder } from "../remove-folder.mjs";

const START = fileURLToPath(new URL("../start.mjs", import.meta.url));
const APP_ID = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";
const EVERYTHING = { everything: true };
const PAUSE_MS = 100;

const CITIES = ["Turin", "Lyon", "Graz", "Porto", "Ghent", "Aarhus"];
const NAMES = [
  "Ada",
  "Alan",
  "Barbara",
  "Claude",
  "Frances",
  "Grace",
  "Hedy",
  "Ken",
  "Radia",
  "Tony",
];
const PRODUCTS = [
  ["Espresso", "drink", 2.2],
  ["Cappuccino", "drink", 3.1],
  ["Lemonade", "drink", 3.4],
  ["Croissant", "food", 2.6],
  ["Focaccia", "food", 4.5],
  ["Quiche", "food", 5.9],
  ["Granola", "food", 6.2],
  ["Beans, 500 g", "shelf", 12.5],
  ["Mug", "shelf", 9],
];
const STATES = ["open", "paid", "sent", "returned"];
const ORDERS = 4800;
const INSERTED_AT_ONCE = 600;
const FIRST_DAY = Date.UTC(2026, 0, 2, 8);
const HOUR_MS = 3_600_000;

/** Of the past, for the history. */
const STATEMENTS = [
  "SELECT * FROM orders WHERE customer = 'c7' ORDER BY placedAt DESC LIMIT 20",
  "SELECT state, COUNT(*) AS orders, SUM(total) AS total FROM orders GROUP BY state",
  "SELECT * FROM orders WHERE total > 40 AND state = 'open'",
];

const DEVICES = [
  ["Till 1", ["SELECT * FROM orders WHERE state = 'open'", "SELECT * FROM products"]],
  ["Till 2", ["SELECT * FROM orders WHERE state = 'open'", "SELECT * FROM products"]],
  ["Kitchen display", ["SELECT * FROM orders WHERE state = 'open'"]],
  ["Tablet of Grace", ["SELECT * FROM customers", "SELECT * FROM products WHERE kind = 'drink'"]],
];

/** `photo` is a PNG. */
export async function openSampleShop(photo) {
  const shop = new SampleShop();
  try {
    await shop.open(photo);
  } catch (error) {
    await shop.close();
    throw error;
  }
  return shop;
}

class SampleShop {
  #folder = mkdtempSync(join(tmpdir(), "bigpeer-sample-"));
  #secret = randomBytes(24).toString("hex");
  #servers = [];
  #peers = [];
  #receiver;
  #traffic;
  #isClosed = false;

  async open(photo) {
    const main = await this.#startServer("main-street");
    const warehouse = await this.#startServer("warehouse");
    this.consoleUrl = main.consoleUrl;
    for (const server of [main, warehouse]) {
      await manage(server, "/app", { name: "shop", appId: APP_ID });
    }
    const permissions = { read: EVERYTHING, write: EVERYTHING };
    const key = await manage(main, "/app/shop/apiKey", {
      name: "tills",
      permissions,
      description: "Tills and displays",
    });
    await manage(main, "/app/shop/apiKey", {
      name: "reports",
      permissions: { read: { queriesByCollection: { orders: ["state != 'open'"] } }, write: {} },
      description: "Nightly reports",
    });
    const warehouseKey = await manage(warehouse, "/app/shop/apiKey", { name: "all", permissions });
    await this.#fill(main, key, photo);
    await this.#link(main, warehouse, warehouseKey);
    await this.#addWebhook(main);
    await this.#connectDevices(main, key);
    this.#startTraffic(main, key);
    await manage(main, "/backup");
  }

  async #fill(main, key, photo) {
    const run = (statement, args) => execute(main, key, statement, args);
    const customers = Array.from({ length: 180 }, (_, i) => customerOf(i));
    await run("INSERT INTO customers DOCUMENTS (:customers)", { customers });
    for (let from = 0; from < ORDERS; from += INSERTED_AT_ONCE) {
      const orders = Array.from({ length: INSERTED_AT_ONCE }, (_, i) => orderOf(from + i));
      await run("INSERT INTO orders DOCUMENTS (:orders)", { orders });
    }
    await run("INSERT INTO shifts DOCUMENTS (:shifts)", { shifts: NAMES.map(shiftOf) });
    await run("CREATE INDEX by_customer ON orders (customer, placedAt DESC)");
    const office = await this.#openPeer(main, key, "Office");
    for (const [i, product] of PRODUCTS.entries()) await addProduct(office, product, i, photo);
    for (const text of STATEMENTS) await run(text);
  }

  /** The shop pulls deliveries, and the warehouse the products. */
  async #link(main, warehouse, warehouseKey) {
    const all = Array.from({ length: 24 }, (_, i) => {
      return { _id: `d${i + 1}`, product: `p${1 + (i % PRODUCTS.length)}`, count: 10 };
    });
    await execute(warehouse, warehouseKey, "INSERT INTO deliveries DOCUMENTS (:all)", { all });
    await manage(warehouse, "/app/shop/bigPeerReplication", {
      name: "to-shops",
      queriesByCollection: { products: ["true"] },
    });
    await manage(main, "/app/shop/bigPeerReplication", {
      name: "warehouse",
      connections: [warehouse.link],
      queriesByCollection: { deliveries: ["true"], prices: ["shop == 'main-street'"] },
    });
  }

  async #addWebhook(main) {
    this.#receiver = createServer((request, response) => {
      request.resume().on("end", () => response.writeHead(204).end());
    });
    await once(this.#receiver.listen(0, "127.0.0.1"), "listening");
    await manage(main, "/app/shop/webhook", {
      name: "accounting",
      url: `http://127.0.0.1:${this.#receiver.address().port}/orders`,
      collection: "orders",
      query: "state == 'paid'",
      allowPrivate: true,
    });
  }

  async #connectDevices(main, key) {
    for (const [name, subscriptions] of DEVICES) {
      const peer = await this.#openPeer(main, key, name);
      for (const text of subscriptions) {
        await peer.sync.registerSubscription(text).whenReady();
      }
    }
  }

  async #openPeer(server, token, deviceName) {
    const peer = await openPeer({
      appId: APP_ID,
      url: server.dataUrl,
      token,
      deviceName,
      memory: true,
      remote: "read",
    });
    this.#peers.push(peer);
    peer.sync.start();
    return peer;
  }

  /** Tills sell, the kitchen finishes, and a program reads. */
  #startTraffic(main, key) {
    this.#traffic = this.#sellUntilClosed(main, key);
  }

  async #sellUntilClosed(main, key) {
    for (let i = 0; !this.#isClosed; i++) {
      await this.#sell(i);
      const reads = 1 + Math.round(2 * (1 + Math.sin(i / 25)));
      for (let n = 0; n < reads; n++) {
        const id = idOfOrder(scattered(i * 5 + n, ORDERS));
        await execute(main, key, "SELECT * FROM orders WHERE _id = :id", { id });
      }
      await setTimeout(PAUSE_MS);
    }
  }

  async #sell(i) {
    const { store } = this.#peers[1 + (i % 2)];
    if (i % 4 === 0) {
      const order = { ...orderOf(ORDERS + i), state: "open" };
      await store.execute("INSERT INTO orders DOCUMENTS (:order)", { order });
    }
    if (i % 7 === 3) {
      const id = `p${1 + scattered(i, PRODUCTS.length)}`;
      await store.execute("UPDATE products APPLY stock INCREMENT BY -1 WHERE _id = :id", { id });
    }
    if (i % 9 === 5) {
      const id = idOfOrder(ORDERS + 4 * Math.floor(i / 8));
      await store.execute("UPDATE orders SET state = 'paid' WHERE _id = :id", { id });
    }
  }

  #startServer(name) {
    const dataDir = join(this.#folder, name);
    const words = [START, "--data-dir", dataDir, "--name", name, "--log-level", "error"];
    const ports = ["--port", "0", "--management-port", "0", "--replication-port", "0"];
    const server = spawn(process.execPath, [...words, ...ports], {
      cwd: this.#folder,
      env: { ...process.env, BIGPEER_REPLICATION_SECRET: this.#secret },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#servers.push(server);
    return new Promise((resolve, reject) => {
      let text = "";
      server.on("exit", () => reject(new Error(`${name} did not start`)));
      server.stdout.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
        if (!/^ +stop /m.test(text)) return;
        const link = new URL(/^ +links +(\S+)/m.exec(text)[1]).host;
        const quickstart = JSON.parse(readFileSync(join(dataDir, "quickstart.json"), "utf8"));
        resolve({ name, link, ...quickstart });
      });
    });
  }

  async close() {
    this.#isClosed = true;
    await this.#traffic;
    for (const peer of this.#peers) await peer.close();
    this.#receiver?.close();
    for (const server of this.#servers) {
      const exit = once(server, "exit");
      if (server.exitCode === null && server.kill()) await exit;
    }
    await removeFolder(this.#folder);
  }
}

async function addProduct(peer, [name, kind, price], i, photo) {
  const file = `${name.split(/\W/)[0].toLowerCase()}.png`;
  const product = {
    _id: `p${i + 1}`,
    name,
    kind,
    price,
    stock: 300 + scattered(i, 80),
    origin: { country: ["Italy", "France", "Portugal"][i % 3], isOrganic: i % 2 === 0 },
    photo: await peer.attachments.create(photo, { name: file }),
  };
  await peer.store.execute(
    "INSERT INTO COLLECTION products (stock COUNTER, photo ATTACHMENT) DOCUMENTS (:product)",
    { product },
  );
}

function customerOf(i) {
  return {
    _id: `c${i + 1}`,
    name: `${NAMES[i % NAMES.length]} ${String.fromCharCode(65 + (i % 26))}.`,
    address: { city: CITIES[scattered(i, CITIES.length)], street: `Station street ${i + 1}` },
    isMember: i % 3 === 0,
    phone: i % 4 === 0 ? null : `+39 555 0${100 + i}`,
  };
}

function orderOf(i) {
  const count = 1 + scattered(i, 3);
  const lines = Array.from({ length: count }, (_, line) => {
    const at = scattered(i * 5 + line, PRODUCTS.length);
    return { product: `p${at + 1}`, count: 1 + scattered(i + line, 4), price: PRODUCTS[at][2] };
  });
  const total = lines.reduce((sum, line) => sum + line.count * line.price, 0);
  return {
    _id: idOfOrder(i),
    customer: `c${1 + scattered(i, 180)}`,
    state: STATES[scattered(i, STATES.length)],
    placedAt: new Date(FIRST_DAY + i * HOUR_MS).toISOString(),
    total: Math.round(total * 100) / 100,
    lines,
  };
}

function idOfOrder(i) {
  return `o${String(i + 1).padStart(5, "0")}`;
}

function shiftOf(name, i) {
  return {
    _id: `s${i + 1}`,
    name,
    day: `2026-01-${String(5 + i).padStart(2, "0")}`,
    hours: 6 + (i % 3),
  };
}

/** Numbers that look random and are the same each time. */
function scattered(i, size) {
  return (Math.imul(i + 7, 2_654_435_761) >>> 8) % size;
}

async function manage(server, path, body) {
  const url = `${server.managementUrl}/namespace/default/bigPeer/${server.name}${path}`;
  return answerOf(url, await send(url, body));
}

async function execute(server, key, statement, args = {}) {
  const url = `${server.dataUrl}/api/v4/store/execute`;
  return answerOf(url, await send(url, { statement, args }, { authorization: `Bearer ${key}` }));
}

function send(url, body, headers = {}) {
  const method = "POST";
  const all = { "content-type": "application/json", ...headers };
  return fetch(url, { method, headers: all, body: JSON.stringify(body) });
}

async function answerOf(url, response) {
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: expected success, found ${response.status} ${text}`);
  return JSON.parse(text);
}
