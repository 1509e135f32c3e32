//go:build integration

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/deploy/e2e/internal/runbook"
	"causeway.internal/libs/id"
	"causeway.internal/libs/passkey"
	"causeway.internal/libs/testkit/authenticator"
	"causeway.internal/libs/testkit/stack"
	"causeway.internal/libs/wire"
)

// scene is the product in the state that a runbook begins with.
type scene struct {
	s        *stack.Stack
	merchant *api.Client
	operator *api.Client
	home     string // where the shell begins
}

// scenes set up what each runbook begins with. They give the variables that its reader sets, and what the commands then
// print.
var scenes = map[string]func(t *testing.T, v scene) (set map[string]string, prints []string){
	"archive": func(t *testing.T, v scene) (map[string]string, []string) {
		month := time.Now().UTC().AddDate(-1, 0, 0)
		cancelled := create(t, v.merchant, transfer(nil)).Text(t, "payment.reference")
		v.merchant.Call(t, http.MethodPost, "/v1/payments/"+cancelled+"/cancel", nil).Want(t, http.StatusOK)
		old := func() string {
			return value[string](t, v.s, "payments", `INSERT INTO payments SELECT o.* FROM payments p, jsonb_populate_record(p, jsonb_build_object('id', $2::text,
				'reference', $3::text, 'address', NULL, 'payer', NULL, 'payer_index', NULL, 'receiver', NULL, 'account_index', NULL, 'created_at', $4::timestamptz, 'changes', '[]'::jsonb, 'changed_at', '[]'::jsonb)) o
				WHERE p.id = $1 RETURNING id`, v.payment(t, cancelled), id.New(id.Payment, month), unique("old"), month)
		}
		one := old()
		old()
		given := map[string]string{
			"MONTH": month.Format("2006-01"), "ARCHIVE": month.Format("2006-01") + ".1", "DIRECTORY": filepath.Join(v.home, "archives"), "PAYMENT": one,
		}
		return given, []string{
			"2 payments can be archived", "2 payments archived; these stay: none", "files whole, 2 of 2", "attached " + one, "1 payments attached",
		}
	},
	"callback-dispatcher-restore": func(t *testing.T, v scene) (map[string]string, []string) {
		lost := v.payment(t, create(t, v.merchant, transfer(nil)).Text(t, "payment.reference"))
		api.Eventually(t, soon, "the event to be forgotten", func() bool {
			return count(t, v.s, "callback-dispatcher", `WITH gone AS (DELETE FROM event WHERE object_id = $1 RETURNING 1) SELECT count(*) FROM gone`, lost) > 0
		})
		return map[string]string{"BACKUP": backup()}, []string{`{"objectId":"` + lost}
	},
	"chain-stalls": func(t *testing.T, v scene) (map[string]string, []string) {
		return v.blocks(t, "tron"), []string{"quotes paused: currency all, network tron", "nothing is paused"}
	},
	"consoles": func(t *testing.T, v scene) (map[string]string, []string) {
		name := "ada.n" + unique("")
		set := map[string]string{"PERSON": name, "EMAIL": name + "@acme.example", "MERCHANT": unique("acme")}
		enc := base64.RawURLEncoding
		lost, fresh := authenticator.New(t, passkey.Site{}).Key(t), authenticator.New(t, passkey.Site{}).Key(t)
		v.do(t, "gateway", "operators", "passkey", "add", "--name", name, "--credential", enc.EncodeToString(lost.ID), "--public-key", enc.EncodeToString(lost.Public))
		set["CREDENTIAL"], set["PUBLIC_KEY"] = enc.EncodeToString(fresh.ID), enc.EncodeToString(fresh.Public)
		known := v.operator.Call(t, http.MethodGet, "/v1/admin/operators/passkeys", nil).Want(t, http.StatusOK)
		for i := range known.Len(t, "passkeys") {
			if at := "passkeys." + strconv.Itoa(i); known.Text(t, at+".name") == name {
				set["PASSKEY_ID"] = known.Number(t, at+".id").RatString()
			}
		}
		return set, []string{"/operators/link/", "/console/link/", name + " cannot sign in any more", set["EMAIL"] + " cannot sign in any more", `"phone"`}
	},
	"dead-messages": func(t *testing.T, v scene) (map[string]string, []string) {
		set := v.blocks(t, "ethereum")
		set["HEIGHT"] = set["TO"]
		for _, name := range []string{"MESSAGE", "FORGED"} {
			set[name] = unsigned(t, v.s)
		}
		for _, name := range []string{"ROW", "OTHER_ROW"} {
			set[name] = strconv.Itoa(value[int](t, v.s, "callback-dispatcher",
				`INSERT INTO dead (message_id, name, reason, body, trace) VALUES ('x', 'payments.status_changed.v1', 'unreadable', '{}', '') RETURNING id`))
		}
		value[int](t, v.s, "payments", `INSERT INTO scan_waiting (mode, network, deposits, block_time, told_at)
			SELECT mode, network, settled + 1000, now() - interval '1 hour', now() - interval '1 hour'
			FROM scan_progress WHERE mode = 'test' AND network = 'ethereum' RETURNING 1`)
		buriedUnder(t, v.s, wire.Payments, wire.Payments+"."+string(wire.DepositChangedV1), 2)
		return set, []string{
			"1 messages moved back", "0 of 1 messages taken in", "1 messages discarded", `"reason":"forged on the day of incident 42"`,
			`"operator":"cli:ada.obi"`, `"reason":"the merchant has left"`, `"blocks": 1`, "missing deposit messages skipped",
		}
	},
	"deep-reorg": func(t *testing.T, v scene) (map[string]string, []string) {
		return v.blocks(t, "ethereum"), []string{`"reverted": 0`}
	},
	"foreign-transactions": func(t *testing.T, v scene) (map[string]string, []string) {
		set := map[string]string{
			"REFUND": "rfd_runbook", "TRANSACTION": "0x" + strings.Repeat("f0", 32), "SWEEP": "swp_runbook", "OUTPUT": strings.Repeat("f1", 32) + ":0",
		}
		value[string](t, v.s, "wallets", `WITH given_up AS (INSERT INTO refunds (id, mode, network, family, asset, contract, amount, address, ordered, state, reason)
			VALUES ('`+set["REFUND"]+`', 'live', 'ethereum', 'evm', 'ETH', '', 1, 'x', '{}', 'failed', 'given_up') RETURNING id)
			INSERT INTO outgoing_tx (id, refund, kind, mode, network, sender, nonce, state, version, attempt, from_height, tx_hash)
			SELECT 'out_runbook', id, 'refund', 'live', 'ethereum', 'x', 0, 'replaced', 1, 1, 0, '`+set["TRANSACTION"]+`' FROM given_up RETURNING refund`)
		value[string](t, v.s, "wallets", `WITH ended AS (INSERT INTO sweeps (id, mode, network, family, account, idx, address, wallet_id, asset, contract, amount, treasury, state)
			VALUES ('`+set["SWEEP"]+`', 'live', 'ethereum', 'evm', 0, 0, 'x', '', 'ETH', '', 1, 'x', 'released') RETURNING id)
			INSERT INTO lost_sweeps (sweep, network, tx_hash, height, block_hash) SELECT id, 'ethereum', '`+set["TRANSACTION"]+`', 1, 'x' FROM ended RETURNING sweep`)
		value[string](t, v.s, "wallets", `INSERT INTO holding_outputs (network, tx_hash, ordinal, address, amount, height, spent)
			VALUES ('bitcoin', split_part('`+set["OUTPUT"]+`', ':', 1), 0, 'x', 1, 1, 2) RETURNING address`)
		return set, nil
	},
	"keys": func(t *testing.T, v scene) (map[string]string, []string) {
		made := func(path, field string, body api.Object) string {
			return v.operator.Call(t, http.MethodPost, path, body).Want(t, http.StatusCreated).Number(t, field).RatString()
		}
		key := api.Object{"merchantId": "leaky", "name": "shop", "mode": "test", "permissions": []string{"*"}}
		return map[string]string{
			"KEY": made("/v1/admin/keys", "key.id", key), "NEW_KEY": made("/v1/admin/keys", "key.id", key),
			"TOKEN_ID": made("/v1/admin/operators", "operator.id", api.Object{"name": "eve.out", "days": 1}),
			"DIGEST":   strings.Repeat("c3", 32),
		}, []string{"MESSAGE_KEY=w2:", `"wallets": 0`}
	},
	"payments-operations": func(t *testing.T, v scene) (map[string]string, []string) {
		sender := fundedGift(t, v.s, v.merchant).sender
		for range 3 {
			convict(t, key(t, v.s, v.merchant, "test", unique("accuser"), "*"), sender)
		}
		stray := strayDeposit(t, v.s, v.operator)
		value[int](t, v.s, "payments", `INSERT INTO rail_banks (rail, currency, banks) VALUES ('paystack', 'NGN', '[]')
			ON CONFLICT (rail, currency) DO UPDATE SET banks = '[]' RETURNING 1`) // of a rail that this stack has not
		return map[string]string{
			"DEPOSIT": stray, "STRAY": adopt(t, v.operator, stray, http.StatusCreated).Text(t, "paymentId"),
			"MODE": "test", "ADDRESS": sender, "RAIL": "sim", "NETWORK": "tron", "MERCHANT": unique("fees"),
			"PAYMENT": proposedRefund(t, v.merchant), "REFUND_ADDRESS": payersTron,
			"TRANSACTION": "0x" + strings.Repeat("a1", 32), "SWEEP": strings.Repeat("b2", 32),
		}, []string{"payouts paused: currency all, network tron, rail sim", "nothing is paused", "booked ", `"refundAddress":"` + payersTron + `"`, `"type":"stray"`}
	},
	"payments-restore": func(t *testing.T, v scene) (map[string]string, []string) {
		v.settled(t)
		v.write(t, "statement", value[string](t, v.s, "payments", `SELECT reference FROM payouts LIMIT 1`)+"\nCW-UNKNOWN\n")
		set := v.blocks(t, "ethereum")
		set["OWNER_URL"], set["SINCE"] = v.s.Owners["payments"], backup()
		return set, []string{
			"CW-UNKNOWN\n1 of 2 references have no payout here", `"state":"succeeded"`, "refunds have another state here",
			`{"merchants":`, "payouts paused: currency all, network all, rail all", "nothing is paused",
		}
	},
	"payout-unknown": func(t *testing.T, v scene) (map[string]string, []string) {
		ref, payout := silent(t, v.merchant)
		doubt(t, v.operator, payout)
		return map[string]string{"PAYOUT": payout, "PAYMENT": ref, "RAIL": "sim", "SENDS": "1"}, []string{"payouts paused", `"concluded":"failed"`}
	},
	"personal-data": func(*testing.T, scene) (map[string]string, []string) {
		return map[string]string{"MERCHANT": "local", "PAYER": "payer-1", "MODE": "test", "PHONE": "+2348012345678"},
			[]string{"rows sealed under the first master key"}
	},
	"reports-restore": func(t *testing.T, v scene) (map[string]string, []string) {
		id := file(t, v.merchant, api.Object{}).Text(t, "data.report.reportId")
		api.Eventually(t, soon, "the event", func() bool {
			return count(t, v.s, "callback-dispatcher", `SELECT count(*) FROM event WHERE object_id = $1`, id) == 1
		})
		value[int](t, v.s, "reports", `UPDATE reports SET sequence = 0 WHERE reference = $1 RETURNING 1`, id)
		return map[string]string{"BACKUP": backup(), "MODE": "test"}, []string{`{"reportId":"` + id + `","told":1,"here":0}`}
	},
	"restore": func(t *testing.T, v scene) (map[string]string, []string) {
		set := bereft(t, filepath.Join(v.home, "recovered"))
		database := set["DATABASE"]
		return set, []string{database + " ", database + "_before ", database + "_owner ", database + "_app=c/" + database + "_owner"}
	},
	"restore-drill": func(*testing.T, scene) (map[string]string, []string) { return nil, []string{`"sum":"0"`} },
	"rotation":      func(*testing.T, scene) (map[string]string, []string) { return nil, []string{`"sealed"`} },
	"stopping": func(*testing.T, scene) (map[string]string, []string) {
		return map[string]string{"SERVICE": "reports"}, []string{"reports stopped", "reports started"}
	},
	"treasury": func(t *testing.T, v scene) (map[string]string, []string) {
		v.settled(t)
		api.Eventually(t, settle, "the first report of the treasury", func() bool {
			return count(t, v.s, "payments", `SELECT count(*) FROM treasury_reports`) == 2
		})
		return map[string]string{"MODE": "test", "MONTH": time.Now().UTC().Format("2006-01"), "SALE": unique("sale"), "CAPITAL": unique("capital")},
			[]string{`"difference":null`, "part,place,item,asset", "not booked yet: another operator", "Owed to receivers"}
	},
	"unexplained-balances": func(t *testing.T, v scene) (map[string]string, []string) {
		set := v.blocks(t, "ethereum")
		set["HEIGHT"], set["TRANSACTION"] = set["TO"], "0x"+strings.Repeat("c3", 32)
		set["ADDRESS"] = value[string](t, v.s, "wallets", `INSERT INTO addresses (mode, family, seq, account, idx, key, address, wallet_id)
			SELECT 'live', family, 1, account, 1, key, address, 'wal_live' FROM addresses WHERE mode = 'test' AND family = 'evm' LIMIT 1 RETURNING address`)
		return set, []string{"It is looked at by the running service", `"balances"`}
	},
	"wallets-restore": func(t *testing.T, v scene) (map[string]string, []string) {
		ref := create(t, v.merchant, transfer(nil)).Text(t, "payment.reference")
		deposit(t, v.merchant, ref, nil)
		set := v.blocks(t, "ethereum")
		set["TRANSACTION"] = awaitStatus(t, v.merchant, ref, "settled").Text(t, "payment.txHash")
		set["OWNER_URL"], set["SINCE"] = v.s.Owners["wallets"], backup()
		return set, []string{"no recovery is under way", set["TRANSACTION"], "refunds have another state here"}
	},
}

