module causeway.internal/gateway/sdk/go

go 1.26.0
