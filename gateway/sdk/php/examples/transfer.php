<?php

// Makes a payment in test mode, plays its payer, and waits until the receiver has the money.
//
//   CAUSEWAY_URL=… CAUSEWAY_API_KEY=sk_test_… php examples/transfer.php

declare(strict_types=1);

use Causeway\{ApiException, Client, Decimal, RequestOptions};

require __DIR__ . '/../src/autoload.php'; // with Composer: vendor/autoload.php

$causeway = new Client(
    baseUrl: (string) getenv('CAUSEWAY_URL'),
    apiKey: (string) getenv('CAUSEWAY_API_KEY'),
    mode: 'test', // a live key is refused here
);

try {
    $order = 'order-' . hrtime(true);
    ['payment' => $payment] = $causeway->createPayment([
        'type' => 'transfer',
        'fiatAmount' => new Decimal('25000.50'),
        'fiatCurrency' => 'NGN',
        'crypto' => 'USDT',
        'network' => 'tron',
        'chargeFrom' => 'fiat',
        'payer' => ['chatId' => '42'],
        'receiver' => ['bankCode' => '058', 'accountNumber' => '0123456789'],
        'metadata' => ['order' => $order],
    ], new RequestOptions(idempotencyKey: $order)); // a second run for this order makes no second payment
    echo "$payment[reference]: send $payment[cryptoAmount] $payment[crypto] to $payment[depositAddress]\n";

    $causeway->sandboxDepositPayment($payment['reference']);
    do {
        usleep(500_000); // a shop waits for the webhook instead
        ['payment' => $now] = $causeway->getPayment($payment['reference']);
        echo "$now[reference]: $now[status]\n";
    } while ($now['status'] !== 'settled');
} catch (ApiException $e) {
    fwrite(STDERR, "$e->status $e->errorCode: {$e->getMessage()} ($e->requestId)\n");
    exit(1);
}
