<?php

declare(strict_types=1);

namespace Causeway;

/** No answer came: the connection failed or took too long. Whether the request had an effect is not known. */
final class ConnectionException extends CausewayException
{
}
