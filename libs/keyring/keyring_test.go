package keyring

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

func key(b byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32))
}

func ring(t *testing.T, text string) *Ring {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSeal_opensOnlyAtItsPlace(t *testing.T) {
	r := ring(t, "a:"+key(1))
	sealed := r.Seal([]byte("whsec_x"), "webhook/m_1/live")
	plain, err := r.Open(sealed, "webhook/m_1/live")
	if err != nil || string(plain) != "whsec_x" {
		t.Fatalf("got %q, %v", plain, err)
	}
	if _, err := r.Open(sealed, "webhook/m_1/test"); !errors.Is(err, ErrOpen) {
		t.Fatalf("opened at another place: %v", err)
	}
	if bytes.Contains(sealed, []byte("whsec_x")) {
		t.Fatal("plain text inside the sealed value")
	}
	if bytes.Equal(sealed, r.Seal([]byte("whsec_x"), "webhook/m_1/live")) {
		t.Fatal("sealing twice gave the same bytes")
	}
}

func TestRotation_oldOpensNewSeals(t *testing.T) {
	old := ring(t, "a:"+key(1))
	sealed := old.Seal([]byte("s"), "p")
	both := ring(t, "b:"+key(2)+", a:"+key(1))
	if plain, err := both.Open(sealed, "p"); err != nil || string(plain) != "s" {
		t.Fatalf("old value: %q, %v", plain, err)
	}
	if !both.Stale(sealed) || both.Stale(both.Seal([]byte("s"), "p")) {
		t.Fatal("stale is wrong")
	}
	if id, _ := KeyID(both.Seal([]byte("s"), "p")); id != "b" || both.First() != "b" {
		t.Fatalf("sealed under %q", id)
	}
	if _, err := ring(t, "b:"+key(2)).Open(sealed, "p"); !errors.Is(err, ErrUnknownKey) {
		t.Fatalf("want unknown key, got %v", err)
	}
}

func TestOpen_everyFlippedBitAndCutIsRefused(t *testing.T) {
	r := ring(t, "a:"+key(1))
	sealed := r.Seal([]byte("secret"), "p")
	for i := range sealed {
		for bit := range 8 {
			broken := bytes.Clone(sealed)
			broken[i] ^= 1 << bit
			if _, err := r.Open(broken, "p"); err == nil {
				t.Fatalf("byte %d bit %d flipped and it opened", i, bit)
			}
		}
		if _, err := r.Open(sealed[:i], "p"); err == nil {
			t.Fatalf("cut at %d and it opened", i)
		}
	}
}

func TestParse_refuses(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "no id": key(1), "empty id": ":" + key(1), "short": "a:" + base64.StdEncoding.EncodeToString(make([]byte, 16)),
		"not base64": "a:!!!!", "twice": "a:" + key(1) + ",a:" + key(2), "bad id": "a b:" + key(1),
		"long id": strings.Repeat("x", 33) + ":" + key(1), "trailing comma": "a:" + key(1) + ",",
	} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), key(1)) {
			t.Errorf("%s: the error shows the key", name)
		}
	}
	raw := base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xfb}, 32))
	ring(t, "a:"+raw)
}

func FuzzOpen(f *testing.F) {
	r, err := Parse("a:" + key(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(r.Seal([]byte("x"), "p"), "q")
	f.Fuzz(func(t *testing.T, sealed []byte, place string) {
		if _, err := r.Open(sealed, place+"/never sealed here"); err == nil {
			t.Fatal("a forged value opened")
		}
	})
}

func TestBlind(t *testing.T) {
	old, both := ring(t, "old:"+key(1)), ring(t, "new:"+key(2)+",old:"+key(1))
	was := old.Blind("chat-1", "payer/m_1")
	if len(was) != 32 || !bytes.Equal(was, old.Blind("chat-1", "payer/m_1")) {
		t.Errorf("the same value at the same place has the index %x", was)
	}
	if bytes.Equal(was, old.Blind("chat-2", "payer/m_1")) || bytes.Equal(was, old.Blind("chat-1", "payer/m_2")) || bytes.Equal(was, both.Blind("chat-1", "payer/m_1")) {
		t.Error("another value, place or key has the same index")
	}
	all := both.Blinds("chat-1", "payer/m_1")
	if len(all) != 2 || !bytes.Equal(all[0], both.Blind("chat-1", "payer/m_1")) || !bytes.Equal(all[1], was) {
		t.Errorf("after a rotation a value is looked for under %x", all)
	}
}

func TestOptional(t *testing.T) {
	none, err := ParseOptional("")
	if err != nil || none.Ring() != nil {
		t.Fatal(err)
	}
	some, err := ParseOptional("a:" + key(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseOptional("a"); err == nil {
		t.Error("a broken ring is taken")
	}
	plain := []byte(`{"id":"evt_1"}`)
	sealed := some.Seal(plain, "p")
	if bytes.Contains(sealed, plain) || !bytes.Equal(none.Seal(plain, "p"), plain) {
		t.Error("sealed without a ring, or not with one")
	}
	for _, c := range []struct {
		o     Optional
		value []byte
		err   error
	}{{none, plain, nil}, {some, plain, nil}, {some, sealed, nil}, {none, sealed, ErrUnknownKey}} {
		got, err := c.o.Open(c.value, "p")
		if !errors.Is(err, c.err) || c.err == nil && !bytes.Equal(got, plain) {
			t.Errorf("open an optional value: got %q, %v, want %v", got, err, c.err)
		}
	}
	if _, err := some.Open(sealed, "q"); !errors.Is(err, ErrOpen) {
		t.Errorf("opened at another place: %v", err)
	}
}
