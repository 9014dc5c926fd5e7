/**
 * Process of one attack. The parent process sends the target and ends the attack. This process
 * reports when the attack has begun, and at the end the answers of the server.
 */
import { findAttack } from "./attacks.mjs";
import { Target } from "./target.mjs";

let target;

async function attack({ name, ...given }) {
  target = new Target(given, () => process.send({ kind: "begun" }));
  await findAttack(name).run(target);
}

process.on("message", (message) => {
  if (message.kind === "attack") {
    void attack(message).catch((error) => process.send({ kind: "fault", fault: error.stack }));
  } else {
    target.end();
    process.send({ kind: "answers", answers: target.answers }, () => process.exit(0));
  }
});
process.on("disconnect", () => process.exit(0));
