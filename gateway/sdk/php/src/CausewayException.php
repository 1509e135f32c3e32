<?php

declare(strict_types=1);

namespace Causeway;

/** Every error of this package, except InvalidArgumentException for wrong arguments. */
class CausewayException extends \RuntimeException
{
}
