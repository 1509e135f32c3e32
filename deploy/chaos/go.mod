module causeway.internal/deploy/chaos

go 1.26.0
