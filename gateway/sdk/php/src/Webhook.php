<?php

declare(strict_types=1);

namespace Causeway;

/** @phpstan-import-type WebhookEvent from Types */
final class Webhook
{
    /**
     * Verifies a webhook (Standard Webhooks 1.0) and returns its event. Throws a WebhookException for one that is not genuine.
     *
     * @param string $body the raw body, byte for byte as it came: file_get_contents('php://input')
     * @param array<string, string|list<string>> $headers the headers of the request: getallheaders(), or those of PSR-7
     * @param string|list<string> $secrets the `whsec_…` of the endpoint or of the merchant; several while one is being replaced
     * @param int $tolerance how many seconds the time of the webhook may be off
     * @param int|null $now the present time in seconds, for tests
     * @return WebhookEvent
     */
    public static function verify(string $body, array $headers, #[\SensitiveParameter] string|array $secrets, int $tolerance = 300, ?int $now = null): array
    {
        $keys = []; // a call of array_map would show all secrets in a trace
        foreach ((array) $secrets as $secret) {
            $keys[] = self::key($secret);
        }
        if ($keys === []) {
            throw new \InvalidArgumentException('verify needs at least one secret');
        }
        $named = array_change_key_case($headers);
        [$id, $timestamp, $signatures] = array_map(
            static fn (string $name): string => is_array($named[$name] ?? null) ? ($named[$name][0] ?? '') : ($named[$name] ?? ''),
            ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
        );
        if ($id === '' || !preg_match('/^[0-9]{1,12}$/D', $timestamp) || $signatures === '') {
            throw new WebhookException('unsigned', 'it lacks webhook-id, webhook-timestamp or webhook-signature');
        }
        $genuine = false;
        foreach ($keys as $key) {
            $want = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
            foreach (explode(' ', $signatures) as $signature) {
                $genuine = hash_equals($want, $signature) || $genuine;
            }
        }
        if (!$genuine) {
            throw new WebhookException('forged', 'no signature fits the body and a secret');
        }
        if (abs(($now ?? time()) - (int) $timestamp) > $tolerance) {
            throw new WebhookException('stale', "its time is more than $tolerance seconds off");
        }
        $event = Json::decode($body, Types::INTEGERS);
        if (!is_array($event)) {
            throw new CausewayException('a webhook is no JSON object');
        }
        return $event;
    }

    private static function key(#[\SensitiveParameter] string $secret): string
    {
        $text = str_starts_with($secret, 'whsec_') ? substr($secret, strlen('whsec_')) : '';
        $key = strlen($text) % 4 === 0 ? base64_decode($text, true) : false;
        if ($key === false || $key === '') {
            throw new \InvalidArgumentException('a webhook secret is whsec_ and base64');
        }
        return $key;
    }
}
