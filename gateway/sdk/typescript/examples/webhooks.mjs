// Receives webhooks, and prints the events of those that are genuine.
//
//   WEBHOOK_SECRET=whsec_… PORT=3000 node examples/webhooks.mjs
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';

import { verifyWebhook, WebhookError } from '@causeway/sdk';

// One, or several, separated by spaces, for the time while it is replaced.
const secrets = (process.env.WEBHOOK_SECRET ?? '').split(' ');
const seen = new Set(); // a shop keeps the ids of events in its database, with what they changed

const server = createServer(async (request, response) => {
  try {
    const event = verifyWebhook(await buffer(request), request.headers, secrets);
    if (!seen.has(event.id)) {
      seen.add(event.id); // the same event may arrive again
      if (event.type === 'payment.settled' && 'payment' in event.data) {
        const { reference, payoutAmount, fiatCurrency } = event.data.payment;
        console.log(`${event.type} ${reference}: ${payoutAmount} ${fiatCurrency}`);
      } else {
        console.log(event.type);
      }
    }
    response.writeHead(204).end();
  } catch (error) {
    if (!(error instanceof WebhookError)) console.error(error); // such as a caller that went away
    response.writeHead(error instanceof WebhookError ? 400 : 500).end();
  }
});
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object') console.log(`listening on http://127.0.0.1:${address?.port}`);
});
