package wallet

// tokens are the contracts of the tokens of docs/api-contract.md#networks (a test checks their checksums). A bridged
// twin of a token is another asset and stands in no list.
var tokens = map[string]map[string]string{
	"ethereum": {"USDT": "0xdAC17F958D2ee523a2206206994597C13D831ec7", "USDC": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"},
	"bsc":      {"USDT": "0x55d398326f99059fF775485246999027B3197955", "USDC": "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d"},
	"polygon":  {"USDT": "0xc2132D05D31c914a87C6611C10748AEb04B58e8F", "USDC": "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"},
	"base":     {"USDC": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"},
	"arbitrum": {"USDT": "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9", "USDC": "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"},
	"tron":     {"USDT": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"},
	"solana":   {"USDT": "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", "USDC": "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"},
}

// Tokens returns the token contracts of a network by symbol.
func Tokens(network string) map[string]string {
	out := make(map[string]string, len(tokens[network]))
	for symbol, contract := range tokens[network] {
		out[symbol] = contract
	}
	return out
}
