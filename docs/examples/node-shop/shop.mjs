// A shop that sells one thing for crypto and gets naira on its bank account. Start it with ./start.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { ApiError, Causeway, Decimal, verifyWebhook, WebhookError } from '@causeway/sdk';

import { Orders } from './orders.mjs';

const { CAUSEWAY_URL: baseUrl, CAUSEWAY_API_KEY: apiKey, PORT = '3000', SHOP_URL, ORDERS = 'orders.json' } = process.env;
const PRICE = new Decimal('25000'); // naira
const ACCOUNT = { bankCode: '058', accountNumber: '0123456789' }; // of the shop

const causeway = new Causeway({ baseUrl, apiKey, mode: 'test' });
const orders = new Orders(ORDERS);

// The newest secret suffices: while an earlier one is valid too, every webhook carries a signature of each.
const readSecret = async () => (await causeway.getWebhookSecret()).secret;
let webhookSecret = await readSecret();
let askedAt = 0; // when a webhook that did not verify last made the shop read it again

// pay makes the payment of an order. The payer chooses the coin on the payment's page. The order's id and the number of
// the attempt are the idempotency key: a second click, or a crash between the two steps, makes no second payment. A
// payment that has ended unpaid is followed by another one.
async function pay(id) {
  const { attempt = 1 } = orders.get(id);
  const { payment: made } = await causeway.createPayment(
    { type: 'request', fiatAmount: PRICE, fiatCurrency: 'NGN', receiver: ACCOUNT, metadata: { order: id, attempt }, callbackUrl: `${home}/webhooks` },
    { idempotencyKey: `${id}-${attempt}` },
  );
  const { payment } = await causeway.getPayment(made.reference);
  if (payment.status !== 'expired' && payment.status !== 'cancelled') return payment.checkoutUrl;
  const now = orders.get(id); // another click may have begun the next attempt
  if ((now.attempt ?? 1) === attempt) orders.put({ id, attempt: attempt + 1 });
  return pay(id);
}

// note brings an order up to date with its payment, which its metadata names. Webhooks may come twice and in any order,
// so what counts is the payment's `sequence`, which only grows. Money that comes late for an earlier attempt is for a
// person to look at.
function note(payment, sequence) {
  const order = orders.get(payment.metadata?.order);
  if (!order || payment.metadata.attempt !== (order.attempt ?? 1) || sequence <= (order.sequence ?? 0)) return;
  const refund = payment.refunds?.at(-1);
  orders.put({
    ...order,
    reference: payment.reference,
    sequence,
    paid: order.paid || payment.status === 'settled', // the bank account has the money: ship
    payment: payment.exception ? `${payment.status} (${payment.exception})` : payment.status,
    refund: refund && { status: refund.status, amount: String(refund.amount), crypto: refund.crypto, txHash: refund.txHash },
  });
}

// surplus says whether the order is paid and too much came. In any other state all of the money may be owed, and a
// person decides.
const surplus = (order) => order.payment === 'settled (overpaid)' && !order.refund;

// refund sends back what the buyer paid too much, to an address that the buyer names.
async function refund(order, address) {
  await causeway.setRefundAddress(order.reference, { address });
  await causeway.createRefund(order.reference, { reason: `order ${order.id}: paid too much` }, { idempotencyKey: `refund-${order.id}` });
}

// body reads a request that anybody may have sent.
async function body(request, most = 1 << 20) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > most) throw new Error('the body is too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

async function webhook(request, response) {
  const raw = await body(request);
  let event;
  try {
    event = verifyWebhook(raw, request.headers, webhookSecret);
  } catch (error) {
    if (Date.now() - askedAt > 60_000) {
      askedAt = Date.now(); // a flood of forged ones must not use up the key's limit
      webhookSecret = await readSecret(); // it may have been replaced; the sender tries again
    }
    if (!(error instanceof WebhookError)) throw error;
    return response.writeHead(400).end();
  }
  if ('payment' in event.data) note(event.data.payment, event.data.payment.sequence);
  response.writeHead(204).end(); // after the order is on disk
}

const escape = (value) => String(value).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

function page(response, status, ...lines) {
  response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8' });
  response.end(`<!doctype html><html lang="en"><title>The shop</title><main>${lines.join('\n')}</main></html>`);
}

function show(order, response) {
  const lines = [`<h1>Order ${escape(order.id)}</h1>`, `<p>${order.paid ? 'Paid. Your parcel is on its way.' : 'Not paid yet.'}</p>`];
  if (order.payment) lines.push(`<p>Payment: ${escape(order.payment)}</p>`);
  if (order.refund) lines.push(`<p>Refund of ${escape(order.refund.amount)} ${escape(order.refund.crypto)}: ${escape(order.refund.status)}</p>`);
  else if (surplus(order)) {
    lines.push(`<form method="post" action="/orders/${order.id}/refund"><label>You paid too much. Your address: <input name="address" required></label><button>Send it back</button></form>`);
  }
  if (!order.paid) lines.push(`<form method="post" action="/orders/${order.id}/pay"><button>Pay</button></form>`);
  page(response, 200, ...lines);
}

async function answer(request, response) {
  const { pathname } = new URL(request.url, home);
  const [, , id, act] = pathname.split('/');
  const order = pathname.startsWith('/orders/') && orders.get(id);
  const go = (location) => response.writeHead(303, { Location: location }).end();
  switch (`${request.method} ${order ? `order/${act ?? ''}` : pathname}`) {
    case 'GET /':
      return page(response, 200, '<h1>The shop</h1>', `<form method="post" action="/orders"><button>Buy a lamp for ${PRICE} naira</button></form>`);
    case 'POST /orders': {
      const made = orders.put({ id: randomUUID() }); // on disk before the payment is asked for
      return go(await pay(made.id));
    }
    case 'GET order/':
      return show(order, response);
    case 'POST order/pay':
      return go(await pay(order.id));
    case 'POST order/refund':
      if (!surplus(order)) return page(response, 409, '<p>Nothing is owed to you.</p>');
      await refund(order, new URLSearchParams(await body(request)).get('address'));
      return go(`/orders/${order.id}`);
    case 'POST /webhooks':
      return webhook(request, response);
  }
  page(response, 404, '<h1>There is no such page</h1>');
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error instanceof ApiError ? `${error.code}: ${error.message} (${error.requestId})` : error);
    if (!response.headersSent) page(response, error instanceof ApiError && error.status < 500 ? 400 : 503, `<p>${escape(error.message)}</p>`);
  });
});
server.listen(Number(PORT), '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const home = SHOP_URL ?? `http://127.0.0.1:${server.address().port}`;
console.log(`the shop is at ${home}`);
