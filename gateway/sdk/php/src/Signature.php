<?php

declare(strict_types=1);

namespace Causeway;

final class Signature
{
    /** The X-Signature of a request (docs/api-contract.md#signed-requests). The path has its query. */
    public static function ofRequest(#[\SensitiveParameter] string $secret, int $timestamp, string $method, string $path, string $body): string
    {
        return hash_hmac('sha256', "$timestamp|$method|$path|" . hash('sha256', $body), hash('sha256', $secret));
    }
}
