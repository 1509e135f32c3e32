// Package vault holds the seed while the signer runs. It is the only code of the product that touches private keys of
// money. Each key is derived for one use and wiped. No result or log line holds key material, except that of NewSeed,
// which is the key ceremony itself.
package vault

import (
	"bytes"
	"crypto/ed25519"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"

	"filippo.io/age"
	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"github.com/tyler-smith/go-bip39"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/btctx"
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/trontx"
)

// Vault is an opened seed. It is safe for concurrent use.
type Vault struct {
	curve node
	edge  edNode
}

const (
	seedBytes   = 64
	seedRounds  = 2_048 // BIP-39
	entropyBits = 256   // 24 words
	fileMost    = 64 << 10
)

// NewSeed makes 24 fresh words (BIP-39) and seals them for the recipients (age). The words are shown once, to be
// written on paper.
func NewSeed(recipients ...age.Recipient) (words string, sealed []byte, err error) {
	entropy := make([]byte, entropyBits/8)
	_, _ = rand.Read(entropy) // crypto/rand.Read never fails
	defer clear(entropy)
	if words, err = bip39.NewMnemonic(entropy); err != nil {
		return "", nil, fmt.Errorf("making words: %w", err)
	}
	sealed, err = Seal(words, recipients...)
	return words, sealed, err
}

