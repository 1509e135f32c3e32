// Adds up what was paid out, over all pages of the list.
//
//   CAUSEWAY_URL=… CAUSEWAY_API_KEY=sk_test_… node examples/list.mjs
import { Causeway, Decimal } from '@causeway/sdk';

const causeway = new Causeway({ baseUrl: process.env.CAUSEWAY_URL ?? 'http://127.0.0.1:8080', apiKey: process.env.CAUSEWAY_API_KEY ?? '' });

/** @type {Map<string, Decimal>} */
const totals = new Map();
for await (const { fiatCurrency, payoutAmount } of causeway.iteratePayments({ status: 'settled' })) {
  if (payoutAmount) totals.set(fiatCurrency, (totals.get(fiatCurrency) ?? new Decimal(0)).plus(payoutAmount));
}
for (const [currency, total] of totals) console.log(`${total} ${currency}`);
