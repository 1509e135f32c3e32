<?php

// Verifies each webhook with each list of secrets in HOOK_SECRETS, and prints the event as the client reads it.

declare(strict_types=1);

require __DIR__ . '/../../src/autoload.php';

$body = (string) file_get_contents('php://input');
try {
    foreach (json_decode((string) getenv('HOOK_SECRETS'), true) as $secrets) {
        $event = Causeway\Webhook::verify($body, getallheaders(), $secrets);
        try {
            Causeway\Webhook::verify("$body ", getallheaders(), $secrets);
            throw new Exception('a changed body is genuine');
        } catch (Causeway\WebhookException) {
        }
    }
    $payment = $event['data']['payment'];
    $line = "$event[type] $payment[reference] $payment[fiatAmount] $payment[sequence]";
} catch (Throwable $e) {
    $line = (string) $e;
}
file_put_contents('php://stdout', "$line\n");
