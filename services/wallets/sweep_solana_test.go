//go:build integration

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/fixture"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/sweeper"
	"causeway.internal/services/wallets/internal/wallet"
)

// solCustody is custody of solana: the real VM with the real token programs (deploy/realchain), a real signer and a
// real wallets process.
type solCustody struct {
	*custody
	treasury, nonceAt, station soltx.Account
}

const (
	rentOfToken = 2_039_280
	solFunds    = 1_000_000_000
)

func newSolCustody(t *testing.T, change func(policy string, environ map[string]string) string) *solCustody {
	t.Helper()
	c := &solCustody{custody: custodyOf(t, "solana"), treasury: soltx.Account{77, 1}, nonceAt: soltx.Account{77, 2}}
	maps.Copy(c.environ, map[string]string{
		"SOLANA_GENESIS": c.Genesis, "SOLANA_START": fmt.Sprint(c.Block + 1), "SOLANA_POLL": poll, "SOLANA_ROLLBACK_GRACE": "200ms",
		"SOLANA_TOKENS":         "USDT:" + c.Tokens["USDT"] + ",USDC:" + c.Tokens["USDC"],
		"SOLANA_SWEEP_TREASURY": c.treasury.String(), "SOLANA_SWEEP_LEAST": "USDC:20,SOL:0.5", "SOLANA_SWEEP_STUCK": "1h", "SOLANA_SWEEP_SETTLE": "0s",
	})
	c.source = derivation.Pooled{}
	policy := solPolicy(c)
	if change != nil {
		policy = change(policy, c.environ)
	}
	c.listen(t)
	c.seal(t, policy)
	c.openDoors(t, "SOLANA_RPC_URLS", func(body []byte) (string, string) {
		if !bytes.Contains(body, []byte("sendTransaction")) {
			return "", ""
		}
		return "send", string(intent.Sweep)
	})
	c.Do("/finality", map[string]int{"depth": 3})
	c.startSigner(t)
	c.outfit(t)
	c.importAddresses(t)
	c.startWallets(t)
	return c
}

// solRounds is the sweeper of solana in this process, over the scanner, the database, a real signer and the real VM.
type solRounds struct {
	*solCustody
	live *fixture.Chain
}

