<?php

// Receives webhooks, and logs the events of those that are genuine.
//
//   WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:3000 examples/webhooks.php

declare(strict_types=1);

use Causeway\{Webhook, WebhookException};

require __DIR__ . '/../src/autoload.php'; // with Composer: vendor/autoload.php

try {
    // One, or several, separated by spaces, for the time while it is replaced.
    $event = Webhook::verify((string) file_get_contents('php://input'), getallheaders(), explode(' ', (string) getenv('WEBHOOK_SECRET')));
} catch (WebhookException) {
    http_response_code(400);
    return;
}
// The same event may arrive again: a shop keeps its id in its database, with what the event changed.
$line = $event['type'];
if ($event['type'] === 'payment.settled') {
    $payment = $event['data']['payment'];
    $line .= " $payment[reference]: $payment[payoutAmount] $payment[fiatCurrency]";
}
file_put_contents('php://stdout', "$line\n");
http_response_code(204);