// bereft makes a database as CloudNativePG makes those of the manifests, writes a dump of it into a file, and loses its
// rows. When the test ends, they must be there again, with owner, rights and tablespace.
func bereft(t *testing.T, dump string) (set map[string]string) {
	t.Helper()
	name := "lost_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	server := os.Getenv("CAUSEWAY_TEST_POSTGRES_URL")
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	in := func(database string) string {
		inside := *at
		inside.Path = "/" + database
		return inside.String()
	}
	do := func(address string, statements ...string) {
		conn, err := pgx.Connect(context.Background(), address)
		if err != nil {
			t.Errorf("connect to PostgreSQL: %v", err)
			return
		}
		defer func() { _ = conn.Close(context.Background()) }()
		for _, one := range statements {
			if _, err := conn.Exec(context.Background(), strings.ReplaceAll(one, "NAME", name)); err != nil {
				t.Errorf("run %s: %v", one, err)
			}
		}
	}
	do(server, `CREATE ROLE NAME_owner`, `CREATE ROLE NAME_app`, `SET allow_in_place_tablespaces = true`, `CREATE TABLESPACE NAME LOCATION ''`,
		`CREATE DATABASE NAME OWNER NAME_owner TABLESPACE NAME`)
	do(in(name), `SET ROLE NAME_owner`, `REVOKE ALL ON DATABASE NAME FROM PUBLIC`, `GRANT CONNECT ON DATABASE NAME TO NAME_app`,
		`CREATE TABLE kept AS SELECT 1 AS one`, `GRANT SELECT ON kept TO NAME_app`)
	if out, err := exec.CommandContext(t.Context(), "pg_dump", "--format=custom", "--file="+dump, in(name)).CombinedOutput(); err != nil {
		t.Fatalf("dump the database: %v\n%s", err, out)
	}
	do(in(name), `DELETE FROM kept`)
	t.Cleanup(func() {
		do(in(name), `DO $$ BEGIN
			ASSERT (SELECT count(*) = 1 FROM kept), 'rows are lost';
			ASSERT has_table_privilege('NAME_app', 'kept', 'SELECT'), 'rights on the table are lost';
			ASSERT (SELECT relowner = 'NAME_owner'::regrole FROM pg_class WHERE relname = 'kept'), 'the table has another owner';
			ASSERT (SELECT d.datdba = 'NAME_owner'::regrole AND t.spcname = 'NAME' FROM pg_database d JOIN pg_tablespace t ON t.oid = d.dattablespace
				WHERE d.datname = 'NAME'), 'the database has another owner or tablespace';
			ASSERT NOT EXISTS (SELECT FROM pg_database WHERE datname = 'NAME_before'), 'the former database is there';
			END $$`)
		do(server, `DROP DATABASE IF EXISTS NAME_before`, `DROP DATABASE IF EXISTS NAME`, `DROP TABLESPACE NAME`, `DROP ROLE NAME_owner`, `DROP ROLE NAME_app`)
	})
	password, _ := at.User.Password()
	return map[string]string{
		"DATABASE": name, "PGHOST": at.Hostname(), "PGPORT": at.Port(), "PGUSER": at.User.Username(), "PGPASSWORD": password, "PGDATABASE": "postgres",
	}
}