// newSolRounds starts scanner and signer, and sweeps with so many sweepers at once, none for a test that runs its own.
func newSolRounds(t *testing.T, sweepers int, change func(policy string, cfg *sweeper.Config) string) *solRounds {
	t.Helper()
	s := fixture.SubjectOf(t, "solana")
	n := s.Start(t)
	live := fixture.NewChain(t, s, n)
	// The addresses are those of the published seed, which the signer holds here: number 0 has index 0.
	if _, err := live.Pool.Exec(t.Context(), `UPDATE addresses SET idx = idx - 1`); err != nil {
		t.Fatal(err)
	}
	c := &solRounds{live: live, solCustody: &solCustody{
		custody:  &custody{Node: n, dir: t.TempDir(), bin: binaries(t), pool: live.Pool, book: live.Book, doors: &doors{}, environ: map[string]string{}},
		treasury: soltx.Account{77, 1}, nonceAt: soltx.Account{77, 2},
	}}
	network, _ := money.NetworkOf("solana")
	terms, err := sweeper.SolanaSettings{MaxFee: 100_000, Stuck: time.Hour, Least: "USDC:20"}.Terms(network)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sweeper.Config{
		Network: "solana", Chain: live.Driver.(sweeper.Solana), Coin: "SOL", Treasury: c.treasury.String(), Nonces: []string{c.nonceAt.String()},
		Terms: terms, Stuck: time.Hour, Resend: time.Second,
	}
	policy := solPolicy(c.solCustody)
	if change != nil {
		policy = change(policy, &cfg)
	}
	c.seal(t, policy)
	t.Cleanup(func() { c.signer.kill(t) })
	c.startSigner(t)
	c.outfit(t)
	cfg.Station = c.station.String()
	c.Do("/finality", map[string]int{"depth": 3})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	for range sweepers {
		one := sweeper.New(cfg, c.book.Sweeps(), c.client, live.Log, func() string { return id.New("out_", time.Now()) })
		all.Go(func() {
			for ctx.Err() == nil {
				if err := one.Round(ctx); err != nil && ctx.Err() == nil {
					live.Log.Warn("round", "err", err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
	return c
}

// swept waits until an address is swept, once.
func (c *solRounds) swept(t *testing.T, at string) {
	t.Helper()
	c.await(t, "swept "+at, func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE address = $1 AND state = 'swept'`, at) == 1
	})
	if n := c.count(t, `SELECT count(*) FROM outgoing_parts p JOIN sweeps s ON s.id = p.sweep WHERE s.address = $1 AND p.state = 'final'`, at); n != 1 {
		t.Errorf("%d transactions of %s are final, want one", n, at)
	}
}

// solPolicy is the signer's policy of the chain.
func solPolicy(c *solCustody) string {
	return fmt.Sprintf(`{"mode":"live","account":0,"gasAccount":1,"indexBelow":1000,"networks":{"solana":{"treasury":"%s","countPerHour":1000,
"solana":{"maxFee":"100000","nonces":["%s"]},"assets":{"SOL":{"perHour":"100000000000"},"USDC":{"contract":"%s","perHour":"1000000000000"}}}}}`,
		c.treasury, c.nonceAt, c.Tokens["USDC"])
}

// outfit gives the station coins and a nonce account, and the treasury a token account.
func (c *solCustody) outfit(t *testing.T) {
	t.Helper()
	stations, err := c.client.Stations(t.Context())
	if err == nil {
		c.station, err = soltx.ParseAccount(stations.Solana)
	}
	if err != nil {
		t.Fatalf("the station of the signer: %v", err)
	}
	c.set(t, c.station, map[string]any{"lamports": solFunds})
	c.setNonce(t, soltx.Account{77, 3})
	c.call(t, "surfnet_setTokenAccount", c.treasury.String(), c.Tokens["USDC"], map[string]any{"amount": 0})
}

// set writes an account of the chain.
func (c *solCustody) set(t *testing.T, at soltx.Account, account map[string]any) {
	t.Helper()
	c.call(t, "surfnet_setAccount", at.String(), account)
}

// setNonce writes the station's nonce account, as the operator of the ceremony makes it.
func (c *solCustody) setNonce(t *testing.T, value soltx.Account) {
	t.Helper()
	data := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 1), 1)
	data = append(append(data, c.station[:]...), value[:]...)
	data = binary.LittleEndian.AppendUint64(data, soltx.FeePerSignature)
	c.set(t, c.nonceAt, map[string]any{"lamports": 1_447_680, "data": hex.EncodeToString(data), "owner": soltx.Account{}.String()})
}

// importAddresses gives wallets addresses of the signer, as an operator does.
func (c *solCustody) importAddresses(t *testing.T) {
	t.Helper()
	batch := filepath.Join(c.dir, "batch.json")
	keys := exec.Command(filepath.Join(c.bin, "signer"), "xpubs")
	keys.Env = c.vault
	made := exec.Command(filepath.Join(c.bin, "signer"), "addresses", "--from", "0", "--count", "200", "--out", batch)
	made.Env = c.vault
	out, err := keys.CombinedOutput()
	if err == nil {
		_, err = made.CombinedOutput()
	}
	if err != nil {
		t.Fatalf("make addresses: %v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if key, ok := strings.CutPrefix(strings.TrimSpace(line), "ADDRESS_BATCH_KEY="); ok {
			c.environ["ADDRESS_BATCH_KEY"] = key
		}
	}
	text, err := os.ReadFile(batch)
	if err != nil {
		t.Fatal(err)
	}
	var answer bytes.Buffer
	err = program.Run(t.Context(), command.Input{Args: []string{"import-addresses"}, Environ: c.environ, In: bytes.NewReader(text), Out: &answer})
	if err != nil {
		t.Fatalf("import addresses: %v: %s", err, answer.String())
	}
}

// flow mines until the test ends.
func (c *solCustody) flow() { c.MineEvery(150 * time.Millisecond) }

// pay sends a deposit.
func (c *solCustody) pay(at, token, amount string) {
	c.Transfer(map[string]any{"to": at, "amount": amount, "token": token})
}

// lamports are the coins of an account of the chain; 0 for one that does not exist.
func (c *solCustody) lamports(t *testing.T, at soltx.Account) uint64 {
	t.Helper()
	n, _ := c.account(t, at)
	return n
}

func (c *solCustody) account(t *testing.T, at soltx.Account) (lamports uint64, data []byte) {
	t.Helper()
	var out struct {
		Value []*struct {
			Lamports uint64
			Data     [2]string
		}
	}
	result := c.call(t, "getMultipleAccounts", []string{at.String()}, map[string]any{"encoding": "base64", "commitment": "confirmed"})
	if err := json.Unmarshal(result, &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Value) != 1 || out.Value[0] == nil {
		return 0, nil
	}
	data, err := base64.StdEncoding.DecodeString(out.Value[0].Data[0])
	if err != nil {
		t.Fatal(err)
	}
	return out.Value[0].Lamports, data
}

// purse is an owner's token account of USDC.
func (c *solCustody) purse(t *testing.T, owner string) soltx.Account {
	t.Helper()
	o, err := soltx.ParseAccount(owner)
	if err != nil {
		t.Fatal(err)
	}
	mint, err := soltx.ParseAccount(c.Tokens["USDC"])
	if err != nil {
		t.Fatal(err)
	}
	a, err := soltx.TokenAccount(o, mint)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// tokens are an owner's USDC.
func (c *solCustody) tokens(t *testing.T, owner string) uint64 {
	t.Helper()
	_, data := c.account(t, c.purse(t, owner))
	if len(data) < 72 {
		return 0
	}
	return binary.LittleEndian.Uint64(data[64:])
}

// total is the balance of an account of the ledger.
func (c *solCustody) total(t *testing.T, account, asset string) int64 {
	t.Helper()
	return c.count(t, `SELECT coalesce(sum(debit - credit), 0)::bigint FROM custody_entries WHERE account = $1 AND asset = $2`, account, asset)
}

// agree compares the books with the chain: what the treasury received, and what the station has.
func (c *solCustody) agree(t *testing.T) {
	t.Helper()
	if got, want := c.total(t, "treasury", "USDC"), c.tokens(t, c.treasury.String()); got < 0 || uint64(got) != want {
		t.Errorf("the books have %d USDC at the treasury, the chain %d", got, want)
	}
	if got, want := c.total(t, "treasury", "SOL"), c.lamports(t, c.treasury); got < 0 || uint64(got) != want {
		t.Errorf("the books have %d lamports at the treasury, the chain %d", got, want)
	}
	if got, want := solFunds+c.total(t, "gas_station", "SOL"), c.lamports(t, c.station); got < 0 || uint64(got) != want {
		t.Errorf("the books have %d lamports at the station, the chain %d", got, want)
	}
	if n := c.count(t, `SELECT count(*) FROM (SELECT asset FROM custody_entries GROUP BY asset HAVING sum(debit) <> sum(credit)) AS a`); n != 0 {
		t.Errorf("%d assets do not add up to zero", n)
	}
}

// ended waits until a wallet is swept, once, with one event.
func (c *solCustody) ended(t *testing.T, w wallet.Wallet) {
	t.Helper()
	c.await(t, "swept "+w.Address, func() bool { return c.eventsOf(w) == "watching deposit_detected confirmed swept" })
	if n := c.count(t, swept, w.ID); n != 1 {
		t.Errorf("swept %d times, want once", n)
	}
	if n := c.count(t, `SELECT count(*) FROM outgoing_parts p JOIN sweeps s ON s.id = p.sweep WHERE s.wallet_id = $1 AND p.state = 'final'`, w.ID); n != 1 {
		t.Errorf("%d transactions of the wallet are final, want one", n)
	}
}

// Many deposits leave in few transactions: tokens with their accounts' rent, SOL to the last lamport. An account that
// its issuer has frozen holds nobody else. Payments gets one message about the parts of its addresses.
func TestSweep_solana(t *testing.T) {
	t.Parallel()
	c := newSolCustody(t, nil)
	var wallets []wallet.Wallet
	for i := range 3 {
		w := c.wallet(t, "USDC")
		wallets = append(wallets, w)
		c.pay(w.Address, "USDC", fmt.Sprint(25_000_000+i))
	}
	frozen, coin, of := c.wallet(t, "USDC"), c.wallet(t, "SOL"), c.handed(t)
	c.pay(frozen.Address, "USDC", "30000000")
	c.pay(of, "USDC", "40000000")
	c.pay(coin.Address, "", "600000000")
	c.call(t, "surfnet_setTokenAccount", frozen.Address, c.Tokens["USDC"], map[string]any{"amount": 30_000_000, "state": "frozen"})
	before := c.lamports(t, c.station)
	c.flow()
	for _, w := range append(wallets, coin) {
		c.ended(t, w)
	}
	c.await(t, "the frozen one is blocked", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE wallet_id = $1 AND state = 'blocked' AND reason LIKE '%17%'`, frozen.ID) == 1
	})
	c.await(t, "the address of payments is swept", func() bool {
		return c.count(t, `SELECT count(*) FROM sweeps WHERE address = $1 AND state = 'swept'`, of) == 1
	})
	for _, at := range []string{wallets[0].Address, wallets[1].Address, wallets[2].Address, of} {
		if n := c.lamports(t, c.purse(t, at)); n != 0 {
			t.Errorf("the token account of %s still holds %d lamports of rent", at, n)
		}
	}
	if n := c.lamports(t, mustAccount(t, coin.Address)); n != 0 {
		t.Errorf("%d lamports stay at the address of SOL", n)
	}
	if got := c.total(t, "rent", "SOL"); got != -4*rentOfToken {
		t.Errorf("the books have %d lamports of rent, want that of 4 accounts", -got)
	}
	if c.lamports(t, c.station) <= before {
		t.Error("the rent did not come back to the station")
	}
	if n := c.count(t, `SELECT count(*) FROM outgoing_tx WHERE state = 'final'`); n > 4 {
		t.Errorf("%d transactions for five sweeps", n)
	}
	c.agree(t)
	c.await(t, "payments gets the message", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, ids := range c.final {
			for _, o := range ids {
				return len(c.final) == 1 && len(ids) == 1 && o.Asset == "USDC" && o.Amount == "40000000" && o.Returned == fmt.Sprint(rentOfToken)
			}
		}
		return false
	})
}

func mustAccount(t *testing.T, text string) soltx.Account {
	t.Helper()
	a, err := soltx.ParseAccount(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// outgoing counts the transactions in a state.
func (c *solCustody) outgoing(t *testing.T, state string) int64 {
	t.Helper()
	return c.count(t, `SELECT count(*) FROM outgoing_tx WHERE state = $1`, state)
}
