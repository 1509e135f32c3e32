<?php

// The client against a server on this machine that fails in every way that a network has: php tests/client.php

declare(strict_types=1);

use Causeway\{ApiException, CausewayException, Client, ConnectionException, Decimal, RequestOptions, Signature};

require __DIR__ . '/support.php';

[$secret, $live, $public] = array_column(vectors()['keys'], 'key');
const GIFT = ['type' => 'gift', 'fiatCurrency' => 'NGN'];

final class Server
{
    private Beside $program;
    public readonly string $base;

    public function __construct(string ...$answers)
    {
        $this->program = new Beside([PHP_BINARY, __DIR__ . '/server.php', ...$answers]);
        $this->base = $this->program->line();
    }

    /** @param mixed ...$options */
    public function client(...$options): Client
    {
        return new Client(...$options + ['baseUrl' => $this->base, 'apiKey' => $GLOBALS['secret']]);
    }

    /** The next request. @return array{method: string, target: string, headers: array<string, string>, body: string} */
    public function request(): array
    {
        return json_decode($this->program->line(), true);
    }

    /** How many requests came, of those that were not read yet. */
    public function rest(): int
    {
        $mark = bin2hex(random_bytes(8));
        file_get_contents("$this->base/$mark", false, stream_context_create(['http' => ['ignore_errors' => true, 'follow_location' => 0]]));
        for ($n = 0; $this->request()['target'] !== "/$mark"; $n++);
        return $n;
    }
}

/** @param list<string> $headers */
function answer(int $status, string $body, array $headers = []): string
{
    return json_encode([$status, $headers, $body]);
}

function refusal(int $status, string $code, string ...$headers): string
{
    $error = ['code' => $code, 'message' => 'No.', 'requestId' => 'req_1', 'fields' => [['field' => 'type', 'message' => 'is required']]];
    return answer($status, json_encode(['success' => false, 'message' => 'No.', 'error' => $error]), $headers);
}

$payment = answer(200, '{"success":true,"payment":{"reference":"CW-1","fiatAmount":1234567.89,"cryptoAmount":0.000000000000000001,"confirmations":2}}');
$away = refusal(503, 'overloaded', 'Retry-After: 0');

test('a request and its answer', function () use ($payment, $secret) {
    $s = new Server($payment);
    $got = $s->client(userAgent: 'shop/2')->createPayment([...GIFT, 'fiatAmount' => new Decimal('1234567.89')])['payment'];
    same(['1234567.89', '0.000000000000000001', 2], [(string) $got['fiatAmount'], (string) $got['cryptoAmount'], $got['confirmations']], 'the amounts');
    ['method' => $method, 'target' => $target, 'headers' => $headers, 'body' => $body] = $s->request();
    same('POST /v1/payments {"type":"gift","fiatCurrency":"NGN","fiatAmount":1234567.89}', "$method $target $body", 'the request');
    same(["Bearer $secret", 'application/json'], [$headers['authorization'], $headers['content-type']], 'the headers');
    matches('#^causeway-sdk-php/\d+\.\d+\.\d+ php/\S+ shop/2$#', $headers['user-agent'], 'the User-Agent');
    matches('/^[0-9a-f]{32}$/', $headers['idempotency-key'], 'the Idempotency-Key');
});

test('names in paths and queries are escaped', function () use ($payment) {
    $s = new Server($payment);
    $s->client()->getPayment('a/../b?c#d');
    $s->client()->listPayments(['status' => ['settled', 'expired'], 'from' => new DateTimeImmutable('2026-04-01T00:00:00Z'), 'cursor' => null]);
    same('/v1/payments/a%2F..%2Fb%3Fc%23d', $s->request()['target'], 'the path');
    same('/v1/payments?status=settled%2Cexpired&from=2026-04-01T00%3A00%3A00.000Z', $s->request()['target'], 'the query');
    foreach (['', '.', '..'] as $name) {
        raises(InvalidArgumentException::class, fn () => $s->client()->getPayment($name), "read the payment $name");
    }
});

test('a POST is repeated with its key and its bytes', function () use ($payment, $away) {
    foreach (['drop', 'cut', $away, refusal(409, 'idempotency_in_progress', 'Retry-After: 0'), answer(502, '<html>')] as $fault) {
        $s = new Server($fault, $fault, $payment);
        $s->client()->createPayment(GIFT, new RequestOptions(idempotencyKey: 'order 17'));
        for ($i = 0; $i < 3; $i++) {
            ['headers' => $headers, 'body' => $body] = $s->request();
            same(['order 17', '{"type":"gift","fiatCurrency":"NGN"}'], [$headers['idempotency-key'], $body], "request $i after $fault");
        }
    }
});

