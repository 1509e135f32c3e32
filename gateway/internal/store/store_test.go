//go:build integration

package store_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/gateway/internal/limit"
	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/gateway/internal/operator"
	"causeway.internal/gateway/internal/store"
	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
)

func TestMigrations_closeFunctions(t *testing.T) {
	t.Parallel()
	pg.Closed(t, pg.New(t, migrations.FS), migrations.FS)
}

// A live key from before withdrawals existed may withdraw nothing, whatever its * granted then.
func TestMigrations_withdrawalPermissions(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations.FS)
	if _, err := pool.Exec(t.Context(), `INSERT INTO api_keys (merchant_id, name, mode, permissions, tier) VALUES
		('acme', 'live', 'live', '{*}', 'standard'), ('acme', 'test', 'test', '{*}', 'standard')`); err != nil {
		t.Fatalf("insert keys = %v, want no error", err)
	}
	text, err := fs.ReadFile(migrations.FS, "00022_withdrawal_permissions.sql")
	if err != nil {
		t.Fatalf("read the migration = %v, want no error", err)
	}
	if _, err := pool.Exec(t.Context(), string(text)); err != nil {
		t.Fatalf("migrate = %v, want no error", err)
	}
	for _, mode := range tenant.Modes() {
		var got []string
		if err := pool.QueryRow(t.Context(), `SELECT permissions FROM api_keys WHERE mode = $1`, string(mode)).Scan(&got); err != nil {
			t.Fatalf("read the permissions of %s = %v, want no error", mode, err)
		}
		set := apikey.Compile(got)
		if may := set.Allows(apikey.WithdrawalCreate) || set.Allows(apikey.SettlementManage); may != (mode == tenant.Test) || !set.Allows(apikey.RefundCreate) {
			t.Errorf("a key of %s has %v after the migration, want refunds, and withdrawals in test mode alone", mode, got)
		}
	}
}

