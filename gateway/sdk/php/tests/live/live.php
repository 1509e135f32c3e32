<?php

// The client and its examples against a running product: CAUSEWAY_URL, and a test key of a merchant of its own in
// CAUSEWAY_API_KEY and CAUSEWAY_PUBLIC_KEY. `make test/long` runs it.

declare(strict_types=1);

use Causeway\{ApiException, Client, Decimal, RequestOptions};

require __DIR__ . '/../support.php';

[$url, $key, $public] = array_map(fn ($name) => (string) getenv($name), ['CAUSEWAY_URL', 'CAUSEWAY_API_KEY', 'CAUSEWAY_PUBLIC_KEY']);
$plain = new Client(baseUrl: $url, apiKey: $key, mode: 'test');
$signed = new Client(baseUrl: $url, apiKey: $key, publicKey: $public, mode: 'test');

function transfer(mixed ...$more): array
{
    return $more + [
        'type' => 'transfer', 'fiatAmount' => new Decimal('1234567.89'), 'fiatCurrency' => 'NGN', 'crypto' => 'USDT', 'network' => 'tron',
        'chargeFrom' => 'crypto', 'payer' => ['chatId' => '42'], 'receiver' => ['bankCode' => '058', 'accountNumber' => '0123456789'],
    ];
}

function eventually(string $what, Closure $holds): mixed
{
    for ($end = hrtime(true) + 60e9; hrtime(true) < $end; usleep(100_000)) {
        $got = $holds();
        if ($got) {
            return $got;
        }
    }
    throw new Exception("waited a minute in vain for $what");
}

function refused(int $status, string $code, Closure $body): ApiException
{
    $e = raises(ApiException::class, $body, $code);
    same([$status, $code], [$e->status, $e->errorCode], 'the refusal');
    matches('/^req_/', (string) $e->requestId, 'the request id');
    return $e;
}

/** An address of this machine that nothing uses. */
function free(): string
{
    $server = stream_socket_server('tcp://127.0.0.1:0');
    return stream_socket_get_name($server, false);
}

/** A web server of PHP with one script. */
function web(string $address, string $script, array $environment): Beside
{
    $web = new Beside([PHP_BINARY, '-q', '-S', $address, $script], $environment);
    eventually("the server of $script", fn () => @stream_socket_client("tcp://$address") !== false);
    return $web;
}

foreach (['plain' => $plain, 'signed' => $signed] as $name => $client) {
    test("$name: create, read, list and cancel with exact amounts", function () use ($client) {
        same('test', $client->getMe()['key']['mode'], 'the mode');
        $order = bin2hex(random_bytes(8));
        $body = transfer(metadata: ['order' => 17, 'share' => new Decimal('0.1')], payer: ['chatId' => $order]);
        $options = new RequestOptions(idempotencyKey: $order);
        $made = $client->createPayment($body, $options)['payment'];
        same('1234567.89', (string) $made['fiatAmount'], 'the amount');
        same(json_encode($made), json_encode($client->createPayment($body, $options)['payment']), 'the payment of the same key');
        refused(422, 'idempotency_key_reused', fn () => $client->createPayment(transfer(fiatAmount: 5000), $options));

        $read = $client->getPayment($made['reference'])['payment'];
        same('1234567.89', (string) $read['fiatAmount'], 'the amount read');
        same(true, $read['cryptoAmount']->equals($made['cryptoAmount']), 'the crypto is the same');
        same([true, true, 0], [$read['rate'] instanceof Decimal, $read['charge']['fiat'] instanceof Decimal, $read['confirmations']], 'the numbers');
        same([17, '0.1'], [$read['metadata']['order'], (string) $read['metadata']['share']], 'the metadata');

        $client->createPayment(transfer(fiatAmount: 5000, payer: ['chatId' => $order]));
        $listed = array_column(iterator_to_array($client->iteratePayments(['limit' => 1, 'payerChatId' => $order]), false), 'reference');
        same([2, $made['reference']], [count($listed), $listed[1]], 'the list');
        same('cancelled', $client->cancelPayment($made['reference'])['payment']['status'], 'the status');
        $ended = iterator_to_array($client->iteratePayments(['status' => ['cancelled', 'expired'], 'payerChatId' => $order]), false);
        same([$made['reference']], array_column($ended, 'reference'), 'what ended');
    });

    test("$name: refusals are typed", function () use ($client) {
        refused(404, 'payment_not_found', fn () => $client->getPayment('CW-AAAAAAAAAAAA'));
        $e = refused(400, 'validation_failed', fn () => $client->createPayment(['type' => 'transfer', 'fiatCurrency' => 'NGN']));
        same(true, in_array('crypto', array_column($e->fields, 'field'), true), 'the field is named');
    });
}

