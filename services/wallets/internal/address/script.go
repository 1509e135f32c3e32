package address

import "bytes"

// OfScript writes the address of a bitcoin output script; ok is false for a script that has none, as a bare multisig.
func OfScript(net Net, script []byte) (text string, ok bool) {
	pkh, sh := byte(p2pkhVersion), byte(p2shVersion)
	if net != Mainnet {
		pkh, sh = p2pkhTestnet, p2shTestnet
	}
	n := len(script)
	switch {
	case n == 25 && bytes.HasPrefix(script, []byte{0x76, 0xa9, 20}) && bytes.HasSuffix(script, []byte{0x88, 0xac}):
		return encodeBase58Check(pkh, script[3:23]), true
	case n == 23 && bytes.HasPrefix(script, []byte{0xa9, 20}) && script[22] == 0x87:
		return encodeBase58Check(sh, script[2:22]), true
	case n < 4 || n > 42 || int(script[1]) != n-2:
		return "", false
	case script[0] == 0 && (n == 22 || n == 34):
		text, err := encodeSegwit(net.hrp(), 0, script[2:])
		return text, err == nil
	case script[0] > 0x50 && script[0] <= 0x60:
		text, err := encodeSegwit(net.hrp(), script[0]-0x50, script[2:])
		return text, err == nil
	}
	return "", false
}
