// Makes a payment in test mode, plays its payer, and waits until the receiver has the money.
//
//   CAUSEWAY_URL=… CAUSEWAY_API_KEY=sk_test_… node examples/transfer.mjs
import { setTimeout as sleep } from 'node:timers/promises';

import { ApiError, Causeway, Decimal } from '@causeway/sdk';

const causeway = new Causeway({
  baseUrl: process.env.CAUSEWAY_URL ?? 'http://127.0.0.1:8080',
  apiKey: process.env.CAUSEWAY_API_KEY ?? '',
  mode: 'test', // a live key is refused here
});

try {
  const order = `order-${Date.now()}`;
  const { payment } = await causeway.createPayment(
    {
      type: 'transfer',
      fiatAmount: new Decimal('25000.50'),
      fiatCurrency: 'NGN',
      crypto: 'USDT',
      network: 'tron',
      chargeFrom: 'fiat',
      payer: { chatId: '42' },
      receiver: { bankCode: '058', accountNumber: '0123456789' },
      metadata: { order },
    },
    { idempotencyKey: order }, // a second run for this order makes no second payment
  );
  if (!('depositAddress' in payment)) throw new Error('a transfer has a deposit address');
  console.log(`${payment.reference}: send ${payment.cryptoAmount} ${payment.crypto} to ${payment.depositAddress}`);

  await causeway.sandboxDepositPayment(payment.reference);
  for (;;) {
    const { payment: now } = await causeway.getPayment(payment.reference);
    console.log(`${now.reference}: ${now.status}`);
    if (now.status === 'settled') break;
    await sleep(500); // a shop waits for the webhook instead
  }
} catch (error) {
  if (!(error instanceof ApiError)) throw error;
  console.error(`${error.status} ${error.code}: ${error.message} (${error.requestId})`, error.fields);
  process.exitCode = 1;
}
