// Reads one webhook a line from standard input, {secrets, otherSecret, headers, body} with the body in base64, and
// prints how many it has verified: each under all its secrets, and none under otherSecret.
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

let verified = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { secrets, otherSecret, headers, body } = JSON.parse(line);
  const text = Buffer.from(body, "base64").toString("utf8");
  for (const secret of secrets) {
    new Webhook(secret).verify(text, headers);
  }
  let refused = false;
  try {
    new Webhook(otherSecret).verify(text, headers);
  } catch {
    refused = true;
  }
  if (!refused) {
    throw new Error("accepted under another secret: " + line);
  }
  verified++;
}
console.log(verified);
