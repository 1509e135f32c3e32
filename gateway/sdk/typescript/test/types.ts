// Holds the types against the compiler: `npm run check` fails if a line marked as an error is none, or another one is.
import { Causeway, Decimal, verifyWebhook, type PaymentStatus } from '@causeway/sdk';

const causeway = new Causeway({ baseUrl: 'https://api.example', apiKey: 'sk_test_' });

export async function uses(): Promise<Decimal> {
  const { payment } = await causeway.getPayment('CW-1');
  const amount: Decimal = payment.fiatAmount;
  const status: PaymentStatus = payment.status;
  const confirmations: number = payment.confirmations;
  // @ts-expect-error an amount is no number
  const wrong: number = payment.fiatAmount;
  // @ts-expect-error a text is refused by the API
  await causeway.createPayment({ type: 'gift', fiatCurrency: 'NGN', fiatAmount: '12.50' });
  // @ts-expect-error there is no such type
  await causeway.createPayment({ type: 'present', fiatCurrency: 'NGN' });
  // @ts-expect-error the currency is missing
  await causeway.createPayment({ type: 'gift' });
  await causeway.createPayment({ type: 'gift', fiatCurrency: 'NGN', fiatAmount: 5000, callbackUrl: undefined, metadata: null });
  const event = verifyWebhook('', {}, 'whsec_');
  if (event.type === 'payment.settled') {
    const sequence: number = event.data.payment.sequence;
    console.log(sequence);
    // @ts-expect-error an event of a payment has no wallet
    console.log(event.data.wallet);
  }
  for await (const wallet of causeway.iterateWallets({ status: 'watching', offset: 0 })) console.log(wallet.address);
  for await (const report of causeway.iterateLookupReports({ phoneNumber: '1' })) console.log(report.reportId);
  console.log(status, confirmations, wrong);
  return amount;
}
