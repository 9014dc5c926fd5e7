// A server and two devices that share photos: one device attaches a file while it is offline, and the
// other one downloads it with its document. Run it after `npm run build`: node examples/photos.mjs
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPeer } from "@bigpeer/peer";
import { createLog, readConfig, startServer } from "@bigpeer/server";

const folder = mkdtempSync(join(tmpdir(), "photos-"));

// Starts a server in a temporary folder. The first start creates an app and an API key.
const settings = {
  "--data-dir": join(folder, "server"),
  "--port": "0",
  "--management-port": "off",
};
const log = createLog({ level: "warn", format: "text", write: (line) => console.error(line) });
const server = await startServer(readConfig(new Map(Object.entries(settings)), {}), { log });
const quickstart = JSON.parse(readFileSync(join(folder, "server", "quickstart.json"), "utf8"));
const { appId, apiKey: token, dataUrl: url } = quickstart;

const phone = await openPeer({ appId, url, token, folder: join(folder, "phone") });
const office = await openPeer({ appId, url, token, folder: join(folder, "office") });
for (const peer of [phone, office]) peer.on("error", (error) => console.error(error.message));

// The phone takes a photo, without a connection. The document refers to it by its token.
const path = join(folder, "photo.jpg");
writeFileSync(path, randomBytes(5_000_000));
const image = await phone.attachments.create(path, { name: "photo.jpg" });
await phone.store.execute("INSERT INTO COLLECTION photos (image ATTACHMENT) DOCUMENTS (:photo)", {
  photo: { _id: "p1", title: "The leak in room 12", image },
});
console.log("phone, offline:", image.len, "bytes wait for a connection");

// The office subscribes, and brings the attachments of the documents along.
office.sync.registerSubscription("SELECT * FROM photos", {}, { prefetch: true });
const arrived = new Promise((resolve) => {
  const query = "SELECT * FROM COLLECTION photos (image ATTACHMENT)";
  office.store.registerObserver(query, ({ items }) => {
    if (items.length > 0) resolve(items[0]);
  });
});
office.sync.start();

// The phone connects. It uploads the content first, then the document that refers to it.
phone.sync.start();
const photo = await arrived;
console.log("office sees:", photo.title, photo.image.metadata);

const content = await office.attachments.fetch(photo.image, {
  onProgress: ({ received, total }) => {
    if (received === total) console.log("office has all", total, "bytes");
  },
});
const isSame = Buffer.compare(await content.bytes(), readFileSync(path)) === 0;
console.log("the photo is", isSame ? "the same" : "another one");

await phone.close();
await office.close();
await server.close();
rmSync(folder, { recursive: true });
