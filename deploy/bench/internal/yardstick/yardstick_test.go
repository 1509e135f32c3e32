package yardstick

import (
	"strings"
	"testing"
	"time"
)

const logText = `2026-11-21 11:00:00.000 UTC [7] LOG:  execute stmtcache_1: BEGIN
2026-11-21 11:00:00.001 UTC [7] LOG:  execute stmtcache_2: WITH p AS (
		INSERT INTO payments (id, body, at, note, reference) SELECT $1::text, $2::bytea, $3::timestamptz, $4::text, $5::text
	) SELECT 1
2026-11-21 11:00:00.001 UTC [7] DETAIL:  parameters: $1 = 'pay_01abcdefghijklmnopqrstuvwx', $2 = '\x00112233445566778899aabbccddeeff', $3 = '2026-11-21 11:00:00+00', $4 = NULL, $5 = 'it''s, $6 = same'
2026-11-21 11:00:00.002 UTC [8] LOG:  execute stmtcache_2: WITH p AS (
		INSERT INTO payments (id, body, at, note, reference) SELECT $1::text, $2::bytea, $3::timestamptz, $4::text, $5::text
	) SELECT 1
2026-11-21 11:00:00.002 UTC [8] DETAIL:  parameters: $1 = 'pay_01abcdefghijklmnopqrstuvwy', $2 = '\x00112233445566778899aabbccddee00', $3 = '2026-11-21 11:00:01+00', $4 = NULL, $5 = 'it''s, $6 = same'
2026-11-21 11:00:00.003 UTC [8] LOG:  disconnection
`

func TestParse(t *testing.T) {
	s, err := parse([]byte(logText), "INSERT INTO payments")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.SQL, "WITH p AS (\n\tINSERT INTO payments") || !strings.HasSuffix(s.SQL, ") SELECT 1") || len(s.Args) != 2 {
		t.Fatalf("%d executions of %q", len(s.Args), s.SQL)
	}
	if args := s.Args[0]; len(args) != 5 || args[3] != nil || *args[4] != "it's, $6 = same" || *args[2] != "2026-11-21 11:00:00+00" {
		t.Errorf("arguments %v", args)
	}
	if _, err := parse([]byte(logText), "INSERT INTO wallets"); err == nil {
		t.Error("a statement was found that is not there")
	}
}

func TestScript(t *testing.T) {
	s, err := parse([]byte(logText), "INSERT INTO payments")
	if err != nil {
		t.Fatal(err)
	}
	script, variables := s.Script()
	for _, want := range []string{
		`\set u random(100000000000000, 999999999999999)`, "(:v1::text || :u::text)::text", "(:v2::bytea || int8send(:u))::bytea",
		":v3::timestamptz", "NULL::text", ":v5::text", ") SELECT 1;\n",
	} {
		if !strings.Contains(script, want) {
			t.Errorf("script lacks %q:\n%s", want, script)
		}
	}
	if variables["v1"] != "pay_01abcdefghi" || variables["v2"] != `\x0011223344556677` || len(variables) != 4 {
		t.Errorf("variables %v", variables)
	}
}

func TestParseResult(t *testing.T) {
	r, err := parseResult("number of transactions actually processed: 4242\nlatency average = 2.500 ms\ntps = 848.400000 (without initial connection time)\n")
	if err != nil || r.Done != 4242 || r.PerSec != 848.4 || r.Average != 2500*time.Microsecond {
		t.Errorf("parseResult: got %+v, %v; want 4242 done, 848.4 a second, 2.5 ms each", r, err)
	}
	if _, err := parseResult("FATAL"); err == nil {
		t.Error("nonsense was read")
	}
}