test('each call has a key, and its repetitions share it', function () use ($payment) {
    $s = new Server('drop', $payment);
    $client = $s->client();
    $client->cancelPayment('CW-1');
    $client->cancelPayment('CW-1');
    [$first, $again, $second] = array_map(fn () => $s->request()['headers']['idempotency-key'], [1, 2, 3]);
    same([true, false], [$first === $again, $first === $second], 'the keys are the same');
});

test('repetitions end', function () use ($away) {
    $s = new Server($away);
    $e = raises(ApiException::class, fn () => $s->client(maxRetries: 2)->getMe(), 'ask');
    same([503, 0, 3], [$e->status, $e->retryAfter, $s->rest()], 'the end');
    raises(ApiException::class, fn () => $s->client()->getMe(new RequestOptions(maxRetries: 0)), 'ask once');
    same(1, $s->rest(), 'requests');
});

test('a request that must not be repeated is sent once', function () use ($away) {
    foreach ([['drop', ConnectionException::class], [$away, ApiException::class], [refusal(400, 'validation_failed'), ApiException::class]] as [$fault, $class]) {
        $s = new Server($fault, answer(404, ''));
        raises($class, fn () => $s->client()->changeWebhookEndpoint('whe_1', ['enabled' => true]), 'change after ' . $fault);
        same(1, $s->rest(), "requests after $fault");
    }
});

test('Retry-After is kept', function () use ($payment) {
    $s = new Server(refusal(429, 'rate_limited', 'Retry-After: 1'), $payment);
    $began = hrtime(true);
    $s->client()->getPayment('CW-1');
    same(true, hrtime(true) - $began >= 1e9, 'a second passed');
    $s = new Server(refusal(429, 'rate_limited', 'Retry-After: 120'));
    same([120, 1], [raises(ApiException::class, fn () => $s->client()->getMe(), 'ask')->retryAfter, $s->rest()], 'a long Retry-After');
});

test('errors are typed', function () {
    $s = new Server(refusal(400, 'validation_failed'));
    $e = raises(ApiException::class, fn () => $s->client()->createPayment(GIFT), 'create');
    same([400, 'validation_failed', 'req_1', [['field' => 'type', 'message' => 'is required']], 'No.'], [$e->status, $e->errorCode, $e->requestId, $e->fields, $e->getMessage()], 'the error');
});

test('an answer that is not of the API is an error', function () {
    foreach ([[200, '<html>'], [200, '"fine"'], [200, '[]'], [302, ''], [418, '{"error":"tea"}']] as [$status, $body]) {
        $s = new Server(answer($status, $body, ['Location: http://127.0.0.1:1/', 'X-Request-Id: req_2']));
        $e = raises(ApiException::class, fn () => $s->client()->getMe(), "read $body");
        same([$status, 'unreadable_answer', 'req_2', 1], [$e->status, $e->errorCode, $e->requestId, $s->rest()], "read $body");
    }
});

test('an attempt ends in time, and an answer has an end', function () {
    $s = new Server('hang');
    $e = raises(ConnectionException::class, fn () => $s->client(timeout: 0.1, maxRetries: 0)->getMe(), 'ask');
    matches('/no answer within 0.1 s/', $e->getMessage(), 'the reason');
    $s = new Server(answer(200, '{"a":"' . str_repeat('x', 5000) . '"}'));
    matches('/more than 4096 bytes/', raises(CausewayException::class, fn () => $s->client(maxAnswer: 4096)->getMe(), 'ask')->getMessage(), 'the reason');
    same(1, $s->rest(), 'requests');
});

test('signed requests, each signed afresh', function () use ($payment, $secret, $public) {
    $s = new Server('drop', $payment);
    $s->client(publicKey: $public)->createPayment(GIFT);
    $s->client(publicKey: $public)->listPayments(['limit' => 1]);
    $times = [];
    for ($i = 0; $i < 3; $i++) {
        ['method' => $method, 'target' => $target, 'headers' => $headers, 'body' => $body] = $s->request();
        same(false, isset($headers['authorization']), 'the secret is sent');
        $times[] = $headers['x-timestamp'];
        same([$public, Signature::ofRequest($secret, (int) $headers['x-timestamp'], $method, $target, $body)], [$headers['x-api-key'], $headers['x-signature']], 'the signature');
    }
    same(false, $times[0] === $times[1], 'the times are the same');
});