// backup is a time before everything that a test does.
func backup() string { return time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) }

// blocks names the blocks of a network that were scanned.
func (v scene) blocks(t *testing.T, network string) map[string]string {
	t.Helper()
	to := value[int](t, v.s, "wallets", `SELECT height FROM cursors WHERE mode = 'test' AND network = $1`, network)
	return map[string]string{"MODE": "test", "NETWORK": network, "FROM": "0", "TO": strconv.Itoa(to)}
}

// payment is the id of a payment.
func (v scene) payment(t *testing.T, ref string) string {
	t.Helper()
	return value[string](t, v.s, "payments", `SELECT id FROM payments WHERE reference = $1`, ref)
}

// settled makes a payment and pays it out.
// do runs a command of a service.
func (v scene) do(t *testing.T, service string, words ...string) {
	t.Helper()
	args := append([]string{"do", service, "--dir", v.s.Dir(), "--"}, words...)
	if out, err := exec.CommandContext(t.Context(), os.Getenv("CAUSEWAY_STACK"), args...).CombinedOutput(); err != nil {
		t.Fatalf("type %v: %v\n%s", words, err, out)
	}
}

func (v scene) settled(t *testing.T) {
	t.Helper()
	ref := create(t, v.merchant, transfer(nil)).Text(t, "payment.reference")
	deposit(t, v.merchant, ref, nil)
	awaitStatus(t, v.merchant, ref, "settled")
}