// Seal encrypts the words of an existing seed. It checks their checksum.
func Seal(words string, recipients ...age.Recipient) ([]byte, error) {
	words = strings.Join(strings.Fields(words), " ")
	if !bip39.IsMnemonicValid(words) {
		return nil, errors.New("these are not the words of a BIP-39 seed: one is mistyped, missing or out of order")
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, recipients...)
	if err != nil {
		return nil, fmt.Errorf("sealing the seed: %w", err)
	}
	if _, err := io.WriteString(w, words); err != nil {
		return nil, fmt.Errorf("sealing the seed: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("sealing the seed: %w", err)
	}
	return out.Bytes(), nil
}

// Open decrypts a sealed seed.
func Open(sealed io.Reader, identities ...age.Identity) (*Vault, error) {
	r, err := age.Decrypt(io.LimitReader(sealed, fileMost), identities...)
	if err != nil {
		return nil, fmt.Errorf("opening the seed: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, fileMost))
	defer clear(text)
	if err != nil {
		return nil, fmt.Errorf("opening the seed: %w", err)
	}
	words := strings.TrimSpace(string(text))
	if !bip39.IsMnemonicValid(words) {
		return nil, errors.New("opening the seed: it holds no valid BIP-39 words")
	}
	seed, err := pbkdf2.Key(sha512.New, words, []byte("mnemonic"), seedRounds, seedBytes)
	if err != nil {
		return nil, fmt.Errorf("opening the seed: %w", err)
	}
	defer clear(seed)
	curve, err := master(seed)
	if err != nil {
		return nil, err
	}
	return &Vault{curve: curve, edge: edMaster(seed)}, nil
}

// coins are the hardened purpose and coin type of each family (BIP-44, BIP-84, SLIP-44).
var coins = map[money.Family][2]uint32{
	money.Bitcoin: {84, 0}, money.EVM: {44, 60}, money.Tron: {44, 195},
}

// account is the node m/purpose'/coin'/account'.
func (v *Vault) account(family money.Family, account uint32) (node, error) {
	coin, ok := coins[family]
	if !ok {
		return node{}, fmt.Errorf("%s has no extended keys", family)
	}
	n := v.curve
	for _, step := range []uint32{coin[0], coin[1], account} {
		var err error
		if n, err = n.child(step | hardened); err != nil {
			return node{}, err
		}
	}
	return n, nil
}

// Extended is the account-level extended public key, written as an xpub, for wallets.
func (v *Vault) Extended(family money.Family, account uint32) (string, error) {
	n, err := v.account(family, account)
	if err != nil {
		return "", err
	}
	return n.xpub(), nil
}

// key is the private key of a deposit address, m/44'/60'/account'/0/index on EVM. The caller wipes it.
func (v *Vault) key(family money.Family, account, index uint32) (*secp256k1.PrivateKey, error) {
	n, err := v.account(family, account)
	for _, step := range []uint32{0, index} {
		if err == nil {
			n, err = n.child(step)
		}
	}
	if err != nil {
		return nil, err
	}
	return secp256k1.NewPrivateKey(&n.key), nil
}

// Account is the EVM address of an account and index.
func (v *Vault) Account(account, index uint32) (a evmtx.Account, err error) {
	key, err := v.key(money.EVM, account, index)
	if err != nil {
		return a, err
	}
	defer key.Zero()
	sum := address.Keccak256(key.PubKey().SerializeUncompressed()[1:])
	copy(a[:], sum[12:])
	return a, nil
}

// SignEVM signs a transaction with the key of an account and index. The signature's nonce follows RFC 6979, so the same
// transaction always gives the same bytes.
func (v *Vault) SignEVM(account, index uint32, tx evmtx.Transaction) ([]byte, error) {
	key, err := v.key(money.EVM, account, index)
	if err != nil {
		return nil, err
	}
	defer key.Zero()
	digest := tx.Digest()
	compact := ecdsa.SignCompact(key, digest[:], false)
	return tx.Signed(compact[0]-27, new(big.Int).SetBytes(compact[1:33]), new(big.Int).SetBytes(compact[33:])), nil
}

// Authorize signs an authorization of a token's transfer with the key of an account and index, and returns the call
// data that presents it. Like SignEVM it always gives the same bytes.
func (v *Vault) Authorize(account, index uint32, a evmtx.Authorization) ([]byte, error) {
	key, err := v.key(money.EVM, account, index)
	if err != nil {
		return nil, err
	}
	defer key.Zero()
	digest := a.Digest()
	compact := ecdsa.SignCompact(key, digest[:], false)
	return a.Call(compact[0]-27, new(big.Int).SetBytes(compact[1:33]), new(big.Int).SetBytes(compact[33:])), nil
}

// TronAccount is the tron address of an account and index.
func (v *Vault) TronAccount(account, index uint32) (a trontx.Account, err error) {
	key, err := v.key(money.Tron, account, index)
	if err != nil {
		return a, err
	}
	defer key.Zero()
	return trontx.AccountOf(key.PubKey()), nil
}

// SignTron signs a transaction with the key of an account and index. Like SignEVM it always gives the same bytes.
func (v *Vault) SignTron(account, index uint32, tx trontx.Transaction) ([]byte, error) {
	key, err := v.key(money.Tron, account, index)
	if err != nil {
		return nil, err
	}
	defer key.Zero()
	id := tx.ID()
	compact := ecdsa.SignCompact(key, id[:], false)
	return tx.Signed([65]byte(append(compact[1:], compact[0]))), nil
}

// Witness is the hash of the public key of a bitcoin deposit address, m/84'/0'/account'/0/index.
func (v *Vault) Witness(account, index uint32) (hash [20]byte, err error) {
	key, err := v.key(money.Bitcoin, account, index)
	if err != nil {
		return hash, err
	}
	defer key.Zero()
	return address.Hash160(key.PubKey().SerializeCompressed()), nil
}

// SignBitcoin signs every input of a transaction with the key of its deposit address. Like SignEVM it always gives the
// same bytes.
func (v *Vault) SignBitcoin(account uint32, tx btctx.Transaction, scripts [][]byte, indices []uint32) ([]byte, error) {
	return tx.Signed(scripts, func(input int, digest []byte) (signature, public []byte, err error) {
		key, err := v.key(money.Bitcoin, account, indices[input])
		if err != nil {
			return nil, nil, err
		}
		defer key.Zero()
		return ecdsa.Sign(key, digest).Serialize(), key.PubKey().SerializeCompressed(), nil
	})
}

// Solana is the address at m/44'/501'/index'/0', the path that solana wallets use.
func (v *Vault) Solana(index uint32) (soltx.Account, error) {
	return public(v.solana(index, deposits)), nil
}

// SolanaStation is the address that pays for sweeps of solana, m/44'/501'/account'/1': no deposit address is below 1'.
func (v *Vault) SolanaStation(account uint32) (soltx.Account, error) {
	return public(v.solana(account, station)), nil
}

// The last steps of solana's paths.
const (
	deposits = 0
	station  = 1
)

func (v *Vault) solana(number, branch uint32) ed25519.PrivateKey {
	return v.edge.child(44).child(501).child(number).child(branch).private()
}

// public is the address of a key, which it wipes.
func public(key ed25519.PrivateKey) soltx.Account {
	defer clear(key)
	return soltx.Account(key.Public().(ed25519.PublicKey))
}

// SignSolana signs a transaction with the keys of the station and of the deposit addresses, in the order of its moves.
// The signatures of ed25519 have no random part, so the same transaction always gives the same bytes.
func (v *Vault) SignSolana(account uint32, indices []uint32, tx soltx.Transaction) ([]byte, error) {
	message, err := tx.Message()
	if err != nil {
		return nil, err
	}
	sign := func(key ed25519.PrivateKey) []byte {
		defer clear(key)
		return ed25519.Sign(key, message)
	}
	signatures := [][]byte{sign(v.solana(account, station))}
	for _, index := range indices {
		signatures = append(signatures, sign(v.solana(index, deposits)))
	}
	return tx.Signed(signatures)
}

// SignRefund signs a refund on solana with the key of the station of an account.
func (v *Vault) SignRefund(account uint32, tx soltx.Refund) ([]byte, error) {
	message, err := tx.Message()
	if err != nil {
		return nil, err
	}
	key := v.solana(account, station)
	defer clear(key)
	return tx.Signed(ed25519.Sign(key, message))
}

// batchPurpose is the first step of the key that signs address batches: no network derives from it ("CAUS").
const batchPurpose = 0x43415553

func (v *Vault) batch() ed25519.PrivateKey { return v.edge.child(batchPurpose).child(0).private() }

// BatchKey is the public key that batches are verified with.
func (v *Vault) BatchKey() ed25519.PublicKey {
	key := v.batch()
	defer clear(key)
	return bytes.Clone(key.Public().(ed25519.PublicKey))
}

// SignBatch signs the message of a batch.
func (v *Vault) SignBatch(message []byte) []byte {
	key := v.batch()
	defer clear(key)
	return ed25519.Sign(key, message)
}
