// Creates, reads and lists a payment with the types that openapi-typescript made of the document, and prints the asked
// amount, as each of the three answers has it.
import type { components, paths } from "./client.gen.js";

const [url, key, amount] = process.argv.slice(2) as [string, string, string];

type Answer<P extends keyof paths, M extends "get" | "post", S extends number> = paths[P][M] extends {
  responses: { [status in S]: { content: { "application/json": infer Body } } };
}
  ? Body
  : never;

async function call<Body>(method: string, path: string, status: number, sent?: unknown): Promise<Body> {
  const answer = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
  });
  const text = await answer.text();
  if (answer.status !== status) throw new Error(`${method} ${path}: got ${answer.status} ${text}, want ${status}`);
  return JSON.parse(text) as Body;
}

const order: components["schemas"]["CreatePayment"] = {
  type: "gift",
  fiatAmount: Number(amount),
  fiatCurrency: "NGN",
  crypto: "USDT",
  network: "tron",
  chargeFrom: "fiat",
  payer: { chatId: "openapi-typescript" },
};
const made = await call<Answer<"/v1/payments", "post", 201>>("POST", "/v1/payments", 201, order);
const read = await call<Answer<"/v1/payments/{reference}", "get", 200>>("GET", `/v1/payments/${made.payment.reference}`, 200);
const list = await call<Answer<"/v1/payments", "get", 200>>("GET", "/v1/payments?payerChatId=openapi-typescript", 200);
console.log(made.payment.fiatAmount, read.payment.fiatAmount, list.payments[0]?.fiatAmount);
