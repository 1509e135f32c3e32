<?php

declare(strict_types=1);

namespace Causeway;

/** When a request is sent again. @internal */
final class Retry
{
    /** The first wait, which doubles with each repetition up to the longest one of its own accord, in milliseconds. */
    private const FIRST = 500;
    private const LONGEST = 8_000;

    /**
     * How many milliseconds to wait before the request is sent again, or null if it must not be. No status: no answer came.
     *
     * A repeatable request (a GET, or a POST with an Idempotency-Key) is sent again when no answer came, and when the answer
     * says that later may be better. Any other request is sent again only where the limits refused it, before it had any
     * effect. The wait is never shorter than Retry-After, and random, so that many clients do not return at once.
     */
    public static function wait(?ApiException $failure, bool $repeatable, int $attempt, int $maxRetries, int $maxWait, float $random): ?int
    {
        if ($attempt >= $maxRetries || !self::may($failure, $repeatable)) {
            return null;
        }
        $half = intdiv(min(self::LONGEST, self::FIRST * 2 ** $attempt), 2);
        $least = $failure?->retryAfter === null ? $half : $failure->retryAfter * 1000;
        $wait = $least + (int) ($random * $half);
        return $wait > $maxWait ? null : $wait;
    }

    private static function may(?ApiException $failure, bool $repeatable): bool
    {
        if ($failure?->status === 429) {
            return true;
        }
        return $repeatable && (in_array($failure?->status, [null, 502, 503, 504], true)
            || $failure->status === 409 && $failure->errorCode === 'idempotency_in_progress');
    }
}
