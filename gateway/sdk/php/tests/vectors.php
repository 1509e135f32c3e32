<?php

// Every recorded case of gateway/sdk/testdata/vectors.json: php tests/vectors.php

declare(strict_types=1);

use Causeway\{ApiException, Client, Decimal, Json, Key, Retry, Signature, Webhook, WebhookException};

require __DIR__ . '/support.php';

$vectors = vectors();

test('keys', function () use ($vectors) {
    foreach ($vectors['keys'] as ['key' => $key, 'kind' => $kind, 'mode' => $mode]) {
        if ($mode === null) {
            raises(InvalidArgumentException::class, fn () => Key::mode($key, $kind), "take $key for a $kind");
        } else {
            same($mode, Key::mode($key, $kind), "the mode of $key");
        }
    }
    $cut = substr($vectors['keys'][0]['key'], 0, -1);
    $e = raises(InvalidArgumentException::class, fn () => Key::mode($cut, 'sk'), 'take a key that is cut');
    same(false, str_contains((string) $e, substr($cut, 8)), 'the key is in the exception');
});

test('signatures of requests', function () use ($vectors) {
    foreach ($vectors['requestSignatures'] as $case) {
        same($case['signature'], Signature::ofRequest($case['secret'], $case['timestamp'], $case['method'], $case['path'], $case['body']), $case['name']);
    }
});

test('webhooks', function () use ($vectors) {
    foreach ($vectors['webhooks'] as ['name' => $name, 'body' => $body, 'headers' => $headers, 'secrets' => $secrets, 'now' => $now, 'error' => $error]) {
        $verify = fn () => Webhook::verify($body, $headers, $secrets, now: $now);
        if ($error === null) {
            same(str_replace(' ', '', $body), str_replace(' ', '', Json::encode($verify())), $name);
        } else {
            same($error, raises(WebhookException::class, $verify, $name)->reason, $name);
        }
    }
});

test('webhooks: lists of headers, amounts, and wrong use', function () use ($vectors) {
    ['body' => $body, 'headers' => $headers, 'secrets' => $secrets, 'now' => $now] = $vectors['webhooks'][1];
    $payment = Webhook::verify($body, array_map(fn ($value) => [$value], $headers), $secrets[0], now: $now)['data']['payment'];
    same('1234567.89', (string) $payment['fiatAmount'], 'the amount');
    same('0.000000000000000001', (string) $payment['cryptoAmount'], 'the crypto');
    same(21, $payment['confirmations'], 'the confirmations');
    foreach ([...$vectors['badWebhookSecrets'], []] as $secret) {
        raises(InvalidArgumentException::class, fn () => Webhook::verify($body, $headers, $secret, now: $now), 'take the secret ' . json_encode($secret));
    }
});

test('decimals', function () use ($vectors) {
    foreach ($vectors['decimals'] as ['text' => $text, 'want' => $want]) {
        $got = new Decimal($text);
        same($want, (string) $got, "read $text");
        same("\"$want\"", json_encode($got), "show $text");
        same("{\"a\":$want}", Json::encode(['a' => $got]), "write $text");
        same(true, $got->equals($want), "compare $text");
    }
    foreach ($vectors['badDecimals'] as $text) {
        raises(InvalidArgumentException::class, fn () => new Decimal($text), "take $text for a decimal");
    }
});

test('arithmetic of decimals', function () use ($vectors) {
    foreach ($vectors['arithmetic'] as ['a' => $a, 'b' => $b, 'sum' => $sum, 'difference' => $difference, 'compare' => $compare]) {
        [$x, $y] = [new Decimal($a), new Decimal($b)];
        same([$sum, $difference, $compare, -$compare], [(string) $x->plus($y), (string) $x->minus($y), $x->compare($y), $y->compare($x)], "$a and $b");
        same([$sum, $difference], [(string) $y->plus($x), (string) $x->plus((new Decimal(0))->minus($y))], "$b and $a");
    }
    same(['-0.1', '0', '-3', 1, -1], [
        (string) (new Decimal('-0.3'))->plus('0.2'), (string) (new Decimal('-1.5'))->minus('-1.50'), (string) (new Decimal('-1'))->minus(2),
        (new Decimal('-1'))->compare('-2'), (new Decimal('-1'))->compare('0'),
    ], 'negative numbers');
    same('1500000000000000000', (new Decimal('1.5'))->units(18), 'units');
    raises(InvalidArgumentException::class, fn () => (new Decimal('1.005'))->units(2), 'units of a part');
});

test('requests', function () {
    $at = new DateTimeImmutable('2026-04-01T14:30:00+01:00');
    $body = ['a' => new Decimal('1234567.89'), 'b' => 5000, 'e' => null, 'f' => [true, "x\"\n"], 'g' => $at, 'h' => [], 'metadata' => [], 'i' => ['n/é' => 1]];
    same('{"a":1234567.89,"b":5000,"e":null,"f":[true,"x\"\n"],"g":"2026-04-01T13:30:00.000Z","h":[],"metadata":{},"i":{"n/é":1}}', Json::encode($body), 'a request');
    foreach ([0.1, 2.0, NAN, fn () => 1] as $value) {
        raises(InvalidArgumentException::class, fn () => Json::encode(['a' => $value]), 'write ' . get_debug_type($value));
    }
});

test('answers', function () use ($vectors) {
    foreach ($vectors['answers'] as $case) {
        $got = Json::decode($case['text'], array_fill_keys($case['integers'], true));
        foreach (['decimals', 'numbers', 'texts'] as $kind) {
            foreach ($case[$kind] as $path => $want) {
                $value = $got;
                foreach (explode('.', (string) $path) as $name) {
                    $value = $value[$name];
                }
                same($kind === 'decimals', $value instanceof Decimal, "$case[name]: $path is a Decimal");
                same($want, $value instanceof Decimal ? (string) $value : $value, "$case[name]: $path");
            }
        }
    }
    foreach ($vectors['badAnswers'] as $text) {
        raises(JsonException::class, fn () => Json::decode($text, []), "decode $text");
    }
    $long = str_repeat('x\\"1.5', 400_000);
    same(5 * 400_000, strlen(Json::decode("{\"a\":\"$long\",\"n\":0.1}", [])['a']), 'a long text');
});

test('repetitions', function () use ($vectors) {
    foreach ($vectors['retries'] as $case) {
        ['status' => $status, 'code' => $code, 'retryAfter' => $after] = $case['failure'] + ['status' => null, 'code' => 'other', 'retryAfter' => null];
        $failure = $status === null ? null : new ApiException($status, ['code' => $code, 'message' => ''], null, $after);
        same($case['wait'], Retry::wait($failure, $case['repeatable'], $case['attempt'], $case['maxRetries'], $case['maxWait'], $case['random']), $case['name']);
    }
});

test('the version is a version', fn () => matches('/^\d+\.\d+\.\d+$/D', Client::VERSION, 'the version'));

run();
