package messaging

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"causeway.internal/libs/wire"
)

// written are messages as services write them.
func written(tb testing.TB) (all [][]byte) {
	tb.Helper()
	without, sealed, old := good(), good(), good()
	without.CallbackURL = ""
	sealed.Token, sealed.Body = []byte("sealed"), []byte(`{"a":[1,true,null,0,"\n",{},[]],"settlementToken":"***"}`)
	old.Sequence, old.OccurredAt = 1<<62, old.OccurredAt.UTC()
	for _, m := range []wire.StatusChanged{good(), without, sealed, old} {
		raw, err := json.Marshal(m)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, raw)
	}
	return append(all, ordinary(tb).Body)
}

// What services write is read without encoding/json, and as that reads it.
func TestQuick_readsWhatIsWritten(t *testing.T) {
	for _, raw := range written(t) {
		got, ok := quick(raw)
		if !ok {
			t.Errorf("%s is left to encoding/json", raw)
		}
		same(t, got, raw)
	}
}

func same(t *testing.T, got wire.StatusChanged, raw []byte) {
	t.Helper()
	var want wire.StatusChanged
	if err := json.Unmarshal(raw, &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v, %v", raw, got, want, err)
	}
}

// odd are spellings that are unusual, or no JSON at all.
var odd = strings.NewReplacer(
	`"sequence":3`, `"sequence":03`, `"mode":"live"`, `"mode":"li\u0076e"`, `"merchantId":"m"`, `"merchantId":"\x"`,
	`"body":"`, "\"body\":\"\n", `"type":`, ` "type":`, `"objectId":"pay_1"`, `"objectId":"`+"\n"+`"`, `"occurredAt":"2`, `"occurredAt":"`,
)

func TestQuick_leavesWhatIsOdd(t *testing.T) {
	whole := string(written(t)[0])
	for n, part := range []string{`"sequence":3`, `"mode":"live"`, `"merchantId":"m"`, `"body":"`, `"type":`, `"objectId":"pay_1"`, `"occurredAt":"2`} {
		raw := strings.Replace(whole, part, odd.Replace(part), 1)
		if _, ok := quick([]byte(raw)); ok || raw == whole {
			t.Errorf("%d: %s was read", n, raw)
		}
	}
}

func FuzzQuick(f *testing.F) {
	for _, raw := range written(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got, ok := quick(raw); ok {
			same(t, got, raw)
		}
	})
}
