/**
 * A crowd of readers in one process: each follows the changes of one owner, and some follow all
 * changes and do not read. Prints `{"open":true}`, then how many changes each of the others has as
 * often as it is asked on its input.
 */
import { request } from "node:http";
import { createInterface } from "node:readline";

const { url, key, readers, deaf } = JSON.parse(process.argv[2]);
const counts = Array.from({ length: readers - deaf }, () => 0);
const NAME = /"type":/g;

function connect(parameters, onOpen, onLost) {
  const query = new URLSearchParams({ collection: "orders", ...parameters });
  const headers = { authorization: `Bearer ${key}`, accept: "application/x-ndjson" };
  const asked = request(`${url}/api/v4/store/changes?${query}`, { headers, agent: false });
  let isLost = false;
  const lose = () => {
    if (!isLost) setTimeout(() => onLost(), 100);
    isLost = true;
  };
  asked.on("response", (response) => {
    response.on("close", lose);
    response.on("error", lose);
    if (response.statusCode === 200) onOpen(response);
    else response.resume();
  });
  asked.on("error", lose);
  asked.end();
}

function follow(owner, since, onOpen) {
  let cursor = since;
  let rest = "";
  const args = JSON.stringify({ owner });
  const parameters = { query: "owner == :owner", args, view: "fields" };
  connect(
    { ...parameters, ...(cursor !== undefined && { since: cursor }) },
    (response) => {
      response.setEncoding("utf8");
      response.on("data", (text) => {
        const end = (rest + text).lastIndexOf("\n") + 1;
        const whole = (rest + text).slice(0, end);
        rest = (rest + text).slice(end);
        if (whole === "") return;
        // The first line is the marker that the feed is ready: nothing is missed from there on.
        if (cursor === undefined) onOpen();
        counts[owner] += whole.match(NAME)?.length ?? 0;
        cursor = /"cursor":"([^"]*)"\}\n$/.exec(whole)[1];
      });
    },
    () => follow(owner, cursor, onOpen),
  );
}

/** Connects again when the server has closed it. */
function stayDeaf(onOpen) {
  connect(
    {},
    (response) => {
      response.pause();
      onOpen();
    },
    () => stayDeaf(() => {}),
  );
}

await Promise.all([
  ...counts.map((_, owner) => new Promise((resolve) => follow(owner, undefined, resolve))),
  ...Array.from({ length: deaf }, () => new Promise((resolve) => stayDeaf(resolve))),
]);
console.log(JSON.stringify({ open: true }));
createInterface(process.stdin).on("line", () => console.log(JSON.stringify({ counts })));