func (v scene) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(v.home, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// unsigned has payments bury a message, and gives its id.
func unsigned(t *testing.T, s *stack.Stack) (id string) {
	t.Helper()
	channel := forger{t, s, wire.Wallets}.channel()
	id = unique("msg")
	err := channel.PublishWithContext(t.Context(), wire.Wallets, string(wire.DepositChangedV1), true, false, amqp.Publishing{
		MessageId: id, Type: string(wire.DepositChangedV1), AppId: wire.Wallets, DeliveryMode: amqp.Persistent, Body: []byte("{}"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// buriedUnder waits until so many messages lie in the dead queue of a queue.
func buriedUnder(t *testing.T, s *stack.Stack, consumer, queue string, n int) {
	t.Helper()
	channel := forger{t, s, consumer}.channel()
	api.Eventually(t, soon, "messages to be buried", func() bool {
		state, err := channel.QueueDeclarePassive(wire.DeadQueue(queue), true, false, false, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		return state.Messages == n
	})
}

// pageMost bounds the commands of one page.
const pageMost = 2 * time.Minute

// TestRunbooks types every command of every runbook as written, in a shell with the words of commands.md. Programs
// named kubectl and docker find the pod or the container among the stack's processes. One scene follows the other:
// pauses and restarts affect all of them.
func TestRunbooks(t *testing.T) {
	t.Parallel()
	pages, err := runbook.Read("../../docs/runbooks")
	if err != nil {
		t.Fatal(err)
	}
	s := stack.New(t, stack.Options{})
	v := scene{s: s, merchant: client(t, s), operator: client(t, s).With(s.AdminToken)}
	words := words(t, pages)
	path := runners(t)
	for _, page := range pages {
		t.Run(page.Name, func(t *testing.T) {
			for _, typed := range page.Typed {
				mentioned(t, typed)
			}
			if slices.Contains(slowPages, page.Name) {
				return
			}
			var script strings.Builder
			for _, block := range page.Blocks {
				if block.Runs() {
					fmt.Fprintf(&script, "\n# %s.md:%d\n%s\n", page.Name, block.Line, strings.Join(block.Lines, "\n"))
				}
			}
			if script.Len() == 0 {
				return
			}
			set := map[string]string{
				"PATH": path + ":/usr/local/bin:/usr/bin:/bin", "HOME": t.TempDir(), "BASE_URL": s.BaseURL, "TOKEN": s.AdminToken,
				"CAUSEWAY_STACK": os.Getenv("CAUSEWAY_STACK"), "CAUSEWAY_STACK_DIR": s.Dir(),
			}
			var prints []string
			if begin := scenes[page.Name]; begin != nil {
				v.home = set["HOME"]
				more, expected := begin(t, v)
				maps.Copy(set, more)
				prints = expected
			}
			ctx, cancel := context.WithTimeout(t.Context(), pageMost)
			defer cancel()
			printed, told, err := inShell(ctx, words+"\ncd; set -v\n"+script.String(), set)
			if t.Logf("%s\nprinted:\n%s", told, printed); err != nil {
				t.Errorf("%s.md: %v", page.Name, err)
			}
			for _, text := range prints {
				if !strings.Contains(printed, text) {
					t.Errorf("%s.md: no command prints %q", page.Name, text)
				}
			}
		})
	}
}

// inShell runs a script in a shell. printed is the standard output alone: the shell repeats the script on standard
// error, and an expected text there would only show that the page has it.
func inShell(ctx context.Context, script string, set map[string]string) (printed, told string, err error) {
	file := filepath.Join(set["HOME"], "typed")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return "", "", err
	}
	shell := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", file)
	for name, value := range set {
		shell.Env = append(shell.Env, name+"="+value)
	}
	var out, repeated strings.Builder
	shell.Stdout, shell.Stderr = &out, &repeated
	err = shell.Run()
	return out.String(), repeated.String(), err
}

func TestRunbooks_echo(t *testing.T) {
	t.Parallel()
	printed, told, err := inShell(t.Context(), "set -v\n: MESSAGE_KEY=w2:\necho done\n", map[string]string{"HOME": t.TempDir()})
	if err != nil || printed != "done\n" || !strings.Contains(told, "MESSAGE_KEY=w2:") {
		t.Errorf("printed %q, errors %q: %v", printed, told, err)
	}
}

// words are the shell functions that commands.md makes for a cluster, and the one for an operator's requests.
func words(t *testing.T, pages []runbook.Page) string {
	t.Helper()
	i := slices.IndexFunc(pages, func(p runbook.Page) bool { return p.Name == "commands" })
	if i < 0 {
		t.Fatal("no page commands.md")
	}
	var all []string
	for _, b := range pages[i].Blocks {
		if text := strings.Join(b.Lines, "\n"); b.Runs() && (strings.Contains(text, "in_pod() {") || strings.Contains(text, "api() {")) {
			all = append(all, text)
		}
	}
	if len(all) != 2 {
		t.Fatalf("commands.md makes its words in %d blocks", len(all))
	}
	return strings.Join(all, "\n")
}

// runners makes a directory with programs named kubectl and docker, which run a command of a service with the settings
// that its process in the stack has. They know what the runbooks type, and refuse the rest. PostgreSQL's commands go to
// the server that the shell's environment names; the cluster of a recovery has the dump in the file recovered.
func runners(t *testing.T) (directory string) {
	t.Helper()
	directory = t.TempDir()
	for name, text := range map[string]string{
		"kubectl": `case "$*" in
"-n "*" get pods -l cnpg.io/cluster=postgres,cnpg.io/instanceRole=primary -o name") echo pod/postgres-1; exit ;;
"-n restore exec -i pod/postgres-1 -c postgres -- pg_dump --format=custom $DATABASE") exec cat "$HOME/recovered" ;;
"-n causeway exec -i pod/postgres-1 -c postgres -- "*) shift 8; exec "$@" ;;
esac
[ "${*:1:4}" = "-n causeway exec -i" ] && [ "${*:6:2}" = "-- /app" ] || { echo "kubectl: $*" >&2; exit 64; }
pod=${5#deploy/}
grep -qsx "  name: $pod" "$MANIFESTS"/*/*.yaml || { echo "no Deployment $pod" >&2; exit 64; }
service=${pod%-work} service=${service%-serve} service=${service%-archive}; shift 7
`,
		"docker": `known() { grep -qsx "  $1:" "$COMPOSE" || { echo "no service $1" >&2; exit 64; }; }
change() { "$CAUSEWAY_STACK" "$@" --dir "$CAUSEWAY_STACK_DIR"; }
case "$*" in
"compose exec -T $4 /app "*) known "$4"; service=$4; shift 5 ;;
"compose stop $3") known "$3"; change kill "$3"; exit ;;
"compose up -d $4") known "$4"; change kill "$4" || true; change start "$4" ${RECOVERY:+--env "RECOVERY=$RECOVERY"}; exit ;;
*) echo "docker: $*" >&2; exit 64 ;;
esac
`,
	} {
		root, err := filepath.Abs("../..")
		if err != nil {
			t.Fatal(err)
		}
		text = "#!/bin/bash\nMANIFESTS=" + root + "/k8s/base COMPOSE=" + root + "/docker-compose.yml\n" + text +
			`exec "$CAUSEWAY_STACK" do "$service" --dir "$CAUSEWAY_STACK_DIR" -- "$@"` + "\n"
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

var (
	verb = regexp.MustCompile(`^[a-z][a-z-]*$`)
	flag = regexp.MustCompile(`--?([a-z][a-z-]*)`)
)

// mentioned says whether a command that the text of a page names exists with these flags.
func mentioned(t *testing.T, typed string) {
	t.Helper()
	service, rest, _ := strings.Cut(typed, " ")
	programs := []string{strings.TrimSuffix(strings.TrimSuffix(service, "-serve"), "-archive")} // words for a program in another pod
	if !verb.MatchString(service) {
		programs = []string{"payments", "wallets", "callback-dispatcher"} // "<service> dead list"
	}
	var wordsOf []string
	for _, word := range strings.Fields(rest) {
		if !verb.MatchString(word) {
			break
		}
		wordsOf = append(wordsOf, word)
	}
	for _, program := range programs {
		cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(os.Getenv("CAUSEWAY_STACK")), program), append(wordsOf, "-h")...)
		cmd.Env = []string{}
		out, err := cmd.CombinedOutput()
		several := "\n       " + strings.Join(append([]string{program}, wordsOf...), " ") + " " // of a group of verbs, in the usage
		if err != nil && !strings.Contains(string(out), several) {
			t.Errorf("%q: %s has no such command: %s", typed, program, out)
		}
		for _, found := range flag.FindAllStringSubmatch(rest, -1) {
			if strings.HasPrefix(found[0], "--") && !strings.Contains(string(out), "\n  -"+found[1]) {
				t.Errorf("%q: %s knows no %s:\n%s", typed, program, found[0], out)
			}
		}
	}
}