// A live key from before a permission existed keeps what its wildcards granted then, and no more. Other keys are
// unchanged.
func TestMigrations_permissions(t *testing.T) {
	t.Parallel()
	pool := pg.New(t, migrations.FS)
	before := []string{"payment:create", "payment:read", "wallet:create", "wallet:read", "report:create", "report:manage", "webhook:manage"}
	later := []string{
		"payment:create", "payment:read", "refund:create", "wallet:create", "wallet:read", "report:create", "report:manage", "webhook:manage",
		"settlement:manage", "withdrawal:create",
	}
	for name, c := range map[string]struct {
		file, mode string
		has, want  []string
	}{
		"refunds, live":           {"00021_refund_permission.sql", "live", []string{"*"}, before},
		"refunds, live, some":     {"00021_refund_permission.sql", "live", []string{"payment:*"}, []string{"payment:*"}},
		"refunds, test":           {"00021_refund_permission.sql", "test", []string{"*"}, []string{"*"}},
		"withdrawals, live":       {"00023_withdraw_permission.sql", "live", []string{"*"}, later},
		"withdrawals, live, some": {"00023_withdraw_permission.sql", "live", []string{"payment:*", "wallet:*"}, []string{"payment:*", "wallet:create", "wallet:read"}},
		"withdrawals, test":       {"00023_withdraw_permission.sql", "test", []string{"*", "wallet:*"}, []string{"*", "wallet:*"}},
	} {
		const insert = `INSERT INTO api_keys (merchant_id, name, mode, permissions, tier) VALUES ('acme', $1, $2, $3, 'standard')`
		if _, err := pool.Exec(t.Context(), insert, name, c.mode, c.has); err != nil {
			t.Fatal(err)
		}
		text, err := fs.ReadFile(migrations.FS, c.file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(t.Context(), string(text)); err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := pool.QueryRow(t.Context(), `SELECT permissions FROM api_keys WHERE name = $1`, name).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("migrate a key, %s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func peppers(t *testing.T, letters string) *apikey.Peppers {
	t.Helper()
	var parts []string
	for _, c := range letters {
		parts = append(parts, base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(c), 32))))
	}
	p, err := apikey.ParsePeppers(strings.Join(parts, ","))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ring(t *testing.T) *keyring.Ring {
	t.Helper()
	r, err := keyring.Parse("k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type fixture struct {
	pool  *pgxpool.Pool
	store *store.Store
	keys  *apikey.Registry
	cache *apikey.Cache
}

func start(t *testing.T) fixture {
	t.Helper()
	pool := pg.New(t, migrations.FS)
	s := store.New(pool)
	p := peppers(t, "a")
	cache := apikey.NewCache(s, limit.NewLookups(false, time.Now), p, ring(t), apikey.CacheBounds{TTL: time.Hour, Size: 100}, time.Now)
	cache.CaughtUp(time.Now().Add(time.Hour)) // nobody else changes keys here
	return fixture{pool, s, apikey.NewRegistry(s, p, ring(t), cache, shard.First, time.Now), cache}
}

func order() apikey.Order {
	return apikey.Order{MerchantID: "acme", Name: "shop", Mode: tenant.Test, Permissions: []string{"payment:*", "report:create"}}
}

var by = audit.Entry{Actor: "operator:ops", RequestID: "req_1", ClientIP: "203.0.113.7"}

func (w fixture) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	if err := w.pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// One token is one person's: its digest is taken once, whatever the pepper was then. The gateway cannot know the digest
// of a token that it has made itself, so if somebody takes that one, the token opens nothing for either person.
func TestOperatorTokens_onePerson(t *testing.T) {
	t.Parallel()
	s := store.New(pg.New(t, migrations.FS))
	before, after := peppers(t, "a"), peppers(t, "ba")
	own := credential.GenerateToken()
	ada := operator.Order{Name: "ada.obi", Days: 7, Digest: credential.TokenDigest(own)}
	if _, err := operator.NewRegistry(s, before).Create(t.Context(), ada, by); err != nil {
		t.Fatal(err)
	}
	registry := operator.NewRegistry(s, after)
	ben := ada
	ben.Name = "ben.ade"
	for _, o := range []operator.Order{ada, ben} {
		if made, err := registry.Create(t.Context(), o, by); !errors.Is(err, operator.ErrUsed) {
			t.Errorf("take the digest of ada.obi again for %s under another pepper: %+v, %v, want a refusal", o.Name, made, err)
		}
	}
	made, err := registry.Create(t.Context(), operator.Order{Name: "cy.eze", Days: 7}, by)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	door, err := operator.NewDoor(nil, s, after, limit.NewTokens(false, time.Now), telemetry.To(&log, "test"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	here := netip.MustParseAddr("203.0.113.7")
	for token, want := range map[string]string{own: "ada.obi", made.Secret: "cy.eze"} {
		if name, err := door.Operator(t.Context(), token, here); name != want || err != nil {
			t.Errorf("let %s in: %q, %v", want, name, err)
		}
	}
	ben.Digest = credential.TokenDigest(made.Secret)
	if _, err := registry.Create(t.Context(), ben, by); err != nil {
		t.Fatal(err)
	}
	if name, err := door.Operator(t.Context(), made.Secret, here); fault.As(err).Code != "operator_token_invalid" || name != "" {
		t.Errorf("let a token of two people in: %q, %v, want a refusal", name, err)
	}
	for _, part := range []string{`"reason":"shared"`, `"operator":"cy.eze, ben.ade"`} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log lacks %s:\n%s", part, log.String())
		}
	}
}

func TestKey_life(t *testing.T) {
	w := start(t)
	o := order()
	o.AllowedCIDRs = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	o.ExpiresAt = time.Now().Add(time.Hour).Truncate(time.Millisecond)
	made, err := w.keys.Create(t.Context(), o, by, apikey.Once{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := w.cache.Find(t.Context(), made.Secret, netip.Addr{})
	if err != nil {
		t.Fatal(err)
	}
	if found.ID != made.Key.ID || found.ID < 1 || found.MerchantID != "acme" || found.Mode != tenant.Test || found.Tier != apikey.Standard ||
		!found.ExpiresAt.Equal(o.ExpiresAt) || !slices.Equal(found.AllowedCIDRs, o.AllowedCIDRs) || found.PublicKey != made.Key.PublicKey ||
		!found.Grants.Allows(apikey.PaymentRead) || found.Grants.Allows(apikey.WalletRead) || !found.RevokedAt.IsZero() {
		t.Errorf("found %+v", found)
	}
	if err := found.Usable(time.Now(), netip.MustParseAddr("203.0.113.9")); err != nil {
		t.Error(err)
	}
	if err := found.Usable(o.ExpiresAt, netip.MustParseAddr("203.0.113.9")); !errors.Is(err, apikey.ErrExpired) {
		t.Errorf("at its end: %v", err)
	}

	if _, err := w.keys.Revoke(t.Context(), made.Key.ID, by); err != nil {
		t.Fatal(err)
	}
	found, err = w.cache.Find(t.Context(), made.Secret, netip.Addr{})
	if err != nil {
		t.Fatal(err)
	}
	if err := found.Usable(time.Now().Add(-time.Hour), netip.MustParseAddr("203.0.113.9")); !errors.Is(err, apikey.ErrRevoked) {
		t.Errorf("after the revocation, through the same cache: %v", err)
	}
	again, err := w.keys.Revoke(t.Context(), made.Key.ID, by)
	if err != nil || !again.RevokedAt.Equal(found.RevokedAt) {
		t.Errorf("revoked again: %v %v", again.RevokedAt, err)
	}
	acts := w.count(t, `SELECT count(*) FROM audit WHERE object = 'key:' || $1::bigint AND actor = 'operator:ops' AND client_ip = '203.0.113.7'`, made.Key.ID)
	if acts != 2 {
		t.Errorf("%d audit entries, want the creation and one revocation", acts)
	}
}

// A copy of the database alone reveals no secret and allows no signature.
func TestKey_atRest(t *testing.T) {
	w := start(t)
	made, err := w.keys.Create(t.Context(), order(), by, apikey.Once{})
	if err != nil {
		t.Fatal(err)
	}
	random := made.Secret[len("sk_test_") : len("sk_test_")+30]
	for _, table := range []string{"api_keys", "api_key_secrets", "audit", "idempotency"} {
		if n := w.count(t, `SELECT count(*) FROM `+table+` t WHERE t::text LIKE '%' || $1 || '%' OR t::text LIKE '%' || encode($1::bytea, 'hex') || '%'`, random); n != 0 {
			t.Errorf("%s holds the secret", table)
		}
	}
	var sealed []byte
	if err := w.pool.QueryRow(t.Context(), `SELECT signing_key FROM api_key_secrets WHERE public_key = $1`, made.Key.PublicKey).Scan(&sealed); err != nil {
		t.Fatal(err)
	}
	plain, err := ring(t).Open(sealed, apikey.SigningPlace(made.Key.PublicKey))
	if err != nil || string(plain) != string(apikey.SigningKey(made.Secret)) {
		t.Errorf("the signing key does not open: %v", err)
	}
	if _, err := ring(t).Open(sealed, apikey.SigningPlace("pk_test_another")); err == nil {
		t.Error("the signing key opens in another key's row")
	}
}

func TestKey_peppers(t *testing.T) {
	w := start(t)
	made, err := w.keys.Create(t.Context(), order(), by, apikey.Once{})
	if err != nil {
		t.Fatal(err)
	}
	find := func(letters string) error {
		_, err := apikey.NewCache(w.store, limit.NewLookups(false, time.Now), peppers(t, letters), ring(t), apikey.CacheBounds{TTL: time.Hour, Size: 10}, time.Now).Find(t.Context(), made.Secret, netip.Addr{})
		return err
	}
	if err := find("b"); !errors.Is(err, apikey.ErrInvalid) {
		t.Errorf("under another pepper: %v", err)
	}
	if err := find("ba"); err != nil {
		t.Errorf("under the old pepper as the second: %v", err)
	}
	if _, err := w.cache.Find(t.Context(), credential.Generate(credential.Secret, tenant.Test), netip.Addr{}); !errors.Is(err, apikey.ErrInvalid) {
		t.Errorf("an unknown key: %v", err)
	}
}

func TestRegistry_list(t *testing.T) {
	w := start(t)
	if _, err := w.pool.Exec(t.Context(), `INSERT INTO merchants (merchant_id, name, status, created_by) VALUES ('other', 'other', 'active', 'test')`); err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for i := range 5 {
		o := order()
		if i%2 == 1 {
			o.MerchantID, o.Mode = "other", tenant.Live
		}
		made, err := w.keys.Create(t.Context(), o, by, apikey.Once{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, made.Key.ID)
	}
	list := func(f apikey.Filter, want []int64, wantMore bool) {
		t.Helper()
		keys, more, err := w.keys.List(t.Context(), f)
		var got []int64
		for _, k := range keys {
			got = append(got, k.ID)
		}
		if err != nil || !slices.Equal(got, want) || more != wantMore {
			t.Errorf("%+v: %v more %v (%v), want %v", f, got, more, err, want)
		}
	}
	list(apikey.Filter{Limit: 2}, []int64{ids[4], ids[3]}, true)
	list(apikey.Filter{Limit: 2, Before: ids[3]}, []int64{ids[2], ids[1]}, true)
	list(apikey.Filter{Limit: 2, Before: ids[1]}, []int64{ids[0]}, false)
	list(apikey.Filter{Limit: 2, MerchantID: "other"}, []int64{ids[3], ids[1]}, false)
	list(apikey.Filter{Limit: 9, Mode: tenant.Test}, []int64{ids[4], ids[2], ids[0]}, false)
	list(apikey.Filter{Limit: 9, MerchantID: "nobody"}, nil, false)
	if _, err := w.keys.Get(t.Context(), 1<<40); fault.As(err).Kind != fault.NotFound {
		t.Errorf("an unknown id: %v", err)
	}
	if _, err := w.keys.Revoke(t.Context(), 0, by); fault.As(err).Kind != fault.NotFound {
		t.Errorf("an unknown id: %v", err)
	}
}

// An act without its audit entry does not happen.
func TestAudit_failsWithTheAct(t *testing.T) {
	w := start(t)
	made, err := w.keys.Create(t.Context(), order(), by, apikey.Once{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.pool.Exec(t.Context(), `ALTER TABLE audit ADD CONSTRAINT broken CHECK (actor <> 'operator:ops') NOT VALID`); err != nil {
		t.Fatal(err)
	}
	if _, err := w.keys.Create(t.Context(), order(), by, apikey.Once{}); err == nil {
		t.Error("a key was made without an audit entry")
	}
	if _, err := w.keys.Revoke(t.Context(), made.Key.ID, by); err == nil {
		t.Error("a key was revoked without an audit entry")
	}
	if n := w.count(t, `SELECT count(*) FROM api_keys WHERE revoked_at IS NULL`); n != 1 {
		t.Errorf("%d keys, want the first alone", n)
	}
	tier := apikey.Premium
	if _, err := w.keys.Change(t.Context(), made.Key.ID, apikey.Change{Tier: &tier}, by); err == nil {
		t.Error("a key was changed without an audit entry")
	}
	if _, err := w.keys.Rotate(t.Context(), apikey.Rotation{ID: made.Key.ID}, by, apikey.Once{}); err == nil {
		t.Error("a key was rotated without an audit entry")
	}
	again := func(string, []byte) ([]byte, error) { return []byte("sealed anew"), nil }
	if n, err := w.store.Reseal(t.Context(), "k2", again, by); err == nil || n != 0 {
		t.Errorf("%d signing keys were sealed again without an audit entry", n)
	}
	if n := w.count(t, `SELECT count(*) FROM api_keys k JOIN api_key_secrets s ON s.key_id = k.id
WHERE k.tier = 'standard' AND s.until IS NULL AND s.public_key = $1 AND s.signing_key <> 'sealed anew'`, made.Key.PublicKey); n != 1 {
		t.Error("an act without its audit entry has left something behind")
	}
}

func TestAudit_appendOnly(t *testing.T) {
	w := start(t)
	if _, err := w.keys.Create(t.Context(), order(), by, apikey.Once{}); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{`UPDATE audit SET actor = 'x'`, `DELETE FROM audit`} {
		if _, err := w.pool.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("run %s: got %v, want a refusal: the table is append-only", sql, err)
		}
	}
	for range 2 {
		if err := w.store.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.count(t, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'audit'::regclass`); n != 3 {
		t.Errorf("%d partitions, want this month and the next two", n)
	}
}

func TestStore_used(t *testing.T) {
	w := start(t)
	made, err := w.keys.Create(t.Context(), order(), by, apikey.Once{})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().UTC().Truncate(time.Millisecond)
	for _, used := range []time.Time{at, at.Add(-time.Hour)} { // an older time, of a slower replica, changes nothing
		if err := w.store.Used(t.Context(), map[int64]time.Time{made.Key.ID: used, 1 << 40: used}); err != nil {
			t.Fatal(err)
		}
	}
	if k, err := w.keys.Get(t.Context(), made.Key.ID); err != nil || !k.LastUsedAt.Equal(at) {
		t.Errorf("last used %v (%v), want %v", k.LastUsedAt, err, at)
	}
}

// Sixteen creations with one Idempotency-Key make one key.
func TestInsert_once(t *testing.T) {
	w := start(t)
	once := apikey.Once{
		Key: idempotency.Key{Scope: "operator", Key: "k", Hash: [32]byte{1}},
		Answer: func(apikey.Issued) (idempotency.Answer, error) {
			return idempotency.Answer{Status: 201, Body: []byte(`{}`)}, nil
		},
	}
	var wg sync.WaitGroup
	results := make(chan error, 16)
	for range 16 {
		wg.Go(func() {
			_, err := w.keys.Create(context.WithoutCancel(t.Context()), order(), by, once)
			results <- err
		})
	}
	wg.Wait()
	close(results)
	made := 0
	for err := range results {
		switch {
		case err == nil:
			made++
		case !idempotency.IsTaken(err):
			t.Error(err)
		}
	}
	if n := w.count(t, `SELECT count(*) FROM api_keys`); n != 1 || made != 1 {
		t.Errorf("%d keys by %d creations", n, made)
	}
	if _, err := w.store.Replay(t.Context(), once.Key); err != nil {
		t.Error(err)
	}
}

func TestQueriesPrepare(t *testing.T) {
	w := start(t)
	pg.Listed(t, "Statements")
	conn, err := w.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for i, sql := range store.Statements {
		if _, err := conn.Conn().Prepare(t.Context(), "s"+string(rune('a'+i)), sql); err != nil {
			t.Errorf("prepare %s: %v", sql, err)
		}
	}
}

// A merchant keeps the shard of its first key, whatever the setting is when it gets another.
func TestShard_ofAMerchant(t *testing.T) {
	w := start(t)
	elsewhere := apikey.NewRegistry(w.store, peppers(t, "a"), ring(t), w.cache, "K2", time.Now)
	create := func(keys *apikey.Registry, merchant string, want shard.Code) apikey.Issued {
		t.Helper()
		o := order()
		o.MerchantID = merchant
		made, err := keys.Create(t.Context(), o, by, apikey.Once{})
		if err != nil {
			t.Fatalf("create a key of %s: got %v, want no error", merchant, err)
		}
		found, err := w.cache.Find(t.Context(), made.Secret, netip.Addr{})
		if err != nil || made.Key.Shard != want || found.Shard != want {
			t.Errorf("create a key of %s: made in %q, found in %q (%v), want %q", merchant, made.Key.Shard, found.Shard, err, want)
		}
		return made
	}
	create(w.keys, "acme", shard.First)
	create(elsewhere, "acme", shard.First)
	create(elsewhere, "beta", "K2")
	create(w.keys, "beta", "K2")

	// A key that an earlier release made has no row: its merchant is in the first shard and stays there.
	for _, sql := range []string{
		`ALTER TABLE merchant_shards DISABLE TRIGGER merchant_shards_fixed`, `DELETE FROM merchant_shards`, `ALTER TABLE merchant_shards ENABLE TRIGGER merchant_shards_fixed`,
	} {
		if _, err := w.pool.Exec(t.Context(), sql); err != nil {
			t.Fatalf("run %s: %v", sql, err)
		}
	}
	if k, err := w.store.List(t.Context(), apikey.Filter{MerchantID: "acme", Limit: 1}); err != nil || len(k) != 1 || k[0].Shard != shard.First {
		t.Errorf("list a key of an earlier release: got %+v, %v, want one of the first shard", k, err)
	}
	create(elsewhere, "acme", shard.First)

	for _, sql := range []string{`UPDATE merchant_shards SET shard = 'ZZ'`, `DELETE FROM merchant_shards`, `INSERT INTO merchant_shards VALUES ('x', 'GA')`} {
		if _, err := w.pool.Exec(t.Context(), sql); err == nil {
			t.Errorf("run %s: got no error, want a refusal", sql)
		}
	}
}

// A merchant's new payments move to a shard that is prepared before, once, and not back. Its keys know at once, and the
// notices of its terms go to all of its shards.
func TestMove(t *testing.T) {
	w := start(t)
	made, err := w.keys.Create(t.Context(), order(), by, apikey.Once{})
	if err != nil {
		t.Fatal(err)
	}
	moved := by
	moved.Act, moved.Object = audit.MerchantMoved, "merchant:acme"
	var opened []merchant.Notice
	move := func(to shard.Code, fail error) ([]shard.Code, error) {
		return w.store.Move(t.Context(), "acme", to, moved, func(n merchant.Notice) error {
			opened = append(opened, n)
			return fail
		})
	}
	if _, err := move("K2", errors.New("away")); err == nil || w.count(t, `SELECT count(*) FROM merchant_moves`) != 0 {
		t.Errorf("move to a shard that cannot be prepared: got %v, want an error and no move", err)
	}
	for range 2 {
		if shards, err := move("K2", nil); err != nil || !slices.Equal(shards, []shard.Code{"AA", "K2"}) {
			t.Errorf("move to a shard: got %v, %v, want both", shards, err)
		}
	}
	if len(opened) != 2 || opened[1].MerchantID != "acme" || !slices.Equal(opened[1].Shards, []shard.Code{"AA"}) {
		t.Errorf("prepare the shard: got %+v, want the terms of acme twice, with its home", opened)
	}
	if _, err := move("AA", nil); err == nil {
		t.Error("move back: got no error")
	}
	w.cache.DropMerchant("acme")
	k, err := w.cache.Find(t.Context(), made.Secret, netip.Addr{})
	if err != nil || k.Shard != shard.First || k.Newest() != "K2" || !slices.Equal(k.Earlier(false, true), []shard.Code{"AA"}) || len(k.Earlier(false, false)) != 0 {
		t.Errorf("find the key of a merchant that moved: got %+v, %v, want its home AA, new payments in K2, and AA asked for keys", k, err)
	}
	if _, err := w.pool.Exec(t.Context(), `UPDATE merchants SET tell = tell + 1, tell_at = now() WHERE merchant_id = 'acme'`); err != nil {
		t.Fatal(err)
	}
	if told, err := w.store.Untold(t.Context(), 5); err != nil || len(told) != 1 || !slices.Equal(told[0].Shards, []shard.Code{"AA", "K2"}) {
		t.Errorf("list the notice of a merchant that moved: got %+v, %v, want one for both shards", told, err)
	}
	if n := w.count(t, `SELECT count(*) FROM audit WHERE act = 'merchant.moved'`); n != 1 {
		t.Errorf("count the entries of moves: got %d, want 1", n)
	}
	for _, sql := range []string{
		`ALTER TABLE merchant_moves DISABLE TRIGGER merchant_moves_fixed`, `UPDATE merchant_moves SET moved_at = now() - interval '7 days'`,
		`ALTER TABLE merchant_moves ENABLE TRIGGER merchant_moves_fixed`,
	} {
		if _, err := w.pool.Exec(t.Context(), sql); err != nil {
			t.Fatalf("run %s: %v", sql, err)
		}
	}
	w.cache.Flush()
	if k, err = w.cache.Find(t.Context(), made.Secret, netip.Addr{}); err != nil || len(k.Earlier(false, true)) != 0 || len(k.Earlier(true, true)) != 1 {
		t.Errorf("find the key a week after the move: got %+v, %v, want AA asked for references alone", k, err)
	}
	for _, sql := range []string{`UPDATE merchant_moves SET shard = 'ZZ'`, `DELETE FROM merchant_moves`} {
		if _, err := w.pool.Exec(t.Context(), sql); err == nil {
			t.Errorf("run %s: got no error, want a refusal", sql)
		}
	}
}

// First keys of one merchant that are made at once, under two settings, are of one shard.
func TestShard_race(t *testing.T) {
	w := start(t)
	var made [8]shard.Code
	var group sync.WaitGroup
	for i := range made {
		home := shard.First
		if i%2 == 1 {
			home = "K2"
		}
		keys := apikey.NewRegistry(w.store, peppers(t, "a"), ring(t), nil, home, time.Now)
		group.Go(func() {
			issued, err := keys.Create(t.Context(), order(), by, apikey.Once{})
			if err != nil {
				t.Errorf("create key %d: got %v, want no error", i, err)
			}
			made[i] = issued.Key.Shard
		})
	}
	group.Wait()
	for i, got := range made {
		if got == "" || got != made[0] {
			t.Errorf("create eight keys at once: key %d is in %q and the first in %q, want one shard", i, got, made[0])
		}
	}
}
