package soltx

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func keyOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("causeway soltx " + name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func placeOf(name string) Account { return Account(keyOf(name).Public().(ed25519.PublicKey)) }

func owner(i int) string { return fmt.Sprint("owner ", i) }

var usdc = mustAccount("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")

// batch is a sweep of so many addresses, of which the even ones close their token accounts.
func batch(t testing.TB, native bool, moves int) Transaction {
	t.Helper()
	tx := Transaction{
		Station: placeOf("station"), NonceAt: placeOf("nonce"), Nonce: sha256.Sum256([]byte("causeway soltx value")),
		UnitLimit: 70_000, UnitPrice: 12_345, To: placeOf("treasury"),
	}
	if !native {
		var err error
		if tx.To, err = TokenAccount(tx.To, usdc); err != nil {
			t.Fatal(err)
		}
		tx.Mint, tx.Decimals = usdc, 6
	}
	for i := range moves {
		tx.Moves = append(tx.Moves, Move{Owner: placeOf(owner(i)), Amount: 25_000_001 + uint64(i), Close: !native && i%2 == 0})
	}
	return tx
}

func signed(t testing.TB, tx Transaction) []byte {
	t.Helper()
	message, err := tx.Message()
	if err != nil {
		t.Fatal(err)
	}
	signatures := [][]byte{ed25519.Sign(keyOf("station"), message)}
	for i := range tx.Moves {
		signatures = append(signatures, ed25519.Sign(keyOf(owner(i)), message))
	}
	raw, err := tx.Signed(signatures)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// vectors are the bytes of @solana/web3.js 1.98 for the same keys and terms.
var vectors = []struct {
	native bool
	moves  int
	raw    string
}{
	{true, 1, "" +
		"0278d0709ece54d105eb6757b0563208f6e9e9353f9877517bd3e4df465aef03a55eb195f1f3db1976c1f9d436bee091" +
		"207c708d3644c991e32ef0f2aabdf6160828d35436e38b47d1d5774a78da102b2a18e8d7f49685f5b1d831533185e8a8" +
		"621574cc3dc408c9bf222fac1b30adea7577d6567208bd7d1a50459b2ef591870402000307b70e44e3d4017f8b3dfb50" +
		"641d86bb0d53df0ccb3a3a95b282e26bb05c98192b6ed56718a909fcb245f9d6c7070eb930f01c6ae5c66bac7a4d08ce" +
		"11608d29f2e96d376f1507097c2b00ce0da1aabe8d21de7258ec6bdf97c8ff7b277e51764956f68a4245a263d3e0e326" +
		"8a04435759b6fa84d6f558b79ea57d625322a5e073000000000000000000000000000000000000000000000000000000" +
		"000000000006a7d517192c568ee08a845f73d29788cf035c3145b21ab344d8062ea94000000306466fe5211732ffecad" +
		"ba72c39be7bc8ce5bbc5f7126b2c439b3a40000000d4d3ba7e25da60c3b05e0c381f77748cf98a628e4996b6d3f86115" +
		"90b410fc4a04040302050004040000000600050270110100060009033930000000000000040201030c0200000041787d" +
		"0100000000"},
	{false, 2, "" +
		"03983a4649b3954bc414279cfd805ddaa9a7ef958cc4bdb467a2b669f0f16555b09840a262cef9a807e74bc219b5c39c" +
		"68abf3b2c57171542376815fa54658c4000ba02eea166e1fac4cdc97260a0ee6212cbdf914242d775eec1f08f922edf6" +
		"8585593f123cae66474fa3cd6499c2c787562e11eb11440a73b3e9672a36cd97023b521abc879cee17f134442fe71c3b" +
		"3d3e4196648ae63927b6fb8b8a6357775da3e75ad09c6882676473c315538aeb19b83f440eea3ebcaf096c782a7f6585" +
		"0f0302050cb70e44e3d4017f8b3dfb50641d86bb0d53df0ccb3a3a95b282e26bb05c98192b6ed56718a909fcb245f9d6" +
		"c7070eb930f01c6ae5c66bac7a4d08ce11608d29f20ef45764e46e023b5680ce4bac0d9ace96b791a2b00bd63b07dc1f" +
		"b3aaff178de96d376f1507097c2b00ce0da1aabe8d21de7258ec6bdf97c8ff7b277e517649d920722b2249716daad38e" +
		"b31ea7d155f5de1f929f58d375ae7761ea72adb16e13fca08a50943cb9a08ecd7c7d772c1d09a0653f0bc107cd834c9f" +
		"8c23b4fa4284978db1cd643410ec06bc057a56dc9bcebff4a4e8ae78fa4168c5f9d3205d160000000000000000000000" +
		"00000000000000000000000000000000000000000006a7d517192c568ee08a845f73d29788cf035c3145b21ab344d806" +
		"2ea94000000306466fe5211732ffecadba72c39be7bc8ce5bbc5f7126b2c439b3a4000000006ddf6e1d765a193d9cbe1" +
		"46ceeb79ac1cb485ed5f5b37913a8cf5857eff00a9c6fa7af3bedbad3a3d65f36aabc97431b1bbe4c2d2f6e0e47ca602" +
		"03452f5d61d4d3ba7e25da60c3b05e0c381f77748cf98a628e4996b6d3f8611590b410fc4a0607030308000404000000" +
		"09000502701101000900090339300000000000000a04040b05010a0c41787d0100000000060a0304000101090a04060b" +
		"05020a0c42787d010000000006"},
}

func TestParse_vectors(t *testing.T) {
	for _, v := range vectors {
		tx := batch(t, v.native, v.moves)
		raw, err := hex.DecodeString(v.raw)
		if err != nil {
			t.Fatal(err)
		}
		if own := signed(t, tx); !bytes.Equal(own, raw) {
			t.Errorf("%d moves are %x, web3.js writes %x", v.moves, own, raw)
		}
		if got, err := Parse(raw); err != nil || !got.Equal(tx) {
			t.Errorf("Parse gives %+v, %v, want %+v", got, err, tx)
		}
	}
}

func TestTokenAccount_vectors(t *testing.T) {
	for i, want := range []string{
		"FcaAcjcy9kw63CHtTgKFtdesZ1zBXpPpSVTPqBj8ZeTf", "9varM2zpcBDaoCZeTA2sVizCXw3GND6Mdor6mFBiFgAH",
		"67YRfR1BDgoqkPEwbQJuX3ASekPNsBY9Lw1x5rGVxV8a", "CJJ3DQqjXvqhojpRJMa71UKKLoroZrnfGz7GxcksrQQn",
	} {
		if got, err := TokenAccount(placeOf(owner(i)), usdc); err != nil || got.String() != want {
			t.Errorf("the token account of owner %d is %s, %v, want %s", i, got, err, want)
		}
	}
	curve := ""
	for i := range 16 {
		if sum := sha256.Sum256([]byte(fmt.Sprint("curve ", i))); Account(sum).onCurve() {
			curve += "1"
		} else {
			curve += "0"
		}
	}
	if want := "0111000011100011"; curve != want {
		t.Errorf("on the curve are %s, web3.js says %s", curve, want)
	}
	for i := range 100 {
		if !placeOf(owner(i)).onCurve() {
			t.Errorf("public key %d is not on the curve", i)
		}
	}
}

// sampled is the step from one changed bit to the next: it reaches one or two bits of every byte, and all eight places.
const sampled = 5

// One changed bit is another transaction, or nothing at all.
func TestParse_changedBit(t *testing.T) {
	raw := signed(t, batch(t, false, 2))
	for i := 0; i < len(raw)*8; i += sampled {
		other := bytes.Clone(raw)
		other[i/8] ^= 1 << (i % 8)
		if got, err := Parse(other); err == nil {
			t.Errorf("bit %d changed: Parse gives %+v, want an error", i, got)
		}
	}
	for n := range raw {
		if _, err := Parse(raw[:n]); err == nil {
			t.Errorf("Parse reads %d bytes of %d", n, len(raw))
		}
	}
	if _, err := Parse(append(bytes.Clone(raw), 0)); err == nil {
		t.Error("Parse reads trailing bytes")
	}
}

// The largest batches fill a transaction, and their size is as computed.
func TestSize(t *testing.T) {
	for _, native := range []bool{true, false} {
		for moves := 1; moves <= Most(native); moves++ {
			tx := batch(t, native, moves)
			for i := range tx.Moves {
				tx.Moves[i].Close = !native
			}
			if got, want := len(signed(t, tx)), Size(native, moves); got != want || got > RawMost {
				t.Errorf("%d moves (native: %v) take %d bytes, Size says %d", moves, native, got, want)
			}
		}
		if _, err := batch(t, native, Most(native)+1).Message(); err == nil {
			t.Errorf("%d moves (native: %v) were accepted", Most(native)+1, native)
		}
	}
}

func TestMessage_refuses(t *testing.T) {
	for name, change := range map[string]func(tx *Transaction){
		"no move":                          func(tx *Transaction) { tx.Moves = nil },
		"an amount of zero":                func(tx *Transaction) { tx.Moves[0].Amount = 0 },
		"one owner twice":                  func(tx *Transaction) { tx.Moves[1].Owner = tx.Moves[0].Owner },
		"the station as owner":             func(tx *Transaction) { tx.Moves[1].Owner = tx.Station },
		"an owner as destination":          func(tx *Transaction) { tx.To = tx.Moves[0].Owner },
		"the station as destination":       func(tx *Transaction) { tx.To = tx.Station },
		"a program as destination":         func(tx *Transaction) { tx.To = tokenProgram },
		"the nonce as destination":         func(tx *Transaction) { tx.To = tx.NonceAt },
		"a token account that pays itself": func(tx *Transaction) { tx.To, _ = TokenAccount(tx.Moves[0].Owner, tx.Mint) },
		"no nonce":                         func(tx *Transaction) { tx.Nonce = Account{} },
		"no limit":                         func(tx *Transaction) { tx.UnitLimit = 0 },
		"SOL with decimals":                func(tx *Transaction) { tx.Mint = Account{} },
	} {
		tx := batch(t, false, 2)
		change(&tx)
		if _, err := tx.Message(); err == nil {
			t.Errorf("%s: the terms were accepted", name)
		}
	}
}

func TestFee(t *testing.T) {
	// Three signatures of 5000 lamports, and 70 000 units at 0.012345 lamports, rounded up.
	if got := batch(t, false, 2).Fee().String(); got != "15865" {
		t.Errorf("the fee is %s, want 15865", got)
	}
}

func TestReadAccounts(t *testing.T) {
	nonce := make([]byte, nonceLength)
	nonce[0], nonce[nonceReady] = 1, 1
	station, value := placeOf("station"), placeOf("nonce")
	copy(nonce[nonceOwner:], station[:])
	copy(nonce[nonceValue:], value[:])
	if got, err := ReadNonce(systemProgram.String(), nonce, station); err != nil || got != value {
		t.Errorf("ReadNonce gives %s, %v, want %s", got, err, value)
	}
	if _, err := ReadNonce(systemProgram.String(), nonce, value); err == nil {
		t.Error("ReadNonce accepts the nonce account of another owner")
	}
	if _, err := ReadNonce(tokenProgram.String(), nonce, station); err == nil {
		t.Error("ReadNonce accepts an account of another program")
	}
	token := make([]byte, tokenLength)
	copy(token, usdc[:])
	copy(token[tokenOwner:], station[:])
	token[tokenAmount], token[tokenStateAt] = 7, tokenFrozen
	if n, err := ReadToken(tokenProgram.String(), token, station, usdc); err != nil || n != 7 {
		t.Errorf("ReadToken gives %d, %v, want 7", n, err)
	}
	if _, err := ReadToken(tokenProgram.String(), token, value, usdc); err == nil {
		t.Error("ReadToken accepts the account of another owner")
	}
}

// Any sweep is read back as it was written.
func TestParse_roundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		native := rapid.Bool().Draw(r, "native")
		tx := batch(t, native, rapid.IntRange(1, Most(native)).Draw(r, "moves"))
		tx.UnitLimit, tx.UnitPrice = rapid.Uint32Range(1, 1_400_000).Draw(r, "limit"), rapid.Uint64().Draw(r, "price")
		for i := range tx.Moves {
			tx.Moves[i].Amount = rapid.Uint64Min(1).Draw(r, "amount")
			tx.Moves[i].Close = !native && rapid.Bool().Draw(r, "close")
		}
		got, err := Parse(signed(t, tx))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(tx) {
			r.Fatalf("Parse gives %+v, %v, want %+v", got, err, tx)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, v := range vectors {
		raw, err := hex.DecodeString(v.raw)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tx, err := Parse(raw)
		if err != nil {
			return
		}
		if again, err := Parse(raw); err != nil || !again.Equal(tx) {
			t.Errorf("Parse gives %+v, then %+v, %v", tx, again, err)
		}
	})
}
