<?php

// Adds up what was paid out, over all pages of the list.
//
//   CAUSEWAY_URL=… CAUSEWAY_API_KEY=sk_test_… php examples/list.php

declare(strict_types=1);

use Causeway\{Client, Decimal};

require __DIR__ . '/../src/autoload.php'; // with Composer: vendor/autoload.php

$causeway = new Client(baseUrl: (string) getenv('CAUSEWAY_URL'), apiKey: (string) getenv('CAUSEWAY_API_KEY'));

$totals = [];
foreach ($causeway->iteratePayments(['status' => 'settled']) as $payment) {
    $currency = $payment['fiatCurrency'];
    $totals[$currency] = ($totals[$currency] ?? new Decimal(0))->plus($payment['payoutAmount'] ?? 0);
}
foreach ($totals as $currency => $total) {
    echo "$total $currency\n";
}
