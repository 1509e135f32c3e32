<?php

declare(strict_types=1);

namespace Causeway;

/** A client of the Causeway API. It holds no state besides its options. */
final class Client extends Operations
{
    /** The version of this package, as in CHANGELOG.md. */
    public const VERSION = '0.1.0';

    /** The mode of the key, or null without one. */
    public readonly ?string $mode;
    private readonly string $base;

    /**
     * @param string $baseUrl where the API is, such as https://api.example
     * @param string|null $apiKey the secret of an API key, `sk_…`; public operations need none
     * @param string|null $publicKey the public id of the same key, `pk_…`: with it each request is signed, and the secret never
     *     leaves the program
     * @param 'live'|'test'|null $mode the mode that the key must have: a program that says `test` never moves money because of
     *     a wrong key
     * @param float $timeout seconds for one attempt
     * @param int $maxRetries how often a request is repeated at most
     * @param float $maxWait the longest wait before a repetition, in seconds; a longer Retry-After ends the call
     * @param int $maxAnswer the most bytes of an answer
     * @param string $userAgent the name of your program, for the User-Agent
     */
    public function __construct(
        string $baseUrl,
        #[\SensitiveParameter] private readonly ?string $apiKey = null,
        private readonly ?string $publicKey = null,
        ?string $mode = null,
        private readonly float $timeout = 30,
        private readonly int $maxRetries = 3,
        private readonly float $maxWait = 60,
        private readonly int $maxAnswer = 64 << 20,
        private readonly string $userAgent = '',
    ) {
        $base = parse_url($baseUrl);
        if (!is_array($base) || !in_array($base['scheme'] ?? '', ['http', 'https'], true) || ($base['host'] ?? '') === '') {
            throw new \InvalidArgumentException('baseUrl is no http or https URL');
        }
        if (array_intersect_key($base, ['user' => 1, 'pass' => 1, 'query' => 1, 'fragment' => 1]) !== []) {
            throw new \InvalidArgumentException('baseUrl holds more than scheme, host and path');
        }
        $this->mode = $apiKey === null ? null : Key::mode($apiKey, 'sk');
        if ($publicKey !== null && ($this->mode === null || Key::mode($publicKey, 'pk') !== $this->mode)) {
            throw new \InvalidArgumentException('publicKey and apiKey are not of one mode');
        }
        if ($mode !== null && $mode !== $this->mode) {
            throw new \InvalidArgumentException("this client is for $mode mode, and its key is " . ($this->mode === null ? 'missing' : "a {$this->mode} key"));
        }
        if ($this->mode === 'live' && $base['scheme'] !== 'https' && !preg_match('/^(localhost|127\.[0-9.]+|\[::1\])$/D', $base['host'])) {
            throw new \InvalidArgumentException('a live key is sent over https only');
        }
        $this->base = rtrim($baseUrl, '/');
    }

    /** Hides the key from var_dump. @return array<string, mixed> */
    public function __debugInfo(): array
    {
        return ['base' => $this->base, 'mode' => $this->mode];
    }

    protected function call(Operation $operation, array $path, array $query, ?array $body, ?RequestOptions $options): array
    {
        if ($operation->key === 'needed' && $this->apiKey === null) {
            throw new \InvalidArgumentException("$operation->method $operation->path needs an apiKey");
        }
        $target = self::target($operation->path, $path, $query);
        $text = $body === null ? '' : Json::encode((object) $body);
        $headers = ['User-Agent: ' . rtrim('causeway-sdk-php/' . self::VERSION . ' php/' . PHP_VERSION . ' ' . $this->userAgent), 'Accept: application/json', 'Expect:'];
        if ($text !== '') {
            $headers[] = 'Content-Type: application/json';
        }
        if ($operation->method === 'POST' && $operation->repeatable) {
            $key = $options?->idempotencyKey ?? bin2hex(random_bytes(16));
            if (!preg_match('/^[\x21-\x7e][\x20-\x7e]{0,254}$/D', $key)) {
                throw new \InvalidArgumentException('an idempotencyKey has 1 to 255 printable characters');
            }
            $headers[] = "Idempotency-Key: $key";
        }
        for ($attempt = 0; ; $attempt++) {
            try {
                return $this->once($operation, $target, $text, $headers, $options?->timeout ?? $this->timeout);
            } catch (ApiException | ConnectionException $error) {
                $refused = $error instanceof ApiException ? $error : null;
                $random = mt_rand() / (mt_getrandmax() + 1);
                $wait = Retry::wait($refused, $operation->repeatable, $attempt, $options?->maxRetries ?? $this->maxRetries, (int) ($this->maxWait * 1000), $random);
                if ($wait === null) {
                    throw $error;
                }
                usleep($wait * 1000);
            }
        }
    }