test('public operations get no key', function () use ($payment) {
    $s = new Server($payment);
    $s->client()->getCheckout('CW-1');
    $s->client(apiKey: null)->getCheckout('CW-1');
    $s->client(apiKey: null)->lookupReports(['phoneNumber' => '1']);
    for ($i = 0; $i < 3; $i++) {
        same(false, isset($s->request()['headers']['authorization']), 'a key is sent');
    }
    raises(InvalidArgumentException::class, fn () => $s->client(apiKey: null)->getMe(), 'ask without a key');
    same(0, $s->rest(), 'requests');
});

test('pages by cursor', function () {
    $page = fn (array $items, ?string $next) => answer(200, json_encode(['success' => true, 'payments' => $items, 'pagination' => ['limit' => 2, 'nextCursor' => $next, 'hasMore' => $next !== null]]));
    $s = new Server($page(['a', 'b'], '1'), $page([], '2'), $page(['c'], null));
    same(['a', 'b', 'c'], iterator_to_array($s->client()->iteratePayments(['type' => 'gift']), false), 'the items');
    foreach (['', '&cursor=1', '&cursor=2'] as $more) {
        same("/v1/payments?type=gift$more", $s->request()['target'], 'the page');
    }
    $s = new Server($page(['a'], '1'));
    raises(CausewayException::class, fn () => iterator_to_array($s->client()->iteratePayments(), false), 'a cursor again');
});

test('pages by offset, and by an empty cursor first', function () {
    $page = fn (array $items, array $more = []) => answer(200, json_encode(['success' => true, 'data' => ['reports' => $items, 'total' => 3, 'limit' => 2, 'offset' => 0, ...$more]]));
    $s = new Server($page(['a', 'b']), $page(['c']));
    same(['a', 'b', 'c'], iterator_to_array($s->client()->iterateLookupReports(['phoneNumber' => '1', 'offset' => 0, 'limit' => 2]), false), 'the items');
    same('/v1/reports/lookup?phoneNumber=1&offset=0&limit=2', $s->request()['target'], 'the first page');
    same('/v1/reports/lookup?phoneNumber=1&offset=2&limit=2', $s->request()['target'], 'the second page');
    $s = new Server($page(['a'], ['nextCursor' => 'n', 'hasMore' => true]), $page(['b'], ['nextCursor' => null, 'hasMore' => false]));
    same(['a', 'b'], iterator_to_array($s->client()->iterateLookupReports(['walletAddress' => '0x1']), false), 'the items');
    same('/v1/reports/lookup?walletAddress=0x1&cursor=', $s->request()['target'], 'the first page');
});

test('a client refuses the wrong key', function () use ($secret, $live, $public) {
    $make = fn (...$options) => new Client(...$options + ['baseUrl' => 'https://api.example', 'apiKey' => $secret]);
    same(['test', 'live', 'live'], [$make(mode: 'test')->mode, $make(mode: 'live', apiKey: $live)->mode, $make(apiKey: $live, baseUrl: 'http://localhost:1')->mode], 'modes');
    foreach ([
        'a test key for live' => ['mode' => 'live'],
        'a live key for test' => ['mode' => 'test', 'apiKey' => $live],
        'no key for live' => ['mode' => 'live', 'apiKey' => null],
        'a live key over http' => ['apiKey' => $live, 'baseUrl' => 'http://api.example'],
        'a name that only begins like this machine' => ['apiKey' => $live, 'baseUrl' => 'http://localhost.example'],
        'a public id as secret' => ['apiKey' => $public],
        'a secret as public id' => ['publicKey' => $secret],
        'a live secret with a test id' => ['apiKey' => $live, 'publicKey' => $public],
        'a public id alone' => ['apiKey' => null, 'publicKey' => $public],
        'a file' => ['baseUrl' => 'file:///etc'],
        'a URL with a password' => ['baseUrl' => 'https://a:b@api.example'],
        'a URL with a query' => ['baseUrl' => 'https://api.example/?a'],
    ] as $name => $options) {
        raises(InvalidArgumentException::class, fn () => $make(...$options), "make a client with $name");
    }
    same(false, str_contains(print_r($make(), true), $secret), 'print_r shows the key');
});

test('an Idempotency-Key is checked', function () use ($payment) {
    $s = new Server($payment);
    foreach (['', ' x', "a\nb", 'é', str_repeat('x', 256)] as $key) {
        raises(InvalidArgumentException::class, fn () => $s->client()->cancelPayment('CW-1', new RequestOptions(idempotencyKey: $key)), "take the key $key");
    }
    same(0, $s->rest(), 'requests');
});

run();
