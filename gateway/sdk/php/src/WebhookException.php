<?php

declare(strict_types=1);

namespace Causeway;

/** A webhook is not from Causeway, or is too old. Answer it with status 400 and do nothing. */
final class WebhookException extends CausewayException
{
    /** @param 'unsigned'|'stale'|'forged' $reason */
    public function __construct(public readonly string $reason, string $message)
    {
        parent::__construct($message);
    }
}