test('18 digits go to a wallet and come back', function () use ($plain, $signed) {
    $made = [];
    for ($i = 0; $i < 3; $i++) {
        $made[] = $plain->createWallet(['network' => 'bsc', 'crypto' => 'USDT', 'expiresInMinutes' => new Decimal('60.5')])['wallet']['id'];
    }
    $plain->sandboxDepositWallet($made[0], ['amount' => new Decimal('1234567.000000000000000001')]);
    $amount = eventually('the deposit', fn () => ($amount = $signed->getWallet($made[0])['wallet']['amount']) === '0' ? null : $amount);
    same('1234567.000000000000000001', $amount, 'the amount');
    foreach ([['limit' => 2], ['limit' => 2, 'offset' => 0]] as $query) {
        $listed = array_column(iterator_to_array($plain->iterateWallets($query), false), 'id');
        same(array_reverse($made), array_values(array_intersect($listed, $made)), 'the wallets');
    }
});

test('reports are found on all pages', function () use ($plain) {
    $address = '0x' . bin2hex(random_bytes(20));
    for ($i = 0; $i < 3; $i++) {
        $plain->createReport(['complaintType' => 'fraud', 'name' => "Ada $i", 'walletAddress' => $address]);
    }
    foreach ([[], ['offset' => 0]] as $query) {
        $found = iterator_to_array($plain->iterateLookupReports($query + ['walletAddress' => $address, 'limit' => 1]), false);
        same(['Ada 2', 'Ada 1', 'Ada 0'], array_column($found, 'name'), 'the names');
    }
});

test('webhooks are verified, also while the secret is replaced', function () use ($plain) {
    $old = $plain->getWebhookSecret()['secret'];
    $fresh = $plain->rotateWebhookSecret()['secret'];
    $address = free();
    $hook = web($address, __DIR__ . '/hook.php', ['HOOK_SECRETS' => json_encode([$old, $fresh, [$fresh, $old]])]);
    $reference = $plain->createPayment(transfer(callbackUrl: "http://$address/hook"))['payment']['reference'];
    $plain->sandboxDepositPayment($reference);
    do {
        $line = $hook->line();
    } while (preg_match('/^payment\.(pending|confirming|confirmed|settling) /', $line));
    same("payment.settled $reference 1234567.89 5", $line, 'the last event');
});

function example(string $name): string
{
    exec(PHP_BINARY . ' ' . escapeshellarg(__DIR__ . "/../../examples/$name.php") . ' 2>&1', $lines, $status);
    same(0, $status, "$name: " . implode("\n", $lines));
    return implode("\n", $lines);
}

test('the examples run', function () use ($plain) {
    matches('/^CW-\w+: send [0-9.]+ USDT to T\w+\n(.*\n)*CW-\w+: settled$/D', example('transfer'), 'the transfer');
    matches('/^[0-9]+(\.[0-9]+)? NGN$/m', example('list'), 'the list');
    $address = free();
    $shop = web($address, __DIR__ . '/../../examples/webhooks.php', ['WEBHOOK_SECRET' => $plain->getWebhookSecret()['secret']]);
    file_get_contents("http://$address/", false, stream_context_create(['http' => ['method' => 'POST', 'content' => '{}', 'header' => 'Content-Type: application/json', 'ignore_errors' => true]]));
    matches('/ 400 /', $http_response_header[0], 'the answer to a forged webhook');
    $reference = $plain->createPayment(transfer(fiatAmount: 5000, callbackUrl: "http://$address/"))['payment']['reference'];
    $plain->sandboxDepositPayment($reference);
    do {
        $line = $shop->line();
    } while (!str_starts_with($line, 'payment.settled'));
    same("payment.settled $reference: 5000 NGN", $line, 'the last event');
});

run();
