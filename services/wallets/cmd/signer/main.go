// Command signer holds the keys of money. `signer serve` signs the transactions of wallets that its policy allows, over
// a unix socket; it has no database, opens no connection and listens on nothing else. The verbs new-seed, seal-seed,
// new-log, xpubs, addresses and verify-log belong to the key ceremony (docs/custody.md), and health asks the running
// signer. This package only wires.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"filippo.io/age"
	"golang.org/x/sys/unix"

	"causeway.internal/libs/config"
	"causeway.internal/libs/money"
	"causeway.internal/libs/version"
	"causeway.internal/services/wallets/cmd/signer/internal/door"
	"causeway.internal/services/wallets/cmd/signer/internal/journal"
	"causeway.internal/services/wallets/cmd/signer/internal/policy"
	"causeway.internal/services/wallets/cmd/signer/internal/vault"
	"causeway.internal/services/wallets/internal/intent"
)

// settings are the environment of the signer. Its policy file names the transactions that it may sign.
type settings struct {
	Seed       string        `env:"SIGNER_SEED" doc:"path of the sealed seed, an age file"`
	Identity   config.Secret `env:"SIGNER_IDENTITY" doc:"age identity that opens the seed (AGE-SECRET-KEY-1…); or give SIGNER_PASSPHRASE"`
	Passphrase config.Secret `env:"SIGNER_PASSPHRASE" doc:"passphrase that opens the seed, when it was sealed with one"`
	Policy     string        `env:"SIGNER_POLICY" doc:"path of the policy: networks, treasuries, tokens, limits (docs/custody.md)"`
	Socket     string        `env:"SIGNER_SOCKET" doc:"path of the unix socket to open; only the policy's peers may use it"`
	Log        string        `env:"SIGNER_LOG" doc:"path of the log, in which every line contains the hash of the line before; it must outlive the process; signer new-log makes it, once"`
	KillSwitch string        `env:"SIGNER_KILL_SWITCH" doc:"path of a file; the signer refuses everything while it exists"`
	LockMemory bool          `env:"SIGNER_LOCK_MEMORY" envDefault:"false" doc:"keep the process out of swap (mlockall); needs an unlimited memlock limit"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], config.Environ(), os.Stdin, os.Stdout)
	stop()
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case err != nil:
		slog.Error("signer stopped", "err", err)
		os.Exit(1)
	}
}

var errUsage = errors.New(`usage: signer [serve | new-log | xpubs | verify-log | health | version]
       signer new-seed --out FILE [--recipient age1…]…
       signer seal-seed --out FILE [--recipient age1…]…
       signer addresses --from INDEX --count N --out FILE`)

func run(ctx context.Context, args []string, environ map[string]string, in io.Reader, out io.Writer) error {
	cfg, err := config.Read[settings](environ)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errUsage
	}
	if err := harden(cfg); err != nil {
		return err
	}
	switch verb := args[0]; {
	case verb == "serve" && len(args) == 1:
		return serve(ctx, cfg)
	case verb == "new-seed" || verb == "seal-seed":
		return makeSeed(cfg, verb, args[1:], in, out)
	case verb == "new-log" && len(args) == 1:
		return newLog(cfg)
	case verb == "xpubs" && len(args) == 1:
		return showKeys(cfg, out)
	case verb == "addresses":
		return makeAddresses(cfg, args[1:])
	case verb == "verify-log" && len(args) == 1:
		return verifyLog(cfg, out)
	case verb == "version" && len(args) == 1:
		_, err := fmt.Fprintln(out, version.Read())
		return err
	case verb == "health" && len(args) == 1:
		return door.Health(ctx, cfg.Socket)
	}
	return errUsage
}

// harden keeps the process's memory private: the kernel writes no core file, and no other process of the user may read
// it.
func harden(cfg settings) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("making the process undumpable: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("disabling core files: %w", err)
	}
	if cfg.LockMemory {
		if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE); err != nil {
			return fmt.Errorf("locking the memory: %w", err)
		}
	}
	return nil
}

func serve(ctx context.Context, cfg settings) error {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil)).With("service", "signer")
	slog.SetDefault(log)
	if cfg.Socket == "" || cfg.Log == "" {
		return errors.New("SIGNER_SOCKET and SIGNER_LOG are required")
	}
	rules, err := readPolicy(cfg.Policy)
	if err != nil {
		return err
	}
	v, err := openVault(cfg)
	if err != nil {
		return err
	}
	handler, err := door.NewHandler(rules, v, cfg.Log, cfg.KillSwitch, log, time.Now)
	if err != nil {
		return err
	}
	defer handler.Close() //nolint:errcheck // the journal is synced at each line
	l, err := door.Listen(cfg.Socket, rules.Peers, log)
	if err != nil {
		return err
	}
	server := door.Serve(l, handler, log)
	log.Info("signer listening", "socket", cfg.Socket, "mode", rules.Mode, "networks", len(rules.Networks))
	<-ctx.Done()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return server.Shutdown(end)
}

func readPolicy(path string) (policy.Policy, error) {
	if path == "" {
		return policy.Policy{}, errors.New("SIGNER_POLICY is required")
	}
	file, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return policy.Policy{}, fmt.Errorf("reading the policy: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(io.LimitReader(file, policy.FileMost+1))
	if err != nil {
		return policy.Policy{}, fmt.Errorf("reading the policy: %w", err)
	}
	if len(text) > policy.FileMost {
		return policy.Policy{}, fmt.Errorf("the policy is longer than %d bytes", policy.FileMost)
	}
	return policy.Parse(text)
}

// identities open the seed.
func (s settings) identities() ([]age.Identity, error) {
	switch {
	case s.Identity != "" && s.Passphrase != "":
		return nil, errors.New("SIGNER_IDENTITY and SIGNER_PASSPHRASE are both set")
	case s.Passphrase != "":
		id, err := age.NewScryptIdentity(s.Passphrase.Reveal())
		return []age.Identity{id}, err
	case s.Identity != "":
		ids, err := age.ParseIdentities(strings.NewReader(s.Identity.Reveal()))
		if err != nil {
			return nil, errors.New("SIGNER_IDENTITY holds no age identity") // the parser's error may quote it
		}
		return ids, nil
	}
	return nil, errors.New("SIGNER_IDENTITY or SIGNER_PASSPHRASE is required")
}

func openVault(cfg settings) (*vault.Vault, error) {
	if cfg.Seed == "" {
		return nil, errors.New("SIGNER_SEED is required")
	}
	ids, err := cfg.identities()
	if err != nil {
		return nil, err
	}
	file, err := os.Open(cfg.Seed)
	if err != nil {
		return nil, fmt.Errorf("opening the seed: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	return vault.Open(file, ids...)
}

// writeNew writes a file and fails if it exists: no seed is ever overwritten.
func writeNew(path string, content []byte) error {
	//nolint:gosec // the operator names the file
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}

// makeSeed makes a seed, or seals an existing one. It prints the words of a new one once.
func makeSeed(cfg settings, verb string, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("signer "+verb, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	path := flags.String("out", "", "file to write")
	var recipients []age.Recipient
	flags.Func("recipient", "age recipient", func(text string) error {
		r, err := age.ParseX25519Recipient(text)
		recipients = append(recipients, r)
		return err
	})
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || *path == "" {
		return errUsage
	}
	if len(recipients) == 0 {
		r, err := age.NewScryptRecipient(cfg.Passphrase.Reveal())
		if err != nil {
			return errors.New("give --recipient, or SIGNER_PASSPHRASE")
		}
		recipients = append(recipients, r)
	}
	if verb == "seal-seed" {
		words, err := io.ReadAll(io.LimitReader(in, 4<<10))
		if err != nil {
			return err
		}
		sealed, err := vault.Seal(string(words), recipients...)
		if err != nil {
			return err
		}
		return writeNew(*path, sealed)
	}
	words, sealed, err := vault.NewSeed(recipients...)
	if err != nil {
		return err
	}
	if err := writeNew(*path, sealed); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, words)
	return err
}

// showKeys prints the public keys that wallets needs.
func showKeys(cfg settings, out io.Writer) error {
	rules, err := readPolicy(cfg.Policy)
	if err != nil {
		return err
	}
	v, err := openVault(cfg)
	if err != nil {
		return err
	}
	mode := strings.ToUpper(rules.Mode)
	for _, family := range []money.Family{money.Bitcoin, money.EVM, money.Tron} {
		key, err := v.Extended(family, rules.Account)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "XPUB_%s_%s=%s\n", mode, strings.ToUpper(string(family)), key); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "ADDRESS_BATCH_KEY=%s\n", base64.StdEncoding.EncodeToString(v.BatchKey()))
	return err
}

// makeAddresses writes a signed batch of solana addresses.
func makeAddresses(cfg settings, args []string) error {
	flags := flag.NewFlagSet("signer addresses", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	from := flags.Uint("from", 0, "index of the first address")
	count := flags.Uint("count", 0, "how many")
	path := flags.String("out", "", "file to write")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || *path == "" || *count == 0 || *count > intent.BatchMost || *from >= 1<<31 {
		return errUsage
	}
	rules, err := readPolicy(cfg.Policy)
	if err != nil {
		return err
	}
	v, err := openVault(cfg)
	if err != nil {
		return err
	}
	batch := intent.Batch{
		Version: 1, Mode: rules.Mode, Family: money.Solana, From: uint32(*from), PublicKey: base64.StdEncoding.EncodeToString(v.BatchKey()),
		Addresses: make([]string, *count),
	}
	for i := range batch.Addresses {
		address, err := v.Solana(batch.From + uint32(i))
		if err != nil {
			return err
		}
		batch.Addresses[i] = address.String()
	}
	message, err := batch.Message()
	if err != nil {
		return err
	}
	batch.Signature = base64.StdEncoding.EncodeToString(v.SignBatch(message))
	if err := batch.Verify(v.BatchKey()); err != nil {
		return err
	}
	text, err := json.Marshal(batch)
	if err != nil {
		return err
	}
	return writeNew(*path, append(text, '\n'))
}

// newLog makes the log of a signer that has never signed.
func newLog(cfg settings) error {
	if cfg.Log == "" {
		return errors.New("SIGNER_LOG is required")
	}
	return journal.Create(cfg.Log, time.Now())
}

func verifyLog(cfg settings, out io.Writer) error {
	file, err := os.Open(cfg.Log)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	lines, head, err := journal.Verify(file)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d lines are valid; the last hash is %s\n", lines, head)
	return err
}