    /**
     * One attempt. Each is signed afresh: the API takes a signature once.
     *
     * @param list<string> $headers
     * @return array<string, mixed>
     */
    private function once(Operation $operation, string $target, string $body, array $headers, float $timeout): array
    {
        // A trace of an exception shows what a parameter holds, so the credential is in no parameter.
        $sent = $operation->key === 'none' ? $headers : [...$headers, ...$this->credential($operation->method, $target, $body)];
        $raw = '';
        $answered = [];
        $tooLong = false;
        $curl = curl_init($this->base . $target);
        curl_setopt_array($curl, [
            CURLOPT_CUSTOMREQUEST => $operation->method,
            CURLOPT_HTTPHEADER => $sent,
            CURLOPT_FOLLOWLOCATION => false, // the key goes to no other host
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_TIMEOUT_MS => max(1, (int) ($timeout * 1000)),
            CURLOPT_NOSIGNAL => true,
            CURLOPT_HEADERFUNCTION => static function ($_, string $line) use (&$answered): int {
                [$name, $value] = explode(':', $line, 2) + [1 => ''];
                $answered[strtolower(trim($name))] = trim($value);
                return strlen($line);
            },
            CURLOPT_WRITEFUNCTION => function ($_, string $chunk) use (&$raw, &$tooLong): int {
                $tooLong = strlen($raw) + strlen($chunk) > $this->maxAnswer;
                $raw .= $tooLong ? '' : $chunk;
                return $tooLong ? 0 : strlen($chunk);
            },
        ]);
        if ($body !== '') {
            curl_setopt($curl, CURLOPT_POSTFIELDS, $body);
        }
        $done = curl_exec($curl);
        if ($tooLong) {
            throw new CausewayException("the answer has more than $this->maxAnswer bytes");
        }
        if ($done === false) {
            $why = curl_errno($curl) === CURLE_OPERATION_TIMEDOUT ? "no answer within $timeout s" : curl_error($curl);
            throw new ConnectionException("$operation->method $operation->path: $why");
        }
        $status = (int) curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        try {
            $answer = Json::decode($raw, Types::INTEGERS);
        } catch (\JsonException) {
            $answer = null; // something between the client and the API may answer in its own words; the status says enough
        }
        $good = $status >= 200 && $status < 300;
        if ($good && is_array($answer) && !array_is_list($answer)) {
            return $answer;
        }
        $after = $answered['retry-after'] ?? '';
        throw new ApiException(
            $status,
            $good || !is_array($answer) ? null : ($answer['error'] ?? null),
            $answered['x-request-id'] ?? null,
            preg_match('/^[0-9]{1,9}$/D', $after) ? (int) $after : null,
        );
    }

    /** @return list<string> */
    private function credential(string $method, string $target, string $body): array
    {
        if ($this->apiKey === null) {
            return [];
        }
        if ($this->publicKey === null) {
            return ["Authorization: Bearer $this->apiKey"];
        }
        $timestamp = (int) (microtime(true) * 1000);
        $signature = Signature::ofRequest($this->apiKey, $timestamp, $method, $target, $body);
        return ["X-API-Key: $this->publicKey", "X-Timestamp: $timestamp", "X-Signature: $signature"];
    }

    protected function pages(Operation $operation, string $in, string $items, bool $offset, array $path, array $query, ?RequestOptions $options): \Generator
    {
        $byOffset = $offset && isset($query['offset']);
        if ($offset && !$byOffset) {
            $query['cursor'] ??= '';
        }
        while (true) {
            $answer = $this->call($operation, $path, $query, null, $options);
            $page = $in === '' ? $answer : $answer[$in];
            $pagination = $page['pagination'] ?? $page;
            foreach ($page[$items] as $item) {
                yield $item;
            }
            if ($byOffset) {
                if (count($page[$items]) < $pagination['limit']) {
                    return;
                }
                $query['offset'] += count($page[$items]);
                continue;
            }
            $next = $pagination['nextCursor'] ?? null;
            if (!($pagination['hasMore'] ?? false) || $next === null) {
                return;
            }
            if ($next === ($query['cursor'] ?? null)) {
                throw new CausewayException("$operation->path repeats the cursor $next");
            }
            $query['cursor'] = $next;
        }
    }

    /**
     * The path with its names and its query filled in.
     *
     * @param array<string, string> $path
     * @param array<string, mixed> $query
     */
    private static function target(string $pattern, array $path, array $query): string
    {
        foreach ($path as $name => $value) {
            if (in_array($value, ['', '.', '..'], true)) {
                throw new \InvalidArgumentException("$name is missing");
            }
            $pattern = str_replace('{' . $name . '}', rawurlencode($value), $pattern);
        }
        $given = array_map(self::text(...), array_filter($query, static fn (mixed $value): bool => $value !== null));
        return $given === [] ? $pattern : $pattern . '?' . http_build_query($given, '', '&', PHP_QUERY_RFC3986);
    }

    /** A value of a query; several are separated by commas. */
    private static function text(mixed $value): string
    {
        return match (true) {
            is_array($value) => implode(',', array_map(self::text(...), $value)),
            $value instanceof \DateTimeInterface => Json::instant($value),
            is_bool($value) => $value ? 'true' : 'false',
            is_string($value), is_int($value), $value instanceof Decimal => (string) $value,
            default => throw new \InvalidArgumentException('a query cannot hold a ' . get_debug_type($value)),
        };
    }
}
